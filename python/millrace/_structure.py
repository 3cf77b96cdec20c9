"""What a row is to the user: a dict, a tuple, a NamedTuple or a dataclass.

The engine knows only fields with names. A structure says how a function's result is
taken apart into them, and how a row is put together again.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.errors import TracingError


@dataclass(frozen=True)
class Structure:
    """The type of a row, and the names of its fields in order."""

    kind: type  # dict, tuple, or the user's own class.
    names: tuple[str, ...]

    def rebuilt(self, values: Sequence[Any]) -> Any:
        """Puts a row together from the values of its fields."""
        if self.kind is tuple:
            return tuple(values)
        return self.kind(**dict(zip(self.names, values, strict=True)))


def taken_apart(row: Any) -> tuple[Structure, list[Any]] | None:
    """Gives the structure and the values of a row; None of anything else."""
    if isinstance(row, Mapping):
        names = tuple(row)
        wrong = [name for name in names if not isinstance(name, str) or not name]
        if wrong:
            raise TracingError(f"names of fields are texts, not {wrong[0]!r}", None)
        return Structure(dict, names), list(row.values())
    if isinstance(row, tuple):
        names = getattr(row, "_fields", None) or _numbers(len(row))
        kind = type(row) if hasattr(row, "_fields") else tuple
        return Structure(kind, tuple(names)), list(row)
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        names = tuple(field.name for field in dataclasses.fields(row))
        return Structure(type(row), names), [getattr(row, name) for name in names]
    return None


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(count))
