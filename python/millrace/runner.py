"""The process that runs Python functions for the engine: `python -m millrace.runner`.

It is started by exec, so user programs need no main guard. It reads requests from a
socket, rows from shared memory, and writes results to shared memory of its own. When
the socket closes it ends, whatever it is doing: nothing outlives the trainer. Ctrl-C is
the trainer's business, and ignored here.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
from typing import Any

import numpy as np

from millrace import _core
from millrace._calls import Answer, Answerer

_SOCKET = 3
_HEAD = 64  # Bytes before a request's own, as api/python_calls.h has them.
_MESSAGE_MAX = 128 << 10


def main() -> None:
    """Serve until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker of a service holds them; what functions start should not.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    channel = socket.socket(fileno=_SOCKET)
    hello = json.loads(channel.recv(_MESSAGE_MAX) or "{}")
    sys.path[:] = hello.get("path", sys.path)
    threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    server = _Server(channel)
    gc.freeze()
    while server.serve():
        pass


def _end_with(channel: socket.socket) -> None:
    """End this process when the other side is gone, also amid a function."""
    poller = select.poll()
    poller.register(channel, select.POLLRDHUP | select.POLLHUP)
    poller.poll()
    os._exit(0)


class _Server:
    """Answers requests, one at a time."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._answerer = Answerer(ahead=True)
        self._input: np.ndarray[Any, Any] = np.empty(0, np.uint8)
        self._answers = _Answers()

    def serve(self) -> bool:
        """Answer the next request; False when there is none any more."""
        text, descriptors, _, _ = socket.recv_fds(self._channel, _MESSAGE_MAX, 1)
        if not text:
            return False
        if descriptors:
            self._input = _mapped(descriptors[0])
        call = json.loads(text)
        for number in call["released"]:
            self._answers.release(number)
        answer, descriptor = self._written(*self._answered(call))
        data = json.dumps(answer).encode()
        if descriptor is None:
            self._channel.send(data)
        else:
            socket.send_fds(self._channel, [data], [descriptor])
        return True

    def _answered(self, call: dict[str, Any]) -> Answer:
        if call["kind"] == "load":
            content = self._input[_HEAD : _HEAD + call["bytes"]].tobytes()
            return self._answerer.load(call, content)
        if call["kind"] == "generate":
            return self._answerer.generate(call)
        return self._answerer.map(call, (self._input, _HEAD), self._note_row)

    def _note_row(self, number: int) -> None:
        """Say which row is in work, where it is seen also when this process dies."""
        struct.pack_into("<q", self._input.data, 0, number)

    def _written(
        self, answer: dict[str, Any], frame: _core.ResultFrame | None
    ) -> tuple[dict[str, Any], int | None]:
        if frame is None:
            return answer, None
        number, memory, descriptor = self._answers.take(frame.bytes)
        frame.copy_to(memory)
        answer = {**answer, "region": number, "region_bytes": len(memory)}
        return answer, descriptor


class _Answers:
    """The memory that results are written to, used again once nobody reads it."""

    def __init__(self) -> None:
        self._all: list[np.ndarray[Any, Any]] = []
        self._free: list[int] = []

    def release(self, number: int) -> None:
        self._free.append(number)

    def take(self, size: int) -> tuple[int, np.ndarray[Any, Any], int | None]:
        """Give a number, memory, and its descriptor where it is new."""
        for place, number in enumerate(self._free):
            if len(self._all[number]) >= size:
                del self._free[place]
                return number, self._all[number], None
        descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, max(size, 1 << 16))
        self._all.append(_mapped(descriptor, close=False))
        return len(self._all) - 1, self._all[-1], descriptor


def _mapped(descriptor: int, *, close: bool = True) -> np.ndarray[Any, Any]:
    memory = mmap.mmap(descriptor, 0)
    if close:
        os.close(descriptor)
    return np.frombuffer(memory, np.uint8)


if __name__ == "__main__":
    main()
