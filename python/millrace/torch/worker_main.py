"""The life of one worker process: it makes batches until the trainer hangs up."""

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data._utils import collate as torch_collate
from torch.utils.data._utils import worker as torch_worker

from millrace.torch.channel import OWN_SEGMENT_BYTES, Writer
from millrace.torch.fetch import Recipe, Stream, fetch
from millrace.torch.messages import (
    Batch,
    Failure,
    Hello,
    MakeBatch,
    NextBatch,
    OpenStream,
    receive,
    send,
)
from millrace.torch.seeding import mix, seed_libraries

_PR_SET_PDEATHSIG = 1

# A worker that has copied this much of the memory it shares asks to be replaced.
_COPIED_BYTES_MIN = 64 << 20
_COPIED_SHARE = 16


@dataclass(frozen=True)
class Job:
    """What every worker of a pool is started with."""

    recipe: Recipe
    worker_init: Callable[[int], None] | None
    workers: int
    seed: int
    replaceable: bool  # Nothing that a worker keeps between batches can matter.


def die_with_parent() -> None:
    """Asks the kernel to kill this process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run_worker(connection: socket.socket, job: Job, number: int) -> None:
    """Serves the trainer's requests; returns when it has hung up."""
    worker = _Worker(connection, job, number)
    try:
        if worker.prepare():
            worker.serve()
    except (BrokenPipeError, ConnectionResetError):
        return  # The trainer has gone, or no longer wants what was being made.


class CopiedMemory:
    """How much of the memory shared with the other workers this one has copied.

    Reading a Python object writes its reference count, and the kernel then copies the
    page. So workers of a large dataset would end with a copy each.
    """

    def __init__(self) -> None:
        self._pages = resource.getpagesize()
        self._resident, self._private = _memory()
        self._limit = max(_COPIED_BYTES_MIN, self._resident // _COPIED_SHARE)
        self._faults = _faults()

    def is_large(self) -> bool:
        """Cheap while few pages were touched; growth by new objects does not count."""
        if (_faults() - self._faults) * self._pages < self._limit:
            return False
        resident, private = _memory()
        self._faults = _faults() - (private - self._private) // self._pages
        grown = max(0, resident - self._resident)
        return private - self._private - grown >= self._limit


class _Worker:
    """The state between two requests."""

    def __init__(self, connection: socket.socket, job: Job, number: int) -> None:
        self._connection = connection
        self._job = job
        self._number = number
        self._recipe = job.recipe
        self._writer = Writer()
        self._stream: Stream | None = None

    def prepare(self) -> bool:
        """Does what torch's workers do before the first batch; False if it failed."""
        os.environ["OMP_NUM_THREADS"] = "1"
        torch.set_num_threads(1)
        seed = mix(self._job.seed, self._number) >> 1
        seed_libraries(seed)
        torch_worker._worker_info = torch_worker.WorkerInfo(
            id=self._number,
            num_workers=self._job.workers,
            seed=seed,
            dataset=self._recipe.dataset,
        )
        if self._recipe.collate is torch_collate.default_collate:
            self._recipe = _collating_in_place(self._recipe, self._writer)
        try:
            if self._job.worker_init is not None:
                self._job.worker_init(self._number)
        except Exception as error:
            send(self._connection, _failure(-1, -1, error))
            return False
        self._copied = CopiedMemory() if self._job.replaceable else None
        send(self._connection, Hello())
        return True

    def serve(self) -> None:
        """Answers requests one after another."""
        while True:
            request, _ = receive(self._connection)
            if request is None:
                return
            self._writer.take_back(request.released)
            if isinstance(request, OpenStream):
                self._open(request)
            else:
                self._answer(request)

    def _open(self, request: OpenStream) -> None:
        """Starts a pass of an iterable dataset; an error waits for the first batch."""
        self._open_error: Exception | None = None
        try:
            workers = self._job.workers
            self._stream = Stream(self._recipe, request.seeds, self._number, workers)
            self._stream.skip(request.taken)
        except Exception as error:
            self._open_error = error

    def _answer(self, request: MakeBatch | NextBatch) -> None:
        self._writer.start_batch()
        descriptors: list[int] = []
        answer: Batch | Failure
        try:
            batch = self._make(request)
        except StopIteration as stop:
            if isinstance(request, NextBatch):
                answer = Batch(request.generation, request.number, None)
            else:
                error = RuntimeError("the dataset raised StopIteration for a row")
                error.__cause__ = stop
                answer = _failure(request.generation, request.number, error)
        except Exception as error:
            answer = _failure(request.generation, request.number, error)
        else:
            answer, descriptors = self._encode(request, batch)
        send(self._connection, answer, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def _make(self, request: MakeBatch | NextBatch) -> Any:
        if isinstance(request, MakeBatch):
            seed_libraries(request.seed)
            return fetch(self._recipe, request.index)
        if self._open_error is not None:
            raise self._open_error
        assert self._stream is not None, "a stream is opened before it is read"
        return self._stream.take()

    def _encode(
        self, request: MakeBatch | NextBatch, batch: Any
    ) -> tuple[Batch | Failure, list[int]]:
        try:
            parcel, descriptors = self._writer.encode(batch)
        except Exception as error:  # The batch cannot be pickled.
            return _failure(request.generation, request.number, error), []
        retire = self._copied is not None and self._copied.is_large()
        answer = Batch(request.generation, request.number, parcel, retire)
        return answer, descriptors


def _collating_in_place(recipe: Recipe, writer: Writer) -> Recipe:
    """The default collation, with large tensors stacked straight into segments."""

    def stack(rows: Any, *, collate_fn_map: Any = None) -> Any:
        first = rows[0]
        large = first.numel() * first.element_size() * len(rows) >= OWN_SEGMENT_BYTES
        plain = all(type(row) is torch.Tensor for row in rows)
        if not (large and plain) or first.layout is not torch.strided:
            return torch.stack(rows) if plain else default_collate(rows)
        if any(row.dtype is not first.dtype or row.requires_grad for row in rows):
            return torch.stack(rows)
        target = writer.empty((len(rows), *first.shape), first.dtype)
        return torch.stack(rows, out=target)

    default_collate: Any = torch_collate.default_collate
    known = {**torch_collate.default_collate_fn_map, torch.Tensor: stack}

    def collate(rows: Any) -> Any:
        return torch_collate.collate(rows, collate_fn_map=known)

    return Recipe(**{**vars(recipe), "collate": collate})


def _failure(generation: int, number: int, error: Exception) -> Failure:
    """The error with its traceback as text; as RuntimeError if it does not pickle."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        name = type(error).__qualname__
        pickled = pickle.dumps(RuntimeError(f"{name}: {error}"))
    return Failure(generation, number, pickled, trace)


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _memory() -> tuple[int, int]:
    """Resident bytes, and those of them that no other process shares."""
    resident = private = 0
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        if name == "Rss:":
            resident = int(value) << 10
        elif name in ("Private_Dirty:", "Private_Clean:"):
            private += int(value) << 10
    return resident, private


def leave(code: int) -> None:
    """Ends a forked process without running its parent's clean-up."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)
