"""Rows that are small objects of Python: what worker processes copy most."""

from __future__ import annotations

import numpy as np


class ObjectRows:
    """Rows by index, as map-style data sets have them."""

    def __init__(self, rows: int) -> None:
        self._rows = [(i, float(i), f"row-{i:08d}") for i in range(rows)]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, np.int64]:
        """Give one row as numbers."""
        number, _, name = self._rows[index]
        return {"number": np.int64(number), "length": np.int64(len(name))}
