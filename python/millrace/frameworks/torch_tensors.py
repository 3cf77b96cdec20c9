"""Values as tensors of torch, over the engine's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace.errors import PipelineError
from millrace.frameworks.arrays import Adapter, Field, imported
from millrace.frameworks.pinned_mappings import mappings
from millrace.rows import Ragged


def check_pin() -> None:
    """Refuse to pin memory where there is no CUDA to pin it for."""
    if not imported("torch").cuda.is_available():
        raise PipelineError(
            "pin=True needs CUDA, and torch finds none here: leave pin out"
        )


class TorchTensors(Adapter):
    """Makes tensors on the CPU.

    Through NumPy's own bridge: as free of copies as DLPack, and four times as quick.
    """

    def __init__(
        self, fields: Sequence[Field], *, pin: bool = False, nest: bool = True
    ) -> None:
        """Make tensors of rows with these fields.

        Args:
            fields: Of the rows.
            pin: Have them in pinned memory: shared memory is pinned as it is, all
                else is copied.
            nest: Make nested tensors of values whose parts differ in size.
        """
        self._torch = imported("torch")
        self._from_numpy = self._torch.from_numpy
        self._pin = pin
        self._nest = nest
        super().__init__(fields)

    def _array(self, value: Any) -> Any:
        if value.__class__ is not np.ndarray or not value.flags.writeable:
            value = np.array(value)
            self.copied_bytes += value.nbytes
        tensor = self._from_numpy(value)
        if not self._pin or mappings(self._torch.cuda.cudart()).pin(value):
            return tensor
        return self._pinned(tensor)

    def _bits(self, value: Any) -> Any:
        return self._array(value).view(self._torch.bfloat16)

    def _pinned(self, tensor: Any) -> Any:
        self.copied_bytes += tensor.nbytes
        return tensor.pin_memory()

    def _ragged(self, values: Any, axes: list[Any], array: Callable[[Any], Any]) -> Any:
        ragged = super()._ragged(values, axes, array)
        return nested(ragged) if self._nest else ragged


def nested(ragged: Ragged) -> Any:
    """Make a nested tensor, jagged along its second axis; else give it as it is.

    Torch knows no tensors whose parts differ along other axes, or along several.
    """
    torch = imported("torch")
    _, second, *inner = ragged.axes
    if isinstance(second, int) or not all(isinstance(size, int) for size in inner):
        return ragged
    values = ragged.values.reshape(-1, *inner) if inner else ragged.values
    return torch.nested.nested_tensor_from_jagged(values, offsets=second)
