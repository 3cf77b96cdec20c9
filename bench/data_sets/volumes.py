"""Volumes as scanners give them: smooth in space, with noise, 16 bits a voxel."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_volumes(folder: Path, rows: int, shape: list[int], seed: int) -> None:
    """Write a file of raw int16 values for each volume."""
    rng = np.random.default_rng(seed)
    for row in range(rows):
        axes = np.ogrid[tuple(slice(-1, 1, complex(0, size)) for size in shape)]
        radius = sum(axis**2 for axis in axes)
        noise = rng.integers(-60, 60, shape, np.int16)
        volume = (1000 * np.exp(-3 * radius)).astype(np.int16) + noise
        (folder / f"volume-{row:05d}.bin").write_bytes(volume.tobytes())
