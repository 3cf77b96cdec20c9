"""Decoding and augmenting images in Python, for systems that leave that to the user.

Pillow where the resize is antialiased, OpenCV where it is not: each is the quicker of
the two that does exactly that.
"""

from __future__ import annotations

import io
import math
import random
from typing import Any

import cv2
import numpy as np
from PIL import Image

from drivers.interface import Run

Box = tuple[int, int, int, int]  # Top, left, height, width.
_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32) * 255
_TRIES = 10


def random_box(height: int, width: int) -> Box:
    """Draw a box as torchvision's RandomResizedCrop does."""
    for _ in range(_TRIES):
        area = height * width * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w = round(math.sqrt(area * ratio))
        h = round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side


class Augment:
    """Makes of a JPEG's bytes what a workload wants; can be sent to processes."""

    def __init__(self, run: Run) -> None:
        self._size = run.pipeline["size"]
        self._antialias = run.pipeline["antialias"]
        self._normalise = run.pipeline.get("normalise", False)

    def __call__(self, content: bytes) -> np.ndarray[Any, Any]:
        """Decode, crop at random, resize, flip half of them."""
        image = self._antialiased(content) if self._antialias else self._plain(content)
        if random.random() < 0.5:
            image = image[:, ::-1]
        if self._normalise:
            scaled = (image.astype(np.float32) - _MEAN) / _DEVIATION
            return np.ascontiguousarray(scaled.transpose(2, 0, 1))
        return image

    def _antialiased(self, content: bytes) -> np.ndarray[Any, Any]:
        image = Image.open(io.BytesIO(content)).convert("RGB")
        top, left, height, width = random_box(image.height, image.width)
        box = (left, top, left + width, top + height)
        size = (self._size, self._size)
        return np.asarray(image.resize(size, Image.Resampling.BILINEAR, box=box))

    def _plain(self, content: bytes) -> np.ndarray[Any, Any]:
        image = decoded(content)
        top, left, height, width = random_box(*image.shape[:2])
        part = image[top : top + height, left : left + width]
        size = (self._size, self._size)
        return np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_LINEAR))


def decoded(content: bytes) -> np.ndarray[Any, Any]:
    """Decode a JPEG, all of it, with OpenCV."""
    cv2.setNumThreads(1)
    data = np.frombuffer(content, np.uint8)
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR_RGB))


def decoder(run: Run) -> str:
    """Say what decodes."""
    return "Pillow" if run.pipeline["antialias"] else "OpenCV"
