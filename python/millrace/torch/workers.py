"""The pool of worker processes, as the trainer's thread sees it."""

import contextlib
import multiprocessing
import multiprocessing.context
import multiprocessing.util
import os
import pickle
import selectors
import signal
import socket
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import torch
import torch.multiprocessing  # Tensors of a pickled dataset move to shared memory.

from millrace.torch.channel import Reader
from millrace.torch.messages import (
    Batch,
    Close,
    Failure,
    Hello,
    OpenStream,
    Request,
    StartWorker,
    TemplateFailure,
    WorkerExit,
    receive,
    send,
)
from millrace.torch.template import Trainer, run_template
from millrace.torch.worker_main import Job

# Tensors below this size are copied: sharing one costs a descriptor.
_SHARED_TENSOR_BYTES = 1 << 20
_EXIT_SECONDS = 2.0

_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


@dataclass
class Answer:
    """What came back for one request."""

    worker: int
    generation: int
    number: int
    batch: Any = None
    failure: Failure | None = None
    ended: bool = False
    copies: bool = False


class _Member:
    """One worker process and the trainer's end of its socket."""

    def __init__(self, number: int, connection: socket.socket) -> None:
        self.number = number
        self.connection = connection
        self.reader = Reader()
        self.ready = False
        self.outstanding = 0


class Pool:
    """Worker processes that make batches on request. Used by one thread at a time."""

    def __init__(self, context: multiprocessing.context.BaseContext, job: Job) -> None:
        self._owner = os.getpid()
        self.generation = 0  # Of the pass that uses the pool now.
        self._members: list[_Member] = []
        self._inbox: list[Answer] = []
        self.is_open = True
        self._selector = selectors.DefaultSelector()
        self._control, theirs = _socket_pair()
        _pools.add(self)
        try:
            self.pickled_bytes, self._process = _start_template(context, theirs, job)
        except BaseException:
            self._drop()
            raise
        finally:
            theirs.close()
        self._selector.register(self._control, selectors.EVENT_READ, None)
        self._members += [self._start(number) for number in range(job.workers)]

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self._members)

    def next_generation(self) -> int:
        """Begins a pass: answers to requests of earlier ones are told apart."""
        self.generation += 1
        return self.generation

    def idlest(self, limit: int = sys.maxsize) -> int | None:
        """The ready worker with the fewest requests, if they are fewer than `limit`."""
        ready = [m for m in self._members if m.ready and m.outstanding < limit]
        if not ready:
            return None
        return min(ready, key=lambda member: member.outstanding).number

    def request(self, worker: int, message: Request) -> None:
        """Sends a request; takes in answers while the worker's socket is full."""
        self._check_owner()
        member = self._members[worker]
        message.released = member.reader.released()
        if not isinstance(message, OpenStream):
            member.outstanding += 1
        while True:
            try:
                send(member.connection, message)
                return
            except BlockingIOError:
                self._inbox += self._receive_ready(0.01)
            except (BrokenPipeError, ConnectionResetError):
                self._raise_death(member)

    def answers(self, seconds: float | None) -> list[Answer]:
        """What has come back; waits up to `seconds` (None: for ever) for the first."""
        self._check_owner()
        if self._inbox:
            found, self._inbox = self._inbox, []
            return found
        return self._receive_ready(seconds)

    def close(self) -> None:
        """Sends the workers home. They are killed if they do not leave at once."""
        if not self.is_open or os.getpid() != self._owner:
            return
        with contextlib.suppress(OSError):
            if any(member.ready for member in self._members):
                send(self._control, Close())
            else:
                self._process.kill()  # It would still load what nobody wants now.
        self._drop()

    def __del__(self) -> None:
        # At the interpreter's end the closing sockets say the same.
        if getattr(self, "is_open", False) and not sys.is_finalizing():
            self.close()

    def _drop(self) -> None:
        """Closes this process's descriptors."""
        self.is_open = False
        self._selector.close()
        self._control.close()
        for member in self._members:
            member.connection.close()

    def _start(self, number: int) -> _Member:
        """Asks the template for a worker."""
        ours, theirs = _socket_pair()
        ours.setblocking(False)
        with theirs, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # A template that is dead already is noticed when it is read from.
            send(self._control, StartWorker(number), [theirs.fileno()])
        member = _Member(number, ours)
        self._selector.register(ours, selectors.EVENT_READ, member)
        return member

    def _receive_ready(self, seconds: float | None) -> list[Answer]:
        found: list[Answer] = []
        ready = [key.data for key, _ in self._selector.select(seconds)]
        for member in ready:
            if member is not None:
                found += self._read_member(member)
        # What a worker said last explains its end better than its exit code.
        if None in ready and not found:
            self._read_control()
        return found

    def _read_member(self, member: _Member) -> list[Answer]:
        found: list[Answer] = []
        while True:
            try:
                message, descriptors = receive(member.connection)
            except BlockingIOError:
                return found
            if message is None:
                if not found:
                    self._raise_death(member)
                return found
            if isinstance(message, Hello):
                member.ready = True
                continue
            found.append(self._open_answer(member, message, descriptors))

    def _open_answer(
        self, member: _Member, message: Batch | Failure, descriptors: list[int]
    ) -> Answer:
        member.outstanding -= 1
        answer = Answer(member.number, message.generation, message.number)
        if isinstance(message, Failure):
            answer.failure = message
            return answer
        if message.parcel is None:
            answer.ended = True
        else:
            answer.batch = member.reader.decode(message.parcel, descriptors)
            answer.copies = message.copies
        return answer

    def _read_control(self) -> None:
        message, _ = receive(self._control)
        if isinstance(message, TemplateFailure):
            error = pickle.loads(message.error)
            error.add_note(
                "The dataset could not be loaded in the process that starts the "
                f"DataLoader's workers:\n{message.trace}"
            )
            raise error
        if isinstance(message, WorkerExit):
            for member in self._members:
                if member.number == message.number:
                    raise _death(member.number, message)
        if message is None:
            self._raise_template_death()

    def _raise_death(self, member: _Member) -> None:
        """A socket closed by itself: says how the worker ended."""
        deadline = time.monotonic() + _EXIT_SECONDS
        self._control.settimeout(_EXIT_SECONDS)
        with contextlib.suppress(TimeoutError):
            while time.monotonic() < deadline:
                message, _ = receive(self._control)
                if message is None:
                    self._raise_template_death()
                if isinstance(message, WorkerExit) and message.number == member.number:
                    raise _death(member.number, message)
        raise RuntimeError(f"DataLoader worker {member.number} closed its connection")

    def _raise_template_death(self) -> None:
        self._process.join(_EXIT_SECONDS)
        raise RuntimeError(
            "the process that starts the DataLoader's workers "
            f"(pid {self._process.pid}) {_describe_exit(self._process.exitcode)}; "
            "its own message is above. With spawn and forkserver the main module is "
            'imported again: keep what it runs under `if __name__ == "__main__":`'
        )

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise RuntimeError(
                "this DataLoader iterator belongs to the process that made it; "
                "call iter() on the loader in the forked process"
            )


def _start_template(
    context: multiprocessing.context.BaseContext, control: socket.socket, job: Job
) -> tuple[int, Any]:
    """Starts the process that holds the dataset; returns also its pickled size.

    The kernel's death signal follows the thread that starts a process, so it is only
    asked for from the main thread; the control socket serves in all cases.
    """
    method = context.get_start_method()
    main = threading.current_thread() is threading.main_thread()
    if method == "fork":
        return 0, _launch(context, (control, job, Trainer(dies_with=main)))
    # The server of forkserver is reached by a socket in this folder.
    folder = multiprocessing.util.get_temp_dir() if method == "forkserver" else ""
    trainer = Trainer(dies_with=main and method == "spawn", folder=folder)
    with _PickledJob(job) as pickled:
        process = _launch(context, (control, pickled, trainer))
        return pickled.size, process


class _PickledJob:
    """A job that is pickled to a memfd, which has no name and dies with its reader.

    That happens while multiprocessing pickles what it starts a process with: only then
    do locks, shared values and tensors pass. Its own way would not return before the
    new process has read everything.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
        self.size = 0

    def __enter__(self) -> "_PickledJob":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)

    def __reduce__(self) -> Any:
        with open(self._descriptor, "wb", buffering=1 << 20, closefd=False) as target:
            _JobPickler(target).dump(self._job)
        self.size = os.fstat(self._descriptor).st_size
        return _same, (DupFd(self._descriptor),)


def _same(passed: Any) -> Any:
    return passed


def _launch(
    context: multiprocessing.context.BaseContext, arguments: tuple[Any, ...]
) -> Any:
    process = context.Process(  # type: ignore[attr-defined]
        target=run_template, args=arguments, name="millrace-loader", daemon=True
    )
    process.start()
    return process


class _JobPickler(ForkingPickler):
    """Pickles the dataset as torch does, but copies small tensors."""

    dispatch_table: dict[type, Any]

    def __init__(self, target: Any) -> None:
        super().__init__(target, pickle.HIGHEST_PROTOCOL)
        share = self.dispatch_table[torch.Tensor]

        def reduce(tensor: torch.Tensor) -> Any:
            if tensor.device.type == "cpu" and tensor.nbytes < _SHARED_TENSOR_BYTES:
                latest = pickle.HIGHEST_PROTOCOL
                return tensor.__reduce_ex__(latest)  # type: ignore[no-untyped-call]
            return share(tensor)

        self.dispatch_table[torch.Tensor] = reduce


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _death(number: int, exit_: WorkerExit) -> RuntimeError:
    return RuntimeError(
        f"DataLoader worker {number} (pid {exit_.pid}) {_describe_exit(exit_.code)}; "
        "if it was killed for memory, use fewer workers or smaller batches, and "
        "num_workers=0 shows an error of the dataset in this process"
    )


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "ended"
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"was killed by signal {-code}"


def _forget_inherited() -> None:
    """A forked child must not hold the sockets whose closing ends the workers."""
    for pool in list(_pools):
        if pool._owner != os.getpid():
            pool._drop()


os.register_at_fork(after_in_child=_forget_inherited)
