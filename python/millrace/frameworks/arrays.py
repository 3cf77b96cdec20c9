"""What the kinds of arrays have in common: alignment, and counting of copies."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace._core import is_aligned
from millrace.errors import Error
from millrace.rows import Ragged, plain

# The name, type and shape of a field, as pipelines have them.
Field = tuple[str, str, list[int] | None]

_ALIGNMENT = 64  # Of memory that JAX and TensorFlow take as it is.
TEXTS = ("string", "bytes")


def imported(name: str) -> Any:
    """Import a framework, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise Error(
            f"{package} is needed here and cannot be imported: {error}; install it, or "
            'use to("numpy")'
        ) from error


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Make an array that `is_aligned`; NumPy's own are aligned to 16 bytes only."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    array: np.ndarray[Any, Any] = memory[start : start + size].view(kind)
    return array.reshape(shape)


class Adapter(abc.ABC):
    """Makes one framework's arrays of a row's values, for one pass.

    Texts stay as they are. Values whose parts differ in size become a `Ragged` of the
    framework's arrays, unless the framework has a type of its own for them.

    Attributes:
        copied_bytes: Of what could not be taken as it is.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        """Take the fields of the rows to come."""
        self.copied_bytes = 0
        self._converters = [self._converter(dtype, shape) for _, dtype, shape in fields]

    def convert(self, values: Sequence[Any]) -> list[Any]:
        """Make arrays of a row's values."""
        return [
            convert(value)
            for convert, value in zip(self._converters, values, strict=True)
        ]

    def _converter(self, dtype: str, shape: list[int] | None) -> Callable[[Any], Any]:
        if dtype in TEXTS:
            return plain
        array = self._bits if dtype == "bfloat16" else self._array
        if shape is not None and -1 not in shape[1:]:
            return array  # Its parts cannot differ in size.

        def converted(value: Any) -> Any:
            if value.__class__ is tuple:
                return self._ragged(value[0], value[1], array)
            return array(value)

        return converted

    @abc.abstractmethod
    def _array(self, value: Any) -> Any:
        """Make an array of a NumPy array or scalar."""

    @abc.abstractmethod
    def _bits(self, value: Any) -> Any:
        """Make an array of bfloat16, which comes as uint16."""

    def _ragged(self, values: Any, axes: list[Any], array: Callable[[Any], Any]) -> Any:
        return Ragged(
            array(values),
            tuple(
                axis if isinstance(axis, int) else self._array(axis) for axis in axes
            ),
        )

    def _aligned(self, value: Any) -> np.ndarray[Any, Any]:
        """Give the array itself where it is aligned, else a copy that is."""
        if is_aligned(value):
            array: np.ndarray[Any, Any] = value
            return array
        copy = aligned_empty(np.shape(value), value.dtype)
        copy[...] = value
        self.copied_bytes += copy.nbytes
        return copy
