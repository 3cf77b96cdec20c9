"""What it costs to hand over a batch that is ready, by framework and columns.

The time is that of the consumer's thread per batch (its CPU time, the median of a pass,
the best of some passes), with a pause before each, so that it is ready. It stands
beside the same blocks taken in C++ and handed to nobody. JAX and TensorFlow take
several µs for each array themselves. What a batch of NumPy's arrays costs more when
their own call is made on it by hand is theirs: the call, and the caches that it leaves
cold.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
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
    found = []
    for name in here:
        over, own = {}, {}
        for columns, ds in datasets.items():
            over[columns], own[columns] = _measure(repeats, ds, name)
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


def _measure(repeats: int, ds: Dataset, framework: str) -> tuple[float, float]:
    """Measure what a batch takes over C++, and what of it is the framework's own."""
    measures = [partial(_cpp, ds), partial(_python, ds, framework)]
    call = _call(framework)
    if call is not None:
        measures += [partial(_python, ds, "numpy"), partial(_by_hand, ds, call)]
    in_cpp, ours, *rest = _bests(repeats, measures)
    return ours - in_cpp, rest[1] - rest[0] if rest else 0.0


def _call(framework: str) -> Callable[[list[Any]], object] | None:
    """Give the quickest call that makes arrays of NumPy's without a copy."""
    if framework == "jax":
        put: Callable[[list[Any]], object] = importlib.import_module("jax").device_put
        return put
    if framework == "tensorflow":
        dlpack: Any = importlib.import_module("tensorflow").experimental.dlpack
        return lambda arrays: [dlpack.from_dlpack(a.__dlpack__()) for a in arrays]
    return None


def _by_hand(ds: Dataset, call: Callable[[list[Any]], object]) -> float:
    iterator = iter(ds)

    def take() -> object:
        batch = next(iterator, None)
        return batch and call(list(batch.values()))

    return _ready(take)


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


def _after_pause() -> int:
    end = time.perf_counter() + _PAUSE
    while time.perf_counter() < end:
        pass
    return time.thread_time_ns()


def _bests(repeats: int, measures: Sequence[Callable[[], float]]) -> list[float]:
    """Measure several things in turn, so often; give the best of each."""
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [min(values) for values in zip(*rounds, strict=True)]
