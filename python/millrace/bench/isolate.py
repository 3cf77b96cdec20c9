"""What a batch from an isolated engine costs, beside one of the engine of this process.

The time is that of the consumer's thread per batch that is ready: its CPU time, the
median of a pass, the best of some passes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace import _sources
from millrace.bench.lines import Line
from millrace.dataset import Dataset
from millrace.memory import from_arrays

COLUMNS = 8
BATCH_ROWS = 64


def lines(repeats: int) -> list[Line]:
    """Measure small batches and large ones."""
    small = f"isolated, a batch of {COLUMNS} small columns"
    large = "isolated, a batch of 256 images"
    return [
        _line(small, columns(3000), 1e-4, repeats),
        _line(large, images(25), 1e-1, repeats),
    ]


def _line(name: str, ds: Dataset, pause: float, repeats: int) -> Line:
    ours, limit = (_best(ds, isolate, pause, repeats) for isolate in (True, False))
    return Line(name, "µs", ours, limit, "the engine in this process", 2.0, True)


def _best(ds: Dataset, isolate: bool, pause: float, repeats: int) -> float:
    with ds.loader(seed=0, isolate=isolate) as loader:
        return min(hand_over(iter(loader), pause) for _ in range(repeats))


def columns(batches: int) -> Dataset:
    """Give small batches: columns of float32, made by the engine from a range."""

    def row(given: Any) -> dict[str, Any]:
        value = given["value"].astype("float32")
        return {f"column_{i}": value + float(i) for i in range(COLUMNS)}

    return _sources.range(batches * BATCH_ROWS).map(row).batch(BATCH_ROWS)


def images(batches: int) -> Dataset:
    """Give batches of 256 images of 224 by 224 pixels."""
    some = from_arrays({"image": np.zeros((256, 224, 224, 3), np.uint8)})
    return (
        some.repeat(batches).map(lambda row: {"image": 255 - row["image"]}).batch(256)
    )


def hand_over(batches: Iterator[Any], pause: float) -> float:
    """Measure a pass: µs of this thread per batch, each ready after a pause."""
    next(batches)  # What a pass costs once is not what is measured.
    times: list[float] = []
    while True:
        ready = time.perf_counter() + pause
        while time.perf_counter() < ready:
            pass
        start = time.thread_time_ns()
        if next(batches, None) is None:
            return float(np.median(times))
        times.append((time.thread_time_ns() - start) / 1e3)
