"""How pipelines are built: the methods of datasets that put operators behind them.

Most are written from the catalog (`_operators.py`). Here is what only a hand can write:
functions are traced, or run in Python, and rows keep the form that users gave them.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from millrace import _core
from millrace._catalog import catalog
from millrace._operators import Operators
from millrace._places import Untraceable
from millrace._plain import plain_argument
from millrace._structure import Structure
from millrace.errors import PipelineError, TracingError
from millrace.functions import (
    Marking,
    PythonFunction,
    function_name,
    python_structure,
)
from millrace.tracing import trace

if TYPE_CHECKING:
    from millrace.dataset import Dataset

_FUNCTIONS = ("row_function", "value_function")
_WITH_PYTHON = ("map", "filter")  # What can also run in Python.
_KEEP = "__keep__"


class Building(Operators):
    """The methods of a dataset that give another."""

    _pipeline: _core.Pipeline
    _structure: Structure | None

    @abstractmethod
    def _like(self, pipeline: _core.Pipeline, structure: Structure | None) -> Dataset:
        """Wrap a pipeline that is to run as this one does."""

    @property
    @abstractmethod
    def spec(self) -> Mapping[str, object]:
        """The fields of its rows."""

    def _then(
        self, operator: str, arguments: dict[str, Any], others: Sequence[Dataset]
    ) -> Dataset:
        inputs = [self._pipeline, *(_checked(other)._pipeline for other in others)]
        given, structure = self._traced(operator, arguments, inputs)
        pipeline = _core.Pipeline.make(operator, given, inputs)
        return self._like(pipeline, _fitting(structure or self._structure, pipeline))

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
                row, which also tells the form: dict, tuple or class.
            init: Called once in every Python process, before the function.
            timeout: Seconds that a function in Python may take for a block of rows.
            seed: For random numbers; by default the job's.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(3).map(lambda row: {"x": row["value"] + 1})
            >>> [int(row["x"]) for row in ds]
            [1, 2, 3]
        """
        _check_for_python("map", python, output=output, init=init)
        if not python:
            try:
                return super().map(function, seed=seed)
            except Untraceable as reason:
                _fall_back(function, reason, python)
        how = PythonFunction(function, output, init, timeout)
        given, draws, structure = how.arguments(self._pipeline, self._structure)
        pipeline = _core.Pipeline.make(
            "map_python", {**given, "seed": seed}, [self._pipeline], draws
        )
        own = _fitting(structure, pipeline) or python_structure(pipeline)
        return self._like(pipeline, own)

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
        _check_for_python("filter", python, init=init)
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
        return self._like(kept._pipeline, _fitting(self._structure, kept._pipeline))

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

    def shuffle(self, window: int | None = None, *, seed: int | None = None) -> Dataset:
        """Puts rows in random order.

        Within a window: the chunks of the whole data are permuted, and rows are mixed
        within a moving window of so many. Without one: all rows of the pass, as
        `global_shuffle` does, which needs a source that can read any row by itself.

        Args:
            window: Rows to choose the next one from; by default all of them.
            seed: By default the job's.

        Example:
            >>> import millrace as mr
            >>> sorted(int(row["value"]) for row in mr.range(4).shuffle(seed=1))
            [0, 1, 2, 3]
        """
        if window is None:
            return self.global_shuffle(seed=seed)
        return super().shuffle(window, seed=seed)

    def interleave(
        self, *others: Dataset, stop: Literal["first", "all"] = "all"
    ) -> Dataset:
        """Gives the rows of this dataset and of others in turn, one of each.

        Args:
            others: The other datasets, of the same fields.
            stop: When to end: with the first that ends, or with all of them, the others
                going on.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(3).interleave(mr.range(10, 12))
            >>> [int(row["value"]) for row in ds]
            [0, 10, 1, 11, 2]
        """
        turns = self._like(
            _core.Pipeline.make(
                "range", {"start": 0, "stop": 1 + len(others), "step": 1}, []
            ),
            None,
        )
        own = self._like(self._pipeline, self._structure)
        chosen = turns.repeat().choose(own, *others, stop=stop)
        return self._like(chosen._pipeline, _fitting(self._structure, chosen._pipeline))

    def as_tuple(self, *names: str) -> Dataset:
        """Give rows as tuples, of these fields or of all.

        Example:
            >>> import millrace as mr
            >>> next(iter(mr.range(3).enumerate().as_tuple("index", "value")))
            (np.int64(0), np.int64(0))
        """
        chosen = self.select(names) if names else self
        fields = tuple(name for name, _, _ in chosen._pipeline.fields)
        return self._like(chosen._pipeline, Structure(tuple, fields))


def _check_for_python(operator: str, python: bool | None, **given: object) -> None:
    """Refuse what only functions in Python have, where the function may not be one."""
    for name, value in given.items():
        if python is False and value is not None:
            raise PipelineError(
                f"{operator}: {name}= is for functions that run in Python, and "
                "python=False says that this one does not: leave one of them out"
            )


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


def _checked(other: object) -> Building:
    if not isinstance(other, Building):
        raise PipelineError(f"a dataset is wanted here, not {type(other).__name__}")
    return other


def _fitting(structure: Structure | None, pipeline: _core.Pipeline) -> Structure | None:
    """Keep a structure only where the rows still have its fields."""
    if structure is None or structure.kind is dict:
        return None
    names = tuple(name for name, _, _ in pipeline.fields)
    return structure if names == structure.names else None
