"""Loaders: a dataset being iterated, with a state that can be saved and loaded.

A loader has one live pass. It owns the epoch and the state; what it gives is the
logical order of the dataset, so a state goes on exactly where it was taken.
"""

from __future__ import annotations

import functools
import itertools
import json
import secrets
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from millrace import _core, _states
from millrace.errors import PipelineError
from millrace.frameworks.delivery import (
    FrameworkLoader,
    delivered,
    state_from_bytes,
    state_to_bytes,
)
from millrace.notices import warn_if_not_distributed
from millrace.passes import Pass
from millrace.progress import Progress
from millrace.provenance import Origin, origins_of
from millrace.rows import RowMaker

if TYPE_CHECKING:
    from millrace.dataset import Dataset
    from millrace.isolated import IsolatedEngine


class Loader:
    """Iterates a dataset, and knows where it is.

    Each `iter` is a pass over the next epoch; a pass left with `break` is abandoned by
    the next `iter`, unless its state was loaded again.

    Example:
        >>> import millrace as mr
        >>> loader = mr.loader(mr.range(10).batch(3), seed=1)
        >>> batches = iter(loader)
        >>> next(batches)["value"].tolist()
        [0, 1, 2]
        >>> state = loader.state_dict()
        >>> loader.load_state_dict(state)
        >>> next(iter(loader))["value"].tolist()
        [3, 4, 5]
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        seed: int | None = None,
        order: str = "logical",
        isolate: bool = False,
    ) -> None:
        """Make a loader; nothing runs before `iter`."""
        if order not in ("logical", "any"):
            raise PipelineError(f'order must be "logical" or "any", not {order!r}')
        self.dataset = dataset
        self.seed = secrets.randbits(63) if seed is None else seed
        self._order = order
        self._epoch = 0
        self._pass: Pass | None = None
        self._loaded: dict[str, Any] | None = None
        if isolate and dataset._debug:
            raise PipelineError(
                "debug() runs everything in this thread, isolate=True in a child "
                "process: leave one of them out"
            )
        self._isolated = _isolated_engine() if isolate else None
        self._resumed: dict[str, Any] | None = None  # What the pass went on from.
        self._place: _states.RowsPlace | None = None  # Where it goes by rows.

    # --- Iterating ---

    @property
    def epoch(self) -> int:
        """The epoch of the pass that runs, or else of the next."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next pass.

        With the epoch of a state that was loaded, the position in it is kept.
        """
        self._recover()
        if self._loaded is not None and self._loaded["epoch"] != epoch:
            self._loaded = None
        if self._loaded is None:
            self._abandon()
            self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        """Begin the next pass, or go on from the state that was loaded."""
        rows, values = self._begin()
        return map(rows.row, values)

    @property
    def _fields(self) -> list[tuple[str, str, list[int] | None]]:
        """The fields of what it gives."""
        return self.dataset._pipeline.fields

    def _begin(self) -> tuple[RowMaker, Iterator[Any]]:
        """Begin as `iter` does; give the rows' values as the engine has them."""
        warn_if_not_distributed(self.dataset._pipeline)
        loaded = self._leave()
        if loaded is not None and self._goes_by_rows(loaded):
            return self._begin_behind(_states.by_rows(loaded, self.dataset._pipeline))
        if loaded is not None:
            _states.check_order(loaded)
        run = Pass(self.dataset, self.seed, self._epoch, self._order, self._isolated)
        if loaded is None:
            run.open()
        else:
            run.open(json.dumps(loaded["state"]), loaded["taken"], loaded["skip"])
        self._pass, self._resumed, self._place = run, loaded, None
        self._loaded = None
        return run.rows, run.values()

    @functools.cached_property
    def _batch_rows(self) -> int | None:
        return _states.rows_of_batch(self.dataset._pipeline)

    def _goes_by_rows(self, loaded: dict[str, Any]) -> bool:
        """Tell whether a state is of a number of rows, or of batches of another size.

        The engine goes on with another size by itself, but behind whole batches only.
        """
        other_size = loaded.get("batch") != self._batch_rows
        return _states.kind_of(loaded) == "rows" or (loaded["skip"] > 0 and other_size)

    def _begin_behind(self, loaded: dict[str, Any]) -> tuple[RowMaker, Iterator[Any]]:
        """Begin behind a number of rows of the logical order."""
        dataset = _states.behind(self.dataset, loaded["rows"])
        run = Pass(dataset, self.seed, self._epoch, "logical", self._isolated)
        self._open_cut(run, loaded["rows"], loaded["cut"], self._batch_rows or 1)
        return run.rows, run.values()

    def _open_cut(
        self, run: Pass, rows: int, cut: dict[str, Any] | None, step: int
    ) -> None:
        run.open(cut_as=None if cut is None else json.dumps(cut))
        assert run.iterator is not None
        cut = _states.checked_cut(cut, run.iterator.state())
        self._pass, self._place = run, _states.RowsPlace(rows, step, cut)
        self._loaded = None

    def _leave(self) -> dict[str, Any] | None:
        """Leave the pass that runs, for the next epoch or the state that was loaded.

        That state stays loaded until the next pass has begun, and it may fail to.
        """
        self._recover()
        if self._pass is not None:
            self._abandon()
            if self._loaded is None:
                self._epoch += 1
        return self._loaded

    def _recover(self) -> None:
        """Have a pass whose engine died go on from where it was."""
        if self._pass is not None and self._pass.is_lost:
            self.load_state_dict(self.state_dict())

    def _abandon(self) -> None:
        run, self._pass = self._pass, None
        if run is not None and run.iterator is not None:
            run.is_abandoned = True  # First: another thread may be in the pass.
            run.iterator.cancel()

    def __len__(self) -> int:
        """Count the rows, or batches, of a pass; TypeError where that is not known."""
        return len(self.dataset)

    # --- State ---

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Give the state: small, JSON-able, and exact.

        Args:
            batches: As of so many taken batches of this pass, for at least the last 8;
                by default as of now. For frameworks that read ahead.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        state: dict[str, Any] = {"version": _states.VERSION, "seed": self.seed}
        run = self._pass
        if run is None or (run.ended and batches in (None, run.taken)):
            next_epoch = self._epoch + (run is not None)
            return {**state, "epoch": next_epoch, "taken": 0, "skip": 0, "state": None}
        taken = run.taken if batches is None else batches
        state["epoch"] = self._epoch
        if self._place is not None:
            return {**state, **self._place.state(taken)}
        text, skip = run.place(taken)
        return {
            **state,
            "taken": taken,
            "skip": skip,
            "batch": self._batch_rows,
            "rows": self._rows(taken),
            "state": json.loads(text),
        }

    def _rows(self, taken: int) -> int | None:
        """Count the rows of the logical order in so many taken batches, if any."""
        before = self._resumed or {"taken": 0, "rows": 0}
        rows = before.get("rows")
        if self._batch_rows is None or rows is None or self._order != "logical":
            return None
        return int(rows) + (taken - int(before["taken"])) * self._batch_rows

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next `iter` go on from a state, also one of `distribute`."""
        self._load(_states.checked_state(state))

    def _load(self, state: dict[str, Any]) -> None:
        self._abandon()
        self.seed = state["seed"]
        self._epoch = state["epoch"]
        goes_on = state["cut" if _states.kind_of(state) == "rows" else "state"]
        self._loaded = state if goes_on is not None else None

    def get_state(self) -> bytes:
        """Give the state as bytes, under the name that Grain has for it."""
        return state_to_bytes(self.state_dict())

    def set_state(self, state: bytes) -> None:
        """Have the next `iter` go on from a state that `get_state` gave."""
        self.load_state_dict(state_from_bytes(state))

    # --- Frameworks ---

    def to(
        self, name: str, *, device: Any = None, pin: bool = False
    ) -> FrameworkLoader:
        """Give the arrays of a framework: keep what this returns, and iterate that.

        Arrays are over the engine's memory where the framework can take it as it is;
        what was copied is in `stats()["bytes_copied"]`.

        Args:
            name: "numpy", "torch", "jax" or "tensorflow".
            device: Where arrays go. torch: "cuda", by way of pinned memory and two
                batches ahead; JAX: a device, sharding, or name such as "gpu:0", by
                default JAX's own; TensorFlow: a name.
            pin: Have torch's tensors in pinned memory.

        Example:
            >>> import millrace as mr
            >>> loader = mr.loader(mr.range(4).batch(2)).to("numpy")
            >>> next(iter(loader))["value"].tolist()
            [0, 1]
        """
        return delivered(self, name, device, pin)

    # --- Seeing ---

    def stats(self) -> dict[str, Any]:
        """Tell how the pass goes, as a flat dict; cheap enough for every step.

        `queue` counts batches that are made and not yet taken; `wait_fraction` near 0
        says that the input is not what makes training slow.
        """
        return self._stats(self._pass)

    def _stats(self, run: Pass | None) -> dict[str, Any]:
        if run is None or run.iterator is None:
            return {"epoch": self._epoch, "batches": 0, "rows": 0}
        facts = json.loads(run.iterator.facts())
        gone = run.taken - run.begun + run.passed
        wall = max(facts["wall_seconds"], 1e-9)
        return {
            "epoch": self._epoch,
            "batches": run.taken,
            "rows": facts["rows"],
            "rows_per_second": facts["rows"] / wall,
            "bytes": facts["bytes"],
            "bytes_copied": run.copied_bytes,
            "wait_fraction": facts["waited_seconds"] / wall,
            "first_batch_seconds": facts["first_block_seconds"],
            "queue": max(0, facts["operators"][-1]["rows_out"] - gone),
            "rows_left_out": sum(o["rows_left_out"] for o in facts["operators"]),
            "memory_peak_bytes": facts["memory_peak_bytes"],
            "threads": facts["threads"],
            "bottleneck": facts["bottleneck"],
            "remedy": facts["remedy"],
            **facts.get("channel", {}),
        }

    def provenance(self, batches: int | None = None) -> list[Origin | None]:
        """Tell where each row of the last batch comes from: file, offset and key.

        Nothing is kept for this: the batch is run once more, and files without an index
        are searched for the rows. Rows stand in the order in which they came into the
        batch. That of `reduce`, which is made of all rows, is an error.

        Args:
            batches: Of the last of so many taken batches of this pass, as for
                `state_dict`.

        Example:
            >>> import millrace as mr
            >>> loader = mr.loader(mr.range(6).filter(lambda row: row["value"] > 2))
            >>> row = next(iter(loader))
            >>> loader.provenance()
            [Origin(file=None, offset=3, key=None, others=())]
        """
        run = self._pass
        if run is None:
            raise PipelineError(
                "provenance tells of the last batch that was taken, and no pass runs"
            )
        return [*origins_of(run, run.taken if batches is None else batches)]

    # --- Ending ---

    def close(self) -> None:
        """End the pass and let go of its memory."""
        self._abandon()
        if self._isolated is not None:
            self._isolated.close()

    def __enter__(self) -> Loader:
        """Close at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _isolated_engine() -> IsolatedEngine:
    from millrace.isolated import IsolatedEngine

    return IsolatedEngine()


def loader(
    dataset: Dataset,
    *,
    seed: int | None = None,
    order: str = "logical",
    isolate: bool = False,
) -> Loader:
    """Make a loader of a dataset: one live pass at a time, with a state.

    Args:
        dataset: What to iterate.
        seed: Of all that is random and has no seed of its own; drawn, and kept in the
            state, by default.
        order: "logical", the same rows in the same order every time; or "any", each
            part of the data as soon as it is ready.
        isolate: Run the engine in a child process, so that this one has none of its
            threads and no memory of it but the batches it was given. A function in
            Python whose output is not declared still runs here once, when the pipeline
            is built.

    Example:
        >>> import millrace as mr
        >>> with mr.loader(mr.range(4).batch(2), isolate=True) as loader:
        ...     [batch["value"].tolist() for batch in loader]
        [[0, 1], [2, 3]]
    """
    return Loader(dataset, seed=seed, order=order, isolate=isolate)


def head(dataset: Dataset, count: int) -> list[Any]:
    """Give the first rows, or batches, of epoch 0."""
    run = Pass(dataset, seed=0, epoch=0, order="logical")
    run.open()
    with Progress("reading", count) as progress:
        rows = progress.over(map(run.rows.row, run.values()))
        first = list(itertools.islice(rows, count))
    assert run.iterator is not None
    run.iterator.cancel()
    return first


def profile(dataset: Dataset, seconds: float) -> str:
    """Run a dataset for a while; say where the time goes and what to do about it."""
    run = Pass(dataset, seed=0, epoch=0, order="logical")
    run.open()
    begin = time.monotonic()
    with Progress("profiling", seconds) as progress:
        for _ in run.values():
            taken = time.monotonic() - begin
            progress.show(taken)
            if taken > seconds:
                break
    assert isinstance(run.iterator, _core.Iterator)
    report = run.iterator.report()
    run.iterator.cancel()
    return report
