"""Saving rows in files, here or by the workers of a service, and loading them again."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millrace import _core
from millrace.dataset import Dataset, _from_source
from millrace.engine import engine, parse_bytes
from millrace.errors import NotFoundError, PipelineError
from millrace.packages import needed
from millrace.progress import Progress
from millrace.service import Access, address_of
from millrace.service_reader import Job

_FILE_SIZE = "256MB"
_LOOK_SECONDS = 0.05


def load(
    path: str | os.PathLike[str],
    *,
    fields: str | None = None,
    wait: float | None = None,
) -> Dataset:
    """Read what was saved in a folder, in whatever format, by `Dataset.save`.

    Args:
        path: The folder.
        fields: The fields of the rows and their types. By default what was saved says.
        wait: Read what a service is still saving, too, waiting for what is not there
            yet: for so many seconds without a sign of whoever saves it. The same rows
            come in the same order as later without. By default it must be complete.

    Example:
        >>> import tempfile, millrace as mr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = mr.range(3).save(f"{folder}/numbers")
        ...     [int(row["value"]) for row in mr.load(f"{folder}/numbers")]
        [0, 1, 2]
    """
    if wait is not None:
        _wait_for_begin(_absolute(path), wait)
    return _load(path, fields=fields, wait=wait)


def _load(path: str | os.PathLike[str], **more: Any) -> Dataset:
    return _from_source("load", {"path": path, **more})


def _wait_for_begin(folder: str, seconds: float) -> None:
    """Wait until something was saved there, or is being saved."""
    begin = time.monotonic()
    names = ("saved.json", "saving.json")
    while not any((Path(folder) / name).exists() for name in names):
        if time.monotonic() - begin > seconds:
            raise NotFoundError(
                f"nothing was saved to {folder}, nor begun to be within {seconds:g} s: "
                "check the spelling, save it, or wait for longer"
            )
        time.sleep(_LOOK_SECONDS)


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path.cwd() / Path(path).expanduser())


def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    format: str,
    file_size: str | int | None,
    replace: bool,
    seed: int | None,
    service: str | None,
    tags: Sequence[str],
    access: Access | None,
) -> Dataset:
    """Save one pass, of epoch 0, and give the dataset that loads it."""
    folder = _absolute(path)
    how = {"format": format, "replace": replace}
    if service is not None:
        if file_size is not None:
            raise PipelineError(
                "file_size is for saving in this process: on a service each lane "
                "becomes a file"
            )
        address = address_of(service, access)
        _save_there(dataset, folder, address, tags, seed=seed, **how)
    elif tags or access is not None:
        raise PipelineError("tags and access are for a service: give service too")
    else:
        size = parse_bytes(_FILE_SIZE if file_size is None else file_size)
        seed = dataset._seed if seed is None else seed
        _save_here(dataset, folder, file_bytes=size, seed=seed, **how)
    return _load(folder)


def _save_here(dataset: Dataset, folder: str, **how: Any) -> None:
    with Progress("saving", dataset._pipeline.rows, " rows") as progress:
        engine().save(dataset._pipeline, folder, progress=progress.show, **how)


def _save_there(
    dataset: Dataset,
    folder: str,
    address: dict[str, Any],
    tags: Sequence[str],
    **how: Any,
) -> None:
    if dataset._debug:
        raise PipelineError(
            "debug() runs everything in this thread: leave it out for a service"
        )
    pipeline = dataset._pipeline
    alone = Job(
        job="", consumer=0, consumers=1, member=0, members=1, remainder="", order="any"
    )
    choice = {
        **dataclasses.asdict(alone),
        "tags": list(tags),
        "seed": None,
        "host": socket.gethostname(),
        "packages": needed(pipeline),
    }
    with Progress("saving") as progress:

        def show(lanes: int, done: int, before: int) -> None:
            progress.begin(lanes, before)
            progress.show(done)

        _core.save_on_service(
            pipeline,
            address=address,
            choice=choice,
            folder=folder,
            progress=show,
            **how,
        )
