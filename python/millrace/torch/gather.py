"""Batches whose rows come from the workers that own them.

Reading a Python object writes its reference count, and a forked worker then copies the
page it shares. If every worker reads every row, each ends with its own copy of the
dataset. Here each worker reads only its range of rows, and one of them collates what
the others read. That is done where it cannot be noticed: the rows are small, and
reading them draws no random numbers.
"""

import enum
import pickle
import random
import sys
from dataclasses import dataclass, field
from typing import Any

import torch

from millrace.torch.seeding import seed_libraries

_PROBE_SEED = 0x6D696C6C
# Larger rows cost more to send than their pages cost to copy.
_ROW_BYTES_MAX = 1024
_WORKERS_MAX = 255


class _Mode(enum.Enum):
    """How far a loader has come with gathering."""

    NOT_YET = enum.auto()
    TRY = enum.auto()
    TRYING = enum.auto()
    ALWAYS = enum.auto()
    NEVER = enum.auto()


@dataclass
class RowsPart:
    """The pickled rows that one owner read; None where gathering does not suit them."""

    rows: bytes | None


def read_part(dataset: Any, keys: list[int]) -> RowsPart:
    """Reads rows, in the worker that owns them.

    A failure is not reported here: the batch is then made whole, and fails as it
    should.
    """
    seed_libraries(_PROBE_SEED)
    untouched = _probe()
    seed_libraries(_PROBE_SEED)
    try:
        rows = pickle.dumps([dataset[key] for key in keys], pickle.HIGHEST_PROTOCOL)
    except Exception:
        return RowsPart(None)
    if _probe() != untouched or len(rows) > _ROW_BYTES_MAX * len(keys):
        return RowsPart(None)
    return RowsPart(rows)


def join_parts(parts: list[bytes], owners: bytes) -> list[Any]:
    """The rows of a batch in their order, in the worker that collates."""
    readers = [iter(pickle.loads(part)) if part else iter(()) for part in parts]
    return [next(readers[owner]) for owner in owners]


@dataclass
class Gather:
    """A batch whose rows are being read by their owners."""

    index: list[int]
    owners: bytes
    keys: list[list[int]]
    parts: list[bytes] = field(default_factory=list)
    missing: int = 0
    suits: bool = True

    def add(self, owner: int, part: RowsPart) -> bool:
        """Takes in one owner's rows; True when none is missing."""
        if part.rows is None:
            self.suits = False
        else:
            self.parts[owner] = part.rows
        self.missing -= 1
        return self.missing == 0


class Routing:
    """Whether a loader's batches are gathered. Kept from one pass to the next.

    One batch is tried first. If its rows do not suit, no other ever is gathered.
    """

    def __init__(self, dataset: Any, batched: bool, workers: int) -> None:
        self._workers = workers
        self._mode = _Mode.NEVER
        self._rows = 0
        if (
            batched
            and 2 <= workers <= _WORKERS_MAX
            and hasattr(dataset, "__len__")
            and not getattr(dataset, "__getitems__", None)
        ):
            self._mode = _Mode.NOT_YET
            self._rows = len(dataset)

    @property
    def watches(self) -> bool:
        """Whether workers should say when they copy much of what they share."""
        return self._mode is _Mode.NOT_YET

    def start(self) -> None:
        """Copies are being made, or are to be expected: try to gather."""
        if self._mode is _Mode.NOT_YET:
            self._mode = _Mode.TRY

    def learn(self, suits: bool) -> None:
        """A batch was gathered, or turned out not to suit."""
        self._mode = _Mode.ALWAYS if suits else _Mode.NEVER

    def split(self, index: Any) -> Gather | None:
        """How to gather a batch; None if it is better made by one worker."""
        if self._mode not in (_Mode.TRY, _Mode.ALWAYS) or type(index) is not list:
            return None
        if not all(type(key) is int and 0 <= key < self._rows for key in index):
            return None
        workers, rows = self._workers, self._rows
        owners = bytes([key * workers // rows for key in index])
        keys: list[list[int]] = [[] for _ in range(workers)]
        for key, owner in zip(index, owners, strict=True):
            keys[owner].append(key)
        if max(map(len, keys)) > 8 + 1.5 * len(index) / workers:
            return None  # Neighbouring rows: one worker would do most of the work.
        if self._mode is _Mode.TRY:
            self._mode = _Mode.TRYING
        missing = sum(map(bool, keys))
        return Gather(index, owners, keys, [b""] * workers, missing)


def _probe() -> tuple[float, ...]:
    """The next value of each library."""
    numpy = sys.modules.get("numpy")
    return (
        random.random(),
        numpy.random.random_sample() if numpy is not None else 0.0,
        torch.empty((), dtype=torch.float64).uniform_().item(),
    )
