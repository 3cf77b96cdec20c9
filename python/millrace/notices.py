"""What the package tells people while it works, in Python's logger `millrace`.

Each cause once: a program that reads for days says a thing when it is news.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace import _core

logger = logging.getLogger("millrace")

_WAIT_SECONDS = 30.0
_ONE_TO_ONE = ("map", "map_python")  # As many rows out as in, sooner or later.

_told: set[str] = set()
_lock = threading.Lock()


def once(cause: str, message: str) -> None:
    """Warn of something, if its cause is new in this process."""
    with _lock:
        if cause in _told:
            return
        _told.add(cause)
    logger.warning(message)


def _reads_shards(pipeline: _core.Pipeline) -> bool:
    return pipeline.operator == "shard" or any(map(_reads_shards, pipeline.inputs))


def warn_if_not_distributed(pipeline: _core.Pipeline) -> None:
    """Say what to add where several ranks would all read the same rows."""
    from millrace.distributed import ranks

    _, count = ranks()
    if count > 1 and not _reads_shards(pipeline):
        once(
            "not distributed",
            f"there are {count} ranks, and each of them reads all rows of this "
            "dataset. So that each gets its own, iterate\n"
            '    ds.distribute(None, remainder="drop")\n'
            "instead of ds",
        )


def wait_seconds() -> float:
    """How long a wait is before it is news; MILLRACE_WAIT_SECONDS says otherwise."""
    try:
        return float(os.environ.get("MILLRACE_WAIT_SECONDS", _WAIT_SECONDS))
    except ValueError:
        return _WAIT_SECONDS


class Waits:
    """Logs what a pass waits for, where it waits long: once for each such wait.

    Called with the iterator, now and then, while `next` waits; never before it has
    waited for some time, so that a batch that is ready costs nothing.
    """

    def __init__(self) -> None:
        """Begin before the first block."""
        self._limit = wait_seconds()
        self._given = -1
        self._since = 0.0
        self._told = False

    def __call__(self, iterator: _core.Iterator) -> None:
        """Look how long it has waited for the block behind those that were given."""
        now = time.monotonic()
        if iterator.given != self._given:
            self._given, self._since, self._told = iterator.given, now, False
        if self._told or now - self._since < self._limit:
            return
        self._told = True
        tell_of_wait(waited_for(json.loads(iterator.facts())))


class Waiting:
    """Logs a wait for others, where it is long: once for each such wait.

    Called now and then while it lasts.
    """

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self.what_for = ""
        self._limit = wait_seconds()
        self._since = 0.0
        self._told = False

    def begin(self) -> None:
        """Begin a wait."""
        self._since, self._told = time.monotonic(), False

    def __call__(self) -> None:
        """Look how long it has lasted."""
        if not self._told and time.monotonic() - self._since >= self._limit:
            self._told = True
            tell_of_wait(self.what_for)


def tell_of_wait(what_for: str) -> None:
    """Log that a batch is long in coming."""
    logger.warning("waiting for a batch for over %.4g s: %s", wait_seconds(), what_for)


def waited_for(facts: dict[str, Any]) -> str:
    """Tell which operator a pass waits for, by what is known of them all."""
    operators = facts["operators"]
    for operator in reversed(operators):
        inside = operator["rows_in"] - operator["rows_out"] - operator["rows_left_out"]
        if operator["name"] in _ONE_TO_ONE and inside > 0:
            return f"{_named(operator)} has {inside} rows in work"
    source = operators[0] if operators else {"name": "its source", "rows_out": 0}
    return (
        f"{_named(source)} gives no rows, after {source['rows_out']} of them; the disk "
        "or whatever it reads from does not answer"
    )


def _named(operator: dict[str, Any]) -> str:
    number = operator.get("number")
    return f"{operator['name']}" + ("" if number is None else f" (%{number})")
