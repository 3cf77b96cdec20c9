"""Rows that Python generators and map-style datasets make."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace import _core
from millrace.engine import engine
from millrace.errors import DataError, PipelineError


def count(stop: int | None = None) -> Iterator[dict[str, Any]]:
    n = 0
    while stop is None or n < stop:
        yield {"x": n, "name": f"row {n}"}
        n += 1


def numbers(rows: Any) -> list[int]:
    return [int(row["x"]) for row in rows]


def test_rows_come_as_the_generator_gives_them() -> None:
    dataset = mr.from_generator(lambda: count(3000))
    assert {name: str(spec) for name, spec in dataset.spec.items()} == {
        "x": "int64",
        "name": "string",
    }
    for _ in range(2):
        assert numbers(dataset) == list(range(3000))
    with pytest.raises(TypeError, match="not known before they are read"):
        len(dataset)
    batch = next(iter(dataset.batch(4)))
    assert batch["name"] == ["row 0", "row 1", "row 2", "row 3"]


def test_one_without_end_streams_within_memory() -> None:
    def blocks() -> Iterator[dict[str, Any]]:
        while True:
            yield {"x": np.zeros(1 << 18)}  # 2 MB.

    seen = 0
    for row in mr.from_generator(blocks).take(300):
        seen += row["x"].nbytes
    assert seen == 300 * (2 << 20)
    assert engine().used_bytes < 100 << 20


def test_an_array_may_be_used_again_for_the_next_row() -> None:
    def filled() -> Iterator[dict[str, Any]]:
        array = np.empty(4, np.int64)
        for n in range(50):
            array[:] = n
            yield {"x": array}

    rows = list(mr.from_generator(filled))
    assert [row["x"].tolist() for row in rows] == [[n] * 4 for n in range(50)]


def test_tuples_stay_tuples() -> None:
    dataset = mr.from_generator(lambda: iter([(1, "a"), (2, "b")]))
    assert list(dataset) == [(1, "a"), (2, "b")]


def test_epoch_and_random_numbers_are_the_passes() -> None:
    def draws(epoch: int, rng: Any) -> Iterator[dict[str, Any]]:
        for _ in range(5):
            yield {"x": rng.integers(1_000_000), "epoch": epoch}

    dataset = mr.from_generator(draws)
    passes = []
    for seed, epoch in [(1, 0), (1, 0), (1, 1), (2, 0)]:
        loader = mr.loader(dataset, seed=seed)
        loader.set_epoch(epoch)
        rows = list(loader)
        assert {int(row["epoch"]) for row in rows} == {epoch}
        passes.append(numbers(rows))
    assert passes[0] == passes[1]
    assert len(set(map(tuple, passes))) == 3
    assert len(set(passes[0])) > 1
    own = mr.from_generator(draws, seed=1)
    assert numbers(mr.loader(own, seed=9)) == passes[0]


STATEFUL: dict[str, Callable[[mr.Dataset], mr.Dataset]] = {
    "plain": lambda rows: rows,
    "mapped": lambda rows: rows.map(lambda row: {"x": row["x"] * 2}).batch(2),
    "mixed": lambda rows: (
        rows.filter(lambda row: row["x"] % 3 > 0).shuffle(10).batch(2)
    ),
}


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize("taken", [7, 1500])
def test_a_state_goes_on_exactly(name: str, taken: int) -> None:
    fields = {"x": "int64", "name": "string"}
    dataset = STATEFUL[name](mr.from_generator(count, output=fields))
    loader = mr.loader(dataset, seed=4)
    rows = iter(loader)
    for _ in range(taken):
        next(rows)
    other = mr.loader(dataset)
    other.load_state_dict(loader.state_dict())
    rest = itertools.islice(other, 5)
    for left, right in zip(itertools.islice(rows, 5), rest, strict=True):
        assert left["x"].tolist() == right["x"].tolist()


def test_an_error_carries_the_users_frames_behind_the_rows_before_it() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from count(5)
        raise ValueError("no more pages")

    rows = iter(mr.from_generator(broken).ignore_errors())
    assert [int(next(rows)["x"]) for _ in range(5)] == list(range(5))
    with pytest.raises(DataError) as caught:  # It could not go on without the row.
        next(rows)
    message = str(caught.value)
    assert "ValueError: no more pages" in message
    assert 'raise ValueError("no more pages")' in message
    assert "from_generator" in message
    assert "_calls.py" not in message


def test_a_row_that_is_wrong_is_left_out_where_errors_are_ignored() -> None:
    def mixed() -> Iterator[Any]:
        for n in range(6):
            yield {"x": n} if n != 3 else {"y": n}

    dataset = mr.from_generator(mixed)
    with pytest.raises(DataError, match="give the same for every row"):
        list(dataset)
    assert numbers(dataset.ignore_errors()) == [0, 1, 2, 4, 5]


def test_a_process_that_dies_is_an_error_and_the_next_pass_works() -> None:
    def dies(epoch: int) -> Iterator[dict[str, Any]]:
        yield from count(3)
        if epoch == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    loader = mr.loader(mr.from_generator(dies, output={"x": "int64", "name": "string"}))
    with pytest.raises(DataError, match=r"dies: .*signal 9"):
        list(loader)
    assert numbers(loader) == [0, 1, 2]


def _process(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_its_process_ends_with_a_pass_that_is_left() -> None:
    def pids() -> Iterator[dict[str, Any]]:
        while True:
            yield {"x": os.getpid()}

    rows = iter(mr.from_generator(pids))
    pid = int(next(rows)["x"])
    assert pid != os.getpid()
    assert _process(pid)
    del rows
    assert not _process(pid)
    assert pid not in _core.runner_pids()


def test_a_generator_that_waits_does_not_keep_the_pass() -> None:
    def waits() -> Iterator[dict[str, Any]]:
        yield {"x": os.getpid()}
        signal.pause()

    loader = mr.loader(mr.from_generator(waits))
    rows = iter(loader)
    pid = int(next(rows)["x"])
    loader.close()
    del rows, loader
    assert not _process(pid)


ONE_THREAD = """
import millrace as mr

def numbers():
    n = 0
    while True:
        yield {"x": n}
        n += 1

assert mr.budget().threads == 1
one = mr.from_generator(numbers).map(lambda row: {"x": row["x"] * 2}, python=True)
two = mr.from_generator(numbers).map(lambda row: {"x": -row["x"]}, python=True)
print([int(row["x"]) for row in one.interleave(two).take(6)])
"""


def test_functions_behind_it_need_no_second_thread() -> None:
    result = subprocess.run(
        [sys.executable, "-c", ONE_THREAD],
        capture_output=True,
        text=True,
        env={**os.environ, "MILLRACE_THREADS": "1"},
        timeout=120,
    )
    assert result.stdout == "[0, 0, 2, -1, 4, -2]\n", result.stderr


def test_what_is_declared_is_not_tried(tmp_path: Path) -> None:
    def noted() -> Iterator[dict[str, Any]]:
        (tmp_path / "begun").touch()
        yield {"x": 1.5}

    dataset = mr.from_generator(noted, output={"x": "float32"})
    assert not (tmp_path / "begun").exists()
    assert next(iter(dataset))["x"].dtype == np.float32
    assert (tmp_path / "begun").exists()


def test_what_is_no_generator_says_what_to_write() -> None:
    with pytest.raises(PipelineError, match=r"from_generator\(lambda: \.\.\.\)"):
        mr.from_generator(iter([{"x": 1}]))  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match="declare them with output="):
        mr.from_generator(lambda: iter([]))
    with pytest.raises(DataError, match="'int' object is not iterable"):
        mr.from_generator(lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(PipelineError, match="global_shuffle"):
        list(mr.from_generator(lambda: count(3)).shuffle())


class Squares:
    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == 77:
            raise RuntimeError("no such square")
        return {"x": index * index, "image": np.full((2, 2), index, np.uint8)}


def test_map_style_datasets_are_sources() -> None:
    dataset = mr.from_torch(Squares(50)).shuffle(seed=1).batch(10)
    assert len(dataset) == 5
    found = np.concatenate([batch["x"] for batch in dataset])
    assert sorted(found.tolist()) == [n * n for n in range(50)]
    assert found.tolist() != sorted(found.tolist())
    with pytest.raises(DataError) as caught:
        list(mr.from_torch(Squares(80)))
    message = str(caught.value)
    assert "Squares: RuntimeError: no such square" in message
    assert "row 77" in message
    assert "generators.py" not in message


def test_items_become_rows() -> None:
    assert list(mr.from_torch([(1, 2.5), (3, 4.5)])) == [(1, 2.5), (3, 4.5)]
    assert list(mr.from_torch([[1, "a"], [3, "b"]])) == [(1, "a"), (3, "b")]
    assert [int(row["value"]) for row in mr.from_torch(range(3, 6))] == [3, 4, 5]
    with pytest.raises(PipelineError, match="from_generator"):
        mr.from_torch(count())  # type: ignore[arg-type]
