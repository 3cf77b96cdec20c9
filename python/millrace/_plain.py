"""Brings the user's values to what the engine takes."""

import os
from typing import Any

import numpy as np


def plain_value(value: object) -> Any:
    """Brings a constant to what the engine takes; None where it is nothing like that.

    NumPy's numbers keep their type, as in NumPy itself; Python's give way.
    """
    if isinstance(value, str):
        return str(value)  # NumPy has texts that are not quite Python's.
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, bool | int | float | np.ndarray | np.generic):
        return value
    if isinstance(value, list | tuple):
        return _plain_list(list(value))
    if hasattr(value, "__array__"):
        return np.asarray(value)
    return None


def _plain_list(values: list[Any]) -> Any:
    if values and all(isinstance(value, str | bytes) for value in values):
        return values
    try:
        array = np.asarray(values)
    except ValueError:  # Of lists of differing length.
        return None
    return None if array.dtype == object else array


def plain_argument(value: object) -> Any:
    """Brings an argument to what the engine takes: Python's own values and lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [plain_argument(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value
