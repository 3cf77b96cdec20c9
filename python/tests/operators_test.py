"""Operators that are written by hand, or put together from others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError


def values(dataset: mr.Dataset) -> list[int]:
    return [int(row["value"]) for row in dataset]


def test_shuffle_without_a_window_mixes_all_rows(tmp_path: Path) -> None:
    dataset = mr.range(5000)
    everything = values(dataset.shuffle(seed=3))
    assert sorted(everything) == list(range(5000))
    assert everything == values(dataset.global_shuffle(seed=3))
    first = np.array(everything[:100])
    assert first.max() - first.min() > 3000  # Not those of a window.
    assert values(dataset.shuffle(10, seed=3)) != everything
    (tmp_path / "lines.txt").write_text("a\nb\n")
    with pytest.raises(PipelineError, match="millrace data index"):
        list(mr.read_text(tmp_path / "lines.txt").shuffle())


def test_interleave_takes_one_of_each_in_turn() -> None:
    first, second, third = mr.range(2), mr.range(10, 15), mr.range(20, 21)
    dataset = first.interleave(second, third)
    assert values(dataset) == [0, 10, 20, 1, 11, 12, 13, 14]
    assert values(first.interleave(second, stop="first")) == [0, 10, 1, 11]
    pairs = mr.range(2).as_tuple("value").interleave(mr.range(5, 6).as_tuple("value"))
    assert list(pairs) == [(0,), (5,), (1,)]
    with pytest.raises(PipelineError, match="a dataset is wanted"):
        first.interleave(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["frames", "arrow", "parquet"])
def test_what_is_saved_can_be_loaded(tmp_path: Path, form: Any) -> None:
    dataset = mr.range(1000).map(lambda row: {"x": row["value"] * 2, "y": 1.5})
    saved = dataset.save(tmp_path / "rows", format=form, file_size="1MB")
    assert [int(row["x"]) for row in saved] == list(range(0, 2000, 2))
    again = mr.load(tmp_path / "rows")
    assert len(list(again)) == 1000
    with pytest.raises(PipelineError, match="replace"):
        dataset.save(tmp_path / "rows", format=form)
    dataset.take(3).save(tmp_path / "rows", format=form, replace=True)
    assert len(list(mr.load(tmp_path / "rows"))) == 3


def test_saving_python_functions_draws_as_the_dataset_does(tmp_path: Path) -> None:
    def noise(row: Any, rng: Any) -> dict[str, Any]:
        return {"x": rng.uniform()}

    dataset = mr.range(10).map(noise, python=True)
    saved = dataset.save(tmp_path / "rows", seed=5)
    drawn = [float(row["x"]) for row in mr.loader(dataset, seed=5)]
    assert [float(row["x"]) for row in saved] == drawn


INTERRUPTED = """
import os, signal, sys
import millrace as mr

def function(row):
    if row["value"] == 50:
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
    return {"x": row["value"]}

try:
    mr.range(100).map(function, python=True).save(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_saving_can_be_interrupted(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "rows")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout == "interrupted\n", result.stderr
    assert not (tmp_path / "rows" / "saved.json").exists()


def test_the_other_operators_are_reachable() -> None:
    total = mr.range(5).reduce(
        lambda row: {"state.sum": row["state.sum"] + row["value"]}, "{sum: int64}"
    )
    assert int(next(iter(total))["sum"]) == 10
    assert values(mr.range(3).cache().repeat(2)) == [0, 1, 2, 0, 1, 2]
    turns = mr.from_arrays({"turn": np.array([1, 0, 1])})
    assert values(turns.choose(mr.range(2), mr.range(5, 9))) == [5, 0, 6]


EXPLAINED = """
import millrace as mr
import my_helper

def function(row):
    return {"x": my_helper.double(int(row["value"]))}

print(mr.range(4).map(function, python=True).explain())
"""


def test_explain_lists_the_modules_that_travel(tmp_path: Path) -> None:
    (tmp_path / "my_parts.py").write_text("FACTOR = 2\ndef two():\n    return FACTOR\n")
    (tmp_path / "my_helper.py").write_text(
        "import my_parts\ndef double(x):\n    return x * my_parts.two()\n"
    )
    (tmp_path / "program.py").write_text(EXPLAINED)
    result = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "modules that travel with Python functions:" in result.stdout
    assert "function: my_helper" in result.stdout
    plain = mr.range(4).map(lambda row: {"x": 1}, python=True)
    assert "modules that travel" not in mr.range(4).explain()
    assert "numpy" not in plain.explain()


def test_a_misspelt_argument_is_an_error() -> None:
    resize: Any = mr.image.resize
    image = mr.from_arrays({"image": np.zeros((2, 4, 4, 3), np.uint8)})
    with pytest.raises(PipelineError, match="unexpected keyword argument 'sizes'"):
        image.map(lambda row: {"x": resize(row["image"], sizes=(2, 2))})
    with pytest.raises(PipelineError, match="missing 1 required"):
        image.map(lambda row: {"x": resize(row["image"])})


def test_methods_of_texts_name_their_kernel() -> None:
    texts = mr.from_rows([{"text": "A"}])
    with pytest.raises(PipelineError, match=r"use mr\.text\.lower\(field\)"):
        texts.map(lambda row: {"x": row["text"].lower()}, python=False)
    with pytest.raises(PipelineError, match=r"mr\.text\.starts_with"):
        texts.map(lambda row: {"x": row["text"].startswith("a")}, python=False)
