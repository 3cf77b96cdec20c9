"""DALI on the CPU: its readers, the decoder of random crops, as its guide shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, tfrecord, types

from drivers.folders import listed
from drivers.interface import Batch, Feed, Run, choose, need_layout

_PREFETCH = 2
_MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
_DEVIATION = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def _read(run: Run) -> Any:
    """Give JPEGs and labels, by the reader for the layout."""
    layout = need_layout(run, "folders", "tar", "tfrecord", reason="unknown layout")
    if layout == "folders":
        paths, labels = listed(run.data)
        return fn.readers.file(files=paths, labels=labels)
    if layout == "tar":
        tars = sorted(str(path) for path in run.data.glob("*.tar"))
        return fn.readers.webdataset(paths=tars, ext=["jpg", "cls"])
    files = sorted(run.data.glob("*.tfrecord"))
    features = {
        "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
    }
    found = fn.readers.tfrecord(
        path=[str(path) for path in files],
        index_path=[str(_indexed(path, run.kept)) for path in files],
        features=features,
    )
    return found["image"], found["label"]


def _indexed(path: Path, folder: Path) -> Path:
    """Write where the rows of a TFRecord file are, as DALI's `tfrecord2idx` does."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / f"{path.stem}.idx"
    lines = []
    with path.open("rb") as file:
        while head := file.read(12):
            size = int.from_bytes(head[:8], "little") + 16
            lines.append(f"{file.tell() - 12} {size}\n")
            file.seek(size - 12, 1)
    index.write_text("".join(lines))
    return index


def _cropped(run: Run, jpegs: Any, antialias: bool) -> Any:
    """Decode a random part of each, and resize it."""
    size = run.pipeline["size"]
    images = fn.decoders.image_random_crop(
        jpegs, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    return fn.resize(
        images,
        size=[size, size],
        interp_type=types.INTERP_LINEAR,
        antialias=antialias,
    )


@pipeline_def
def _augmented(run: Run) -> Any:
    jpegs, labels = _read(run)
    images = _cropped(run, jpegs, antialias=run.pipeline["antialias"])
    flips = fn.random.coin_flip()
    if run.pipeline.get("normalise", False):
        images = fn.crop_mirror_normalize(
            images, mirror=flips, mean=_MEAN, std=_DEVIATION, output_layout="CHW"
        )
        return images, labels
    return fn.flip(images, horizontal=flips), labels


@pipeline_def
def _changed(run: Run) -> Any:
    """Crop, flip, and change colours and sharpness at random."""
    jpegs, labels = _read(run)
    images = _cropped(run, jpegs, antialias=True)
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    jitter = fn.random.coin_flip(probability=0.8)
    grey = fn.random.coin_flip(probability=0.2)
    images = fn.color_twist(
        images,
        brightness=_between(jitter, 0.2, 1.8),
        contrast=_between(jitter, 0.2, 1.8),
        saturation=_between(jitter, 0.2, 1.8) * (1 - grey),
        hue=jitter * fn.random.uniform(range=[-72.0, 72.0]),
    )
    # A window of one pixel changes nothing.
    blur = fn.random.coin_flip(probability=0.5)
    window = fn.cast(1 + 22 * blur, dtype=types.INT32)
    sigma = fn.random.uniform(range=[0.1, 2.0])
    return fn.gaussian_blur(images, window_size=window, sigma=sigma), labels


def _between(switch: Any, low: float, high: float) -> Any:
    """Draw a factor where the switch is on; 1 else."""
    return 1.0 + switch * (fn.random.uniform(range=[low, high]) - 1.0)


@pipeline_def
def _padded(run: Run) -> Any:
    jpegs, labels = _read(run)
    images = fn.flip(fn.decoders.image(jpegs), horizontal=fn.random.coin_flip())
    return fn.pad(images, axes=(0, 1)), labels


@pipeline_def
def _scaled(run: Run) -> Any:
    files = sorted(str(path) for path in run.data.glob("*.bin"))
    content, _ = fn.readers.file(files=files, labels=[0] * len(files))
    shape = run.workload.source["shape"]
    raw = fn.reinterpret(content, dtype=types.INT16, shape=shape)
    return fn.cast(raw, dtype=types.FLOAT) * 0.001


def _feed(run: Run, make: Any, names: tuple[str, ...]) -> Feed:
    """Give a feed; readers go round and round, so a pass is so many batches."""
    pipeline = make(
        run,
        batch_size=run.batch,
        num_threads=run.threads,
        device_id=None,
        prefetch_queue_depth=_PREFETCH,
    )

    def batches() -> Iterator[Batch]:
        pipeline.build()
        for _ in range(run.rows // run.batch):
            yield dict(zip(names, map(_array, pipeline.run()), strict=True))

    settings = {"num_threads": run.threads, "prefetch_queue_depth": _PREFETCH}
    return Feed(batches, settings)


def _array(column: Any) -> np.ndarray[Any, Any]:
    """Give a column as an array; labels are numbers, in tar files digits."""
    if len(column[0].shape()) > 1:
        return np.asarray(column.as_tensor())
    if column.dtype == types.UINT8:
        return np.array([int(bytes(column.at(i))) for i in range(len(column))])
    return np.asarray(column.as_tensor()).reshape(-1).astype(np.int64)


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    photos = ("image", "label")
    ways = {
        "augment": lambda run: _feed(run, _augmented, photos),
        "simclr": lambda run: _feed(run, _changed, photos),
        "variable": lambda run: _feed(run, _padded, photos),
        "volumes": lambda run: _feed(run, _scaled, ("volume",)),
    }
    return choose(run, ways)
