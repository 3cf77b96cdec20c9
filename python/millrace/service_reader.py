"""A reader of a job on a service: opens it, and gives its passes one after another."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import socket
import time
import weakref
from collections.abc import Sequence
from typing import Any

from millrace import _core, _states
from millrace.notices import Waiting, once
from millrace.packages import needed

_LOOK_EVERY = 16  # Batches: how they come is looked at that often.


@dataclasses.dataclass(frozen=True)
class Job:
    """What a job is, and which of its readers this is; `distribute` has the words."""

    job: str
    consumer: int
    consumers: int
    member: int
    members: int
    remainder: str
    order: str = "fixed"
    visit: str = "exactly_once"
    sharding: str = "dynamic"
    target: str = "any"
    tags: Sequence[str] = ()
    global_batch: bool = False
    open_lanes: int = 0
    share: str = "auto"
    share_hold: float = 0.0
    resume: bool = False
    takeover: bool = False
    run: str = ""
    restart: int = 0
    open_seconds: float = 600.0
    shared_memory: str = "auto"
    copy: bool = False

    @property
    def names_group(self) -> bool:
        """Whether it shares with jobs that give the same name."""
        return self.share not in ("auto", "off")


class ServicePass:
    """One pass of a job; used as `_core.Iterator` is."""

    def __init__(self, job: _core.ServiceJob, number: int, waiting: Waiting) -> None:
        """Begin it."""
        self._job = job
        self._waiting = waiting
        self._turn = job.start_pass(number)
        self._before = job.rows, job.bytes
        self._carried = job.carriers()
        self._began = time.monotonic()
        self._first_seconds = 0.0
        self._waited_seconds = 0.0
        self.given = 0

    def next(self) -> tuple[int, list[Any], int] | None:
        """Give the next block, as `_core.Iterator.next` does."""
        start = time.monotonic()
        self._waiting.begin()
        block = self._job.next(self._turn)
        now = time.monotonic()
        self._waited_seconds += now - start
        if self.given == 0:
            self._first_seconds = now - self._began
        self.given += block is not None
        if self.given % _LOOK_EVERY == 0:
            self._tell_of_copying()
        return block

    def _tell_of_copying(self) -> None:
        """Say, once, that batches are copied since too many of them are kept."""
        *_, note = self._job.carriers()
        if note.startswith("this reader keeps"):
            once("keeps shared memory", f"batches of a worker on this machine: {note}")

    def cancel(self) -> None:
        """Send away whoever waits in `next`."""
        self._job.leave_pass(self._turn)

    def state(self) -> str:
        """Give the state as JSON."""
        return self._job.state()

    def mark(self) -> _core.Mark:
        """Keep the state as it is now."""
        return self._job.mark()

    def facts(self) -> str:
        """Tell how the pass goes, as JSON."""
        wall = time.monotonic() - self._began
        facts = {
            "rows": self._job.rows - self._before[0],
            "bytes": self._job.bytes - self._before[1],
            "wall_seconds": wall,
            "waited_seconds": self._waited_seconds,
            "first_block_seconds": self._first_seconds,
            "carriers": self._carriers(),
        }
        return json.dumps(facts)

    def _carriers(self) -> dict[str, Any]:
        """Tell how the batches of this pass came."""
        sharing, shared, copied, note = self._job.carriers()
        _, shared_before, copied_before, _ = self._carried
        return {
            "workers_sharing_memory": sharing,
            "bytes_shared": shared - shared_before,
            "bytes_streamed": copied - copied_before,
            "note": note,
        }


_readers: weakref.WeakSet[ServiceReader] = weakref.WeakSet()


class ServiceReader:
    """Opens passes of a job, as the engine of this process opens passes."""

    def __init__(self, address: dict[str, Any], job: Job) -> None:
        """Ask nothing yet."""
        self.seed: int | None = None  # None: the service draws it.
        self.where = f"{address['host']}:{address['port']}"
        self._address = address
        self._choice = job
        self._job: _core.ServiceJob | None = None
        self._epoch = -1  # The last that was begun.
        self._waiting = Waiting()
        _readers.add(self)

    def open(
        self,
        pipeline: _core.Pipeline,
        *,
        seed: int,
        epoch: int,
        any_order: bool,
        state: str | None,
        cut_as: str | None = None,
    ) -> ServicePass:
        """Begin a pass, as `_core.Engine.open` does; the job has its order and seed."""
        if state is None and any_order and self._job and epoch <= self._epoch:
            # In any order a pass is dealt once: for another, the job begins anew.
            state = json.dumps(_states.start_of(self.state(), epoch))
        if self._job is None or state is not None or self._job.seed != self.seed:
            self.close()
            self._job = self._opened(pipeline, state)
            self.seed = self._job.seed
            for difference in self._job.differences:
                once(difference, f"Python functions may act otherwise: {difference}")
        self._epoch = epoch
        self._waiting.what_for = f"the workers of {self.where} have not sent it yet"
        return ServicePass(self._job, epoch, self._waiting)

    def _opened(self, pipeline: _core.Pipeline, state: str | None) -> _core.ServiceJob:
        self._waiting.what_for = (
            f"job {self._choice.job} at {self.where} has not begun; other consumers of "
            "the run, or a worker, must join first"
        )
        self._waiting.begin()
        choice = {
            **dataclasses.asdict(self._choice),
            "tags": list(self._choice.tags),
            "seed": self.seed,
            "host": socket.gethostname(),
            "packages": needed(pipeline),
        }
        return _core.ServiceJob.open(
            pipeline,
            address=self._address,
            choice=choice,
            state=state,
            waiting=self._waiting,
        )

    def resume(self, pipeline: _core.Pipeline) -> int:
        """Open the job, and tell the epoch that it goes on with."""
        if self._job is None:
            self._job = self._opened(pipeline, None)
            self.seed = self._job.seed
        return self._job.current_pass

    def state(self) -> dict[str, Any]:
        """Give the state of the pass that was opened."""
        assert self._job is not None
        state: dict[str, Any] = json.loads(self._job.state())
        return state

    def close(self) -> None:
        """Leave the job, so that others may have it."""
        job, self._job = self._job, None
        if job is not None:
            job.close()


@atexit.register
def _leave_all() -> None:
    """Leave jobs that are still open, so that the next run need not wait for this."""
    for reader in list(_readers):
        reader.close()


def _forget_after_fork() -> None:
    # A child has none of the threads, and is no reader of its parent's jobs.
    _readers.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
