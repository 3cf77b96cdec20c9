"""Batches between processes: arrays in shared memory, the rest pickled.

A worker writes arrays into segments (memfd) that the trainer maps once. A segment goes
back to the worker when the last array over it dies, so pages are touched once, not once
a batch. Segments have no names: nothing is left behind however a process ends.
"""

import ctypes
import io
import mmap
import os
import pickle
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

# Messages up to this size travel in the socket; a segment costs more.
INLINE_BYTES = 32 << 10
# Arrays of this size get their own segment, into which they can be collated directly.
OWN_SEGMENT_BYTES = 64 << 10

# Where sizes change, free segments of the wrong size must not pile up.
_FREE_MAX = 4

_ALIGNMENT = 64
_PAGE = 4096


@dataclass
class Parcel:
    """An encoded batch: bytes in the message, or places in segments."""

    payload: bytes = b""
    inline: list[bytearray] = field(default_factory=list)
    # Segment, offset and size of every buffer; the last one is the payload.
    places: list[tuple[int, int, int]] = field(default_factory=list)
    # Number and size of the segments whose descriptors travel along.
    created: list[tuple[int, int]] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)


class _Segment:
    """Shared memory of a worker."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)


class Writer:
    """The worker's end: encodes batches, and reuses segments that came back."""

    def __init__(self) -> None:
        self._count = 0
        self._free: list[_Segment] = []
        self._lent: dict[int, _Segment] = {}
        self._placed: dict[int, _Segment] = {}  # By address of the tensor over it.
        self._dropped: list[int] = []

    def start_batch(self) -> None:
        """Takes back what a batch that failed has left."""
        self._free.extend(self._placed.values())
        self._placed.clear()

    def take_back(self, numbers: list[int]) -> None:
        """The trainer no longer looks at these segments."""
        self._free.extend(self._lent.pop(number) for number in numbers)

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor in shared memory, which `encode` then sends without a copy."""
        size = dtype.itemsize * torch.Size(shape).numel()
        segment = self._acquire(size)
        tensor = torch.frombuffer(segment.memory, dtype=torch.uint8, count=size)
        self._placed[tensor.data_ptr()] = segment
        return tensor.view(dtype).reshape(shape)

    def encode(self, batch: Any) -> tuple[Parcel, list[int]]:
        """Returns the parcel, and descriptors to send with it (then to be closed)."""
        buffers: list[memoryview] = []
        target = io.BytesIO()
        _BatchPickler(target, lambda buffer: buffers.append(buffer.raw())).dump(batch)
        payload = target.getvalue()
        total = len(payload) + sum(buffer.nbytes for buffer in buffers)
        if total <= INLINE_BYTES:
            return Parcel(payload, [bytearray(buffer) for buffer in buffers]), []
        parcel = Parcel()
        used = self._place(parcel, [*buffers, memoryview(payload)])
        return parcel, self._lend(parcel, used)

    def _place(self, parcel: Parcel, buffers: list[memoryview]) -> list[_Segment]:
        """Gives every buffer its place; copies those that are not there already."""
        used: list[_Segment] = []
        rest: list[tuple[int, memoryview]] = []
        parcel.places = [(0, 0, 0)] * len(buffers)
        for position, buffer in enumerate(buffers):
            segment = self._placed.pop(_address(buffer), None)
            if segment is not None:
                parcel.places[position] = (segment.number, 0, buffer.nbytes)
                used.append(segment)
            else:
                rest.append((position, buffer))
        if rest:
            used.append(self._pack(parcel, rest))
        return used

    def _pack(self, parcel: Parcel, rest: list[tuple[int, memoryview]]) -> _Segment:
        """Copies buffers one after another into one segment."""
        segment = self._acquire(sum(_aligned(buffer.nbytes) for _, buffer in rest))
        view = memoryview(segment.memory)
        offset = 0
        for position, buffer in rest:
            view[offset : offset + buffer.nbytes] = buffer
            parcel.places[position] = (segment.number, offset, buffer.nbytes)
            offset += _aligned(buffer.nbytes)
        return segment

    def _lend(self, parcel: Parcel, used: list[_Segment]) -> list[int]:
        """Marks segments as the trainer's; returns descriptors it has not seen yet."""
        descriptors = []
        for segment in used:
            self._lent[segment.number] = segment
            if segment.descriptor >= 0:
                parcel.created.append((segment.number, segment.size))
                descriptors.append(segment.descriptor)
                segment.descriptor = -1
        parcel.dropped, self._dropped = self._dropped, []
        return descriptors

    def _acquire(self, size: int) -> _Segment:
        """The smallest free segment that fits without much waste, else a new one."""
        fitting = [s for s in self._free if size <= s.size <= 2 * size + (1 << 20)]
        if fitting:
            best = min(fitting, key=lambda segment: segment.size)
            self._free.remove(best)
            return best
        if len(self._free) >= _FREE_MAX:
            self._drop(self._free.pop(0))
        self._count += 1
        return _Segment(self._count, -(-max(size, 1) // _PAGE) * _PAGE)

    def _drop(self, segment: _Segment) -> None:
        """Forgets a segment of the wrong size; the trainer is told if it knows it."""
        if segment.descriptor >= 0:
            os.close(segment.descriptor)
        else:
            self._dropped.append(segment.number)


class Reader:
    """The trainer's end for one worker: maps segments, and notes which came free."""

    def __init__(self) -> None:
        self._mapped: dict[int, mmap.mmap] = {}
        self._released: deque[int] = deque()

    def released(self) -> list[int]:
        """Segments to give back to the worker; each is named once."""
        numbers = []
        while self._released:
            numbers.append(self._released.popleft())
        return numbers

    def decode(self, parcel: Parcel, descriptors: list[int]) -> Any:
        """Rebuilds the batch; its arrays keep their segments lent."""
        for (number, size), descriptor in zip(parcel.created, descriptors, strict=True):
            self._mapped[number] = mmap.mmap(descriptor, size)
            os.close(descriptor)
        for number in parcel.dropped:
            del self._mapped[number]
        if not parcel.places:
            return pickle.loads(parcel.payload, buffers=parcel.inline)
        used = {number for number, _, _ in parcel.places}
        leases = {number: self._lease(number) for number in used}
        views = [
            leases[number][offset : offset + size]
            for number, offset, size in parcel.places
        ]
        return pickle.loads(views.pop(), buffers=views)

    def _lease(self, number: int) -> memoryview:
        """A view whose death, with all arrays over it, releases the segment."""
        memory = self._mapped[number]
        owner = (ctypes.c_ubyte * len(memory)).from_buffer(memory)
        weakref.finalize(owner, self._released.append, number).atexit = False
        return memoryview(owner).cast("B")


class _BatchPickler(pickle.Pickler):
    """Sends tensors as raw bytes; NumPy does the same by itself under protocol 5."""

    def __init__(
        self, target: io.BytesIO, keep: Callable[[pickle.PickleBuffer], Any]
    ) -> None:
        super().__init__(target, pickle.HIGHEST_PROTOCOL, buffer_callback=keep)
        # For the rest what multiprocessing does: connections, tensors of a device.
        self.dispatch_table = ForkingPickler(target).dispatch_table

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, torch.Tensor) or obj.device.type != "cpu":
            return NotImplemented
        if type(obj) is torch.Tensor and _is_plain(obj):
            return _reduce_tensor(obj)
        if _is_plain(obj) and _is_thin_subclass(type(obj)):
            plain = obj.as_subclass(torch.Tensor)
            return _rebuild_subclass, (plain, type(obj), obj.__dict__)
        # Torch's own way between processes needs the sender alive when it is read.
        latest = pickle.HIGHEST_PROTOCOL
        return obj.__reduce_ex__(latest)  # type: ignore[no-untyped-call]


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and not tensor.is_quantized
        and not tensor.is_nested
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def _is_thin_subclass(kind: type) -> bool:
    """Whether instances are a tensor and a `__dict__`, as torchvision's are."""
    pickling: Any = kind.__reduce_ex__
    inherits = pickling is torch.Tensor.__reduce_ex__
    return inherits and not issubclass(kind, torch.nn.Parameter)


def _reduce_tensor(tensor: torch.Tensor) -> Any:
    shape = tuple(tensor.shape)
    if tensor.numel() == 0:
        return _rebuild_empty, (shape, tensor.dtype)
    if not _is_dense(tensor):
        tensor = tensor.contiguous()
    flat = tensor.as_strided((tensor.numel(),), (1,)).view(torch.uint8)
    memory: Any = flat.numpy()
    buffer = pickle.PickleBuffer(memory)
    return _rebuild_tensor, (buffer, tensor.dtype, shape, tensor.stride())


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether its bytes are one block, perhaps with the channels last."""
    return (
        tensor.is_contiguous()
        or (
            tensor.dim() == 4
            and tensor.is_contiguous(memory_format=torch.channels_last)
        )
        or (
            tensor.dim() == 5
            and tensor.is_contiguous(memory_format=torch.channels_last_3d)
        )
    )


def _rebuild_tensor(
    buffer: Any, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...]
) -> torch.Tensor:
    return torch.frombuffer(buffer, dtype=dtype).as_strided(shape, stride)


def _rebuild_empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def _rebuild_subclass(
    plain: torch.Tensor, kind: type[torch.Tensor], attributes: dict[str, Any]
) -> torch.Tensor:
    tensor = plain.as_subclass(kind)
    tensor.__dict__.update(attributes)
    return tensor


def _address(buffer: memoryview) -> int:
    if buffer.readonly or buffer.nbytes < OWN_SEGMENT_BYTES:
        return 0
    return ctypes.addressof(ctypes.c_ubyte.from_buffer(buffer))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
