"""A consumer for tests of faults: a program that reads a job and writes down its rows.

It stands for one rank of a training program. Every batch is a line in a file; after
some of them its state is written beside it. Started again, it goes on from a state.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import millrace as mr
from millrace.errors import MemoryBudgetError, UnavailableError

ROWS = 1600
FILES = 8
FILLER = 16_000  # Numbers in each row, so that a consumer cannot hold all of a pass.
KINDS = ("counted", "uncounted", "files")


def write_files(folder: Path) -> None:
    """Write the rows that a pipeline of files reads."""
    for number in range(FILES):
        rows = range(number * ROWS // FILES, (number + 1) * ROWS // FILES)
        lines = (f'{{"value": {row}}}\n' for row in rows)
        (folder / f"rows-{number}.jsonl").write_text("".join(lines))


def pipeline(kind: str, folder: Path) -> mr.Dataset:
    """Give one whose rows are numbered from 0 on, each with a random number."""
    if kind == "files":
        source = mr.read_jsonl(str(folder / "rows-*.jsonl"), fields="{value: int64}")
    else:
        source = mr.range(ROWS)
    if kind == "uncounted":
        source = source.filter(lambda row: row["value"] % 5 != 0)
    filler = mr.math.range(FILLER)
    return (
        source.shuffle(40)
        .map(
            lambda row, rng: {
                "x": row["value"],
                "noise": rng.normal(),
                "filler": filler + row["value"],
            }
        )
        .batch(5)
    )


def shown(batch: Any) -> dict[str, list[Any]]:
    """Give a batch as it is written down: less its filler, which must be right."""
    x, filler = np.asarray(batch["x"]), np.asarray(batch["filler"])
    assert (filler == x[:, None] + np.arange(FILLER)).all(), x
    return {"x": x.tolist(), "noise": np.asarray(batch["noise"]).tolist()}


def numbers(kind: str) -> list[int]:
    """Give the numbers of all rows of a pass."""
    return [row for row in range(ROWS) if kind != "uncounted" or row % 5 != 0]


@dataclasses.dataclass(frozen=True)
class Task:
    """What one life of a reader is to do."""

    address: str
    job: str
    run: str
    kind: str
    data: str  # The folder that its pipeline reads.
    folder: str  # What it writes.
    consumer: int
    consumers: int
    restart: int
    epoch: int  # It goes on there, ...
    round: int  # ... having taken so many batches of it.
    epochs: int
    order: str
    visit: str
    step_seconds: float
    state_every: int

    def rows_file(self) -> Path:
        """Name the file of its batches."""
        return Path(self.folder) / f"rows-{self.consumer}-{self.restart}.lines"

    def state_file(self, epoch: int, number: int) -> Path:
        """Name the file of its state after so many batches of a pass."""
        return Path(self.folder) / f"state-{self.consumer}-{epoch}-{number}.json"


def open_loader(task: Task) -> Any:
    """Give the loader, where it is to go on."""
    dataset = pipeline(task.kind, Path(task.data))
    loader = dataset.distribute(
        task.address,
        job=task.job,
        run=task.run,
        consumer=task.consumer,
        consumers=task.consumers,
        remainder="keep",
        order="any" if task.order == "any" else "fixed",
        visit=task.visit,  # type: ignore[arg-type]
        seed=3,
        open_seconds=120,
    )
    if (task.epoch, task.round) != (0, 0):
        state = task.state_file(task.epoch, task.round).read_text()
        loader.load_state_dict(json.loads(state))
    return loader


def begun(task: Task) -> tuple[Any, Iterator[Any], Any]:
    """Open the job and wait for its first batch; a service that is away, or has no room
    on its disk, is asked again, as a launcher would."""
    while True:
        loader = open_loader(task)
        try:
            batches = iter(loader)
            return loader, batches, next(batches, None)
        except (UnavailableError, MemoryBudgetError) as error:
            print(f"not there yet: {error}", flush=True)
            loader.close()
            time.sleep(0.2)


def keep_state(task: Task, loader: Any, epoch: int, number: int) -> None:
    """Write the state as a checkpoint is written: all of it, or none."""
    file = task.state_file(epoch, number)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(loader.state_dict()))
    part.rename(file)


def read_all(task: Task) -> None:
    """Read to the end of the last pass."""
    loader, batches, batch = begun(task)
    with task.rows_file().open("w") as lines:
        number = task.round
        for epoch in range(task.epoch, task.epochs):
            while batch is not None:
                line = {"epoch": epoch, "batch": number, **shown(batch)}
                lines.write(json.dumps(line) + "\n")
                lines.flush()
                number += 1
                if number % task.state_every == 0:
                    keep_state(task, loader, epoch, number)
                time.sleep(task.step_seconds)
                batch = next(batches, None)
            number = 0
            keep_state(task, loader, epoch + 1, number)
            if epoch + 1 < task.epochs:
                batches = iter(loader)
                batch = next(batches, None)
    loader.close()


if __name__ == "__main__":
    given = Task(**json.loads(sys.argv[1]))
    # As a launcher tells it.
    os.environ["TORCHELASTIC_RESTART_COUNT"] = str(given.restart)
    read_all(given)
