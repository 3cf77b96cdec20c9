"""Blocks as users see them: rows and batches of NumPy arrays, in the user's own form.

The engine gives columns for a run of rows. Here they become rows, each a dict, tuple or
dataclass, as the last `map` returned it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from millrace._structure import Structure
from millrace.errors import Error


@dataclasses.dataclass(frozen=True)
class Ragged:
    """Values whose parts differ in size, as a ragged batch has them.

    Attributes:
        values: All values, one after another.
        axes: For each axis from the outside in: its size where all parts have the same,
            else offsets: part i goes from axes[k][i] up to axes[k][i + 1].
    """

    values: Any
    axes: tuple[Any, ...]

    @property
    def offsets(self) -> Any:
        """The offsets of the innermost axis that has any."""
        for axis in reversed(self.axes):
            if not isinstance(axis, int):
                return axis
        raise Error("all parts have the same size: there are no offsets")

    def __len__(self) -> int:
        """Count the parts along the first axis."""
        first = self.axes[0]
        return first if isinstance(first, int) else len(first) - 1

    def __getitem__(self, index: int) -> Any:
        """Give one part of a value with two axes."""
        if len(self.axes) != 2:
            raise Error(f"parts of {len(self.axes)} axes: use values and axes")
        inner = self.axes[1]
        if not -len(self) <= index < len(self):
            raise IndexError(f"part {index} of {len(self)}")
        index %= len(self)
        if isinstance(inner, int):
            return self.values[index * inner : (index + 1) * inner]
        return self.values[inner[index] : inner[index + 1]]

    def __iter__(self) -> Iterator[Any]:
        """Give the parts one after another."""
        return (self[i] for i in range(len(self)))


def bfloat16() -> Any:
    """Give NumPy's type of bfloat16, which another package has."""
    try:
        import ml_dtypes
    except ImportError:
        raise Error(
            "NumPy has no bfloat16 of its own: pip install ml_dtypes, or convert with "
            'astype("float32") in the pipeline'
        ) from None
    return ml_dtypes.bfloat16


def _as_bfloat16(value: Any) -> Any:
    kind = bfloat16()
    if isinstance(value, Ragged):
        return Ragged(value.values.view(kind), value.axes)
    return value.view(kind)


_Array = np.ndarray


def plain(value: Any) -> Any:
    """Make a column's value what users see; scalars as NumPy has them."""
    if isinstance(value, tuple):
        return Ragged(value[0], tuple(value[1]))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    return value


class RowMaker:
    """Makes rows of columns, in the user's own form."""

    def __init__(
        self,
        fields: list[tuple[str, str, list[int] | None]],
        structure: Structure | None,
    ) -> None:
        """Take names and types as the pipeline has them; rows are dicts by default."""
        self._names = [name for name, _, _ in fields]
        self._bfloat16 = [
            i for i, (_, dtype, _) in enumerate(fields) if dtype == "bfloat16"
        ]
        self._rebuilt = (
            structure.rebuilt if structure and structure.kind is not dict else None
        )

    @staticmethod
    def values(count: int, columns: list[Any]) -> Iterable[list[Any]]:
        """Give each row's values as the engine has them: bfloat16 as bits."""
        # By number: to iterate arrays takes three times as long, for the exception that
        # tells their end. One row, a batch, is what matters.
        if count == 1:
            return ([column[0] for column in columns],)
        return ([column[row] for column in columns] for row in range(count))

    def rows(self, count: int, columns: list[Any]) -> Iterator[Any]:
        """Give the rows of a block."""
        return map(self.row, self.values(count, columns))

    def row(self, values: Iterable[Any]) -> Any:
        """Make a row of NumPy arrays."""
        found = [
            value if value.__class__ is _Array and value.ndim else plain(value)
            for value in values
        ]
        for i in self._bfloat16:
            found[i] = _as_bfloat16(found[i])
        return self.built(found)

    def built(self, values: list[Any]) -> Any:
        """Put values together in the user's own form."""
        if self._rebuilt is not None:
            return self._rebuilt(values)
        return dict(zip(self._names, values, strict=True))
