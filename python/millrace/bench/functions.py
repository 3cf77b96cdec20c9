"""A function of NumPy on images, beside torch's DataLoader with the same processes.

The function crops, flips, makes float32, normalises and puts channels first, 224 by 224
by 3. A second one does much more to each image, so that nearly all time is its own: it
stands beside the function alone, in as many processes, without anything around it.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import multiprocessing
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.bench.lines import Line, medians
from millrace.dataset import Dataset
from millrace.engine import budget
from millrace.memory import from_arrays

_IMAGES = 128
_SIZE = 256
_CROP = 224
_BATCH = 32
_ROWS = 2048
_HEAVY_ROWS = 512
_HEAVY_TURNS = 24
_MEAN = np.array([123.7, 116.3, 103.5], np.float32)
_DEVIATION = np.array([58.4, 57.1, 57.4], np.float32)

Image = npt.NDArray[np.uint8]

_start: Any = None


def augmented(image: Image, top: int, left: int, flip: bool) -> npt.NDArray[Any]:
    """Crop, flip, normalise; channels first."""
    crop = image[top : top + _CROP, left : left + _CROP]
    if flip:
        crop = crop[:, ::-1]
    scaled = (crop.astype(np.float32) - _MEAN) / _DEVIATION
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def much(image: Image) -> npt.NDArray[Any]:
    """Do so much that little else counts; little comes out."""
    value = image.astype(np.float32)
    for _ in range(_HEAVY_TURNS):
        value *= value
        value += 1.0
        np.sqrt(value, out=value)
    mean: npt.NDArray[Any] = value.mean(axis=(0, 1))
    return mean


def augmented_row(row: Any, rng: Any) -> dict[str, Any]:
    """Augment a row of a dataset."""
    top = int(rng.integers(0, _SIZE - _CROP))
    left = int(rng.integers(0, _SIZE - _CROP))
    return {"image": augmented(row["image"], top, left, top % 2 == 0)}


def much_row(row: Any) -> dict[str, Any]:
    """Do much to a row of a dataset."""
    return {"mean": much(row["image"])}


class Rows:
    """The same rows as torch's datasets have them."""

    def __init__(self, images: Image, count: int) -> None:
        self._images = images
        self._count = count

    def __len__(self) -> int:
        """Count the rows."""
        return self._count

    def __getitem__(self, index: int) -> npt.NDArray[Any]:
        """Augment one."""
        top, left = np.random.randint(0, _SIZE - _CROP, 2)
        return augmented(self._images[index % _IMAGES], top, left, top % 2 == 0)


def lines(repeats: int) -> list[Line]:
    """Measure both functions."""
    images = _images()
    source = from_arrays({"image": images})
    return [_beside_torch(source, images, repeats), _beside_alone(source, repeats)]


def _beside_torch(source: Dataset, images: Image, repeats: int) -> Line:
    processes = budget().threads
    ds = source.repeat(_ROWS // _IMAGES).map(
        augmented_row,
        python=True,
        output={"image": f"float32[3, {_CROP}, {_CROP}]"},
    )
    batched = ds.batch(_BATCH)

    def ours() -> float:
        return _rate(iter(batched))

    name = f"NumPy function, 224x224x3, {processes} process(es)"
    beside = "torch's DataLoader with as many"
    if importlib.util.find_spec("torch") is None:
        return Line(name, "images/s", medians(repeats, ours)[0], None, beside, 1.3)

    def torch() -> float:
        data: Any = importlib.import_module("torch.utils.data")
        rows = Rows(images, _ROWS)
        return _rate(
            iter(data.DataLoader(rows, batch_size=_BATCH, num_workers=processes))
        )

    our_rate, their_rate = medians(repeats, ours, torch)
    return Line(name, "images/s", our_rate, their_rate, beside, 1.3)


def _beside_alone(source: Dataset, repeats: int) -> Line:
    processes = budget().threads
    rows = source.repeat(_HEAVY_ROWS * processes // _IMAGES)
    ds = rows.map(much_row, python=True, output={"mean": "float32[3]"}).batch(8)

    def ours() -> float:
        return _rate(iter(ds), batch=8)

    def alone() -> float:
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(processes)
        with context.Pool(processes, _set_start, (start,)) as pool:
            times = pool.map(_time_alone, [_HEAVY_ROWS] * processes, chunksize=1)
        seconds = max(end for _, end in times) - min(start for start, _ in times)
        return processes * _HEAVY_ROWS / seconds

    our_rate, their_rate = medians(repeats, ours, alone)
    return Line(
        name=f"function that is nearly all the work, {processes} process(es)",
        unit="images/s",
        ours=our_rate,
        limit=their_rate,
        limit_is="the function alone in as many",
        bar=0.95,
    )


def _images() -> Image:
    draw = np.random.default_rng(0)
    return draw.integers(0, 256, (_IMAGES, _SIZE, _SIZE, 3), dtype=np.uint8)


def _set_start(start: Any) -> None:
    """Tell a process of `alone` what all of them wait for."""
    global _start
    _start = start


def _time_alone(rows: int) -> tuple[float, float]:
    """Time the function in this process, while the others run it as well.

    All begin together, behind a turn that loads what they need: a process that had the
    machine to itself for a while would be no limit for two.
    """
    images = _images()
    much(images[0])
    _start.wait()
    start = time.perf_counter()
    for image in itertools.islice(itertools.cycle(images), rows):
        much(image)
    return start, time.perf_counter()


def _rate(batches: Iterable[Any], batch: int = _BATCH) -> float:
    """Measure rows a second, from the first batch on."""
    iterator = iter(batches)
    next(iterator)
    start = time.perf_counter()
    count = sum(1 for _ in iterator)
    return count * batch / (time.perf_counter() - start)
