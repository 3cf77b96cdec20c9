"""The life of one worker process: it makes batches until the trainer hangs up."""

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data._utils import collate as torch_collate
from torch.utils.data._utils import worker as torch_worker

from millrace.torch.channel import OWN_SEGMENT_BYTES, Writer
from millrace.torch.copies import CopiedMemory, CopyLimit
from millrace.torch.fetch import Recipe, Stream, fetch
from millrace.torch.gather import join_parts, read_part
from millrace.torch.messages import (
    Batch,
    BatchRequest,
    CollateRows,
    Failure,
    Hello,
    MakeBatch,
    NextBatch,
    OpenStream,
    ReadRows,
    receive,
    send,
)
from millrace.torch.seeding import mix, seed_libraries

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job:
    """What every worker of a pool is started with."""

    recipe: Recipe
    worker_init: Callable[[int], None] | None
    workers: int
    seed: int
    watches_copies: bool  # Workers say when they copy much of what they share.


@dataclass(frozen=True)
class Start:
    """What one worker is started with."""

    job: Job
    number: int
    shared_bytes: int  # Of objects of which it can give back its copies.


def die_with_parent() -> None:
    """Asks the kernel to kill this process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run_worker(connection: socket.socket, start: Start) -> None:
    """Serves the trainer's requests; returns when it has hung up."""
    worker = _Worker(connection, start)
    try:
        if worker.prepare():
            worker.serve()
    except (BrokenPipeError, ConnectionResetError):
        return  # The trainer has gone, or no longer wants what was being made.


class _Worker:
    """The state between two requests."""

    def __init__(self, connection: socket.socket, start: Start) -> None:
        job = start.job
        self._connection = connection
        self._job = job
        self._number = start.number
        self._shared_bytes = start.shared_bytes
        self._recipe = job.recipe
        self._writer = Writer()
        self._stream: Stream | None = None
        self._copy_limit: CopyLimit | None = None

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
        self._copied = CopiedMemory() if self._job.watches_copies else None
        if self._shared_bytes:
            self._copy_limit = CopyLimit(self._shared_bytes, self._job.workers)
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
            if self._copy_limit is not None:
                self._copy_limit.check()

    def _open(self, request: OpenStream) -> None:
        """Starts a pass of an iterable dataset; an error waits for the first batch."""
        self._open_error: Exception | None = None
        try:
            workers = self._job.workers
            self._stream = Stream(self._recipe, request.seeds, self._number, workers)
            self._stream.skip(request.taken)
        except Exception as error:
            self._open_error = error

    def _answer(self, request: BatchRequest) -> None:
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

    def _make(self, request: BatchRequest) -> Any:
        if isinstance(request, MakeBatch):
            seed_libraries(request.seed)
            return fetch(self._recipe, request.index)
        if isinstance(request, ReadRows):
            return read_part(self._recipe.dataset, request.keys)
        if isinstance(request, CollateRows):
            rows = join_parts(request.parts, request.owners)
            seed_libraries(request.seed)
            return self._recipe.collate(rows)
        if self._open_error is not None:
            raise self._open_error
        assert self._stream is not None, "a stream is opened before it is read"
        return self._stream.take()

    def _encode(
        self, request: BatchRequest, batch: Any
    ) -> tuple[Batch | Failure, list[int]]:
        try:
            parcel, descriptors = self._writer.encode(batch)
        except Exception as error:  # The batch cannot be pickled.
            return _failure(request.generation, request.number, error), []
        copies = self._copied is not None and self._copied.is_large()
        if copies:
            self._copied = None
        answer = Batch(request.generation, request.number, parcel, copies)
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


def leave(code: int) -> None:
    """Ends a forked process without running its parent's clean-up."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)
