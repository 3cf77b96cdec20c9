"""The way of a batch's tensors to a device: pinned memory, a stream, an event.

CUDA is reached through torch. On the CPU the same way is gone without streams, which
shows all of it but the waiting.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

from millrace.errors import PipelineError
from millrace.frameworks.arrays import imported
from millrace.frameworks.torch_tensors import nested
from millrace.rows import Ragged

_ALIGNMENT = 64


def checked_device(device: Any) -> Any:
    """Give torch's device of a name or number; a plain "cuda" names no number yet."""
    torch = imported("torch")
    if device is None:
        return torch.device("cpu")
    where = (
        torch.device("cuda", device)
        if isinstance(device, int)
        else torch.device(device)
    )
    if where.type not in ("cpu", "cuda"):
        raise PipelineError(
            f'to("torch") knows the devices "cpu" and "cuda", not {device!r}: move the '
            "tensors yourself"
        )
    if where.type == "cuda" and not torch.cuda.is_available():
        raise PipelineError(
            f'device="{where}" needs CUDA, and torch finds none here: leave device out'
        )
    return where


@dataclasses.dataclass
class Sent:
    """Values on their way, and the event that fires when they are there."""

    values: list[Any]
    event: Any


class _Block:
    """Host memory that a batch is copied from; busy until its event fires."""

    def __init__(self, pinned: bool) -> None:
        self._torch = imported("torch")
        self._pinned = pinned
        self._memory = self._torch.empty(0, dtype=self._torch.uint8)
        self._used = 0
        self.event: Any = None

    def clear(self, size: int) -> None:
        """Wait until nobody copies from it, then make room."""
        if self.event is not None:
            self.event.synchronize()
            self.event = None
        self._used = 0
        if self._memory.numel() < size:
            self._memory = self._torch.empty(
                size, dtype=self._torch.uint8, pin_memory=self._pinned
            )

    def put(self, tensor: Any) -> Any:
        """Copy a tensor in; give it as it lies there."""
        end = self._used + tensor.nbytes
        part = self._memory[self._used : end].view(tensor.dtype).view(tensor.shape)
        self._used = _padded(end)
        return part.copy_(tensor)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class DeviceTransfer:
    """Sends values to a device from one thread, and hands them over in another.

    Attributes:
        copied_bytes: Into the blocks.
    """

    def __init__(self, device: Any, blocks: int = 3) -> None:
        """Take a device with its number, and how many batches may be on their way."""
        self._torch = imported("torch")
        self._device = device
        self._is_cuda = device.type == "cuda"
        self._stream = self._torch.cuda.Stream(device) if self._is_cuda else None
        self._blocks = [_Block(self._is_cuda) for _ in range(blocks)]
        self._next = 0
        self.copied_bytes = 0

    def send(self, values: list[Any]) -> Sent:
        """Begin to copy values over; texts stay here."""
        tensors = [tensor for value in values for tensor in _tensors(value)]
        block = self._blocks[self._next]
        self._next = (self._next + 1) % len(self._blocks)
        self.copied_bytes += sum(tensor.nbytes for tensor in tensors)
        with self._on_stream():  # Which makes its device the current one, too.
            block.clear(sum(_padded(tensor.nbytes) for tensor in tensors))
            moved = [self._moved(block, value) for value in values]
            if self._stream is not None:
                # Blocking: the thread that waits for it must not spin.
                block.event = self._torch.cuda.Event(blocking=True)
                block.event.record(self._stream)
        return Sent(moved, block.event)

    def receive(self, sent: Sent) -> list[Any]:
        """Hand values over to the stream that is the caller's now."""
        if sent.event is not None:
            stream = self._torch.cuda.current_stream(self._device)
            stream.wait_event(sent.event)
            # They were allocated on another stream, which must not reuse their memory
            # before the caller's is done with it.
            for value in sent.values:
                for tensor in _tensors(value):
                    tensor.record_stream(stream)
        return [nested(value) if _is_numeric(value) else value for value in sent.values]

    def _on_stream(self) -> contextlib.AbstractContextManager[Any]:
        if self._stream is None:
            return contextlib.nullcontext()
        context: contextlib.AbstractContextManager[Any] = self._torch.cuda.stream(
            self._stream
        )
        return context

    def _moved(self, block: _Block, value: Any) -> Any:
        if isinstance(value, self._torch.Tensor):
            there = self._torch.empty_like(value, device=self._device)
            return there.copy_(block.put(value), non_blocking=True)
        if _is_numeric(value):
            return Ragged(
                self._moved(block, value.values),
                tuple(
                    axis if isinstance(axis, int) else self._moved(block, axis)
                    for axis in value.axes
                ),
            )
        return value


def _is_numeric(value: Any) -> bool:
    return isinstance(value, Ragged) and not isinstance(value.values, list)


def _tensors(value: Any) -> list[Any]:
    if _is_numeric(value):
        return [value.values, *(a for a in value.axes if not isinstance(a, int))]
    return [value] if isinstance(value, imported("torch").Tensor) else []
