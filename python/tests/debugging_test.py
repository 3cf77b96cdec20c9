"""Datasets in the calling thread: breakpoints work, and the rows stay the same."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import DataError


def numbers(rows: Any) -> list[int]:
    return [int(row["x"]) for row in rows]


def noisy(row: Any, rng: Any) -> dict[str, Any]:
    return {"x": row["value"] * 2, "noise": rng.uniform()}


def count() -> Iterator[dict[str, Any]]:
    n = 0
    while True:
        yield {"value": n}
        n += 1


PIPELINES: dict[str, Callable[[], mr.Dataset]] = {
    "traced": lambda: mr.range(1000).map(noisy, python=False).shuffle(50).batch(7),
    "python": lambda: mr.range(300).shuffle(50).map(noisy, python=True).batch(7),
    "merged": lambda: (
        mr.range(20).map(noisy).mix(mr.range(50).map(noisy).cache()).repeat(3).batch(4)
    ),
    "filtered": lambda: (
        mr.range(100)
        .filter(lambda row: int(row["value"]) % 3 == 0, python=True)
        .repeat(2)
    ),
    "endless": lambda: mr.from_generator(count).map(noisy, python=True).take(2000),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_the_rows_are_the_same(name: str) -> None:
    dataset = PIPELINES[name]()
    usual = list(mr.loader(dataset, seed=3))
    here = list(mr.loader(dataset.debug(), seed=3))
    assert len(usual) == len(here) > 0
    for left, right in zip(usual, here, strict=True):
        assert list(left) == list(right)
        for field in left:
            assert np.array_equal(left[field], right[field])


def test_functions_run_in_this_thread() -> None:
    def where(row: Any) -> dict[str, Any]:
        return {"pid": os.getpid(), "thread": threading.get_ident()}

    def generated() -> Iterator[dict[str, Any]]:
        yield where(None)

    for dataset in (
        mr.range(5).map(where, python=True).debug(),
        mr.range(5).debug().map(where, python=True),
        pickle.loads(pickle.dumps(mr.range(5).map(where, python=True).debug())),
        mr.from_generator(generated).debug(),
    ):
        for row in dataset:
            assert int(row["pid"]) == os.getpid()
            assert int(row["thread"]) == threading.get_ident()
    assert threading.active_count() == 1 or "pytest" in sys.modules


def test_a_debugger_sees_every_row() -> None:
    def double(row: Any) -> dict[str, Any]:
        value = int(row["value"])
        return {"x": value * 2}

    seen = []

    def tracer(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "double" and event == "return":
            seen.append(frame.f_locals["value"])
        return tracer

    dataset = mr.range(4).map(double, python=True).debug()
    sys.settrace(tracer)
    try:
        assert numbers(dataset) == [0, 2, 4, 6]
    finally:
        sys.settrace(None)
    assert seen == [0, 1, 2, 3]


def test_errors_and_interrupts_reach_the_caller() -> None:
    def function(row: Any) -> dict[str, Any]:
        if row["value"] == 3:
            raise KeyError("three")
        return {"x": row["value"]}

    dataset = mr.range(6).map(function, python=True, output={"x": "int64"}).debug()
    with pytest.raises(DataError, match=r"row 3: .*KeyError: 'three'"):
        list(dataset)
    assert numbers(dataset.ignore_errors()) == [0, 1, 2, 4, 5]

    def interrupted(row: Any) -> dict[str, Any]:
        raise KeyboardInterrupt

    stopped = mr.range(6).map(interrupted, python=True, output={"x": "int64"}).debug()
    with pytest.raises(KeyboardInterrupt):
        list(stopped)
    assert numbers(dataset.ignore_errors()) == [0, 1, 2, 4, 5]


def test_a_state_goes_on_in_either() -> None:
    dataset = mr.range(100).shuffle(20).map(noisy, python=True).batch(6)
    usual = mr.loader(dataset, seed=2)
    rows = iter(usual)
    for _ in range(5):
        next(rows)
    here = mr.loader(dataset.debug())
    here.load_state_dict(usual.state_dict())
    assert [b["x"].tolist() for b in here] == [b["x"].tolist() for b in rows]


def test_rows_may_be_kept() -> None:
    kept: list[Any] = []

    def keep(row: Any) -> dict[str, Any]:
        kept.append(row["value"])
        whole = np.arange(4 * len(kept)).reshape(-1, 4)
        return {"whole": np.array_equal(np.stack(kept), whole)}

    arrays = mr.from_arrays({"value": np.arange(4000).reshape(1000, 4)})
    dataset = arrays.map(keep, python=True, output={"whole": "bool"}).debug()
    assert all(row["whole"] for row in dataset)


def test_where_functions_run_is_told() -> None:
    def told(row: Any) -> dict[str, Any]:
        info = mr.get_worker_info()
        assert info is not None
        return {"id": info.id, "count": info.num_workers, "seed": info.seed}

    def init() -> None:
        assert mr.get_worker_info() is not None

    dataset = mr.range(2000).map(told, python=True, init=init)
    rows = list(mr.loader(dataset, seed=50))
    for row in rows:
        assert 0 <= row["id"] < row["count"]
        assert row["seed"] == 50 + row["id"]
    here = list(mr.loader(dataset.debug(), seed=50))
    assert {(int(r["id"]), int(r["count"]), int(r["seed"])) for r in here} == {
        (0, 1, 50)
    }
    assert mr.get_worker_info() is None
