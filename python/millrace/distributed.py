"""One pipeline for several ranks, without a service.

Every rank computes the same logical order of rows and takes its own batches of it:
round r has one batch for each. What is done row by row before the last batch is done
for a rank's own rows alone. Where a rank stands is a number of rows of that order, the
same for all, so a state goes on with any number of ranks and any batch size.
"""

from __future__ import annotations

import functools
import os
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from millrace import _core, _states
from millrace.errors import PipelineError
from millrace.loader import Loader
from millrace.passes import Pass
from millrace.provenance import Origin
from millrace.rows import RowMaker

if TYPE_CHECKING:
    from millrace.dataset import Dataset
    from millrace.service import ServiceLoader

_REMAINDERS = ("drop", "pad", "keep")
_RUN_IDS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "MILLRACE_RUN")
_RANKS = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"))


def ranks() -> tuple[int, int]:
    """Tell which rank this process is, and of how many.

    As torch.distributed says where it was initialised, else the launcher's variables
    (torchrun, Slurm), else JAX where it runs in several processes; else alone.
    """
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        return torch.get_rank(), torch.get_world_size()
    for rank, size in _RANKS:
        if os.environ.get(size, "").isdigit() and os.environ.get(rank, "").isdigit():
            return int(os.environ[rank]), int(os.environ[size])
    jax = sys.modules.get("jax")
    if jax is not None and jax.process_count() > 1:
        return jax.process_index(), jax.process_count()
    return 0, 1


def run_id(run: str | None) -> str | None:
    """Give the id of the run, as given or else the launcher's; None: it has none."""
    if run == "":
        raise PipelineError('run="" is no id of a run: give the same text on all ranks')
    ids = (run, *map(os.environ.get, _RUN_IDS))
    return next((value for value in ids if value not in (None, "none", "")), None)


def seed_of_run(consumers: int, run: str | None) -> int | None:
    """Give a seed that all ranks agree on: by the id of the run; None without one."""
    value = run_id(run)
    if value is not None:
        return zlib.crc32(value.encode())
    return int.from_bytes(os.urandom(7), "big") if consumers == 1 else None


def _shared_seed(consumers: int, run: str | None) -> int:
    seed = seed_of_run(consumers, run)
    if seed is not None:
        return seed
    raise PipelineError(
        f"{consumers} consumers must draw the same random numbers, and the launcher "
        "has given no id of the run: set seed=, or run="
    )


def check_remainder(remainder: str | None, consumers: int, *, endless: bool) -> str:
    """Give how consumers end together; several of finite data must have said it."""
    if remainder is None and (consumers == 1 or endless):
        return "keep"
    if remainder not in _REMAINDERS:
        raise PipelineError(
            f"{consumers} consumers of finite data must say how they end "
            'together: remainder="drop" leaves out the rows that do not fill a '
            'round, "pad" fills the last round up and marks rows in a column '
            '`valid`, "keep" gives all rows, so that some consumers get fewer'
        )
    return remainder


def check_padded(dataset: Dataset, *, batches: bool) -> None:
    """Refuse to pad what has no place for the column `valid`."""
    if batches and dataset._structure is None:
        return
    raise PipelineError(
        'remainder="pad" adds a column `valid` to batches that are dicts: put a batch '
        "at the end, and give dicts"
    )


def valid_field(remainder: str | None) -> list[tuple[str, str, list[int] | None]]:
    """Give the field that padding adds, if it does."""
    return [("valid", "bool", [-1])] if remainder == "pad" else []


class DistributedLoader(Loader):
    """A loader of one rank's batches; see `Dataset.distribute`."""

    def __init__(
        self,
        dataset: Dataset,
        *,
        consumer: int,
        consumers: int,
        remainder: str | None,
        batch: int,
        seed: int,
        isolate: bool = False,
    ) -> None:
        """Make a loader; nothing runs before `iter`."""
        super().__init__(dataset, seed=seed, isolate=isolate)
        if not 0 <= consumer < consumers:
            raise PipelineError(f"there is no consumer {consumer} of {consumers}")
        self.consumer = consumer
        self.consumers = consumers
        self._given_batch = batch
        pipeline, self._batch, self._shared = self._dealt(0)
        self._remainder = check_remainder(
            remainder, consumers, endless=self._shared.rows == -1
        )
        self._batches = pipeline.batches
        if self._remainder == "pad":
            self._check_padding()

    def _dealt(
        self, skipped: int, *, drop: bool = False, rows: int | None = None
    ) -> tuple[_core.Pipeline, int, _core.Pipeline]:
        return _core.distribute(
            self.dataset._pipeline,
            consumers=self.consumers,
            consumer=self.consumer,
            batch=self._given_batch,
            skipped=skipped,
            drop=drop,
            rows=rows,
        )

    def _own(self, skipped: int) -> _core.Pipeline:
        """Give what this consumer runs, behind so many rows of all."""
        if self._remainder != "drop":
            return self._dealt(skipped)[0]
        rows = self._counted[0]
        rows = None if rows is None or rows < 0 else rows
        return self._dealt(skipped, drop=True, rows=rows)[0]

    @functools.cached_property
    def _counted(self) -> tuple[int | None, str]:
        """The rows of all consumers, -1 where they never end; or why not known."""
        return self._shared.count()

    def _check_padding(self) -> None:
        rows, why = self._counted
        if rows is None:
            raise PipelineError(
                f'remainder="pad" needs to know how many rows there are: {why}'
            )
        check_padded(self.dataset, batches=self._batches)

    # --- Iterating ---

    def _begin(self) -> tuple[RowMaker, Iterator[Any]]:
        loaded = self._leave() or {"rows": 0, "cut": None}
        own = self._own(loaded["rows"])
        dealt = self.dataset._like(own, self.dataset._structure)
        run = Pass(dealt, self.seed, self._epoch, "logical", self._isolated)
        step = self._batch * self.consumers
        self._open_cut(run, loaded["rows"], loaded["cut"], step)
        if self._remainder != "pad":
            return run.rows, run.values()
        return RowMaker(self._fields, None), self._padded(run, loaded["rows"])

    @property
    def _fields(self) -> list[tuple[str, str, list[int] | None]]:
        return [*super()._fields, *valid_field(self._remainder)]

    def _rounds(self, first: int) -> int:
        rows = self._counted[0]
        assert rows is not None
        return -(-(rows - first) // (self._batch * self.consumers))

    def _padded(self, run: Pass, first: int) -> Iterator[Any]:
        fields = self._fields
        last: list[Any] | None = None
        given = 0
        for values in run.values():
            last = list(values)
            given += 1
            yield _filled(last, self._batch, fields)
        run.ended = False  # Not before all ranks have had this round.
        for _ in range(given, self._rounds(first)):
            last = last or self._example()
            run.taken += 1
            yield _filled([column[:0] for column in last], self._batch, fields)
        run.ended = True

    def _example(self) -> list[Any]:
        """Give some batch, for a consumer that has none of its own."""
        other = DistributedLoader(
            self.dataset,
            consumer=0,
            consumers=self.consumers,
            remainder="keep",
            batch=self._given_batch,
            seed=self.seed,
            isolate=self._isolated is not None,
        )
        _, values = other._begin()
        return list(next(values))

    def __len__(self) -> int:
        """Count this consumer's batches; TypeError where that is not known."""
        rows = self._counted[0]
        if rows is None or rows < 0:
            return len(self.dataset)  # Says why there is none.
        if self._remainder == "pad":
            return self._rounds(0)
        return self._own_batches

    @functools.cached_property
    def _own_batches(self) -> int:
        batches = self._own(0).count()[0]
        assert batches is not None
        return batches

    # --- State ---

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state: the same for all ranks that took as many batches.

        Args:
            batches: As of so many taken batches since `iter`; by default as of now.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        run = self._pass
        taken = 0 if run is None else run.taken if batches is None else batches
        state: dict[str, Any] = {"version": _states.VERSION, "seed": self.seed}
        if run is None or (run.ended and taken >= run.taken):
            next_epoch = self._epoch + (run is not None)
            return {
                **state,
                "epoch": next_epoch,
                "kind": "rows",
                "rows": 0,
                "cut": None,
            }
        assert self._place is not None
        return {**state, "epoch": self._epoch, **self._place.state(taken)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next `iter` go on from a state, of any rank or of a plain loader."""
        checked = _states.checked_state(state)
        self._load(_states.by_rows(checked, self.dataset._pipeline))

    def provenance(self, batches: int | None = None) -> list[Origin | None]:
        """Tell where each row of the last batch comes from; None where it is padded."""
        found = super().provenance(batches)
        missing = self._batch - len(found) if self._remainder == "pad" else 0
        return found + [None] * missing

    def explain(self) -> str:
        """Say what this rank runs for itself, and what all ranks run."""
        return (
            f"consumer {self.consumer} of {self.consumers}, batches of {self._batch}\n"
            f"run by every consumer, for all rows:\n{self._shared.shown}"
            f"the rest each for its own rows:\n{self._own(0).explain()}"
        )


def _filled(values: list[Any], size: int, fields: list[Any]) -> list[Any]:
    """Fill a batch up to a size; mark the rows that are real."""
    count = len(values[0])
    columns = [
        _filled_column(column, size - count, name)
        for column, (name, _, _) in zip(values, fields, strict=False)
    ]
    return [*columns, np.arange(size) < count]


def _filled_column(column: Any, missing: int, name: str) -> Any:
    if isinstance(column, np.ndarray):
        widths = [(0, missing)] + [(0, 0)] * (column.ndim - 1)
        return np.pad(column, widths) if missing else column
    if isinstance(column, list):
        empty: Any = b"" if column and isinstance(column[0], bytes) else ""
        return column + [empty] * missing
    raise PipelineError(
        f'field {name} is ragged: remainder="pad" fills arrays and texts only'
    )


def distribute(
    dataset: Dataset,
    *,
    consumer: int | None = None,
    consumers: int | None = None,
    remainder: str | None = None,
    members: int = 1,
    member: int | None = None,
    global_batch: bool = False,
    seed: int | None = None,
    run: str | None = None,
    isolate: bool = False,
) -> DistributedLoader:
    """Make the loader of this rank; `Dataset.distribute` has the words."""
    if member is not None and not 0 <= member < members:
        raise PipelineError(f"there is no member {member} of {members}")
    rank, size = ranks()
    if (consumer is None) != (consumers is None):
        raise PipelineError("give consumer and consumers both, or neither")
    if consumer is None or consumers is None:
        if members < 1 or size % members != 0:
            raise PipelineError(f"{size} ranks are no groups of {members} members")
        consumer, consumers = rank // members, size // members
    batch = 0
    if global_batch:
        whole = _core.distribute(dataset._pipeline, consumers=1, consumer=0)[1]
        if whole % consumers != 0:
            raise PipelineError(
                f"a global batch of {whole} rows cannot be dealt to {consumers} "
                "consumers evenly"
            )
        batch = whole // consumers
    return DistributedLoader(
        dataset,
        consumer=consumer,
        consumers=consumers,
        remainder=remainder,
        batch=batch,
        seed=_shared_seed(consumers, run) if seed is None else seed,
        isolate=isolate,
    )


_OF_SERVICES = (
    *("job", "order", "visit", "open_lanes", "sharding", "target", "tags"),
    *("share", "share_hold", "takeover", "open_seconds", "access"),
    *("shared_memory", "copy"),
)


def choose(
    dataset: Dataset, *, service: str | None, resume: bool, isolate: bool, **given: Any
) -> DistributedLoader | ServiceLoader:
    """Make the loader of this rank, in this process or of a service."""
    known = {name: given.pop(name) for name in _OF_SERVICES}
    chosen = {name: value for name, value in known.items() if value is not None}
    if service is None:
        if resume:
            raise PipelineError(
                "distribute(resume=True): without a service nobody remembers where the "
                "run was; save the loader's state_dict(), and give it to "
                "load_state_dict() in the next run"
            )
        if chosen:
            raise PipelineError(
                f"{', '.join(chosen)}: only a service knows this; give its address, as "
                'in distribute("millrace://host:7171"), or leave it out'
            )
        return distribute(dataset, **given, isolate=isolate)
    if isolate:
        raise PipelineError(
            "isolate=True runs the engine in a child process, and a service runs it "
            "elsewhere: leave one of them out"
        )
    from millrace.service import connect

    return connect(dataset, service, **given, **chosen, resume=resume)
