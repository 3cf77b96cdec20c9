"""Images with labels, laid out in files as people keep them."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

FILES = 8
CLASSES = 100


def label_of(row: int) -> int:
    """Give the class of a row."""
    return row * 2_654_435_761 % 4_294_967_296 % CLASSES


def in_tars(folder: Path, images: list[bytes], rows: int) -> None:
    """Write tar files as WebDataset has them: a member `jpg` and a member `cls`."""
    for file in range(FILES):
        with tarfile.open(folder / f"train-{file:03d}.tar", "w") as tar:
            for row in range(file, rows, FILES):
                _add(tar, f"{row:08d}.jpg", images[row % len(images)])
                _add(tar, f"{row:08d}.cls", str(label_of(row)).encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def in_folders(folder: Path, images: list[bytes], rows: int) -> None:
    """Write a folder for each class; images that come again are links to the first."""
    first: dict[int, Path] = {}
    for row in range(rows):
        path = folder / f"class_{label_of(row):03d}" / f"{row:08d}.jpg"
        path.parent.mkdir(exist_ok=True)
        image = row % len(images)
        if image in first:
            os.link(first[image], path)
        else:
            path.write_bytes(images[image])
            first[image] = path


def in_records(folder: Path, images: list[bytes], rows: int) -> None:
    """Write TFRecord files of examples."""
    from data_sets.records import example, write_records  # Needs CRC-32C.

    for file in range(FILES):
        some = (
            example(images[row % len(images)], label_of(row))
            for row in range(file, rows, FILES)
        )
        write_records(folder / f"train-{file:03d}.tfrecord", some)


LAYOUTS: dict[str, Callable[[Path, list[bytes], int], None]] = {
    "tar": in_tars,
    "folders": in_folders,
    "tfrecord": in_records,
}
