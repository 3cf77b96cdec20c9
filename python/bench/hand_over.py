"""What it costs to hand over a batch that is ready, by framework and columns.

The time is that of the consumer's thread (its CPU time, so that waiting for the engine
does not count), per batch, the best of some passes. Beside each framework stands the
engine's own iterator without anything of the package around it. A line is laid through
the differences: so many µs for a batch, and so many for each of its columns.

Example:
    python hand_over.py --frameworks numpy torch --json
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import millrace as mr
from millrace.engine import engine

COLUMNS = (1, 2, 4, 8)
BATCH_ROWS = 64
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")


def dataset(columns: int, batches: int) -> mr.Dataset:
    """Give batches of columns of float32, made by the engine from a range."""

    def row(given: Any) -> dict[str, Any]:
        value = given["value"].astype("float32")
        return {f"column_{i}": value + float(i) for i in range(columns)}

    return mr.range(batches * BATCH_ROWS).map(row).batch(BATCH_ROWS)


def raw_batches(ds: mr.Dataset) -> Iterable[Any]:
    """Give the engine's own blocks."""
    iterator = engine().open(ds._pipeline, seed=0, epoch=0, any_order=False, state=None)
    return iter(iterator.next, None)


def microseconds(batches: Callable[[], Iterable[Any]], passes: int) -> float:
    """Measure the best pass: µs of this thread per batch."""
    best = float("inf")
    for _ in range(passes):
        iterator = iter(batches())
        next(iterator)  # What a pass costs once is not what is measured.
        start = time.thread_time_ns()
        count = 0
        for _batch in iterator:
            count += 1
        best = min(best, (time.thread_time_ns() - start) / 1e3 / count)
    return best


def line_through(columns: Iterable[int], times: Iterable[float]) -> tuple[float, float]:
    """Lay a line through times: µs for a batch, µs for each of its columns."""
    slope, start = np.polyfit(list(columns), list(times), 1)
    return float(start), float(slope)


def measured(frameworks: list[str], batches: int, passes: int) -> dict[str, Any]:
    """Measure all, and give µs by framework and number of columns."""
    found: dict[str, Any] = {"raw": {}, **{name: {} for name in frameworks}}
    for columns in COLUMNS:
        ds = dataset(columns, batches)

        def raw(ds: mr.Dataset = ds) -> Iterable[Any]:
            return raw_batches(ds)

        found["raw"][columns] = microseconds(raw, passes)
        for name in frameworks:
            loader = ds.to(name)

            found[name][columns] = microseconds(loader.__iter__, passes)
    return found


def over_raw(found: dict[str, Any], name: str) -> dict[str, float]:
    """Tell what a framework costs beside the engine's own iterator."""
    more = [found[name][n] - found["raw"][n] for n in COLUMNS]
    start, slope = line_through(COLUMNS, more)
    return {"per_batch": start, "per_column": slope}


def shown(found: dict[str, Any]) -> str:
    """Write the table for people."""
    lines = ["µs per batch " + "".join(f"{n:>9} col" for n in COLUMNS) + "   over raw"]
    for name, times in found.items():
        cells = "".join(f"{times[n]:>13.2f}" for n in COLUMNS)
        more = over_raw(found, name)
        line = f"{more['per_batch']:.2f} + {more['per_column']:.2f} per column"
        lines.append(f"{name:<13}{cells}   {line if name != 'raw' else ''}".rstrip())
    return "\n".join(lines)


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS)
    parser.add_argument("--batches", type=int, default=3000)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    here = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is not None]
    found = measured(given.frameworks or here, given.batches, given.passes)
    if given.json:
        over = {name: over_raw(found, name) for name in found if name != "raw"}
        json.dump({"microseconds": found, "over_raw": over}, sys.stdout, indent=2)
        print()
    else:
        print(shown(found))


if __name__ == "__main__":
    main()
