"""Brings the user's values to what the engine takes."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def plain_value(value: object) -> Any:
    """Brings a constant to what the engine takes; None where it is nothing like that.

    NumPy's numbers keep their type, as in NumPy itself; Python's give way.
    """
    if isinstance(value, str):
        return str(value)  # NumPy has texts that are not quite Python's.
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, np.ndarray | np.generic):
        return _plain_array(np.asarray(value))
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return _plain_list(list(value))
    if hasattr(value, "__array__"):
        return _plain_array(np.asarray(value))
    return None


def _plain_array(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "US":  # Texts, of which NumPy has its own kind.
        return array.tolist()
    if array.dtype.kind in "OMm":
        return None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _plain_list(values: list[Any]) -> Any:
    if values and all(isinstance(value, str | bytes) for value in values):
        return values
    try:
        array = np.asarray(values)
    except ValueError:  # Of lists of differing length.
        return None
    return _plain_array(array)


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
    if isinstance(value, bytes):
        return value.decode()  # Texts of arguments are UTF-8.
    return value


def text_list(values: Paths | None) -> list[str] | None:
    """Makes a list of one text or path, or of several; leaves None."""
    if values is None:
        return None
    if isinstance(values, str | os.PathLike):
        return [os.fspath(values)]
    return [os.fspath(value) for value in values]
