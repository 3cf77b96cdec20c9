"""Photo-like images: the spectrum of natural scenes, edges, and the grain of a sensor.

What a JPEG costs to decode depends on its pixels and its bytes. Pixels are given; the
bytes of the mean image are reached by the amount of grain, which is looked for.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from PIL import Image

Pixels = np.ndarray[Any, np.dtype[Any]]
_SHAPES = ((375, 500), (375, 500), (333, 500), (500, 375))  # As ImageNet's are.


def sizes(megapixels: float, number: int) -> tuple[int, int]:
    """Give height and width of an image: all shapes there are, in turn."""
    height, width = _SHAPES[number % len(_SHAPES)]
    grow = (megapixels * 1e6 / (375 * 500)) ** 0.5
    return round(height * grow), round(width * grow)


def scene(rng: np.random.Generator, height: int, width: int) -> Pixels:
    """Draw a scene: 1/f in space, colours that go with brightness, some edges."""
    rows = np.fft.fftfreq(height)[:, None] * height
    columns = np.fft.rfftfreq(width)[None, :] * width
    falloff = 1.0 / np.maximum(np.hypot(rows, columns), 1.0) ** 1.2
    planes = []
    for strength in (1.0, 0.35, 0.25):
        shape = falloff.shape
        waves = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        plane = np.fft.irfft2(waves * falloff, s=(height, width))
        planes.append(strength * plane / plane.std())
    light, warm, green = planes
    light += _edges(rng, height, width)
    rgb = np.stack([light + warm, light + green, light - warm], axis=-1)
    return np.asarray(118 + 38 * rgb, np.float32)


def _edges(rng: np.random.Generator, height: int, width: int) -> Pixels:
    """Draw some discs, lighter or darker than what is behind them."""
    light = np.zeros((height, width), np.float32)
    y, x = np.mgrid[:height, :width]
    for _ in range(12):
        top, left = rng.uniform(0, height), rng.uniform(0, width)
        radius = rng.uniform(0.02, 0.25) * min(height, width)
        light[(y - top) ** 2 + (x - left) ** 2 < radius**2] += rng.normal(0, 0.6)
    return light


def encode(pixels: Pixels, grain: float, quality: int, seed: int) -> bytes:
    """Make a JPEG of a scene, with so much grain."""
    rng = np.random.default_rng(seed)
    noisy = pixels + grain * rng.standard_normal(pixels.shape, np.float32)
    image = Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def find_grain(scenes: Iterable[Pixels], kilobytes: float, quality: int) -> float:
    """Look for the grain that makes JPEGs of so many kilobytes, in the mean."""
    some = list(scenes)
    low, high = 0.0, 60.0
    for _ in range(10):
        grain = (low + high) / 2
        mean = np.mean([len(encode(pixels, grain, quality, 0)) for pixels in some])
        low, high = (low, grain) if mean > 1000 * kilobytes else (grain, high)
    return (low + high) / 2


def make(count: int, kilobytes: float, megapixels: float, seed: int) -> list[bytes]:
    """Make so many JPEGs; those with more grain than the mean are larger."""
    quality = 90 if kilobytes / megapixels > 300 else 80
    tried = [_scene_of(seed, number, megapixels) for number in range(4)]
    grain = find_grain(tried, kilobytes, quality)
    found = []
    for number in range(count):
        more = 0.6 + 0.8 * np.random.default_rng((seed, number, 1)).random()
        pixels = _scene_of(seed, number, megapixels)
        found.append(encode(pixels, grain * float(more), quality, number))
    return found


def _scene_of(seed: int, number: int, megapixels: float) -> Pixels:
    return scene(np.random.default_rng((seed, number)), *sizes(megapixels, number))
