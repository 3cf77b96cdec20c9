"""Sources whose rows Python makes: generators, and datasets of torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from millrace import _core, _sources
from millrace.dataset import Dataset
from millrace.errors import PipelineError
from millrace.functions import (
    configure_runners,
    declared_fields,
    function_name,
    has_parameter,
    pickled,
    python_structure,
)


def from_generator(
    function: Callable[..., Iterator[Any]],
    *,
    output: Mapping[str, str] | str | None = None,
    init: Callable[[], Any] | None = None,
    seed: int | None = None,
) -> Dataset:
    """Give the rows of a Python generator, as they come; they may never end.

    It runs in a process of its own, a little ahead of what is taken. A state goes on
    exactly: the generator begins anew, and the rows that were taken go by. So it must
    give the same rows whenever it is begun for the same epoch.

    Args:
        function: Begins it: called without arguments in every pass, it gives an
            iterator of rows, each a dict, tuple or dataclass. With a parameter `epoch`
            it is given the number of the pass, with `rng` the pass's random numbers.
        output: The fields of the rows, with types, as in {"image": "float32[?, ?, 3]"};
            by default what the first row has, for which it is begun once more.
        init: Called once in the process, before the function.
        seed: For `rng`; by default the job's.

    Example:
        >>> import millrace as mr
        >>> def squares():
        ...     n = 0
        ...     while True:
        ...         yield {"n": n, "square": n * n}
        ...         n += 1
        >>> [int(row["square"]) for row in mr.from_generator(squares).take(4)]
        [0, 1, 4, 9]
    """
    if not callable(function):
        raise PipelineError(
            "from_generator takes a function that begins a generator, for every pass "
            f"anew, not {type(function).__name__}: write from_generator(lambda: ...)"
        )
    attachment = _core.Attachment(pickled(function, None, init))
    configure_runners()
    fields = declared_fields(output) or _core.sample_generator(attachment)
    if not fields:
        raise PipelineError(
            f"{function_name(function)} gives no row to learn its fields from; declare "
            'them with output={"x": "float32[?]"}'
        )
    arguments = {
        "function": [attachment],
        "fields": fields,
        "name": function_name(function),
        "random": has_parameter(function, "rng"),
        "seed": seed,
    }
    pipeline = _core.Pipeline.make("from_generator", arguments, [])
    return Dataset(pipeline, python_structure(pipeline))


class MapStyle(Protocol):
    """What map-style datasets of torch have, and lists too."""

    def __len__(self) -> int:
        """Count the items."""

    def __getitem__(self, index: int, /) -> Any:
        """Give an item."""


@dataclasses.dataclass(frozen=True)
class _Item:
    """Gives the item of a row's number, as a row."""

    dataset: MapStyle

    @property
    def title(self) -> str:
        """What people know it by."""
        return type(self.dataset).__qualname__

    def __call__(self, row: Any) -> Any:
        item = self.dataset[int(row["value"])]
        if isinstance(item, Mapping | tuple) or dataclasses.is_dataclass(item):
            return item
        return tuple(item) if isinstance(item, list) else {"value": item}


def from_torch(
    dataset: MapStyle,
    *,
    output: Mapping[str, str] | str | None = None,
    init: Callable[[], Any] | None = None,
    timeout: float | None = 600.0,
) -> Dataset:
    """Give the items of a map-style dataset of torch, in the order of their numbers.

    Anything with `__len__` and `__getitem__` will do. It goes to the Python processes
    once; tensors, arrays, images of Pillow, numbers and texts become fields. Items that
    are tuples stay tuples; one that is a single value becomes the field `value`. Only
    what `__getitem__` does is left to Python: shuffle and batch here.

    Args:
        dataset: The dataset.
        output: As for `map`; so too init and timeout.
        init: Called once in every Python process.
        timeout: Seconds that a process may take for a block of rows.

    Example:
        >>> import millrace as mr
        >>> ds = mr.from_torch([(0.5, 1), (1.5, 0)]).batch(2)
        >>> [column.tolist() for column in next(iter(ds))]
        [[0.5, 1.5], [1, 0]]
    """
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise PipelineError(
            f"from_torch takes a map-style dataset, with __len__ and __getitem__, not "
            f"{type(dataset).__name__}; for one that is iterated, use "
            "from_generator(lambda: iter(dataset))"
        )
    numbers = _sources.range(len(dataset))
    return numbers.map(
        _Item(dataset), python=True, output=output, init=init, timeout=timeout
    )
