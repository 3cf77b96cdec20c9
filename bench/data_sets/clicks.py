"""A table as Criteo's: a label, 13 numbers that are long-tailed, 26 categories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

FILES = 4
DENSE = [f"dense_{i}" for i in range(13)]
CATEGORIES = [f"category_{i}" for i in range(26)]
_GROUP_ROWS = 65_536


def write_clicks(folder: Path, rows: int, seed: int) -> None:
    """Write Parquet files with so many rows in all, compressed with Snappy."""
    for file in range(FILES):
        rng = np.random.default_rng((seed, file))
        count = len(range(file, rows, FILES))
        columns: dict[str, pa.Array] = {
            "label": pa.array((rng.random(count) < 0.03).astype(np.int64))
        }
        for name in DENSE:
            columns[name] = pa.array(rng.lognormal(1.0, 2.0, count).astype(np.float32))
        for number, name in enumerate(CATEGORIES):
            ids = rng.zipf(1.1 + number / 26, count) * 2_654_435_761 % (1 << 31)
            columns[name] = pa.array(ids.astype(np.int64))
        path = folder / f"clicks-{file:03d}.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=_GROUP_ROWS)
