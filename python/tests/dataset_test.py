"""Datasets as users build, look at and iterate them."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import millrace as mr
from millrace.errors import DataError, NotFoundError, PipelineError


def values(dataset: mr.Dataset, field: str = "value") -> list[Any]:
    return [row[field].tolist() for row in dataset]


def test_rows_come_one_by_one_and_batches_as_arrays() -> None:
    assert values(mr.range(4)) == [0, 1, 2, 3]
    assert isinstance(next(iter(mr.range(1)))["value"], np.int64)
    batches = list(mr.range(7).batch(3))
    assert [batch["value"].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6]]


def test_batches_are_the_users_to_write_to() -> None:
    cached = mr.from_arrays({"x": np.arange(1000)}).cache().batch(100)
    first = [batch["x"].copy() for batch in cached]
    for batch in cached:
        assert batch["x"].flags.writeable
        batch["x"][:] = -1
    assert all(np.array_equal(a, b["x"]) for a, b in zip(first, cached, strict=True))


@pytest.mark.parametrize("kept", [False, True])
def test_rows_are_the_users_to_write_to(kept: bool) -> None:
    rows = mr.from_arrays({"x": np.arange(4000).reshape(1000, 4)})
    dataset = rows.cache() if kept else rows
    before = [row["x"].tolist() for row in dataset]
    for row in dataset:
        row["x"][:] = -1
    assert [row["x"].tolist() for row in dataset] == before


def test_fields_of_one_value_are_written_to_apart() -> None:
    twice = mr.range(8).map(lambda row: {"a": row["value"], "b": row["value"]})
    for batch in twice.batch(4):
        batch["a"][:] = -1
        assert (batch["b"] >= 0).all()


def test_arrays_outlive_their_pass_and_their_dataset() -> None:
    kept = [batch["x"] for batch in mr.range(5000).map(_doubled).batch(500)]
    assert np.array_equal(np.concatenate(kept), np.arange(5000) * 2)


def _doubled(row: Any) -> dict[str, Any]:
    return {"x": row["value"] * 2}


def test_each_iteration_is_the_next_epoch() -> None:
    shuffled = mr.range(100).shuffle(100)
    first, second = values(shuffled), values(shuffled)
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    seeded = mr.range(100).shuffle(100, seed=1)
    with seeded.loader(seed=0) as a, seeded.loader(seed=9) as b:
        assert [r["value"] for r in a] == [r["value"] for r in b]


def test_iterations_are_independent() -> None:
    dataset = mr.range(10).batch(2)
    pairs = zip(dataset, dataset, strict=True)
    assert [int(a["value"][0] + b["value"][0]) for a, b in pairs] == [0, 4, 8, 12, 16]


def test_spec_is_known_before_anything_runs() -> None:
    dataset = mr.from_arrays({"x": np.zeros((4, 2, 3), np.uint8), "t": ["a"] * 4})
    assert dataset.spec["x"] == mr.FieldSpec("uint8", (2, 3))
    assert str(dataset.batch(2).spec["x"]) == "uint8[?, 2, 3]"
    assert str(dataset.spec["t"]) == "string"


def test_length_is_known_or_a_type_error_that_says_why() -> None:
    assert len(mr.range(10).batch(3)) == 4
    with pytest.raises(TypeError, match=r"how many rows filter \(%1\) gives"):
        len(mr.range(10).filter(lambda row: row["value"] > 3))
    with pytest.raises(TypeError, match="never ends"):
        len(mr.range(10).repeat())


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def test_rows_keep_the_form_that_the_last_map_gave_them() -> None:
    numbers = mr.range(4)
    assert next(iter(numbers.map(lambda r: (r["value"], 1.5)).batch(2)))[
        1
    ].tolist() == [
        1.5,
        1.5,
    ]
    point = next(iter(numbers.map(lambda r: Point(r["value"], 2)).shuffle(2)))
    assert isinstance(point, Point) and point.y == 2
    pair = next(iter(numbers.map(lambda r: Pair(r["value"], r["value"])).batch(4)))
    assert isinstance(pair, Pair) and pair.b.tolist() == [0, 1, 2, 3]
    assert isinstance(
        next(iter(numbers.map(lambda r: Pair(r["value"], 1)).enumerate())), dict
    )
    assert next(iter(numbers.as_tuple("value"))) == (0,)


def test_ragged_values_and_texts() -> None:
    given: list[dict[str, Any]] = [{"x": [1, 2], "t": "é"}, {"x": [3], "t": "b"}]
    rows = mr.from_rows(given)
    assert [row["x"].tolist() for row in rows] == [[1, 2], [3]]
    batch = next(iter(rows.ragged_batch(2)))
    assert [part.tolist() for part in batch["x"]] == [[1, 2], [3]]
    assert batch["x"].offsets.tolist() == [0, 2, 3]
    assert batch["t"] == ["é", "b"]
    assert next(iter(rows.padded_batch(2)))["x"].tolist() == [[1, 2], [3, 0]]


def test_ragged_along_two_axes() -> None:
    images = [np.arange(h * w).reshape(h, w) for h, w in ((2, 3), (1, 2), (2, 2))]
    batch = next(iter(mr.from_rows([{"x": x} for x in images]).ragged_batch(3)))
    assert batch["x"].values.tolist() == [*range(6), 0, 1, *range(4)]
    assert [np.asarray(axis).tolist() for axis in batch["x"].axes] == [
        3, [0, 2, 3, 5], [0, 3, 6, 8, 10, 12],
    ]  # fmt: skip
    words = [[["a", "b"], ["c", "d"]], [["e"]]]
    rows = mr.from_rows([{"w": np.array(w)} for w in words])
    assert next(iter(rows.ragged_batch(2)))["w"].values == ["a", "b", "c", "d", "e"]


def test_bfloat16_and_half_floats() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rows = mr.range(4).map(lambda r: {"h": r["value"].astype("float16"),
                                      "b": r["value"].astype("bfloat16")})  # fmt: skip
    batch = next(iter(rows.batch(4)))
    assert batch["h"].dtype == np.float16
    assert batch["b"].dtype == ml_dtypes.bfloat16
    assert batch["b"].astype(float).tolist() == [0, 1, 2, 3]


def test_pickles_with_what_stands_beside_it() -> None:
    table = np.arange(100_000)
    dataset = mr.from_arrays({"x": table}).map(lambda r: (r["x"], table[:5] + r["x"]))
    again = pickle.loads(pickle.dumps(dataset.batch(10)))
    for a, b in zip(dataset.batch(10), again, strict=True):
        assert isinstance(b, tuple)
        assert np.array_equal(a[1], b[1])


def test_shows_itself() -> None:
    dataset = mr.range(10).map(_doubled).batch(4)
    assert "batch(%1, size=4)" in repr(dataset)
    assert "x: int64[?]" in repr(dataset)
    assert "lanes" in dataset.explain()
    assert [b["x"].tolist() for b in dataset.head(1)] == [[0, 2, 4, 6]]
    assert "batch" in dataset.profile(seconds=0.1)


def test_reads_files_by_paths_relative_to_where_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2.5\n3,4.5\n")
    monkeypatch.chdir(tmp_path)
    dataset = mr.read("a.csv")
    monkeypatch.chdir("/")
    assert [(r["x"], r["y"]) for r in dataset] == [(1, 2.5), (3, 4.5)]
    assert values(mr.read_csv(tmp_path / "a.csv"), "x") == [1, 3]


def test_mistakes_are_found_where_the_pipeline_is_built() -> None:
    with pytest.raises(PipelineError, match="size"):
        mr.range(10).batch(0)
    with pytest.raises(PipelineError, match="did you mean 'value'"):
        mr.range(10).map(lambda r: {"x": r["vale"]})
    with pytest.raises(PipelineError, match="a dataset is wanted here, not int"):
        mr.range(10).zip(3)  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match="objects of Python"):
        mr.from_arrays({"x": np.array([object()])})
    with pytest.raises(NotFoundError, match=r"nowhere\.csv"):
        mr.read_csv("/nowhere.csv")


def test_bad_rows_are_named_by_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"x": 1}\n{"x": oops}\n{"x": 3}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl"):
        list(mr.read_jsonl(path, fields="{x: int64}"))
    good = mr.read_jsonl(path, fields="{x: int64}").ignore_errors()
    assert values(good, "x") == [1, 3]


def test_several_threads_iterate_at_once() -> None:
    dataset = mr.range(3000).map(_doubled).batch(10)
    sums: list[int] = []

    def run() -> None:
        sums.append(sum(int(batch["x"].sum()) for batch in dataset))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [sum(range(3000)) * 2] * 4
