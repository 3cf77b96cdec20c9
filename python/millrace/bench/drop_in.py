"""`millrace.torch.DataLoader` beside torch's own, over a million small Python objects.

That is the case in which worker processes copy most. Each loader runs in a process of
its own, `python -m millrace.bench.drop_in LOADER METHOD WORKERS`, which tells the
seconds to the first batch and the memory (the proportional share of the trainer and all
its children) at most during an epoch.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from millrace.bench.lines import Line

_MODULE = "millrace.bench.drop_in"
LOADERS = ("millrace", "torch")
METHODS = ("fork", "spawn", "forkserver")
ROWS = 1_000_000
WORKERS = 4
BATCH = 256


class Rows:
    """Rows that are small Python objects, made anew in each run."""

    def __init__(self, count: int) -> None:
        self.rows = [(i, float(i), f"row-{i:08d}") for i in range(count)]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[int, float, int]:
        """One row as numbers."""
        number, value, name = self.rows[index]
        return number, value, len(name)


def total_pss(pid: int) -> int:
    """The proportional memory of a process and all that descend from it, in bytes."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((task / "children").read_text() for task in tasks).split()
    except (FileNotFoundError, ProcessLookupError):
        return total  # It has just ended.
    return total + sum(total_pss(int(child)) for child in children)


def make_loader(name: str, method: str, workers: int, dataset: Rows) -> Any:
    """The loader to measure."""
    module = {"millrace": "millrace.torch", "torch": "torch.utils.data"}[name]
    kind: Any = importlib.import_module(module)
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options["multiprocessing_context"] = method
    return kind.DataLoader(dataset, batch_size=BATCH, shuffle=True, **options)


def highest_pss(batches: Iterable[Any]) -> int:
    """Take what is left; give the highest memory on the way."""
    checked = time.perf_counter()
    highest = total_pss(os.getpid())
    for _ in batches:
        if time.perf_counter() - checked > 0.25:
            highest = max(highest, total_pss(os.getpid()))
            checked = time.perf_counter()
    return highest


def measure(name: str, method: str, workers: int) -> dict[str, float]:
    """Run one loader in this process, for an epoch."""
    loader = make_loader(name, method, workers, Rows(ROWS))
    start = time.perf_counter()
    batches = iter(loader)
    next(batches)
    first = time.perf_counter() - start
    pss_first = total_pss(os.getpid())
    return {"first": first, "pss": max(pss_first, highest_pss(batches))}


def in_fresh_process(name: str, method: str, workers: int) -> dict[str, float]:
    """Run `measure` in a process of its own."""
    command = [sys.executable, "-m", _MODULE, name, method, str(workers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def lines(repeats: int) -> list[Line]:
    """Measure each way to start workers; nothing without torch."""
    if importlib.util.find_spec("torch") is None:
        return []
    runs = min(repeats, 3)  # Of some ten seconds each.
    _, alone = _both(runs, "fork", 0)
    found = []
    for method in METHODS:
        firsts, peaks = _both(runs, method, WORKERS)
        found.append(_first_line(method, *firsts))
        if method == "fork":
            grown = [peak - before for peak, before in zip(peaks, alone, strict=True)]
            name = "1 M objects, fork: memory over no workers"
            found.append(_memory_line(name, *grown))
        else:
            name = f"1 M objects, {method}: memory of all processes"
            found.append(_memory_line(name, *peaks))
    return found


def _both(runs: int, method: str, workers: int) -> tuple[list[float], list[float]]:
    """Give medians, ours and theirs: seconds to the first batch, and memory."""
    rounds = [
        [in_fresh_process(name, method, workers) for name in LOADERS]
        for _ in range(runs)
    ]

    def medians_of(what: str) -> list[float]:
        of_each = zip(*rounds, strict=True)
        return [statistics.median(run[what] for run in of_one) for of_one in of_each]

    return medians_of("first"), medians_of("pss")


def _first_line(method: str, ours: float, theirs: float) -> Line:
    return Line(
        name=f"1 M objects, {method}: first batches a second",
        unit="1/s",
        ours=1 / ours,
        limit=1 / theirs,
        limit_is="torch's DataLoader",
        bar=1.0 if method == "fork" else 5.0,
    )


def _memory_line(name: str, ours: float, theirs: float) -> Line:
    return Line(name, "bytes", ours, theirs, "torch's DataLoader", 0.5, at_most=True)


def main() -> None:
    """Measure one loader."""
    name, method, workers = sys.argv[1:]
    print(json.dumps(measure(name, method, int(workers))))


if __name__ == "__main__":
    main()
