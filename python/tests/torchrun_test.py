"""Ranks that torchrun starts read one pipeline, save in mid-epoch, and go on.

The file is also the program that the ranks run.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millrace as mr

ROWS = 203
BATCH = 4
LAUNCH_SECONDS = 120


def pipeline(folder: Path) -> mr.Dataset:
    """Read numbered rows from several files, shuffled, with a draw for each."""
    return (
        mr.read_jsonl(str(folder / "rows-*.jsonl"), fields="{id: int64}")
        .shuffle(40)
        .map(lambda row, rng: {"id": row["id"], "draw": rng.uniform()})
        .batch(BATCH)
    )


def run_rank(folder: Path, name: str, stop: int | None) -> None:
    """What one rank does; rank 0 writes down what all have seen."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    told: dict[str, Any] = {"ranks": dist.get_world_size()}
    saved = folder / "state.json"
    for remainder in ("keep", "drop"):
        loader = pipeline(folder).distribute(remainder=remainder, seed=5)
        if saved.exists():
            loader.load_state_dict(json.loads(saved.read_text()))
        batches = itertools.islice(loader, stop)
        seen = [[batch["id"].tolist(), batch["draw"].tolist()] for batch in batches]
        gathered: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(gathered, (seen, loader.state_dict()))
        told[remainder], told["states"] = zip(*gathered, strict=True)
    if dist.get_rank() == 0:
        (folder / f"{name}.json").write_text(json.dumps(told))
    dist.destroy_process_group()


def launch(folder: Path, ranks: int, stop: int | None = None) -> dict[str, Any]:
    """Run the ranks; give what they have seen, and their states."""
    name = f"{ranks}-{stop}"
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]
    # At loopback, each at a port of its own.
    command += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
    command += ["--local-addr=127.0.0.1", "--nnodes=1", f"--nproc-per-node={ranks}"]
    command += [__file__, str(folder), name, str(stop or "")]
    package = str(Path(mr.__file__).parents[1])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": package, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LAUNCH_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    assert told["ranks"] == ranks
    assert all(state == told["states"][0] for state in told["states"])
    return told


def rows_of(seen: list[Any]) -> list[tuple[int, float]]:
    """Give rows and draws of all ranks in their logical order, round by round."""
    rounds = itertools.zip_longest(*seen, fillvalue=([], []))
    batches = itertools.chain.from_iterable(rounds)
    return [row for ids, draws in batches for row in zip(ids, draws, strict=True)]


def logical_order(folder: Path) -> list[tuple[int, float]]:
    """Give what one rank alone would see."""
    alone = pipeline(folder).distribute(consumer=0, consumers=1, seed=5)
    return rows_of([[[batch["id"], batch["draw"]] for batch in alone]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    numbers = iter(range(ROWS))
    for file in range(5):
        lines = [json.dumps({"id": i}) for i in itertools.islice(numbers, 41)]
        (tmp_path / f"rows-{file}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.frameworks
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_row_comes_once(folder: Path, ranks: int) -> None:
    told = launch(folder, ranks)
    rows = rows_of(told["keep"])
    assert sorted(number for number, _ in rows) == list(range(ROWS))
    assert rows == logical_order(folder)
    rounds = ROWS // (BATCH * ranks)
    assert [len(batches) for batches in told["drop"]] == [rounds] * ranks
    assert rows_of(told["drop"]) == rows[: rounds * BATCH * ranks]


@pytest.mark.frameworks
def test_two_ranks_go_on_where_four_stopped(folder: Path) -> None:
    stopped = launch(folder, 4, stop=5)
    (folder / "state.json").write_text(json.dumps(stopped["states"][3]))
    first = rows_of(stopped["keep"])
    rest = rows_of(launch(folder, 2)["keep"])
    assert len(first) == 5 * 4 * BATCH
    assert sorted(number for number, _ in first + rest) == list(range(ROWS))
    assert first + rest == logical_order(folder)


if __name__ == "__main__":
    where, run, until = sys.argv[1:]
    run_rank(Path(where), run, int(until) if until else None)
