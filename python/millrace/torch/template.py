"""The template process: holds the dataset once and forks the workers from it.

Forked workers share its memory until they write to it. So a dataset that must be
pickled is unpickled once, not once a worker, and each worker starts in milliseconds.
"""

import contextlib
import gc
import mmap
import os
import pickle
import select
import shutil
import signal
import socket
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch

from millrace import _core
from millrace.torch.copies import keep_objects_in_file
from millrace.torch.messages import (
    Close,
    StartWorker,
    TemplateFailure,
    WorkerExit,
    receive,
    send,
)
from millrace.torch.worker_main import Job, Start, die_with_parent, leave, run_worker

# How long workers may take to leave by themselves after the last batch.
_GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Trainer:
    """What a template must know of the process that it works for.

    Attributes:
        dies_with: Whether the kernel is to end the template with the trainer.
        folder: Of temporary files, which the trainer removes at its end; "" for none.
        pid: Its own.
    """

    dies_with: bool
    folder: str = ""
    pid: int = field(default_factory=os.getpid)


def run_template(control: socket.socket, job: Any, trainer: Trainer) -> None:
    """Serves the trainer's requests for workers; returns when it has hung up.

    `job` is the Job itself where memory was inherited, else a descriptor (as
    multiprocessing passes them) of its pickle.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if trainer.dies_with:
        die_with_parent()
    end = _end_of(trainer.pid)
    if not _serve(control, job) and trainer.folder:
        _remove_remains(end, trainer.folder)


def _serve(control: socket.socket, job: Any) -> bool:
    """Until the trainer is done, which is told, or has hung up: then False."""
    try:
        template = _Template(control, *_prepare(job))
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        message = f"{type(error).__qualname__}: {error}"
        send(control, TemplateFailure(pickle.dumps(RuntimeError(message)), trace))
        return True
    return template.serve()


def _end_of(pid: int) -> int | None:
    """A descriptor that tells when a process has ended; None if it has."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _remove_remains(end: int | None, folder: str) -> None:
    """Removes what a trainer that was killed could not remove by itself."""
    if end is None or select.select([end], [], [], _GRACE_SECONDS)[0]:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(job: Any) -> tuple[Job, int]:
    """The job, and how many bytes of its objects are shared even if they are read."""
    inherited = isinstance(job, Job)
    loaded = job if inherited else _load(job.detach())
    torch.set_num_threads(1)
    gc.freeze()  # A collection in a worker must not write to what it shares.
    return loaded, 0 if inherited else _core.share_arenas()


def _load(descriptor: int) -> Job:
    with mmap.mmap(descriptor, 0) as pickled:
        os.close(descriptor)
        keep_objects_in_file()
        gc.disable()  # Millions of new objects are no reason to look for garbage.
        try:
            job = pickle.loads(pickled)
        finally:
            gc.enable()
    assert isinstance(job, Job)
    return job


class _Template:
    """Forks, reaps and, at the end, removes the workers."""

    def __init__(self, control: socket.socket, job: Job, shared_bytes: int) -> None:
        self._control = control
        self._job = job
        self._shared_bytes = shared_bytes
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._children: dict[int, tuple[int, int]] = {}  # By pidfd: number and pid.

    def serve(self) -> bool:
        """Until the trainer closes or hangs up, False; then no worker is left."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._children:
                    self._reap(descriptor)
                elif (closed := self._obey()) is not None:
                    return closed

    def _obey(self) -> bool | None:
        """Handles one message; after the last, tells whether that was a farewell."""
        message, descriptors = receive(self._control)
        if isinstance(message, StartWorker):
            self._start(message, descriptors[0])
            return None
        closed = isinstance(message, Close)
        if closed:
            self._wait_for_children()
        for pidfd, (_, pid) in list(self._children.items()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(pidfd)
        return closed

    def _start(self, message: StartWorker, descriptor: int) -> None:
        with warnings.catch_warnings():
            # Python warns of threads; those here are idle ones of numeric libraries.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._become_worker(message, descriptor)
        os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (message.number, pid)
        self._poll.register(pidfd, select.POLLIN)

    def _become_worker(self, message: StartWorker, descriptor: int) -> None:
        code = 1
        try:
            die_with_parent()
            self._control.close()
            for pidfd in self._children:
                os.close(pidfd)
            start = Start(self._job, message.number, self._shared_bytes)
            with socket.socket(fileno=descriptor) as connection:
                run_worker(connection, start)
            code = 0
        except SystemExit as request:
            code = request.code if isinstance(request.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            leave(code)

    def _reap(self, pidfd: int) -> None:
        number, pid = self._children.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            code = os.waitstatus_to_exitcode(status)
            send(self._control, WorkerExit(number, pid, code))

    def _wait_for_children(self) -> None:
        deadline = time.monotonic() + _GRACE_SECONDS
        self._poll.unregister(self._control)
        while self._children and (left := deadline - time.monotonic()) > 0:
            for pidfd, _ in self._poll.poll(left * 1000):
                self._reap(pidfd)
