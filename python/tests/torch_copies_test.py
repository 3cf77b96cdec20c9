"""What workers copy of the objects they share, and that nobody sees it given back."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset, RandomSampler

from millrace.torch import DataLoader
from millrace.torch.plan import Shuffle

ROWS = 160_000  # Some 25 MiB of objects.
KEPT_BYTES_MAX = 8 << 20


class Objects(Dataset[Any]):
    """Row i is (i, the length of a text of its own, the process that read it)."""

    def __init__(self) -> None:
        self.rows = [(i, f"row-{i:08d}") for i in range(ROWS)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        number, text = self.rows[index]
        return number, len(text), os.getpid()


class Remembers(Objects):
    """Replaces each row that is read, so that its worker needs its copies."""

    def __getitem__(self, index: int) -> Any:
        number, text = self.rows[index]
        self.rows[index] = (number, text + "!")
        return number, len(text), os.getpid()


class ForksOnArrival(Objects):
    """Is unpickled in a process that forks another one meanwhile, which writes."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        child = os.fork()
        if child == 0:
            for i in range(ROWS):
                self.rows[i] = (i, "")
            os._exit(0)
        os.waitpid(child, 0)


def leave_all_to_workers(_number: int) -> None:
    """The trainer serves no batch where workers are prepared for them."""


def copied_bytes(pid: int) -> int:
    """How much a process has copied of the objects that it shares."""
    total, ours = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first = line.split()[0]
        if not first.endswith(":"):
            ours = "memfd:millrace-objects" in line and " rw-p " in line
        elif ours and first == "Anonymous:":
            total += int(line.split()[1]) << 10
    return total


def read_all(dataset: Objects, passes: int = 1) -> tuple[list[Any], dict[int, int]]:
    """The batches of each pass, and what each worker holds as copies at the end."""
    loader = DataLoader(
        dataset,
        batch_size=128,
        shuffle=True,
        num_workers=2,
        persistent_workers=True,
        multiprocessing_context="spawn",
        worker_init_fn=leave_all_to_workers,
        seed=3,
    )
    batches = [list(loader) for _ in range(passes)]
    pids = {int(pid) for batch in batches[-1] for pid in batch[2]}
    return batches, {pid: copied_bytes(pid) for pid in pids}


def test_workers_keep_few_copies_of_what_they_read() -> None:
    (batches,), copied = read_all(Objects())
    numbers = torch.cat([batch[0] for batch in batches])
    assert torch.equal(numbers.sort().values, torch.arange(ROWS))
    assert all(bool((batch[1] == 12).all()) for batch in batches)
    assert copied
    assert max(copied.values()) < KEPT_BYTES_MAX


def test_what_a_worker_changed_stays_changed() -> None:
    (_, second), copied = read_all(Remembers(), passes=2)
    lengths = torch.cat([batch[1] for batch in second])
    assert set(lengths.tolist()) <= {12, 13, 14}
    assert int((lengths > 12).sum()) > ROWS // 4
    assert len(copied) == 2


def test_a_fork_while_the_dataset_arrives_harms_nobody() -> None:
    (batches,), _ = read_all(ForksOnArrival())
    assert all(bool((batch[1] == 12).all()) for batch in batches)


@pytest.mark.parametrize("samples", [None, 7, 10_000, 25_000])
def test_shuffling_draws_what_torch_draws(samples: int | None) -> None:
    rows = range(10_000)
    drawn = []
    for kind in (RandomSampler, Shuffle):
        generator = torch.Generator().manual_seed(5)
        sampler = kind(rows, num_samples=samples, generator=generator)
        drawn.append((list(sampler), generator.get_state().tolist()))
    assert drawn[0] == drawn[1]
