"""Measures `millrace.torch.DataLoader` beside PyTorch's own.

The dataset is a list of small Python objects, the case in which worker processes copy
most. Each loader runs in a fresh process. For every start method it prints the seconds
to the first batch, the memory (PSS of the trainer and all its children) at the first
batch and at most during the epoch, the growth of the latter over `num_workers=0`, and
the rows a second of the epoch.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LOADERS = ("millrace", "torch")
METHODS = ("fork", "spawn", "forkserver")
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
    import torch.utils.data

    import millrace.torch

    kinds: dict[str, Any] = {
        "millrace": millrace.torch.DataLoader,
        "torch": torch.utils.data.DataLoader,
    }
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options["multiprocessing_context"] = method
    return kinds[name](dataset, batch_size=BATCH, shuffle=True, **options)


def finish_epoch(batches: Any) -> tuple[float, int]:
    """Takes what is left; returns the seconds and the highest memory on the way."""
    start = checked = time.perf_counter()
    highest = total_pss(os.getpid())
    watching = 0.0
    for _ in batches:
        now = time.perf_counter()
        if now - checked > 0.25:
            highest = max(highest, total_pss(os.getpid()))
            checked = time.perf_counter()
            watching += checked - now
    return time.perf_counter() - start - watching, highest


def measure(name: str, method: str, workers: int, rows: int) -> dict[str, Any]:
    """Runs one loader in this process."""
    dataset = Rows(rows)
    loader = make_loader(name, method, workers, dataset)
    alone = total_pss(os.getpid())
    start = time.perf_counter()
    batches = iter(loader)
    next(batches)
    first_s = time.perf_counter() - start
    pss_first = total_pss(os.getpid())
    epoch_s, pss_highest = finish_epoch(batches)
    return {
        "loader": name,
        "method": method if workers else "none",
        "first_batch_s": round(first_s, 3),
        "rows_per_s": round((rows - BATCH) / epoch_s),
        "pss_alone_mb": alone >> 20,
        "pss_first_mb": pss_first >> 20,
        "pss_peak_mb": max(pss_first, pss_highest) >> 20,
    }


def run_fresh(name: str, method: str, workers: int, rows: int) -> dict[str, Any]:
    """Runs `measure` in a process of its own."""
    command = [sys.executable, __file__, "--one", name, method]
    command += ["--workers", str(workers), "--rows", str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def add_growth(results: list[dict[str, Any]]) -> None:
    """Adds what workers cost over making batches in the trainer."""
    base = {r["loader"]: r["pss_peak_mb"] for r in results if r["method"] == "none"}
    for result in results:
        result["growth_mb"] = result["pss_peak_mb"] - base[result["loader"]]


def print_table(results: list[dict[str, Any]]) -> None:
    """One line a run."""
    names = list(results[0])
    print("  ".join(f"{name:>13}" for name in names))
    for result in results:
        print("  ".join(f"{result[name]!s:>13}" for name in names))


def main() -> None:
    """Runs all loaders, or with `--one` a single one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("LOADER", "METHOD"))
    options = parser.parse_args()
    if options.one:
        name, method = options.one
        print(json.dumps(measure(name, method, options.workers, options.rows)))
        return
    results = [run_fresh(name, "none", 0, options.rows) for name in LOADERS]
    for method in options.methods:
        for name in LOADERS:
            results.append(run_fresh(name, method, options.workers, options.rows))
    add_growth(results)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print_table(results)


if __name__ == "__main__":
    main()
