"""Blocks in memory that two processes share.

The engine has large arrays in memory that the trainer's process can map, and copies
small ones into a segment; the trainer's process makes arrays over both. Memory goes
back when the last array over it dies, so that pages are touched once, not once a block.
All of it is files without names: nothing is left behind however a process ends.
"""

from __future__ import annotations

import collections
import ctypes
import fcntl
import mmap
import os
import weakref
from typing import Any

import numpy as np

from millrace import _core

MESSAGE_MAX = 64 << 10  # Of what goes through a socket; more goes through a segment.

DESCRIPTORS_MAX = 64  # Beside a message.

# Blocks that were sent and not taken: so many, or more where all of them are small,
# since to wake each other takes two processes longer than to hand over a small block.
AHEAD = 2
SMALL_AHEAD = 16
SMALL_BYTES = 1 << 20

_ALIGNMENT = 64  # Of memory that frameworks take as it is.
_SIZE_STEP = 64 << 10
# Where sizes change, memory of the wrong size must not pile up.
_FREE_MAX = 4
_IDLE_MAX = 16
_RELEASED_MAX = 4096  # Of one message.
# Nobody can take memory away that others look at.
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

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


class Lender:
    """Lends memory to the other process: segments to fill, and the engine's own.

    Each has a number. The other side keeps what it has mapped for the next time that it
    is lent, but not much of it.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._count = 0
        self._free: list[Segment] = []
        # The engine's memory has an array that keeps it, and a file behind it.
        self._lent: dict[int, Segment | tuple[np.ndarray[Any, Any], int]] = {}
        self._known: dict[int, int] = {}  # Numbers of the engine's, by file.
        self._idle: dict[int, int] = {}  # Files of what is known and not lent.
        self._dropped: list[int] = []

    def take_back(self, numbers: list[int]) -> None:
        """The other side no longer looks at these."""
        for number in numbers:
            memory = self._lent.pop(number)
            if isinstance(memory, Segment):
                self._free.append(memory)
                continue
            _, self._idle[number] = memory
            if len(self._idle) > _IDLE_MAX:
                oldest = next(iter(self._idle))
                del self._known[self._idle.pop(oldest)]
                self._dropped.append(oldest)

    def segment(self, size: int) -> tuple[Segment, int | None]:
        """Lend a segment; give its descriptor where the other side has not seen it.

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
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        descriptor = os.memfd_create("millrace", flags)
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        made = self._lent[self._count] = Segment(self._count, descriptor, size)
        return made, descriptor

    def share(self, array: np.ndarray[Any, Any], descriptor: int) -> tuple[int, bool]:
        """Lend the engine's memory behind an array; tell whether it is new."""
        file = os.fstat(descriptor).st_ino  # Descriptors come again, files do not.
        number = self._known.get(file, 0)
        is_new = number == 0
        if is_new:
            self._count += 1
            number = self._known[file] = self._count
        self._idle.pop(number, None)
        self._lent[number] = (array, file)
        return number, is_new

    def dropped(self) -> list[int]:
        """Tell what the other side can let go of; each is named once."""
        numbers, self._dropped = self._dropped, []
        return numbers


class Packing:
    """Where a block's arrays are, and what the other side is told.

    Large arrays stay where the engine has them, where that can be shared; others go to
    a segment, number 0 here. An array is described by type, shape, offset and number;
    values whose parts differ in size by a pair of values and axes; lists one by one;
    texts are what they are.

    Attributes:
        size: Of what goes to a segment.
        shared_size: Of what does not.
        created: Numbers and sizes of memory that the other side has not seen.
        descriptors: Of these; they stay the engine's.
    """

    def __init__(self, columns: list[Any], lender: Lender) -> None:
        """Give every array a place."""
        self._lender = lender
        self._arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
        self.size = 0
        self.shared_size = 0
        self.created: list[tuple[int, int]] = []
        self.descriptors: list[int] = []
        self.columns = [self._described(column) for column in columns]

    def _described(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            offset, number = self._shared(value) or (self._placed(value), 0)
            return (value.dtype.str, value.shape, offset, number)
        if isinstance(value, tuple):
            values, axes = value
            return (self._described(values), [self._described(axis) for axis in axes])
        if isinstance(value, list) and value and not isinstance(value[0], str | bytes):
            return [self._described(item) for item in value]
        return value

    def _shared(self, array: np.ndarray[Any, Any]) -> tuple[int, int] | None:
        base = array.base
        place = base.shared if isinstance(base, _core.Memory) else None
        if place is None or len(self.descriptors) >= DESCRIPTORS_MAX - 1:
            return None
        descriptor, size, offset = place
        number, is_new = self._lender.share(array, descriptor)
        if is_new:
            self.created.append((number, size))
            self.descriptors.append(descriptor)
        self.shared_size += array.nbytes
        return offset, number

    def _placed(self, array: np.ndarray[Any, Any]) -> int:
        offset = self.size
        self._arrays.append((offset, array))
        self.size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return offset

    def copy_to(self, memory: Any) -> None:
        """Copy what goes to a segment."""
        for offset, array in self._arrays:
            np.ndarray(array.shape, array.dtype, memory, offset)[...] = array


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
        """Map memory that is new; the descriptor stays the caller's."""
        self._segments[number] = Segment(number, descriptor, size)

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


class Restoring:
    """Makes a block's columns of what is told of them."""

    def __init__(self, borrower: Borrower, segment: Any) -> None:
        """Take the block's own segment; other memory is borrowed as it is met."""
        self._borrow = borrower.borrow
        self._segment = segment

    def value(self, described: Any) -> Any:
        """Make a column, or a part of one, its arrays over the memory."""
        if described.__class__ is tuple:
            if len(described) == 4:
                name, shape, offset, number = described
                memory = self._borrow(number) if number else self._segment
                return np.ndarray(shape, _dtypes[name], memory, offset)
            values, axes = described
            return self.value(values), [self.value(axis) for axis in axes]
        if described.__class__ is list and described:
            if isinstance(described[0], str | bytes):
                return described
            return [self.value(item) for item in described]
        return described
