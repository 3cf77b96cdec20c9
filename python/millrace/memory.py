"""Sources whose rows are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from millrace import _core
from millrace.dataset import Dataset
from millrace.errors import PipelineError


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
