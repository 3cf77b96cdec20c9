"""What a batch from an isolated engine costs, beside one of the engine of this process.

The time is that of the consumer's thread per batch that is ready (its CPU time, the
median of a pass, the best of some passes); beside it stand the batches per second where
the consumer does nothing else.

Example:
    python isolate.py --json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import millrace as mr

COLUMNS = 8
BATCH_ROWS = 64


def columns(batches: int) -> mr.Dataset:
    """Give small batches: columns of float32, made by the engine from a range."""

    def row(given: Any) -> dict[str, Any]:
        value = given["value"].astype("float32")
        return {f"column_{i}": value + float(i) for i in range(COLUMNS)}

    return mr.range(batches * BATCH_ROWS).map(row).batch(BATCH_ROWS)


def images(batches: int) -> mr.Dataset:
    """Give batches of 256 images of 224 by 224 pixels."""
    some = mr.from_arrays({"image": np.zeros((256, 224, 224, 3), np.uint8)})
    return (
        some.repeat(batches).map(lambda row: {"image": 255 - row["image"]}).batch(256)
    )


def hand_over(batches: Iterator[Any], pause: float) -> float:
    """Measure a pass: µs of this thread per batch, each ready after a pause."""
    next(batches)  # What a pass costs once is not what is measured.
    times = []
    while True:
        ready = time.perf_counter() + pause
        while time.perf_counter() < ready:
            pass
        start = time.thread_time_ns()
        if next(batches, None) is None:
            return float(np.median(times))
        times.append((time.thread_time_ns() - start) / 1e3)


def rate(batches: Iterator[Any]) -> float:
    """Measure a pass: batches per second, waiting included."""
    next(batches)
    start = time.perf_counter()
    count = sum(1 for _batch in batches)
    return count / (time.perf_counter() - start)


def compared(ds: mr.Dataset, pause: float, passes: int) -> dict[str, dict[str, float]]:
    """Measure a dataset with the engine here, and isolated."""
    found = {}
    for name, isolate in (("in process", False), ("isolated", True)):
        with ds.loader(seed=0, isolate=isolate) as loader:
            times = [hand_over(iter(loader), pause) for _ in range(passes)]
            rates = [rate(iter(loader)) for _ in range(passes)]
        found[name] = {"microseconds": min(times), "batches_per_second": max(rates)}
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = {
        f"{COLUMNS} columns of {BATCH_ROWS}": compared(
            columns(3000), 1e-4, given.passes
        ),
        "uint8[256, 224, 224, 3]": compared(images(25), 1e-1, given.passes),
    }
    if given.json:
        json.dump(found, sys.stdout, indent=2)
        print()
        return
    print(f"{'':28}{'':12}{'µs per batch':>14}{'batches/s':>12}")
    for what, ways in found.items():
        for way, cost in ways.items():
            times = f"{cost['microseconds']:14.1f}{cost['batches_per_second']:12.0f}"
            print(f"{what:28}{way:12}{times}")


if __name__ == "__main__":
    main()
