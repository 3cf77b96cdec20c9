"""Values as arrays of JAX; on the CPU over the engine's memory, read-only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._core import is_aligned
from millrace.errors import DataError
from millrace.frameworks.arrays import (
    TEXTS,
    Adapter,
    Field,
    aligned_empty,
    imported,
)
from millrace.rows import Ragged, bfloat16

_NARROW = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
}


def _taken_apart(ragged: Ragged) -> tuple[list[Any], tuple[int | None, ...]]:
    offsets = [axis for axis in ragged.axes if not isinstance(axis, int)]
    sizes = tuple(axis if isinstance(axis, int) else None for axis in ragged.axes)
    return [ragged.values, *offsets], sizes


def _put_together(sizes: tuple[int | None, ...], parts: Sequence[Any]) -> Ragged:
    values, *offsets = parts
    rest = iter(offsets)
    return Ragged(values, tuple(next(rest) if size is None else size for size in sizes))


# So that JAX's functions take batches with such values as they are.
imported("jax").tree_util.register_pytree_node(Ragged, _taken_apart, _put_together)


class JaxArrays(Adapter):
    """Makes arrays on JAX's default device, or on another.

    On the CPU JAX keeps to aligned memory that it is given, so nobody may write to it
    afterwards. Numbers of 64 bits become numbers of 32 unless x64 is on, as everywhere
    in JAX; integers that do not fit are an error.
    """

    def __init__(self, fields: Sequence[Field], device: Any = None) -> None:
        """Make arrays of rows with these fields, on a device or in a sharding."""
        self._jax = imported("jax")
        self._device = device
        if isinstance(device, str):
            platform, _, number = device.partition(":")
            self._device = self._jax.devices(platform)[int(number or 0)]
        self._narrow = {} if self._jax.config.jax_enable_x64 else _NARROW
        super().__init__(fields)
        self._put = self._jax.device_put
        numbers = [i for i, (_, dtype, _) in enumerate(fields) if dtype not in TEXTS]
        # None where all are numbers, so that nothing is sorted for every batch.
        self._numbers = None if len(numbers) == len(fields) else numbers

    def convert(self, values: Sequence[Any]) -> list[Any]:
        """Make arrays of a row's values, all in one call, which JAX does faster."""
        found = super().convert(values)
        if self._numbers is None:
            arrays: list[Any] = self._put(found, self._device)
            return arrays
        numbers = [found[i] for i in self._numbers]
        arrays = self._put(numbers, self._device)
        for i, array in zip(self._numbers, arrays, strict=True):
            found[i] = array
        return found

    def _array(self, value: Any) -> Any:
        kind = self._narrow.get(value.dtype)
        if kind is not None:
            value = self._narrowed(value, kind)
        elif not is_aligned(value):
            value = self._aligned(value)
        value.setflags(write=False)
        return value

    def _bits(self, value: Any) -> Any:
        return self._array(value).view(bfloat16())

    def _narrowed(self, value: Any, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
        narrow = aligned_empty(np.shape(value), kind)
        np.copyto(narrow, value, casting="unsafe")
        self.copied_bytes += narrow.nbytes
        if narrow.dtype.kind != "f" and (narrow != value).any():
            raise DataError(
                f"a number of {value.dtype} does not fit {narrow.dtype}, which JAX "
                'uses for it: jax.config.update("jax_enable_x64", True) keeps it'
            )
        return narrow
