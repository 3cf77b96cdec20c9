"""Datasets: pipelines as users build and iterate them."""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from millrace import _core, shown
from millrace._building import Building
from millrace._plain import plain_argument
from millrace._structure import Structure
from millrace.functions import travelling
from millrace.replay import Replays

if TYPE_CHECKING:
    from millrace.distributed import DistributedLoader
    from millrace.frameworks.delivery import FrameworkLoader
    from millrace.frameworks.torch_iterable import TorchIterable
    from millrace.loader import Loader
    from millrace.service import Access, ServiceLoader


@dataclasses.dataclass(frozen=True)
class FieldSpec:
    """The type of a field, and its shape as far as it is known before anything runs."""

    dtype: str
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        """Write it as the text form does: `uint8[?, ?, 3]`."""
        if self.shape is None:
            return f"{self.dtype}[...]"
        if not self.shape:
            return self.dtype
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]"


class Dataset(Replays, Building):
    """A pipeline: rows, and what is done with them. Immutable but for its epoch.

    Sources make datasets (`millrace.read`, `millrace.range`, …), methods put operators
    behind them. Each `iter` is a pass over the next epoch.

    Example:
        >>> import millrace as mr
        >>> ds = mr.range(5).map(lambda row: {"x": row["value"] * 2}).batch(3)
        >>> [batch["x"].tolist() for batch in ds]
        [[0, 2, 4], [6, 8]]
    """

    def __init__(
        self,
        pipeline: _core.Pipeline,
        structure: Structure | None = None,
        *,
        debug: bool = False,
    ) -> None:
        """Wrap a pipeline; sources and methods do that."""
        self._pipeline = pipeline
        self._structure = structure
        self._debug = debug
        self._seed = secrets.randbits(63)
        self._epoch = 0
        self._rows: int | None = None  # Once counted.
        self._lock = threading.Lock()

    def _like(self, pipeline: _core.Pipeline, structure: Structure | None) -> Dataset:
        """Wrap a pipeline that is to run as this one does."""
        return Dataset(pipeline, structure, debug=self._debug)

    # --- Seeing ---

    @property
    def spec(self) -> dict[str, FieldSpec]:
        """The fields of its rows: types, and shapes as far as known before running."""
        return {
            name: FieldSpec(dtype, None if shape is None else _sizes(shape))
            for name, dtype, shape in self._pipeline.fields
        }

    def __len__(self) -> int:
        """Count its rows, or batches; a TypeError where that is not known.

        Files tell where they have an index or a footer, or rows of one size; they are
        looked at the first time, and no data is read.
        """
        rows, why = self._count()
        if rows is None:
            raise TypeError(
                f"how many rows there are is not known before they are read: {why}"
            )
        if rows < 0:
            raise TypeError("the dataset never ends: it has no length")
        return rows

    def _count(self) -> tuple[int | None, str]:
        """Give how many rows there are, -1 for no end, or None and the reason."""
        if self._rows is not None:
            return self._rows, ""
        self._rows, why = self._pipeline.count()
        return self._rows, why

    def explain(self) -> str:
        """Say what it is and how it will run: rewrites, lanes, and the reasons.

        Where functions run in Python, also which of the user's own modules travel with
        them, by value: changes made to those later do not reach the functions.
        """
        return self._pipeline.explain() + travelling(self._pipeline)

    def head(self, count: int = 5) -> list[Any]:
        """Give the first rows, or batches, of epoch 0."""
        from millrace.loader import head

        return head(self, count)

    def debug(self) -> Dataset:
        """Give a dataset that runs all of this in the thread that iterates it.

        Functions in Python run in this process, one row after the other, so that
        breakpoints, `print` and debuggers work as in any program. The rows are the
        same, only later. A function that is traced is not called for rows: give `map`
        `python=True` to step through it.

        Example:
            >>> import os, millrace as mr
            >>> ds = mr.range(1).map(lambda row: {"pid": os.getpid()}, python=True)
            >>> next(iter(ds.debug()))["pid"] == os.getpid()
            np.True_
        """
        return Dataset(self._pipeline, self._structure, debug=True)

    def profile(self, seconds: float = 5.0) -> str:
        """Run it for a while; say where the time goes and what to do about it."""
        from millrace.loader import profile

        return profile(self, seconds)

    def save(
        self,
        path: str | PathLike[str],
        *,
        format: Literal["frames", "arrow", "parquet", "tar"] = "frames",
        file_size: str | int | None = None,
        replace: bool = False,
        seed: int | None = None,
        service: str | None = None,
        tags: Sequence[str] = (),
        access: Access | None = None,
    ) -> Dataset:
        """Run one pass and save its rows in files; gives the dataset that loads them.

        With a service all its workers write, each part of the data to a file of its
        own; workers and dispatcher may be lost meanwhile. Where this process is killed,
        the same call goes on with what was begun. The rows, and their order, are those
        of saving here.

        Args:
            path: The folder; made where it is missing.
            format: "frames" holds any rows, quickly, for Millrace alone; "arrow" and
                "parquet" are for other programs too; "tar" is as WebDataset has it.
            file_size: About how large a file becomes, by default "256MB"; not with a
                service.
            replace: Replace what was saved there before, which is an error otherwise.
            seed: Of all that is random and has no seed of its own; drawn by default.
            service: "millrace://host:port" of a dispatcher; None: in this process.
                Its workers must see the folder by the same path, and be allowed to
                write there (`millrace worker --write-root`).
            tags: On a service: words that its workers must have.
            access: On a service: token and certificates; else the environment's.

        Example:
            >>> import tempfile, millrace as mr
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     saved = mr.range(1000).save(f"{folder}/numbers")
            ...     len(list(saved))
            1000
        """
        from millrace.saving import save

        return save(
            self,
            path,
            format=format,
            file_size=file_size,
            replace=replace,
            seed=seed,
            service=service,
            tags=tags,
            access=access,
        )

    def loader(
        self, *, seed: int | None = None, order: str = "logical", isolate: bool = False
    ) -> Loader:
        """Make a loader: one live pass at a time, with a state; see `Loader`."""
        from millrace.loader import Loader

        return Loader(self, seed=seed, order=order, isolate=isolate)

    def to(
        self, name: str, *, device: Any = None, pin: bool = False, isolate: bool = False
    ) -> FrameworkLoader:
        """Make a loader that gives the arrays of a framework. See `Loader.to`.

        With `isolate=True` the engine runs in a child process; see `millrace.loader`.

        Example:
            >>> import millrace as mr
            >>> loader = mr.range(4).batch(2).to("numpy")
            >>> [batch["value"].tolist() for batch in loader]
            [[0, 1], [2, 3]]
        """
        return self.loader(isolate=isolate).to(name, device=device, pin=pin)

    def to_torch_iterable(self, *, seed: int | None = None) -> TorchIterable:
        """Make an `IterableDataset` of torch, for what takes only torch's own.

        Rows are torch's tensors, in the form they have here; each `iter` is a pass over
        the next epoch. Give it to a DataLoader with `num_workers=0`: the engine has
        threads of its own, and in workers it is an error. With `batch_size=None` the
        batches are those of the pipeline.

        Args:
            seed: As that of `loader`.
        """
        from millrace.frameworks.torch_iterable import TorchIterable

        return TorchIterable(self, seed)

    def distribute(
        self,
        service: str | None = None,
        *,
        job: str | None = None,
        consumer: int | None = None,
        consumers: int | None = None,
        remainder: str | None = None,
        members: int = 1,
        member: int | None = None,
        global_batch: bool = False,
        order: Literal["fixed", "any"] | None = None,
        visit: Literal["exactly_once", "at_most_once", "at_least_once"] | None = None,
        open_lanes: int | None = None,
        sharding: Literal["dynamic", "static", "off"] | None = None,
        target: Literal["any", "local", "remote"] | None = None,
        tags: Sequence[str] | None = None,
        share: str | None = None,
        share_hold: float | None = None,
        seed: int | None = None,
        run: str | None = None,
        resume: bool = False,
        takeover: bool | None = None,
        open_seconds: float | None = None,
        access: Access | None = None,
        shared_memory: Literal["auto", "off"] | None = None,
        copy: bool | None = None,
        isolate: bool = False,
    ) -> DistributedLoader | ServiceLoader:
        """Give this rank's batches of the same stream that all ranks read.

        Args:
            service: "millrace://host:port" of the dispatcher; None: in this process.
            job: Its name on the service, the same on all ranks; one alone needs none.
            consumer: Which rank; by default, as consumers, what torch or its like says.
            consumers: How many ranks there are.
            remainder: What fills no round of all: "drop", "pad" (adds `valid`), "keep".
            members: Ranks of one tensor- or pipeline-parallel group, reading the same.
            member: Which of them this is, where consumer is given.
            global_batch: `.batch(n)` is the batch of all consumers together.
            order: On a service: "fixed", whatever its workers; or "any", what is ready.
            visit: On a service, in order "any", what a lost worker means for its rows.
            open_lanes: On a service, in fixed order: parts of the data open at a time.
            sharding: On a service: lanes go to who is free, or "static"; or "off".
            target: On a service: which workers may serve this, by their host.
            tags: On a service: words that its workers must have.
            share: On a service: with whom rows are made once: jobs of the same rows and
                seed ("auto"), nobody ("off"), or those that give the same name.
            share_hold: On a service: seconds that it may wait for slower jobs.
            seed: Of all that is random; by default from the id of the run.
            run: Its id; by default TORCHELASTIC_RUN_ID, SLURM_JOB_ID or MILLRACE_RUN.
            resume: On a service, without a state: go on where it was last heard to be.
            takeover: On a service: take the job from a run that still reads it.
            open_seconds: On a service: how long to wait for others, and for a worker.
            access: On a service: token and certificates; else the environment's.
            shared_memory: "off": batches of workers of this machine are copied, too.
            copy: On a service: arrays are one's own, also where memory is shared.
            isolate: Run the engine in a child process; see `millrace.loader`.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(10).batch(2)
            >>> rank = ds.distribute(consumer=1, consumers=2, remainder="keep", seed=0)
            >>> [batch["value"].tolist() for batch in rank]
            [[2, 3], [6, 7]]
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        from millrace.distributed import choose

        return choose(self, **given)

    def __repr__(self) -> str:
        """Show the pipeline as the text form has it, its fields, and the budgets."""
        return shown.as_text(self)

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        return shown.as_html(self)

    # --- Running ---

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass over the next epoch."""
        from millrace.loader import Loader

        with self._lock:
            epoch, self._epoch = self._epoch, self._epoch + 1
        loader = Loader(self, seed=self._seed)
        loader.set_epoch(epoch)
        return iter(loader)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as text, with what stands beside it."""
        attachments = [a.content for a in self._pipeline.attachments]
        state = (self._pipeline.text, attachments, self._structure, self._debug)
        return (_from_text, state)


def _from_text(
    text: str, attachments: list[bytes], structure: Structure | None, debug: bool
) -> Dataset:
    beside = [_core.Attachment(content) for content in attachments]
    return Dataset(_core.Pipeline.parse(text, beside), structure, debug=debug)


def _sizes(shape: list[int]) -> tuple[int | None, ...]:
    return tuple(None if size < 0 else size for size in shape)


def _from_source(operator: str, arguments: dict[str, Any]) -> Dataset:
    given = {name: plain_argument(value) for name, value in arguments.items()}
    for name in ("paths", "path"):
        if name in given:
            given[name] = _absolute(given[name])
    return Dataset(_core.Pipeline.make(operator, given, []))


def _absolute(paths: Any) -> Any:
    """Make local paths absolute, so that they mean the same wherever they are read."""
    if isinstance(paths, list):
        return [_absolute(path) for path in paths]
    if not isinstance(paths, str) or "://" in paths:
        return paths
    return str(Path.cwd() / Path(paths).expanduser())
