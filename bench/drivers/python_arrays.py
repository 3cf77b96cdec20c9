"""Volumes and padded images with NumPy, for systems that leave that to users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drivers.interface import Run

Array = np.ndarray[Any, Any]


def volume(path: str | Path, shape: Sequence[int]) -> Array:
    """Read a volume and scale it."""
    raw = np.fromfile(path, np.int16).reshape(shape)
    return raw.astype(np.float32) * np.float32(0.001)


class Volumes:
    """Large rows by index, a file each."""

    def __init__(self, run: Run) -> None:
        self._files = sorted(run.data.glob("*.bin"))
        self._shape = run.workload.source["shape"]

    def __len__(self) -> int:
        """Count them."""
        return len(self._files)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read and scale one."""
        return {"volume": volume(self._files[index], self._shape)}


def pad_images(images: Sequence[Array]) -> Array:
    """Make a batch of images of many shapes; what is not in them is black."""
    height = max(image.shape[0] for image in images)
    width = max(image.shape[1] for image in images)
    batch = np.zeros((len(images), height, width, 3), np.uint8)
    for image, place in zip(images, batch, strict=True):
        place[: image.shape[0], : image.shape[1]] = image
    return batch
