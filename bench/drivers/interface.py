"""What a driver is: a module that does the workloads with one system.

A driver imports its system at the top, so that what comes after is above "framework
imported", and has

- `open_feed(run)`: a `Feed`, or a `CannotError` with the reason;
- `serve(run)`, only where servers are needed: starts them, gives a context to end them.

`systems.toml` lists the drivers, with the environment and the titles of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.workload import Workload

Batch = Mapping[str, Any]  # Columns by name, each an array with a leading axis.


class CannotError(Exception):
    """A workload that a system cannot express, and why."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What to do.

    Attributes:
        workload: Which.
        rows: How many rows the data has.
        data: The folder of the data.
        kept: A folder in which a driver may keep the data in a form of its own.
        threads: How many cores there are.
        option: Which of a driver's ways to use.
        address: Of the servers, where `serve` started some.
    """

    workload: Workload
    rows: int
    data: Path
    kept: Path
    threads: int
    option: str = ""
    address: str = ""

    @property
    def pipeline(self) -> dict[str, Any]:
        """What is done with the rows."""
        return self.workload.pipeline

    @property
    def batch(self) -> int:
        """Rows in a batch."""
        return self.workload.batch


class Feed:
    """Batches of one pass, and the settings that were chosen.

    `iter` begins the pass; the time to the first batch is from there. `save` and `load`
    are given where a system can go on in the middle.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[Batch]],
        settings: Mapping[str, Any],
        *,
        close: Callable[[], None] = lambda: None,
        save: Callable[[], Any] | None = None,
        load: Callable[[Any], None] | None = None,
    ) -> None:
        self._batches = batches
        self.settings = dict(settings)
        self.close = close
        self.save = save
        self.load = load

    def __iter__(self) -> Iterator[Batch]:
        """Begin the pass."""
        return iter(self._batches())


def choose(run: Run, ways: Mapping[str, Callable[[Run], Feed]]) -> Feed:
    """Open the feed for a workload's kind, or say that there is none."""
    way = ways.get(run.workload.kind)
    if way is None:
        raise CannotError("no driver for this kind")
    return way(run)


def need_layout(run: Run, *layouts: str, reason: str) -> str:
    """Give the layout of the data; one that the system does not read is an error."""
    layout = str(run.workload.source["layout"])
    if layout not in layouts:
        raise CannotError(reason)
    return layout
