"""SPDL: a pipeline of threads, as many as there are cores, as its guide shows it.

Option "ffmpeg" decodes with its own `spdl.io`, which uses FFmpeg's libraries; "python"
with Pillow or OpenCV, which let go of the interpreter's lock, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import spdl.io
from spdl.pipeline import PipelineBuilder

from drivers.folders import listed
from drivers.interface import Batch, CannotError, Feed, Run, choose, need_layout
from drivers.python_arrays import pad_images, volume
from drivers.python_images import Augment, decoded, decoder, random_box

_AHEAD = 2  # Batches that wait at the end.
Row = tuple[bytes, int]


def augment(run: Run) -> Feed:
    """Images; a thread for each core decodes them one by one."""
    own = run.option == "ffmpeg"
    load = _with_ffmpeg(run) if own else _in_python(run)
    return _feed(run, _rows(run), load, _stack, "FFmpeg" if own else decoder(run))


def _feed(
    run: Run,
    rows: Callable[[], Iterable[Any]],
    load: Callable[[Any], Any],
    stack: Callable[[list[Any]], Batch],
    decodes: str,
) -> Feed:
    """Give a feed of a pipeline: rows are loaded in threads, and stacked."""

    def batches() -> Iterator[Batch]:
        pipeline = (
            PipelineBuilder()
            .add_source(rows())
            .pipe(load, concurrency=run.threads)
            .aggregate(run.batch)
            .pipe(stack)
            .add_sink(_AHEAD)
            .build(num_threads=run.threads + 1)
        )
        with pipeline.auto_stop():
            yield from pipeline

    return Feed(batches, {"concurrency": run.threads, "decoder": decodes})


def _rows(run: Run) -> Callable[[], Iterable[Row]]:
    """Give what makes an iterator of JPEGs and labels."""
    layout = need_layout(
        run, "folders", "tar", reason="SPDL has no reader of TFRecord files"
    )
    if layout == "tar":
        return lambda: _of_tars(sorted(run.data.glob("*.tar")))
    rows = list(zip(*listed(run.data), strict=True))
    return lambda: ((Path(path).read_bytes(), label) for path, label in rows)


def _of_tars(paths: list[Path]) -> Iterator[Row]:
    """Read tar files with SPDL's own reader."""
    for path in paths:
        with path.open("rb") as file:
            members = spdl.io.iter_tarfile(file)
            for (_, image), (_, label) in zip(members, members, strict=True):
                yield bytes(image), int(bytes(label))


def _in_python(run: Run) -> Callable[[Row], Any]:
    augmented = Augment(run)
    return lambda row: (augmented(row[0]), row[1])


def _with_ffmpeg(run: Run) -> Callable[[Row], Any]:
    """Crop, resize and flip in FFmpeg's filters."""
    if not run.pipeline["antialias"] or run.pipeline.get("normalise", False):
        raise CannotError("FFmpeg's scaling always filters, and gives no floats")
    size = run.pipeline["size"]
    scaled = f"scale={size}:{size}:flags=bilinear"

    def load(row: Row) -> Any:
        packets = spdl.io.demux_image(row[0])
        codec = packets.codec
        top, left, height, width = random_box(codec.height, codec.width)
        flip = ",hflip" if random.random() < 0.5 else ""
        steps = f"crop={width}:{height}:{left}:{top},{scaled}{flip},format=rgb24"
        frames = spdl.io.decode_packets(packets, filter_desc=steps)
        return spdl.io.to_numpy(spdl.io.convert_frames(frames)), row[1]

    try:
        spdl.io.demux_config()
    except RuntimeError as error:
        raise CannotError("needs the shared libraries of FFmpeg 4 to 9") from error
    return load


def _stack(rows: list[Any]) -> Batch:
    images, labels = zip(*rows, strict=True)
    return {"image": np.stack(images), "label": np.array(labels)}


def variable(run: Run) -> Feed:
    """Images of many shapes, padded to the largest of a batch."""

    def load(row: Row) -> Any:
        image = decoded(row[0])
        return image[:, ::-1] if random.random() < 0.5 else image, row[1]

    def stack(rows: list[Any]) -> Batch:
        images, labels = zip(*rows, strict=True)
        return {"image": pad_images(images), "label": np.array(labels)}

    return _feed(run, _rows(run), load, stack, "OpenCV")


def volumes(run: Run) -> Feed:
    """Large rows, a file each."""
    files = sorted(run.data.glob("*.bin"))
    shape = run.workload.source["shape"]

    def stack(rows: list[Any]) -> Batch:
        return {"volume": np.stack(rows)}

    return _feed(run, lambda: files, lambda path: volume(path, shape), stack, "NumPy")


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    ways = {"augment": augment, "variable": variable, "volumes": volumes}
    return choose(run, ways)
