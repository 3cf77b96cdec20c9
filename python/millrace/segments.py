"""Blocks in memory that two processes share.

The engine's process copies a block's arrays into a segment; the trainer's makes arrays
over it. A segment goes back when the last array over it dies, so that pages are touched
once, not once a block. Segments are files without names: nothing is left behind however
a process ends.
"""

from __future__ import annotations

import collections
import ctypes
import mmap
import os
import weakref
from typing import Any

import numpy as np

MESSAGE_MAX = 64 << 10  # Of what goes through a socket; more goes through a segment.

# Blocks that were sent and not taken: so many, or more where all of them are small,
# since to wake each other takes two processes longer than to hand over a small block.
AHEAD = 2
SMALL_AHEAD = 16
SMALL_BYTES = 1 << 20

_ALIGNMENT = 64  # Of memory that frameworks take as it is.
_SIZE_STEP = 64 << 10
# Where sizes change, free segments of the wrong size must not pile up.
_FREE_MAX = 4
_RELEASED_MAX = 4096  # Of one message.

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_MAP_FAILED = ctypes.c_void_p(-1).value


class Segment:
    """Shared memory, mapped for as long as this lives.

    Python's own mmap keeps a descriptor open for each, and a user who keeps batches has
    thousands.
    """

    def __init__(self, number: int, descriptor: int, size: int) -> None:
        """Map a file; its descriptor stays the caller's."""
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = _libc.mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
        if address == _MAP_FAILED:
            raise OSError(ctypes.get_errno(), "mapping shared memory")
        self.number = number
        self.size = size
        self._address = address
        self._kind: Any = ctypes.c_ubyte * size
        weakref.finalize(self, _libc.munmap, address, size).atexit = False

    def memory(self) -> Any:
        """Give the memory as an object for arrays to be over."""
        return self._kind.from_address(self._address)


# --- In the engine's process ---


class Packing:
    """Where a block's arrays go in a segment, and what the other side is told.

    An array is described by type, shape and offset; values whose parts differ in size
    by a pair of values and axes; lists one by one; texts are what they are.
    """

    def __init__(self, columns: list[Any]) -> None:
        """Give every array a place."""
        self.size = 0
        self._arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
        self.columns = [self._described(column) for column in columns]

    def _described(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            offset = self.size
            self._arrays.append((offset, value))
            self.size += -(-value.nbytes // _ALIGNMENT) * _ALIGNMENT
            return (value.dtype.str, value.shape, offset)
        if isinstance(value, tuple):
            values, axes = value
            return (self._described(values), [self._described(axis) for axis in axes])
        if isinstance(value, list) and value and not isinstance(value[0], str | bytes):
            return [self._described(item) for item in value]
        return value

    def copy_to(self, memory: Any) -> None:
        """Copy the arrays to their places."""
        for offset, array in self._arrays:
            np.ndarray(array.shape, array.dtype, memory, offset)[...] = array


class Lender:
    """Gives segments to fill, and uses again those that came back."""

    def __init__(self) -> None:
        """Begin without any."""
        self._count = 0
        self._free: list[Segment] = []
        self._lent: dict[int, Segment] = {}
        self._dropped: list[int] = []

    def take_back(self, numbers: list[int]) -> None:
        """The other side no longer looks at these."""
        self._free.extend(self._lent.pop(number) for number in numbers)

    def lend(self, size: int) -> tuple[Segment, int | None]:
        """Give a segment, and its descriptor where the other side has not seen it.

        The descriptor is to be sent, then closed.
        """
        fitting = [s for s in self._free if size <= s.size <= 2 * size + (1 << 20)]
        if fitting:
            best = min(fitting, key=lambda segment: segment.size)
            self._free.remove(best)
            self._lent[best.number] = best
            return best, None
        if len(self._free) >= _FREE_MAX:
            self._dropped.append(self._free.pop(0).number)
        self._count += 1
        # Some more, for blocks that differ in size: what is not touched costs nothing.
        size = -(-(size + size // 4 + 1) // _SIZE_STEP) * _SIZE_STEP
        descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        self._lent[self._count] = Segment(self._count, descriptor, size)
        return self._lent[self._count], descriptor

    def dropped(self) -> list[int]:
        """Tell which segments the other side can let go of; each is named once."""
        numbers, self._dropped = self._dropped, []
        return numbers


# --- In the trainer's process ---


class _Loan:
    """What arrays over a segment hold on to; the segment goes back when it dies."""

    __slots__ = ("_released", "_segment")

    def __init__(self, segment: Segment, released: collections.deque[int]) -> None:
        self._segment = segment
        self._released = released

    def __del__(self) -> None:
        self._released.append(self._segment.number)


class Borrower:
    """Maps segments, makes arrays over them, and notes which came free."""

    def __init__(self) -> None:
        """Begin without any."""
        self._segments: dict[int, Segment] = {}
        self._released: collections.deque[int] = collections.deque()

    def add(self, number: int, descriptor: int, size: int) -> None:
        """Map a segment that is new; closes the descriptor."""
        try:
            self._segments[number] = Segment(number, descriptor, size)
        finally:
            os.close(descriptor)

    def drop(self, numbers: list[int]) -> None:
        """Let go of segments that are not lent any more."""
        for number in numbers:
            del self._segments[number]

    def borrow(self, number: int) -> Any:
        """Give memory whose death, with all arrays over it, releases the segment."""
        segment = self._segments[number]
        memory = segment.memory()
        memory.loan = _Loan(segment, self._released)
        return memory

    def released(self) -> list[int]:
        """Tell which segments came free, some at a time; each is named once."""
        count = min(len(self._released), _RELEASED_MAX)
        return [self._released.popleft() for _ in range(count)]

    @property
    def sizes(self) -> list[int]:
        """The sizes of the segments that are mapped."""
        return [segment.size for segment in self._segments.values()]


class _DTypes(dict[str, np.dtype[Any]]):
    """NumPy's types by name; to make one takes longer than to make an array."""

    def __missing__(self, name: str) -> np.dtype[Any]:
        return self.setdefault(name, np.dtype(name))


_dtypes = _DTypes()


def restored(described: Any, memory: Any) -> Any:
    """Make a column of its description, its arrays over the memory."""
    if described.__class__ is tuple:
        if len(described) == 3:
            name, shape, offset = described
            return np.ndarray(shape, _dtypes[name], memory, offset)
        values, axes = described
        return restored(values, memory), [restored(axis, memory) for axis in axes]
    if described.__class__ is list and described:
        if isinstance(described[0], str | bytes):
            return described
        return [restored(item, memory) for item in described]
    return described
