"""The process of an isolated engine: `python -m millrace.isolated_main`.

It is started by exec, so user programs need no main guard. The trainer begins a pass by
sending a socket for it; blocks go there, two ahead of what was taken. When the trainer
is gone, however that came, this process ends, and with it those of Python functions.
Ctrl-C is the trainer's business, and ignored here.
"""

from __future__ import annotations

import collections
import contextlib
import marshal
import mmap
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

from millrace import _core
from millrace.engine import configure, engine, share_memory
from millrace.errors import Error, InternalError
from millrace.functions import configure_runners
from millrace.segments import (
    AHEAD,
    MESSAGE_MAX,
    SMALL_AHEAD,
    SMALL_BYTES,
    Lender,
    Packing,
)

_INLINE_MAX = 32 << 10  # What is larger goes through the segment.
_LEAVE_SECONDS = 1.0


def main() -> None:
    """Serve passes until the trainer hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    control = socket.socket(fileno=int(sys.argv[1]))
    if not (message := control.recv(MESSAGE_MAX)):
        return  # Interrupted while it started this.
    hello = pickle.loads(message)
    sys.path[:] = hello["path"]
    configure(**hello["budget"])
    share_memory()
    configure_runners()
    _Passes(control).serve()
    os._exit(0)


class _Passes:
    """All passes that run, as the main thread sees them."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)
        self._running: dict[int, tuple[_Pass, threading.Thread]] = {}
        self._attachments: dict[str, _core.Attachment] = {}  # Of the latest pass.

    def serve(self) -> None:
        """Begin passes, and end those that nobody wants any more."""
        while True:
            for descriptor, _ in self._poller.poll():
                if descriptor != self._control.fileno():
                    self._poller.unregister(descriptor)
                    self._running.pop(descriptor)[0].hang_up()
                elif not self._begin():
                    self._leave()
                    return

    def _begin(self) -> bool:
        """Begin the pass that is asked for; False when the trainer is gone."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
        if not message:
            return False
        channel, file = descriptors
        request = _read(file)
        for name, content in request["attachments"].items():
            self._attachments[name] = _core.Attachment(content)
        self._attachments = {n: self._attachments[n] for n in request["hashes"]}
        run = _Pass(
            socket.socket(fileno=channel), request, list(self._attachments.values())
        )
        self._poller.register(channel, select.POLLRDHUP)
        # Daemons, since a pass may wait for a disk that does not answer.
        thread = threading.Thread(target=run.serve, daemon=True)
        self._running[channel] = (run, thread)
        thread.start()
        return True

    def _leave(self) -> None:
        """End all passes, so that operators can tidy up; but not for long."""
        for run, _ in self._running.values():
            run.hang_up()
        end = time.monotonic() + _LEAVE_SECONDS
        for _, thread in self._running.values():
            thread.join(max(0.0, end - time.monotonic()))


class _Pass:
    """One pass, served in a thread of its own."""

    def __init__(
        self,
        channel: socket.socket,
        request: dict[str, Any],
        attachments: list[_core.Attachment],
    ) -> None:
        self._channel = channel
        self._request = request
        self._attachments = attachments
        self._iterator: _core.Iterator | None = None
        self._hung_up = threading.Event()
        self._lender = Lender()
        self._ahead: collections.deque[int] = collections.deque()  # Bytes of each.
        self._taken = 0

    def hang_up(self) -> None:
        """The trainer does not want more."""
        self._hung_up.set()
        if self._iterator is not None:
            self._iterator.cancel()

    def serve(self) -> None:
        """Give the blocks as they are taken, then the end or what went wrong."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            try:
                self._give()
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                self._send("error", _travelling(error), [])
        self._hung_up.wait()  # Before that the main thread polls the socket.
        self._channel.close()

    def _give(self) -> None:
        iterator = self._opened()
        self._send("opened", (iterator.state(), iterator.facts()), [])
        while (block := iterator.next()) is not None:
            count, columns, copied = block
            head = (iterator.state(), iterator.facts(), count, copied)
            self._ahead.append(self._send("block", head, columns))
            # Also where there is nothing to wait for, what was taken is read.
            while self._receive(wait=self._is_far_ahead()):
                pass
        self._send("end", (iterator.state(), iterator.facts()), [])

    def _is_far_ahead(self) -> bool:
        count = len(self._ahead)
        few = AHEAD if sum(self._ahead) > SMALL_BYTES else SMALL_AHEAD
        return count >= few

    def _opened(self) -> _core.Iterator:
        pipeline = _core.Pipeline.parse(self._request["text"], self._attachments)
        self._iterator = engine().open(pipeline, **self._request["settings"])
        if self._hung_up.is_set():
            self._iterator.cancel()
        return self._iterator

    def _send(self, kind: str, head: Any, columns: list[Any]) -> int:
        """Send a message, arrays and what is long through memory; give these bytes."""
        packing = Packing(columns, self._lender)
        told = marshal.dumps((head, packing.columns))
        inline = len(told) <= _INLINE_MAX
        size = packing.size + (0 if inline else len(told))
        own: tuple[int, int, int] | None = None
        with contextlib.ExitStack() as closing:
            if size > 0:
                segment, descriptor = self._lender.segment(size)
                if descriptor is not None:
                    closing.callback(os.close, descriptor)
                    packing.created.append((segment.number, segment.size))
                    packing.descriptors.append(descriptor)
                memory = segment.memory()
                packing.copy_to(memory)
                if not inline:
                    memoryview(memory).cast("B")[packing.size : size] = told
                    told = b""
                own = (segment.number, packing.size, size)
            changes = (packing.created, self._lender.dropped())
            sizes = (packing.size, packing.shared_size)
            message = marshal.dumps((kind, told, own, changes, sizes))
            if packing.descriptors:
                socket.send_fds(self._channel, [message], packing.descriptors)
            else:
                self._channel.send(message)
        return size + packing.shared_size

    def _receive(self, *, wait: bool) -> bool:
        """Read what was taken and came back; False where there is nothing to read."""
        flags = 0 if wait else socket.MSG_DONTWAIT
        try:
            data = self._channel.recv(MESSAGE_MAX, flags)
        except BlockingIOError:
            return False
        if not data:
            raise BrokenPipeError
        taken, released = marshal.loads(data)
        while self._taken < taken:
            self._ahead.popleft()
            self._taken += 1
        self._lender.take_back(released)
        return True


def _read(descriptor: int) -> Any:
    """Read a request from its file, and close that."""
    try:
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as memory:
            return pickle.loads(memory)
    finally:
        os.close(descriptor)


def _travelling(error: Exception) -> bytes:
    """Write an error so that the trainer can raise it."""
    if not isinstance(error, Error):
        error = InternalError("".join(traceback.format_exception(error)))
    return pickle.dumps(error)


if __name__ == "__main__":
    main()
