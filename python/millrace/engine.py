"""The engine of this process: its threads and memory, made when first needed.

Budgets come from the machine: threads are what affinity and control group allow, memory
a quarter of what the control group allows, both divided by LOCAL_WORLD_SIZE, so that
the ranks of a host share it. `configure` or MILLRACE_THREADS, MILLRACE_MEMORY and
MILLRACE_CACHE_MEMORY say otherwise.
"""

from __future__ import annotations

import dataclasses
import os
import re
import threading

from millrace import _core
from millrace.errors import PipelineError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclasses.dataclass(frozen=True)
class Budget:
    """What an engine may use of this machine."""

    threads: int
    memory_bytes: int
    cache_bytes: int

    def __str__(self) -> str:
        """Say it for people: `2 threads, 1.5 GB of memory, 1.5 GB for caches`."""
        gigabytes = 1 << 30
        return (
            f"{self.threads} thread{'s' if self.threads != 1 else ''}, "
            f"{self.memory_bytes / gigabytes:.1f} GB of memory, "
            f"{self.cache_bytes / gigabytes:.1f} GB for caches"
        )


def parse_bytes(text: str | int) -> int:
    """Read a size: 1048576, "512MB", "2GB"."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None:
        raise PipelineError(f"{text!r} is no size: write it as 512MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2]])


def _local_ranks() -> int:
    text = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return int(text) if text.isdigit() and int(text) > 0 else 1


def default_budget() -> Budget:
    """Tell what an engine uses where nobody says otherwise."""
    ranks = _local_ranks()
    threads = os.environ.get("MILLRACE_THREADS")
    memory = os.environ.get("MILLRACE_MEMORY")
    cache = os.environ.get("MILLRACE_CACHE_MEMORY")
    share = _core.available_memory_bytes() // 4 // ranks
    return Budget(
        threads=int(threads) if threads else max(1, _core.available_threads() // ranks),
        memory_bytes=parse_bytes(memory) if memory else share,
        cache_bytes=parse_bytes(cache) if cache else share,
    )


class _Process:
    """The one engine of a process, and the process it belongs to."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.budget: Budget | None = None
        self.engine: _core.Engine | None = None
        self.shares_memory = False
        self.debug_engine: _core.Engine | None = None  # It has no threads to lose.
        self.pid = 0


_process = _Process()


def configure(
    *,
    threads: int | None = None,
    memory: str | int | None = None,
    cache_memory: str | int | None = None,
) -> Budget:
    """Set the budgets of this process's engine, before anything runs in it.

    Args:
        threads: How many compute.
        memory: For what is in work or ready: bytes, or a text such as "2GB".
        cache_memory: For what `cache` keeps in memory, besides.

    Example:
        >>> import millrace as mr
        >>> mr.configure(threads=2, memory="1GB").threads
        2
    """
    with _process.lock:
        usual = default_budget()
        budget = Budget(
            threads=usual.threads if threads is None else threads,
            memory_bytes=usual.memory_bytes if memory is None else parse_bytes(memory),
            cache_bytes=(
                usual.cache_bytes if cache_memory is None else parse_bytes(cache_memory)
            ),
        )
        if budget.threads < 1 or budget.memory_bytes < 1 or budget.cache_bytes < 0:
            raise PipelineError(f"an engine needs a thread and memory, not {budget}")
        if _process.engine is not None and budget != _process.budget:
            raise PipelineError(
                f"the engine runs already, with {_process.budget}: call "
                "millrace.configure before the first iteration"
            )
        _process.budget = budget
        return budget


def share_memory() -> None:
    """Have large buffers where other processes can map them, before anything runs."""
    _process.shares_memory = True


def budget() -> Budget:
    """Tell what the engine of this process uses, or will use."""
    return _process.budget or default_budget()


def engine() -> _core.Engine:
    """Give the engine of this process, made when first asked for."""
    with _process.lock:
        check_process()
        if _process.engine is None:
            _process.budget = _process.budget or default_budget()
            _process.engine = _core.Engine(
                _process.budget.threads,
                _process.budget.memory_bytes,
                _process.budget.cache_bytes,
                _process.shares_memory,
            )
            _process.pid = os.getpid()
        return _process.engine


def debug_engine() -> _core.Engine:
    """Give an engine without threads: whoever takes rows from it does all the work."""
    with _process.lock:
        if _process.debug_engine is None:
            usual = _process.budget or default_budget()
            _process.debug_engine = _core.Engine(
                0, usual.memory_bytes, usual.cache_bytes
            )
        return _process.debug_engine


def check_process() -> None:
    """Refuse to work in a process that was forked from one with a running engine."""
    if _process.engine is not None and _process.pid != os.getpid():
        raise PipelineError(
            "this process was forked from one where Millrace's engine runs, and has "
            "none of its threads: start it with the spawn or forkserver method, or "
            "iterate in the parent only"
        )


def _forget_after_fork() -> None:
    # The child has none of the engine's threads: it must not try to end them. The
    # reference is kept, so that nothing is destroyed there; a new lock, since another
    # thread may have held the old one.
    _process.lock = threading.Lock()
    _core.after_fork()


os.register_at_fork(after_in_child=_forget_after_fork)
