"""Rows in the form that a function in Python gives: tuples, dataclasses."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pickle
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import millrace as mr


@dataclasses.dataclass
class Sample:
    image: Any
    label: Any

    def twice(self) -> int:
        return int(self.label) * 2


class Pair(NamedTuple):
    a: Any
    b: Any


Plain = namedtuple("Plain", ["a", "b"])

ROOM = np.zeros(4, np.int64)
SEVEN = np.full(4, 7)


def in_python(function: Any, rows: int = 3) -> mr.Dataset:
    return mr.range(rows).map(function, python=True)


def test_tuples() -> None:
    ds = in_python(lambda row: (row["value"], row["value"] * 0.5))
    assert [tuple(map(float, row)) for row in ds] == [(0, 0), (1, 0.5), (2, 1)]
    assert type(next(iter(ds))) is tuple
    (batch,) = ds.batch(3)
    assert type(batch) is tuple
    assert batch[1].tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("kind", [Pair, Plain])
def test_named_tuples(kind: Any) -> None:
    (batch,) = in_python(lambda row: kind(row["value"], "text")).batch(3)
    assert type(batch) is kind
    assert batch.a.tolist() == [0, 1, 2]
    assert batch.b == ["text"] * 3


def test_dataclasses_are_the_users_own_class() -> None:
    def function(row: Any) -> Sample:
        return Sample(image=np.zeros(2), label=row["value"])

    ds = in_python(function)
    rows = list(ds)
    assert all(type(row) is Sample for row in rows)
    assert [row.twice() for row in rows] == [0, 2, 4]
    loader = ds.batch(2).to("numpy")
    assert [type(batch) is Sample for batch in loader] == [True, True]


def test_as_a_traced_function_gives_them() -> None:
    def function(row: Any) -> Pair:
        return Pair(row["value"] + 1, row["value"])

    traced = list(mr.range(4).map(function, python=False))
    assert traced == list(mr.range(4).map(function, python=True))
    assert {type(row) for row in traced} == {Pair}


def test_functions_behind_see_the_form() -> None:
    ds = in_python(lambda row: Sample(row["value"], row["value"] * 3))
    native = ds.map(lambda sample: {"x": sample.image + sample.label}, python=False)
    again = ds.map(lambda sample: {"x": sample.twice()}, python=True)
    kept = ds.filter(lambda sample: bool(sample.label > 2), python=True)
    assert [int(row["x"]) for row in native] == [0, 4, 8]
    assert [int(row["x"]) for row in again] == [0, 6, 12]
    assert [type(row) is Sample for row in kept] == [True, True]


def test_many_rows_at_once() -> None:
    ds = mr.range(5).map_batches(
        lambda rows: Pair(rows["value"], rows["value"] * 2), 2, python=True
    )
    assert [(int(row.a), int(row.b)) for row in ds] == [(i, 2 * i) for i in range(5)]


def test_dicts_stay_dicts() -> None:
    behind = in_python(lambda row: Pair(1, 2)).map(lambda row: {"x": 1}, python=True)
    assert next(iter(behind)) == {"x": 1}


def test_datasets_travel_with_the_form() -> None:
    ds = pickle.loads(pickle.dumps(in_python(lambda row: Pair(row["value"], 1))))
    assert type(next(iter(ds))) is Pair


def test_classes_of_modules_that_the_processes_do_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forms_of_mine.py").write_text(
        "import dataclasses\n"
        "@dataclasses.dataclass\n"
        "class Mine:\n"
        "    x: object\n"
        "def make(row):\n"
        "    return Mine(row['value'])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("forms_of_mine")
    ds = in_python(module.make)
    assert all(type(row) is module.Mine for row in ds)


MAIN = """
import dataclasses
import millrace as mr

@dataclasses.dataclass
class Row:
    x: object

def make(row):
    return Row(row["value"])

rows = list(mr.range(3).map(make, python=True))
print(all(type(row) is Row for row in rows), [int(row.x) for row in rows])
"""


RESUMED = """
import dataclasses, json, sys
import millrace as mr

@dataclasses.dataclass
class Row:
    x: object

class Scale:
    def __init__(self, by):
        self.by = by
    def __call__(self, row):
        return Row(row["value"] * self.by)

loader = mr.loader(mr.range(9).map(Scale(2), python=True), seed=1)
if len(sys.argv) > 1:
    loader.load_state_dict(json.loads(sys.argv[1]))
rows = iter(loader)
taken = [int(next(rows).x) for _ in range(3)]
print(json.dumps([taken, loader.state_dict()]))
"""


def test_a_state_goes_on_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(RESUMED)

    def run(*words: str) -> Any:
        command = [sys.executable, str(program), *words]
        told = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    taken, state = run()
    assert taken == [0, 2, 4]
    assert run(json.dumps(state))[0] == [6, 8, 10]


def test_classes_of_the_main_program(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(MAIN)
    told = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120
    )
    assert told.stdout == "True [0, 1, 2]\n", told.stderr


def test_a_function_may_write_every_row_into_the_same_array() -> None:
    def into_one(row: Any) -> dict[str, Any]:
        np.multiply(np.arange(4), row["value"], out=ROOM)
        return {"x": ROOM, "same": ROOM}

    (rows,) = mr.range(100).map(into_one, python=True).batch(100)
    np.testing.assert_array_equal(rows["x"], np.arange(100)[:, None] * np.arange(4))
    np.testing.assert_array_equal(rows["same"], rows["x"])


def test_random_numbers_are_the_same_for_arrays_that_are_used_again() -> None:
    def into_one(row: Any, rng: mr.Rng) -> dict[str, Any]:
        ROOM[:] = rng.integers(0, 1000)
        return {"x": ROOM}

    def into_new(row: Any, rng: mr.Rng) -> dict[str, Any]:
        return {"x": np.full(4, rng.integers(0, 1000))}

    (once,), (again,) = (
        mr.range(50).map(f, python=True, seed=4).batch(50) for f in (into_one, into_new)
    )
    np.testing.assert_array_equal(once["x"], again["x"])
    assert len(np.unique(once["x"])) > 10


def test_a_constant_may_be_given_for_every_row() -> None:
    (rows,) = mr.range(20).map(lambda row: {"x": SEVEN}, python=True).batch(20)
    np.testing.assert_array_equal(rows["x"], np.full((20, 4), 7))
