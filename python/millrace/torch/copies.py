"""What a worker copies of the memory it shares with the others.

Reading a Python object writes its reference count, and the kernel copies the page for
the worker that does. Where the dataset was unpickled for the workers, such copies are
given back before they are many; where it was inherited, the trainer is told of them.
"""

import ctypes
import os
import resource
from pathlib import Path

from millrace import _core

# A worker says when it has copied this much of the memory it shares.
_COPIED_BYTES = 16 << 20
# Copies that are given back come to this share of what all workers share, together.
_COPIES_SHARE = 0.25
_COPIES_BYTES_LEAST = 4 << 20


class _ArenaAllocator(ctypes.Structure):
    """Python's PyObjectArenaAllocator."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


def keep_objects_in_file() -> None:
    """From now on, small objects are made where copies of them can be given back."""
    set_allocator = getattr(ctypes.pythonapi, "PyObject_SetArenaAllocator", None)
    if set_allocator is None:
        return  # Another kind of interpreter: objects stay where they were.
    # No two processes may write to one object, whoever forks.
    os.register_at_fork(before=_core.share_arenas)
    allocate, free = _core.arena_functions()
    set_allocator(ctypes.byref(_ArenaAllocator(None, allocate, free)))


class CopyLimit:
    """Has this worker give back copies of the objects it shares, now and then."""

    def __init__(self, shared_bytes: int, workers: int) -> None:
        limit = max(_COPIES_BYTES_LEAST, shared_bytes * _COPIES_SHARE / workers)
        self._pages = int(limit) // resource.getpagesize()
        self._faults_next = _faults() + self._pages

    def check(self) -> None:
        """Gives back what there is if it can be much: each copy is a page fault."""
        if _faults() < self._faults_next:
            return
        copied, given_back = _core.give_back_copies()
        if given_back * 2 <= copied:
            self._pages *= 2  # The worker changes the objects: look less often.
        self._faults_next = _faults() + self._pages


class CopiedMemory:
    """Notices when this worker copies the memory that it shares with the others."""

    def __init__(self) -> None:
        self._resident, self._private = _memory()
        self._faults_next = _faults() + _COPIED_BYTES // resource.getpagesize()

    def is_large(self) -> bool:
        """Whether much was copied. Growth by new objects does not count.

        Copying a page is a page fault, and those are cheap to count.
        """
        faults = _faults()
        if faults < self._faults_next:
            return False
        resident, private = _memory()
        grown = max(0, resident - self._resident)
        if private - self._private - grown >= _COPIED_BYTES:
            return True
        self._faults_next += faults  # The faults had other causes: look less often.
        return False


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _memory() -> tuple[int, int]:
    """Resident bytes, and those of them that no other process shares."""
    resident = private = 0
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        if name == "Rss:":
            resident = int(value) << 10
        elif name in ("Private_Dirty:", "Private_Clean:"):
            private += int(value) << 10
    return resident, private
