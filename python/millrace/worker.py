"""Where a Python function runs: which of the processes beside the engine it is in."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class WorkerInfo:
    """One of the processes that run Python functions.

    Args:
        id: Its number, from 0 on.
        num_workers: How many there may be.
        seed: The job's, plus the number: another in each process. For numbers that stay
            the same wherever a row is processed, have a parameter `rng` instead.
    """

    id: int
    num_workers: int
    seed: int


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Tell which process a Python function runs in; None outside of one.

    For what each process has of its own: a file to write to, a device, a connection.

    Example:
        >>> import millrace as mr
        >>> def which(row):
        ...     return {"process": mr.get_worker_info().id}
        >>> int(next(iter(mr.range(1).map(which, python=True)))["process"])
        0
        >>> mr.get_worker_info() is None
        True
    """
    return _info


def enter(info: WorkerInfo | None) -> None:
    """Say where functions run from now on."""
    global _info
    _info = info
