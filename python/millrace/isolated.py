"""Engines in a process of their own, so that the trainer's stays quiet.

`isolate=True` of a loader: this process has none of the engine's threads and none of
its memory but the batches it was given. An `IsolatedEngine` opens passes as the engine
of this process does, and what it opens gives the same blocks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import marshal
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millrace import _core
from millrace.engine import budget
from millrace.errors import (
    CancelledError,
    EngineLostError,
    InternalError,
    PipelineError,
)
from millrace.functions import process_environment
from millrace.notices import tell_of_wait, wait_seconds
from millrace.segments import (
    DESCRIPTORS_MAX,
    MESSAGE_MAX,
    SMALL_AHEAD,
    SMALL_BYTES,
    Borrower,
    Restoring,
)

_EXIT_SECONDS = 3.0
_DESCRIPTORS_ROOM = socket.CMSG_LEN(4 * DESCRIPTORS_MAX)
# A few small blocks are told of together: that wakes the engine's process less often.
_TOLD_LATE = SMALL_AHEAD // 4
_TOLD_LATE_BYTES = SMALL_BYTES // SMALL_AHEAD

_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()


class IsolatedEngine:
    """An engine in a child process, which is started when first needed.

    The process lives until `close`, or the end of this one, however that comes.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0
        self._known: set[str] = set()  # Attachments that the process has.
        self._end: Any = None

    def open(
        self,
        pipeline: _core.Pipeline,
        *,
        seed: int,
        epoch: int,
        any_order: bool,
        state: str | None,
        cut_as: str | None = None,
    ) -> IsolatedIterator:
        """Begin a pass, as `_core.Engine.open` does."""
        control = self._started()
        attachments = {a.hash: a for a in pipeline.attachments}
        request = {
            "text": pipeline.text,
            "hashes": list(attachments),
            "attachments": {
                name: a.content
                for name, a in attachments.items()
                if name not in self._known
            },
            "settings": {
                "seed": seed,
                "epoch": epoch,
                "any_order": any_order,
                "state": state,
                "cut_as": cut_as,
            },
        }
        ours, theirs = _socket_pair()
        with theirs, _file_of(request) as file:
            try:
                socket.send_fds(control, [b"o"], [theirs.fileno(), file])
            except OSError:
                raise self.lost() from None
        self._known = set(attachments)
        return IsolatedIterator(self, ours)

    def close(self) -> None:
        """End the process. The next `open` starts another."""
        self._process = None
        if self._end is not None:
            self._end()

    @property
    def pid(self) -> int:
        """The process's id; 0 where there is none."""
        return 0 if self._process is None else self._process.pid

    def lost(self) -> Exception:
        """Make the error that says how the process ended by itself."""
        process = self._process
        if process is None:
            return CancelledError("the loader was closed")
        try:
            code = process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return InternalError(
                f"the engine's process (pid {process.pid}) closed its connection"
            )
        return EngineLostError(
            f"the engine's process (pid {process.pid}) {_described(code)}; if memory "
            "was short, give it less with millrace.configure(memory=...). The next "
            "iter() starts another, and goes on from where the pass was"
        )

    def _started(self) -> socket.socket:
        process, control = self._process, self._control
        if process is not None and control is not None and self._owner == os.getpid():
            if process.poll() is None:
                return control
            self.close()
        ours, theirs = _socket_pair()
        with theirs:
            self._process = _start(theirs.fileno())
        self._control, self._owner, self._known = ours, os.getpid(), set()
        self._end = weakref.finalize(self, _end, self._process, ours, os.getpid())
        ours.send(pickle.dumps(_hello()))
        return ours


@dataclasses.dataclass(frozen=True)
class IsolatedMark:
    """The state of a pass as it was at some moment; used as `_core.Mark` is."""

    text: str

    def json(self) -> str:
        """Give it as JSON."""
        return self.text


class IsolatedIterator:
    """One pass in another process; used as `_core.Iterator` is."""

    def __init__(self, engine: IsolatedEngine, channel: socket.socket) -> None:
        """Wait until the pass is open."""
        self._engine = engine
        self._pid = engine.pid
        self._owner = os.getpid()
        self._channel = channel
        self._channel.settimeout(wait_seconds())
        self._data = bytearray(MESSAGE_MAX)
        self._borrower = Borrower()
        self._is_cancelled = False
        self._is_ended = False
        self._error: bytes | None = None
        self._taken = 0
        self._told = 0
        self._told_of = -1  # The block whose coming took long.
        self._size = 0  # Of the block that was taken last.
        self._bytes = 0
        self._state = ""
        self._facts = ""
        self._began = time.monotonic()
        self._first_seconds = 0.0
        self._waited_seconds = 0.0
        self._receive()

    def __del__(self) -> None:
        """Hang up: the engine ends the pass."""
        self._channel.close()

    def next(self) -> tuple[int, list[Any], int] | None:
        """Give the next block, as `_core.Iterator.next` does."""
        if self._error is not None:
            raise pickle.loads(self._error)
        if self._is_ended:
            return None
        start = time.monotonic()
        block = self._receive()
        now = time.monotonic()
        self._waited_seconds += now - start
        if block is None:
            return None
        if self._taken == 0:
            self._first_seconds = now - self._began
        self._taken += 1
        if self._taken >= self._told + _TOLD_LATE or self._size > _TOLD_LATE_BYTES:
            self._tell()
        return block

    def _tell(self) -> None:
        """Say how many blocks were taken, and what memory came free."""
        self._told = self._taken
        released = self._borrower.released()
        with contextlib.suppress(OSError):  # If it is gone, what it sent is still here.
            self._channel.send(marshal.dumps((self._taken, released)))

    def _receive(self) -> tuple[int, list[Any], int] | None:
        """Read the next message; give its block where it has one."""
        kind, told, own, changes, sizes = self._message()
        self._borrower.drop(changes[1])
        segment = None
        if own is not None:
            number, start, end = own
            segment = self._borrower.borrow(number)
            told = told or memoryview(segment).cast("B")[start:end]
        head, columns = marshal.loads(told)
        if kind == "error":
            self._error = head
            raise pickle.loads(head)
        self._state, self._facts, *counts = head
        if kind != "block":
            self._is_ended = kind == "end"
            return None
        count, copied = counts
        self._size = sum(sizes)
        self._bytes += self._size
        value = Restoring(self._borrower, segment).value
        return count, [value(column) for column in columns], copied + sizes[0]

    def _message(self) -> Any:
        """Wait for a message; map the new memory that came with it."""
        try:
            size, parts = self._read()
        except OSError:  # Closed, in a process that was forked.
            size, parts = 0, []
        descriptors = [
            number for _, _, data in parts for number in memoryview(data).cast("i")
        ]
        try:
            if size == 0 or self._is_cancelled:
                raise self._ending()
            message = marshal.loads(memoryview(self._data)[:size])
            created, _ = message[3]
            for descriptor, (number, bytes_) in zip(descriptors, created, strict=True):
                self._borrower.add(number, descriptor, bytes_)
            return message
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _read(self) -> tuple[int, list[Any]]:
        """Read a message; say, once for each block, where that takes long."""
        while True:
            try:
                size, parts, _, _ = self._channel.recvmsg_into(
                    [self._data], _DESCRIPTORS_ROOM, socket.MSG_CMSG_CLOEXEC
                )
            except TimeoutError:
                if self._told_of != self._taken:
                    tell_of_wait(
                        f"the engine's process (pid {self._pid}) is at work on block "
                        f"{self._taken}"
                    )
                self._told_of = self._taken
                continue
            return size, parts

    def _ending(self) -> Exception:
        if self._is_cancelled:
            return CancelledError("the pass was cancelled")
        if self._owner != os.getpid():
            return PipelineError(
                "this pass belongs to the process that this one was forked from: call "
                "iter() on the loader here"
            )
        return self._engine.lost()

    def cancel(self) -> None:
        """End the pass, and a wait for its next block in another thread."""
        self._is_cancelled = True
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def state(self) -> str:
        """Give the state after what `next` has given, as JSON."""
        return self._state

    def mark(self) -> IsolatedMark:
        """Give the same as an object, as `_core.Iterator.mark` does."""
        return IsolatedMark(self._state)

    def facts(self) -> str:
        """Tell what the pass did so far, as JSON.

        Work is the engine's; waiting and wall-clock time are those of this process.
        """
        facts = json.loads(self._facts)
        sizes = self._borrower.sizes
        facts["wall_seconds"] = time.monotonic() - self._began
        facts["waited_seconds"] = self._waited_seconds
        facts["first_block_seconds"] = self._first_seconds
        facts["channel"] = {
            "engine_pid": self._pid,
            "channel_bytes": self._bytes,
            "channel_segments": len(sizes),
            "channel_memory_bytes": sum(sizes),
        }
        return json.dumps(facts)


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    """Make two ends; ours is closed in processes that are forked from this."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    _sockets.add(ours)
    return ours, theirs


@contextlib.contextmanager
def _file_of(request: dict[str, Any]) -> Iterator[int]:
    """Write a request to a file without a name: attachments may be large."""
    descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            pickle.dump(request, file, pickle.HIGHEST_PROTOCOL)
        yield descriptor
    finally:
        os.close(descriptor)


def _start(descriptor: int) -> subprocess.Popen[bytes]:
    """Start the process with its end of the socket.

    It begins with Ctrl-C blocked, as this thread has it, until it ignores it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "millrace.isolated_main", str(descriptor)],
            stdin=subprocess.DEVNULL,
            pass_fds=(descriptor,),
            env=process_environment(),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hello() -> dict[str, Any]:
    """Tell the process what it may use, and where modules are."""
    given = budget()
    return {
        "path": [path or str(Path.cwd()) for path in sys.path],
        "budget": {
            "threads": given.threads,
            "memory": given.memory_bytes,
            "cache_memory": given.cache_bytes,
        },
    }


def _end(process: subprocess.Popen[bytes], control: socket.socket, owner: int) -> None:
    control.close()
    if os.getpid() != owner:
        return
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _described(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}, and what it said is above"
    with contextlib.suppress(ValueError):
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"was killed by signal {-code}"


def _forget_after_fork() -> None:
    # The engine's process ends when the last holder of its socket is gone.
    for channel in list(_sockets):
        channel.close()


os.register_at_fork(after_in_child=_forget_after_fork)
