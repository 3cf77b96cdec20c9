"""Rows with Python, NumPy and pyarrow, for systems that leave that to users."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

DENSE = [f"dense_{i}" for i in range(13)]
CATEGORIES = [f"category_{i}" for i in range(26)]
Array = np.ndarray[Any, Any]


def tokens_of(line: str, buckets: int) -> Array:
    """Split a line and give each word a bucket, the same in all processes."""
    found = [zlib.crc32(word.encode()) % buckets for word in line.split(" ")]
    return np.array(found, np.int64)


def padded(rows: Sequence[Array]) -> dict[str, Array]:
    """Make a batch of rows of many lengths; behind their ends is 0."""
    lengths = np.array([len(row) for row in rows], np.int64)
    tokens = np.zeros((len(rows), lengths.max()), np.int64)
    for row, place in zip(rows, tokens, strict=True):
        place[: len(row)] = row
    return {"tokens": tokens, "length": lengths}


def lines_of(paths: Sequence[Path]) -> Iterator[str]:
    """Read files line by line."""
    for path in paths:
        with path.open() as file:
            for line in file:
                yield line.rstrip("\n")


def features(columns: dict[str, Array], buckets: int) -> dict[str, Array]:
    """Make the features of columns: of numbers their logarithms, of ids buckets."""
    dense = np.stack([columns[name] for name in DENSE], axis=1)
    ids = np.stack([columns[name] for name in CATEGORIES], axis=1)
    return {
        "dense": np.log1p(dense),
        "category": ids % buckets,
        "label": columns["label"],
    }


def tables_of(
    paths: Sequence[Path], batch: int, *, threads: bool
) -> Iterator[dict[str, Array]]:
    """Read Parquet files in batches of columns, as arrays of NumPy."""
    for path in paths:
        with parquet.ParquetFile(path) as file:
            for rows in file.iter_batches(batch, use_threads=threads):
                yield _arrays(rows)


def _arrays(rows: pa.RecordBatch) -> dict[str, Array]:
    return {name: rows.column(name).to_numpy() for name in rows.schema.names}


def share(paths: Sequence[Path], worker: int, workers: int) -> list[Path]:
    """Give the files of one of some workers."""
    return sorted(paths)[worker::workers]
