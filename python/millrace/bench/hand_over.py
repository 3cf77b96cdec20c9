"""What it costs to hand over a batch that is ready, by framework and columns.

The time is that of the consumer's thread (its CPU time, so that waiting for the engine
does not count), per batch, the best of some passes. It stands beside the same blocks
taken in C++ and handed to nobody. JAX and TensorFlow take several µs for each array
themselves: what their own call takes for the same arrays is theirs.
"""

from __future__ import annotations

import importlib
import importlib.util
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
        return _mean(lambda: jax.device_put(arrays))
    if framework == "tensorflow":
        dlpack: Any = importlib.import_module("tensorflow").experimental.dlpack

        def wrap() -> None:
            for array in arrays:
                dlpack.from_dlpack(array.__dlpack__())

        return _mean(wrap)
    return 0.0


def _mean(call: Callable[[], object]) -> float:
    start = time.thread_time_ns()
    for _ in range(_BATCHES):
        call()
    return (time.thread_time_ns() - start) / 1e3 / _BATCHES


def _dataset(columns: int) -> Dataset:
    """Give batches of columns of float32, made by the engine from a range."""

    def row(given: Any) -> dict[str, Any]:
        value = given["value"].astype("float32")
        return {f"column_{i}": value + float(i) for i in range(columns)}

    return _sources.range(_BATCHES * _ROWS).map(row, python=False).batch(_ROWS)


def _cpp(ds: Dataset) -> float:
    iterator = _opened(ds)
    iterator.drain(1)
    start = time.thread_time_ns()
    count = iterator.drain(_BATCHES)
    return (time.thread_time_ns() - start) / 1e3 / count


def _opened(ds: Dataset) -> _core.Iterator:
    return engine().open(ds._pipeline, seed=0, epoch=0, any_order=False, state=None)


def _python(ds: Dataset, framework: str) -> float:
    iterator = iter(ds.to(framework))
    next(iterator)  # What a pass costs once is not what is measured.
    start = time.thread_time_ns()
    count = 0
    for _ in iterator:
        count += 1
    return (time.thread_time_ns() - start) / 1e3 / count


def _best(repeats: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(repeats))
