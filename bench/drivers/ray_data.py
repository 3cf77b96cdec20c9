"""Ray Data on this machine: one node with as many CPUs as there are cores.

Rows are read as bytes and decoded in tasks, as its guide for images shows it; batches
come to the consumer with one of them prefetched.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

os.environ["RAY_DEDUP_LOGS"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import numpy as np
import ray

from drivers.interface import Batch, Feed, Run, choose, need_layout
from drivers.python_columns import features, padded, tokens_of
from drivers.python_function import FunctionRows
from drivers.python_images import Augment, decoder

_PREFETCH = 1
_STORE_BYTES = 2 << 30


def _started(run: Run) -> None:
    ray.init(
        num_cpus=run.threads,
        include_dashboard=False,
        object_store_memory=_STORE_BYTES,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = False


def _label(path: str) -> int:
    return int(path.split("/")[-2].removeprefix("class_"))


def augment(run: Run) -> Feed:
    """Images; tasks decode them in blocks."""
    layout = need_layout(
        run, "folders", "tar", reason="Ray Data reads TFRecord through TensorFlow"
    )
    _started(run)
    augmented = Augment(run)
    if layout == "folders":
        rows = ray.data.read_binary_files(str(run.data), include_paths=True)

        def row(given: dict[str, Any]) -> dict[str, Any]:
            image = augmented(given["bytes"])
            return {"image": image, "label": np.int64(_label(given["path"]))}

    else:
        rows = ray.data.read_webdataset(
            str(run.data), decoder=None, suffixes=["jpg", "cls"]
        )

        def row(given: dict[str, Any]) -> dict[str, Any]:
            return {"image": augmented(given["jpg"]), "label": np.int64(given["cls"])}

    return _feed(run, rows.map(row), {"decoder": decoder(run)})


def numbers(run: Run) -> Feed:
    """Rows of one number, by whole batches of NumPy, as its guide advises."""
    _started(run)

    def kept(batch: dict[str, Any]) -> dict[str, Any]:
        x = batch["id"] * 2 + 1
        return {"x": x[x % 3 != 0]}

    return _feed(
        run, ray.data.range(run.rows).map_batches(kept), {"rows": "by batches"}
    )


def table(run: Run) -> Feed:
    """Columns, by whole blocks."""
    _started(run)
    buckets = run.pipeline["buckets"]

    def made(batch: dict[str, Any]) -> dict[str, Any]:
        return features(batch, buckets)

    rows = ray.data.read_parquet(str(run.data)).map_batches(made)
    return _feed(run, rows, {"rows": "by batches"})


def function(run: Run) -> Feed:
    """A function of NumPy, row by row."""
    _started(run)
    made = ray.put(FunctionRows(run))

    def row(given: dict[str, Any]) -> dict[str, Any]:
        return ray.get(made)[int(given["id"])]

    return _feed(run, ray.data.range(run.rows).map(row), {})


def words(run: Run) -> Feed:
    """Text; lines become tokens in tasks, and a padded batch where it is taken."""
    _started(run)
    buckets = run.pipeline["buckets"]

    def made(batch: dict[str, Any]) -> dict[str, Any]:
        return {"tokens": [tokens_of(line, buckets) for line in batch["text"]]}

    rows = ray.data.read_text(str(run.data)).map_batches(made)
    return _feed(run, rows, {"rows": "by batches"}, lambda got: padded(got["tokens"]))


def volumes(run: Run) -> Feed:
    """Large rows, a file each."""
    _started(run)
    shape = run.workload.source["shape"]

    def row(given: dict[str, Any]) -> dict[str, Any]:
        raw = np.frombuffer(given["bytes"], np.int16).reshape(shape)
        return {"volume": raw.astype(np.float32) * np.float32(0.001)}

    return _feed(run, ray.data.read_binary_files(str(run.data)).map(row), {})


def _feed(
    run: Run,
    rows: Any,
    more: dict[str, Any],
    change: Callable[[dict[str, Any]], Batch] | None = None,
) -> Feed:
    def batches() -> Iterable[Any]:
        taken = rows.iter_batches(batch_size=run.batch, prefetch_batches=_PREFETCH)
        return map(change, taken) if change else taken

    settings = {
        "num_cpus": run.threads,
        "prefetch_batches": _PREFETCH,
        "object_store": f"{_STORE_BYTES >> 30} GB",
        "preserve_order": False,
    }
    return Feed(batches, {**settings, **more}, close=ray.shutdown)


_WAYS: dict[str, Callable[[Run], Feed]] = {
    "augment": augment,
    "numbers": numbers,
    "table": table,
    "function": function,
    "words": words,
    "volumes": volumes,
}


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    return choose(run, _WAYS)
