"""The photos of a workload as bytes with labels, for systems that read rows by hand."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

from drivers.folders import listed
from drivers.interface import Run, need_layout


def jpegs(run: Run) -> Iterator[tuple[bytes, int]]:
    """Give the bytes and the label of each row, in the order of the files."""
    layout = need_layout(run, "folders", "tar", "tfrecord", reason="unknown layout")
    if layout == "folders":
        for path, label in zip(*listed(run.data), strict=True):
            yield Path(path).read_bytes(), label
    elif layout == "tar":
        for tar in sorted(run.data.glob("*.tar")):
            yield from _of_tar(tar)
    else:
        for records in sorted(run.data.glob("*.tfrecord")):
            yield from _of_records(records)


def _of_tar(path: Path) -> Iterator[tuple[bytes, int]]:
    content = b""
    with tarfile.open(path) as tar:
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None
            if member.name.endswith(".jpg"):
                content = file.read()
            else:
                yield content, int(file.read())


def _of_records(path: Path) -> Iterator[tuple[bytes, int]]:
    with path.open("rb") as file:
        while head := file.read(12):
            row = file.read(int.from_bytes(head[:8], "little"))
            file.read(4)
            begin = row.index(b"\xff\xd8")  # Where a JPEG begins.
            end = row.rindex(b"\xff\xd9") + 2
            yield row[begin:end], -1  # The label is not looked for.
