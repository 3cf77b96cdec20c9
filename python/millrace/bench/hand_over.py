"""What it costs to hand over a batch that is ready, by framework and columns.

The time is that of the consumer's thread per batch (its CPU time, the median of a pass,
the best of some passes), with a pause before each, so that it is ready. It stands
beside the same blocks taken in C++ and handed to nobody. JAX and TensorFlow take
several µs for each array themselves: what their own call takes for the same arrays is
theirs.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from millrace import _core, _sources
from millrace.bench.lines import Line
from millrace.dataset import Dataset
from millrace.engine import engine

_COLUMNS = (1, 2, 4, 8)
_ROWS = 64
_BATCHES = 3000
_PAUSE = 50e-6
_FRAMEWORKS = ("numpy", "torch", "tensorflow", "jax")
# The bar: so much over C++ for a batch, and so much for each of its columns.
_BATCH_US = 5.0
_COLUMN_US = 2.0


def lines(repeats: int) -> list[Line]:
    """Measure every framework that is here; of all numbers of columns, the worst."""
    here = [name for name in _FRAMEWORKS if importlib.util.find_spec(name) is not None]
    datasets = {columns: _dataset(columns) for columns in _COLUMNS}
    in_cpp = {
        columns: _best(repeats, partial(_cpp, ds)) for columns, ds in datasets.items()
    }
    found = []
    for name in here:
        over = {
            columns: _best(repeats, partial(_python, ds, name)) - in_cpp[columns]
            for columns, ds in datasets.items()
        }
        own = {columns: _own(name, ds) for columns, ds in datasets.items()}
        found.append(_line(name, over, own))
    return found


def _line(framework: str, over: dict[int, float], own: dict[int, float]) -> Line:
    """Tell the number of columns that comes nearest to the bar, or most above it."""
    limits = {n: _BATCH_US + _COLUMN_US * n + own[n] for n in over}
    worst = max(over, key=lambda columns: over[columns] / limits[columns])
    limit_is = "5 µs and 2 µs a column"
    return Line(
        name=f"handing over a batch, {framework}, {worst} column(s)",
        unit="µs over C++",
        ours=over[worst],
        limit=limits[worst],
        limit_is=limit_is + (", and its own call's" if own[worst] else ""),
        bar=1.0,
        at_most=True,
    )


def _own(framework: str, ds: Dataset) -> float:
    """Measure the framework's own call on the arrays of a batch, where that is slow."""
    arrays = list(next(iter(ds)).values())
    if framework == "jax":
        jax: Any = importlib.import_module("jax")
        return _again(lambda: jax.device_put(arrays))
    if framework == "tensorflow":
        dlpack: Any = importlib.import_module("tensorflow").experimental.dlpack

        def wrap() -> None:
            for array in arrays:
                dlpack.from_dlpack(array.__dlpack__())

        return _again(wrap)
    return 0.0


def _dataset(columns: int) -> Dataset:
    """Give batches of columns of float32, made by the engine from a range."""

    def row(given: Any) -> dict[str, Any]:
        value = given["value"].astype("float32")
        return {f"column_{i}": value + float(i) for i in range(columns)}

    return _sources.range(_BATCHES * _ROWS).map(row, python=False).batch(_ROWS)


def _cpp(ds: Dataset) -> float:
    iterator = _opened(ds)
    return _ready(lambda: iterator.drain(1))


def _opened(ds: Dataset) -> _core.Iterator:
    return engine().open(ds._pipeline, seed=0, epoch=0, any_order=False, state=None)


def _python(ds: Dataset, framework: str) -> float:
    iterator = iter(ds.to(framework))
    return _ready(lambda: next(iterator, None))


def _ready(take: Callable[[], object]) -> float:
    """Take all batches, each when it is ready; give the median of their times in µs."""
    times: list[float] = []
    while True:
        start = _after_pause()
        if not take():
            return statistics.median(times)
        times.append((time.thread_time_ns() - start) / 1e3)


def _again(call: Callable[[], object]) -> float:
    """Call something as often as batches are taken, and as they are."""
    left = iter(range(1, _BATCHES))
    return _ready(lambda: (call(), next(left, 0))[1])


def _after_pause() -> int:
    end = time.perf_counter() + _PAUSE
    while time.perf_counter() < end:
        pass
    return time.thread_time_ns()


def _best(repeats: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(repeats))
