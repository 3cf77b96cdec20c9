"""What a process and all that descend from it use, read from /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_GONE = (FileNotFoundError, ProcessLookupError)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own has ended, so that they count."""
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def end_descendants() -> None:
    """Kill all that descend from this process."""
    for process in descendants(os.getpid()):
        if process != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def descendants(pid: int, leave_out: int | None = None) -> Iterator[int]:
    """Yield a process and all that descend from it, less one and its own."""
    if pid == leave_out:
        return
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((task / "children").read_text() for task in tasks).split()
    except _GONE:
        children = []  # It has just ended.
    yield pid
    for child in children:
        yield from descendants(int(child), leave_out)


def cpu_seconds(pid: int, leave_out: int | None = None) -> float:
    """Sum up the CPU time of a tree; of those that ended too, once waited for."""
    total = 0
    for process in descendants(pid, leave_out):
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except _GONE:
            continue
        # The name, in brackets, may have spaces: count from behind it.
        fields = stat.rpartition(")")[2].split()
        total += sum(int(ticks) for ticks in fields[11:15])
    return total / _TICKS


def memory_bytes(pid: int, leave_out: int | None = None) -> int:
    """Sum up the proportional share of a tree: what is shared counts once."""
    total = 0
    for process in descendants(pid, leave_out):
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except (*_GONE, PermissionError):
            continue
        for line in rollup.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
    return total
