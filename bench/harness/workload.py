"""Workloads: what is read, what is done with it, who receives it, what is told of it.

A workload is a file of data, `workloads/NAME.toml`; drivers say how a system does it.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

PLACES = ("local", "service")
_SECTIONS = {
    "source": ("data", "rows", "quick_rows"),
    "pipeline": ("kind", "batch"),
    "client": ("place",),
    "metric": ("counted",),
}
_METRIC_KEYS = ("counted", "exact", "close", "resume", "bars")


class WorkloadError(Exception):
    """A workload file that says too little, or what nobody understands."""


@dataclasses.dataclass(frozen=True)
class Bar:
    """What Millrace must reach: so many times the rate of a peer."""

    peer: str
    times: float


@dataclasses.dataclass(frozen=True)
class Workload:
    """One workload.

    Attributes:
        name: Of its file.
        title: For people.
        quick: Whether a quick run has it.
        source: Which data there is (`data` names its maker), and how much.
        pipeline: What is done with it (`kind` is what drivers know), in what batches.
        client: Where the work is done: in the process that trains, or by a service.
        metric: What rows are called, which columns must be the same in all systems.
    """

    name: str
    title: str
    quick: bool
    source: dict[str, Any]
    pipeline: dict[str, Any]
    client: dict[str, Any]
    metric: dict[str, Any]

    @property
    def kind(self) -> str:
        """What is done with the rows, as drivers know it."""
        return str(self.pipeline["kind"])

    @property
    def batch(self) -> int:
        """Rows in a batch."""
        return int(self.pipeline["batch"])

    @property
    def place(self) -> str:
        """Where the work is done."""
        return str(self.client["place"])

    @property
    def bars(self) -> list[Bar]:
        """What Millrace must reach."""
        return [Bar(bar["peer"], bar["times"]) for bar in self.metric.get("bars", [])]

    def data_name(self, rows: int) -> str:
        """Name the folder of its data, by what makes data differ."""
        words = [str(self.source["data"])]
        for key, value in self.source.items():
            if key != "data" and not key.endswith("rows"):
                many = value if isinstance(value, list) else [value]
                words += [key, "x".join(map(str, many))]
        return "-".join([*words, "rows", str(rows)])

    def rows_to_check(self, rows: int) -> int:
        """Give how many of so many rows are looked into."""
        return min(rows, int(self.source.get("check_rows", rows)))

    def rows(self, quick: bool, scale: float = 1.0) -> int:
        """Give how many rows there are to be read, in whole batches."""
        wanted = int(self.source["quick_rows" if quick else "rows"] * scale)
        return max(self.batch, wanted // self.batch * self.batch)


def read_workload(path: Path) -> Workload:
    """Read one file.

    Raises:
        WorkloadError: Something is missing in it, or there is what nobody understands.
    """
    try:
        told = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise WorkloadError(f"{path.name}: {error}") from error
    _check(path.name, told)
    sections = {name: told[name] for name in _SECTIONS}
    return Workload(path.stem, told["title"], told.get("quick", False), **sections)


def read_workloads(folder: Path) -> list[Workload]:
    """Read all files of a folder, sorted by name."""
    return [read_workload(path) for path in sorted(folder.glob("*.toml"))]


def _check(name: str, told: dict[str, Any]) -> None:
    if unknown := told.keys() - {"title", "quick", *_SECTIONS}:
        raise WorkloadError(f"{name}: nobody understands {', '.join(sorted(unknown))}")
    if "title" not in told:
        raise WorkloadError(f"{name}: the title is missing")
    for section, keys in _SECTIONS.items():
        for key in keys:
            if key not in told.get(section, {}):
                raise WorkloadError(f"{name}: [{section}] lacks {key}")
    if told["client"]["place"] not in PLACES:
        raise WorkloadError(f"{name}: [client] place is one of {', '.join(PLACES)}")
    if unknown := told["metric"].keys() - set(_METRIC_KEYS):
        raise WorkloadError(f"{name}: [metric] has {', '.join(sorted(unknown))}")
