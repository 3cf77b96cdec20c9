"""What is in the batches of a pass, so that systems can be held to the same work.

Rows may come in any order and be drawn at random, so a column is described by its type,
the shape of a row, and sums over all rows, which do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_WRAP = 1 << 62


class Content:
    """Takes the batches of a pass, and tells what was in them."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0
        self._columns: dict[str, dict[str, Any]] = {}

    def add(self, batch: Mapping[str, Any]) -> None:
        """Take one batch."""
        arrays = {name: np.asarray(column) for name, column in batch.items()}
        self.rows += len(next(iter(arrays.values())))
        for name, array in arrays.items():
            self.bytes += array.nbytes
            kept = self._columns.setdefault(name, {"sum": 0, "count": 0, "shapes": []})
            kept["dtype"] = str(array.dtype)
            shape = list(_channels_last(array.shape[1:]))
            if shape not in kept["shapes"]:
                kept["shapes"].append(shape)
            kept["count"] += array.size
            kept["sum"] += _sum(array)

    def facts(self) -> dict[str, Any]:
        """Tell what was in them, as plain data."""
        columns = {name: _told(kept) for name, kept in sorted(self._columns.items())}
        return {"rows": self.rows, "bytes": self.bytes, "columns": columns}


def _channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape of an image one way: frameworks differ, and a view is free."""
    return (*shape[1:], 3) if len(shape) == 3 and shape[0] == 3 else shape


def _sum(array: np.ndarray[Any, Any]) -> float | int:
    if array.dtype.kind in "iub":
        return int(array.sum(dtype=np.int64)) if array.size else 0
    return float(array.sum(dtype=np.float64))


def _told(kept: Mapping[str, Any]) -> dict[str, Any]:
    shapes = kept["shapes"]
    same = shapes[0] if len(shapes) == 1 else [None] * len(shapes[0])
    total = kept["sum"] % _WRAP if isinstance(kept["sum"], int) else kept["sum"]
    mean = kept["sum"] / kept["count"] if kept["count"] else 0.0
    return {"dtype": kept["dtype"], "shape": same, "sum": total, "mean": mean}


def difference(
    facts: Mapping[str, Any], wanted: Mapping[str, Any], metric: Mapping[str, Any]
) -> str | None:
    """Say how a pass differs from another that did the same; None where it does not.

    The columns that the metric calls `exact` must have the same sums (of floats, to a
    part in a million), those it calls `close` the same mean, but for so much.
    """
    if facts["rows"] != wanted["rows"]:
        return f"{facts['rows']} rows, not {wanted['rows']}"
    mine, theirs = facts["columns"], wanted["columns"]
    if mine.keys() != theirs.keys():
        return f"columns {', '.join(mine)}, not {', '.join(theirs)}"
    for name in mine:
        for what in ("dtype", "shape"):
            if mine[name][what] != theirs[name][what]:
                return f"{name}: {what} {mine[name][what]}, not {theirs[name][what]}"
    for name in metric.get("exact", []):
        if not _same(mine[name]["sum"], theirs[name]["sum"]):
            return f"{name}: sum {mine[name]['sum']}, not {theirs[name]['sum']}"
    for name, most in metric.get("close", {}).items():
        if abs(mine[name]["mean"] - theirs[name]["mean"]) > most:
            return f"{name}: mean {mine[name]['mean']:.3f}, not {_mean(theirs, name)}"
    return None


def _mean(columns: Mapping[str, Any], name: str) -> str:
    return f"{columns[name]['mean']:.3f}"


def _same(mine: float, theirs: float) -> bool:
    if isinstance(mine, int) and isinstance(theirs, int):
        return mine == theirs
    return abs(mine - theirs) <= 1e-6 * max(abs(mine), abs(theirs), 1.0)
