"""Datasets: pipelines as users build and iterate them."""

from __future__ import annotations

import dataclasses
import itertools
import secrets
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millrace import _core
from millrace._catalog import catalog
from millrace._operators import Operators
from millrace._places import TracingError, Untraceable
from millrace._plain import plain_argument
from millrace._structure import Structure
from millrace.errors import PipelineError
from millrace.functions import Marking, PythonFunction, function_name
from millrace.tracing import trace

if TYPE_CHECKING:
    from millrace.distributed import DistributedLoader
    from millrace.frameworks.delivery import FrameworkLoader
    from millrace.frameworks.torch_iterable import TorchIterable
    from millrace.loader import Loader

_FUNCTIONS = ("row_function", "value_function")
_WITH_PYTHON = ("map", "filter")  # What can also run in Python.
_KEEP = "__keep__"


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


class Dataset(Operators):
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
        self, pipeline: _core.Pipeline, structure: Structure | None = None
    ) -> None:
        """Wrap a pipeline; sources and methods do that."""
        self._pipeline = pipeline
        self._structure = structure
        self._seed = secrets.randbits(63)
        self._epoch = 0
        self._lock = threading.Lock()

    # --- Building ---

    def _then(
        self, operator: str, arguments: dict[str, Any], others: Sequence[Dataset]
    ) -> Dataset:
        inputs = [self._pipeline, *(_checked(other)._pipeline for other in others)]
        given, structure = self._traced(operator, arguments, inputs)
        pipeline = _core.Pipeline.make(operator, given, inputs)
        return Dataset(pipeline, _fitting(structure or self._structure, pipeline))

    def _traced(
        self, operator: str, arguments: dict[str, Any], inputs: list[_core.Pipeline]
    ) -> tuple[dict[str, Any], Structure | None]:
        """Trace the functions among the arguments, after all that are plain."""
        types = {a.name: a.type for a in catalog().operators[operator].arguments}
        functions = {
            name: value
            for name, value in arguments.items()
            if types.get(name) in _FUNCTIONS and not isinstance(value, _core.Function)
        }
        given = {
            name: plain_argument(value)
            for name, value in arguments.items()
            if name not in functions
        }
        structure = None
        for name, function in functions.items():
            try:
                traced = trace(
                    function, operator, name, given, inputs, row=self._structure
                )
            except Untraceable as reason:
                if operator in _WITH_PYTHON:
                    raise
                raise TracingError(
                    f"{reason.reason}; only map and filter run in Python: compute the "
                    "value there first",
                    reason.place,
                ) from None
            given[name] = traced.function
            structure = traced.structure
        return given, structure

    def map(
        self,
        function: Callable[..., Any],
        *,
        python: bool | None = None,
        output: Mapping[str, str] | str | None = None,
        init: Callable[[], Any] | None = None,
        timeout: float | None = 600.0,
        seed: int | None = None,
    ) -> Dataset:
        """Replaces every row by what a function makes of it.

        The function is traced: called with a row that records what is done with it,
        then run by the engine in C++. What cannot be traced runs in Python, in
        processes beside the engine.

        Args:
            function: From the row to the new row: a dict, tuple or dataclass. With a
                parameter `rng`, it is given the row's own random numbers.
            python: None traces, and falls back to Python with a warning; False requires
                tracing; True never traces.
            output: The fields that a function in Python gives, with types, as in
                {"image": "float32[?, ?, 3]"}; by default what it gives for the first
                row.
            init: Called once in every Python process, before the function.
            timeout: Seconds that a function in Python may take for a block of rows.
            seed: For random numbers; by default the job's.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(3).map(lambda row: {"x": row["value"] + 1})
            >>> [int(row["x"]) for row in ds]
            [1, 2, 3]
        """
        if not python:
            try:
                return super().map(function, seed=seed)
            except Untraceable as reason:
                _fall_back(function, reason, python)
        how = PythonFunction(function, output, init, timeout)
        given, draws = how.arguments(self._pipeline, self._structure)
        pipeline = _core.Pipeline.make(
            "map_python", {**given, "seed": seed}, [self._pipeline], draws
        )
        return Dataset(pipeline, None)

    def filter(
        self,
        predicate: Callable[..., Any],
        *,
        python: bool | None = None,
        init: Callable[[], Any] | None = None,
        timeout: float | None = 600.0,
        seed: int | None = None,
    ) -> Dataset:
        """Keeps the rows for which a condition holds.

        Args:
            predicate: From the row to true or false.
            python: As for `map`; so too init and timeout.
            init: Called once in every Python process, before the function.
            timeout: Seconds that a function in Python may take for a block of rows.
            seed: For random numbers; by default the job's.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(6).filter(lambda row: row["value"] > 3)
            >>> [int(row["value"]) for row in ds]
            [4, 5]
        """
        if not python:
            try:
                return super().filter(predicate, seed=seed)
            except Untraceable as reason:
                _fall_back(predicate, reason, python)
        marked = self.map(
            Marking(predicate, _KEEP),
            python=True,
            output={**{n: str(s) for n, s in self.spec.items()}, _KEEP: "bool"},
            init=init,
            timeout=timeout,
            seed=seed,
        )
        kept = marked.filter(lambda row: row[_KEEP], python=False).drop([_KEEP])
        return Dataset(kept._pipeline, _fitting(self._structure, kept._pipeline))

    def map_batches(
        self, function: Callable[..., Any], size: int = 64, **options: Any
    ) -> Dataset:
        """Replaces rows by what a function makes of many at once.

        Args:
            function: From `size` consecutive rows, as a batch, to as many new ones.
            size: How many rows it sees at once; the last time fewer.
            options: As those of `map`.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(4).map_batches(lambda rows: {"x": rows["value"] * 2}, 2)
            >>> [int(row["x"]) for row in ds]
            [0, 2, 4, 6]
        """
        return self.batch(size).map(function, **options).unbatch()

    def as_tuple(self, *names: str) -> Dataset:
        """Give rows as tuples, of these fields or of all.

        Example:
            >>> import millrace as mr
            >>> next(iter(mr.range(3).enumerate().as_tuple("index", "value")))
            (np.int64(0), np.int64(0))
        """
        chosen = self.select(names) if names else self
        fields = tuple(name for name, _, _ in chosen._pipeline.fields)
        return Dataset(chosen._pipeline, Structure(tuple, fields))

    # --- Seeing ---

    @property
    def spec(self) -> dict[str, FieldSpec]:
        """The fields of its rows: types, and shapes as far as known before running."""
        return {
            name: FieldSpec(dtype, None if shape is None else _sizes(shape))
            for name, dtype, shape in self._pipeline.fields
        }

    def __len__(self) -> int:
        """Count its rows, or batches; a TypeError where that is not known."""
        rows = self._pipeline.rows
        if rows is None:
            raise TypeError(
                "how many rows there are is not known before they are read: files "
                "without an index, filters and the like do not tell"
            )
        if rows < 0:
            raise TypeError("the dataset never ends: it has no length")
        return rows

    def explain(self) -> str:
        """Say what it is and how it will run: rewrites, lanes, and the reasons."""
        return self._pipeline.explain()

    def head(self, count: int = 5) -> list[Any]:
        """Give the first rows, or batches, of epoch 0."""
        with self.loader(seed=0) as loader:
            return list(itertools.islice(loader, count))

    def profile(self, seconds: float = 5.0) -> str:
        """Run it for a while; say where the time goes and what to do about it."""
        from millrace.loader import profile

        return profile(self, seconds)

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
        service: None = None,
        *,
        consumer: int | None = None,
        consumers: int | None = None,
        remainder: str | None = None,
        members: int = 1,
        global_batch: bool = False,
        seed: int | None = None,
        isolate: bool = False,
    ) -> DistributedLoader:
        """Give this rank's batches of the same stream that all ranks read.

        Round after round, each consumer gets one batch, in the logical order of all
        rows: no row is read twice, and a state goes on with another number of ranks.

        Args:
            service: None: in this process.
            consumer: Which rank this is; by default as torch.distributed, the launcher
                (RANK, SLURM_PROCID) or JAX says. So too consumers, how many there are.
            consumers: How many ranks there are.
            remainder: How several consumers of finite data end together: "drop" leaves
                out rows that do not fill a round, "pad" fills the last round up and
                adds a column `valid`, "keep" gives all rows.
            members: Ranks of one tensor- or pipeline-parallel group; all of these get
                the same batches.
            global_batch: `.batch(n)` is the batch of all consumers together.
            seed: Of all that is random; by default from the launcher's id of the run.
            isolate: Run the engine in a child process; see `millrace.loader`.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(10).batch(2)
            >>> rank = ds.distribute(consumer=1, consumers=2, remainder="keep", seed=0)
            >>> [batch["value"].tolist() for batch in rank]
            [[2, 3], [6, 7]]
        """
        from millrace.distributed import distribute

        if service is not None:
            raise PipelineError("only distribute(None) is known: in this process")
        return distribute(
            self,
            consumer=consumer,
            consumers=consumers,
            remainder=remainder,
            members=members,
            global_batch=global_batch,
            seed=seed,
            isolate=isolate,
        )

    def __repr__(self) -> str:
        """Show the pipeline as the text form has it, and its fields."""
        fields = ", ".join(f"{name}: {spec}" for name, spec in self.spec.items())
        return f"<Dataset of {{{fields}}}\n{self._pipeline.shown.rstrip()}>"

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
        state = (self._pipeline.text, attachments, self._structure)
        return (_from_text, state)


def _from_text(
    text: str, attachments: list[bytes], structure: Structure | None
) -> Dataset:
    beside = [_core.Attachment(content) for content in attachments]
    return Dataset(_core.Pipeline.parse(text, beside), structure)


def _fall_back(
    function: Callable[..., Any], reason: Untraceable, python: bool | None
) -> None:
    if python is False:
        raise TracingError(reason.reason, reason.place) from None
    warnings.warn(
        f"{function_name(function)} cannot be traced and runs in Python processes: "
        f"{reason}; python=True says that this is meant",
        stacklevel=3,
    )


def _sizes(shape: list[int]) -> tuple[int | None, ...]:
    return tuple(None if size < 0 else size for size in shape)


def _checked(other: object) -> Dataset:
    if not isinstance(other, Dataset):
        raise PipelineError(f"a dataset is wanted here, not {type(other).__name__}")
    return other


def _fitting(structure: Structure | None, pipeline: _core.Pipeline) -> Structure | None:
    """Keep a structure only where the rows still have its fields."""
    if structure is None or structure.kind is dict:
        return None
    names = tuple(name for name, _, _ in pipeline.fields)
    return structure if names == structure.names else None


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


def from_arrays(arrays: Mapping[str, Any]) -> Dataset:
    """Give the rows of arrays in memory: row i is index i of each.

    Args:
        arrays: By field, arrays or lists of one length.

    Example:
        >>> import numpy as np, millrace as mr
        >>> mr.from_arrays({"x": np.arange(6).reshape(3, 2)}).spec["x"].shape
        (2,)
    """
    names = list(arrays)
    attachments = [_core.Attachment.of(_as_array(name, arrays[name])) for name in names]
    return Dataset(
        _core.Pipeline.make("from_arrays", {"names": names, "arrays": attachments}, [])
    )


def _as_array(name: str, values: Any) -> Any:
    if isinstance(values, list) and values and isinstance(values[0], str | bytes):
        return values
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "US":
        return array.tolist()
    if array.dtype.kind == "O":
        raise PipelineError(
            f"field {name}: the array holds objects of Python; use numbers or texts, "
            "or from_rows where values differ in shape"
        )
    return array


def from_rows(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    """Give rows that are in memory; values may differ in shape from row to row.

    Args:
        rows: Dicts with the same fields, of the same types.

    Example:
        >>> import millrace as mr
        >>> [row["x"].tolist() for row in mr.from_rows([{"x": [1, 2]}, {"x": [3]}])]
        [[1, 2], [3]]
    """
    if not rows:
        raise PipelineError("from_rows needs at least one row, to know the fields")
    packed = _core.pack_rows([{k: _as_value(k, v) for k, v in r.items()} for r in rows])
    names, values, shapes = packed
    return Dataset(
        _core.Pipeline.make(
            "from_rows", {"names": names, "values": values, "shapes": shapes}, []
        )
    )


def _as_value(name: str, value: Any) -> Any:
    if isinstance(value, bool | int | float | str | bytes):
        return value
    return _as_array(name, value)
