"""Values as eager tensors of TensorFlow, over the engine's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.frameworks.arrays import Adapter, Field, imported


class TensorflowTensors(Adapter):
    """Makes tensors by DLPack.

    TensorFlow ends the process on memory that is not aligned, so that is copied; and it
    takes the older kind of capsule only, which is what NumPy makes when not asked for
    another.
    """

    def __init__(self, fields: Sequence[Field], device: str | None = None) -> None:
        """Make tensors of rows with these fields, on the CPU or another device."""
        self._tensorflow = imported("tensorflow")
        self._from_dlpack = self._tensorflow.experimental.dlpack.from_dlpack
        self._device = device
        super().__init__(fields)

    def _array(self, value: Any) -> Any:
        tensor = self._from_dlpack(self._aligned(value).__dlpack__())
        return tensor if self._device is None else self._moved(tensor)

    def _bits(self, value: Any) -> Any:
        return self._tensorflow.bitcast(self._array(value), self._tensorflow.bfloat16)

    def _moved(self, tensor: Any) -> Any:
        with self._tensorflow.device(self._device):
            return self._tensorflow.identity(tensor)
