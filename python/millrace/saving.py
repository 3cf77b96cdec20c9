"""Saving rows in files; see `Dataset.save`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from millrace._sources import load
from millrace.engine import engine, parse_bytes
from millrace.progress import Progress

if TYPE_CHECKING:
    from millrace.dataset import Dataset


def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    seed: int,
    *,
    format: str,
    file_size: str | int,
    replace: bool,
) -> Dataset:
    """Save one pass, of epoch 0, and give the dataset that loads it."""
    folder = str(Path.cwd() / Path(path).expanduser())
    with Progress("saving", dataset._pipeline.rows, " rows") as progress:
        engine().save(
            dataset._pipeline,
            folder,
            format=format,
            file_bytes=parse_bytes(file_size),
            replace=replace,
            seed=seed,
            progress=progress.show,
        )
    return load(folder)
