"""The function of NumPy that the workload `function` runs on images in memory."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from drivers.interface import Run

Array = np.ndarray[Any, Any]
_SIDE = 256
_MEAN = np.array([123.7, 116.3, 103.5], np.float32)
_DEVIATION = np.array([58.4, 57.1, 57.4], np.float32)


def images_of(run: Run) -> Array:
    """Make the images; a data set repeats them."""
    count = run.workload.source["images"]
    shape = (count, _SIDE, _SIDE, 3)
    return np.random.default_rng(7).integers(0, 256, shape, np.uint8)


def augmented(image: Array, size: int) -> Array:
    """Crop at random, flip half of them, normalise; channels first."""
    top = random.randint(0, _SIDE - size)
    left = random.randint(0, _SIDE - size)
    crop = image[top : top + size, left : left + size]
    if random.random() < 0.5:
        crop = crop[:, ::-1]
    scaled = (crop.astype(np.float32) - _MEAN) / _DEVIATION
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


class FunctionRows:
    """Rows of augmented images by index, as map-style data sets have them."""

    def __init__(self, run: Run) -> None:
        self._images = images_of(run)
        self._size = run.pipeline["size"]
        self._rows = run.rows

    def __len__(self) -> int:
        """Count the rows."""
        return self._rows

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Augment one."""
        index = row % len(self._images)
        image = augmented(self._images[index], self._size)
        return {"image": image, "index": np.int64(index)}
