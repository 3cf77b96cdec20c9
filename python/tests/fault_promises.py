"""What must hold in the tests of faults: rows as often as the job says, in its order.

The order is that of the same job, read without faults.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fault_reader
from fault_plan import Plan
from fault_reader import Task, numbers, shown
from service_processes import Service

# Batches of a consumer, by pass and number.
Batches = dict[tuple[int, int], dict[str, list[Any]]]


class WrongError(Exception):
    """Something that the service promises did not hold."""


def check(holds: bool, what: str) -> None:
    """Raise where it does not hold."""
    if not holds:
        raise WrongError(what)


def keep_taken(lives: Sequence[tuple[tuple[int, int], Path]]) -> Batches:
    """Give what the lives of a consumer took, each from where it began, out of files;
    what a later life took again counts once."""
    found: Batches = {}
    for begin, file in lives:
        found = {at: batch for at, batch in found.items() if at < begin}
        for line in file.read_text().splitlines() if file.exists() else []:
            try:
                batch = json.loads(line)
            except ValueError:  # It was killed while it wrote.
                continue
            found[batch.pop("epoch"), batch.pop("batch")] = batch
    return found


def check_visits(plan: Plan, rows: list[int], where: str) -> None:
    """As often as the job says."""
    wanted = numbers(plan.kind)
    if plan.visit == "exactly_once":
        missing = sorted(set(wanted) - set(rows))[:10]
        twice = sorted({row for row in rows if rows.count(row) > 1})[:10]
        check(rows == wanted, f"{where}: missing {missing}, twice {twice}")
    elif plan.visit == "at_most_once":
        check(len(set(rows)) == len(rows), f"{where}: rows came twice")
        check(set(rows) <= set(wanted), f"{where}: rows that are not there")
    else:
        check(set(rows) == set(wanted), f"{where}: rows are missing")


def check_same(found: Batches, wanted: Batches, who: str) -> None:
    """Batch for batch the same, in the same order."""
    for at in sorted(found.keys() | wanted.keys()):
        same = found.get(at) == wanted.get(at)
        check(same, f"{who}: batch {at} is {found.get(at)}, not {wanted.get(at)}")


def expected_batches(kind: str, consumers: int, folder: Path) -> list[Batches]:
    """Read two passes without faults; what they read stays in the folder."""
    fault_reader.write_files(folder)
    found: list[Batches] = [{} for _ in range(consumers)]
    with Service(folder, workers=1, python=False) as service:
        os.environ["MILLRACE_TOKEN"] = service.token

        def read(consumer: int) -> None:
            task = Task(
                address=service.address,
                job="plain",
                run="plain",
                kind=kind,
                data=str(folder),
                folder=str(folder),
                consumer=consumer,
                consumers=consumers,
                restart=0,
                epoch=0,
                round=0,
                epochs=2,
                order="fixed",
                visit="exactly_once",
                step_seconds=0,
                state_every=8,
            )
            with fault_reader.open_loader(task) as loader:
                for epoch in range(2):
                    for number, batch in enumerate(loader):
                        found[consumer][epoch, number] = shown(batch)

        threads = [threading.Thread(target=read, args=(i,)) for i in range(consumers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


def keep_expected(kind: str, consumers: int, folder: Path) -> Path:
    """Keep them in a file for other processes, beside what they were read from."""
    folder.mkdir()
    found = expected_batches(kind, consumers, folder)
    file = folder / "expected"
    lists = [[[*at, batch] for at, batch in one.items()] for one in found]
    file.write_text(json.dumps(lists))
    return file


def read_expected(file: Path, epochs: int) -> list[Batches]:
    """Read them, of so many passes."""
    return [
        {(epoch, number): batch for epoch, number, batch in one if epoch < epochs}
        for one in json.loads(file.read_text())
    ]
