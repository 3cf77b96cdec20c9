"""Makes the data of a workload in a folder; `run.py` starts it where there is none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data_sets import clicks, layouts, photos, text, volumes
from harness.workload import read_workload

SEED = 7
_DISTINCT = 256  # Images that differ; a data set repeats them.


def make_photos(folder: Path, source: dict[str, Any], rows: int) -> None:
    """Write JPEGs with labels, in the layout that the workload names."""
    distinct = min(rows, source.get("distinct", _DISTINCT))
    megapixels = source.get("megapixels", 0.1875)
    images = photos.make(distinct, source["kilobytes"], megapixels, SEED)
    layouts.LAYOUTS[source["layout"]](folder, images, rows)


def make_text(folder: Path, source: dict[str, Any], rows: int) -> None:
    """Write lines of words."""
    text.write_lines(folder, rows, SEED)


def make_clicks(folder: Path, source: dict[str, Any], rows: int) -> None:
    """Write a table of numbers and categories."""
    clicks.write_clicks(folder, rows, SEED)


def make_volumes(folder: Path, source: dict[str, Any], rows: int) -> None:
    """Write large rows, a file each."""
    volumes.write_volumes(folder, rows, source["shape"], SEED)


def make_nothing(folder: Path, source: dict[str, Any], rows: int) -> None:
    """Leave the folder empty: the rows are numbers, or in memory."""


MAKERS: dict[str, Callable[[Path, dict[str, Any], int], None]] = {
    "photos": make_photos,
    "text": make_text,
    "clicks": make_clicks,
    "volumes": make_volumes,
    "none": make_nothing,
}


def main() -> None:
    """Make what a workload asks for: WORKLOAD ROWS FOLDER."""
    workload, rows, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    source = read_workload(Path(workload)).source
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    MAKERS[source["data"]](part, source, rows)
    part.rename(folder)  # Complete, or not there.


if __name__ == "__main__":
    main()
