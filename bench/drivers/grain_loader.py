"""Grain: a MapDataset, batched in worker processes, as its documentation shows it.

As many worker processes as there are cores.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grain
import numpy as np

from drivers.folders import listed
from drivers.interface import Feed, Run, choose, need_layout
from drivers.python_arrays import Volumes, pad_images
from drivers.python_columns import CATEGORIES, DENSE
from drivers.python_function import FunctionRows
from drivers.python_images import Augment, decoded, decoder
from drivers.python_objects import ObjectRows

_BUFFER = 2  # Batches that each worker has ready.


class Photos:
    """Images in class folders, by index."""

    def __init__(self, run: Run) -> None:
        self._paths, self._labels = listed(run.data)
        self._run = run

    def __len__(self) -> int:
        """Count the images."""
        return len(self._paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Load and augment one."""
        content = Path(self._paths[index]).read_bytes()
        label = np.int64(self._labels[index])
        return {"image": Augment(self._run)(content), "label": label}


def augment(run: Run) -> Feed:
    """Images, row by row in worker processes."""
    need_layout(run, "folders", reason="Grain reads by index: no tar or TFRecord files")
    rows = grain.MapDataset.source(Photos(run)).to_iter_dataset(_threads())
    return _feed(run, rows, {"decoder": decoder(run)})


def function(run: Run) -> Feed:
    """A function of NumPy, row by row in worker processes."""
    rows = grain.MapDataset.source(FunctionRows(run)).to_iter_dataset(_threads())
    return _feed(run, rows, {})


def objects(run: Run) -> Feed:
    """Rows of small objects, in worker processes."""
    rows = grain.MapDataset.source(ObjectRows(run.rows)).shuffle(seed=7)
    return _feed(run, rows.to_iter_dataset(_threads()), {})


class Shapes(Photos):
    """Images of many shapes, by index."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Load and flip one."""
        image = decoded(Path(self._paths[index]).read_bytes())
        if random.random() < 0.5:
            image = image[:, ::-1]
        return {"image": image, "label": np.int64(self._labels[index])}


def variable(run: Run) -> Feed:
    """Images of many shapes, padded to the largest of a batch."""
    rows = grain.MapDataset.source(Shapes(run)).to_iter_dataset(_threads())
    return _feed(run, rows, {"decoder": "OpenCV"}, batch_fn=_padded)


def _padded(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    images = pad_images([row["image"] for row in rows])
    return {"image": images, "label": np.stack([row["label"] for row in rows])}


def volumes(run: Run) -> Feed:
    """Large rows, row by row in worker processes."""
    rows = grain.MapDataset.source(Volumes(run)).to_iter_dataset(_threads())
    return _feed(run, rows, {})


def table(run: Run) -> Feed:
    """Parquet files by Grain's own reader, which gives rows."""
    buckets = run.pipeline["buckets"]

    def row(given: dict[str, Any]) -> dict[str, Any]:
        dense = np.array([given[name] for name in DENSE], np.float32)
        ids = np.array([given[name] for name in CATEGORIES], np.int64)
        label = np.int64(given["label"])
        return {"dense": np.log1p(dense), "category": ids % buckets, "label": label}

    files = [str(path) for path in sorted(run.data.glob("*.parquet"))]
    every = grain.MapDataset.source(files).map(grain.experimental.ParquetIterDataset)
    rows = grain.experimental.InterleaveIterDataset(every, cycle_length=len(files))
    return _feed(run, rows.map(row), {})


def _threads() -> Any:
    """Give one thread for each process: processes are as many as cores."""
    return grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)


def numbers(run: Run) -> Feed:
    """Rows of one number, row by row."""
    rows = grain.MapDataset.range(run.rows).map(lambda value: value * 2 + 1)
    kept = rows.filter(lambda x: x % 3 != 0).map(lambda x: {"x": np.int64(x)})
    return _feed(run, kept.to_iter_dataset(grain.ReadOptions(num_threads=0)), {})


def _feed(run: Run, rows: Any, more: dict[str, Any], **batching: Any) -> Feed:
    options = grain.multiprocessing.MultiprocessingOptions(
        num_workers=run.threads, per_worker_buffer_size=_BUFFER
    )
    batches = rows.batch(run.batch, **batching).mp_prefetch(options)
    live = Pass(batches)
    settings = {"num_workers": run.threads, "per_worker_buffer_size": _BUFFER}
    return Feed(lambda: live, {**settings, **more}, save=live.save, load=live.load)


class Pass:
    """One pass, whose iterator has a state."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._iterator: Any = None
        self._state: Any = None

    def __iter__(self) -> Any:
        """Begin, or go on where the state was taken."""
        self._iterator = iter(self._batches)
        if self._state is not None:
            self._iterator.set_state(self._state)
        return self._iterator

    def save(self) -> Any:
        """Tell where the pass is."""
        return self._iterator.get_state()

    def load(self, state: Any) -> None:
        """Go on there."""
        self._state = state


_WAYS: dict[str, Callable[[Run], Feed]] = {
    "augment": augment,
    "numbers": numbers,
    "function": function,
    "variable": variable,
    "volumes": volumes,
    "table": table,
    "objects": objects,
}


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    return choose(run, _WAYS)
