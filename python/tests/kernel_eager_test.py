"""Kernels on plain values: what traced functions give, given at once."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millrace.errors import Error, PipelineError
from millrace.kernels import image, io, json, math, regex, text, time
from tracing_rows import ROWS, mapped, rows_of

Function = Callable[[Any], Any]

# Each is run by the engine on all rows, and again in Python on the row itself.
SAMPLE: list[Function] = [
    lambda row: math.add(row["x"], 1),
    lambda row: math.divide(row["v"], 3),
    lambda row: math.power(row["f"], 2.0),
    lambda row: math.sqrt(row["x"]),
    lambda row: math.clip(row["v"], 0.0, row["f"]),
    lambda row: math.sum(row["v"]),
    lambda row: math.mean(row["img"], axis=0),
    lambda row: math.cumsum(row["n"]),
    lambda row: math.sort(row["v"], descending=True),
    lambda row: math.argmax(row["v"]),
    lambda row: math.one_hot(row["x"], 5),
    lambda row: math.where(row["ok"], row["v"], 0),
    lambda row: math.concat(row["n"], row["n"]),
    lambda row: math.stack([row["x"], row["x"] + 1]),
    lambda row: math.take(row["v"], np.array([3, 0])),
    lambda row: math.pad_to(row["n"], 6, value=-1),
    lambda row: math.cast(row["f"], np.int8),
    lambda row: math.reshape(row["v"], (2, 2)),
    lambda row: math.transpose(row["img"], axes=(2, 0, 1)),
    lambda row: math.hash_bucket(row["t"], 10),
    lambda row: math.logical_and(row["ok"], True),
    lambda row: math.equal(row["t"], "row 2"),
    lambda row: math.shape(row["img"]),
    lambda row: text.upper(row["t"]),
    lambda row: text.concat(row["t"], "!"),
    lambda row: text.split(row["t"]),
    lambda row: text.to_number(row["b"], np.int64),
    lambda row: text.contains(row["t"], "3"),
    lambda row: text.replace(row["t"], "row", "line"),
    lambda row: text.byte_length(row["t"]),
    lambda row: regex.extract(row["t"], "[0-9]"),
    lambda row: json.int_(text.concat('{"a": [1, ', row["b"], "]}"), "a[1]"),
    lambda row: time.part(row["x"] * 86400, "day"),
    lambda row: image.resize(row["img"], (2, 3)),
    lambda row: image.to_chw(row["img"]),
    lambda row: image.normalize(row["img"], (0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
    lambda row: image.decode(image.encode(row["img"], format="png")),
    lambda row: image.crop(row["img"], [1, row["x"], 2, 2]),
    lambda row: row["v"][1:3],
    lambda row: row["v"] * row["f"] - 1,
    lambda row: np.where(row["v"] > 0, row["v"], 0.0),
]


def same(a: Any, b: Any) -> None:
    if isinstance(a, str | bytes | list):
        assert a == b
        assert type(a) is type(b)
        return
    np.testing.assert_array_equal(a, b)
    assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("function", SAMPLE)
def test_traced_and_eager_give_the_same(function: Function) -> None:
    in_engine = mapped(lambda row: {"y": function(row)})
    for row, given in zip(rows_of(ROWS), in_engine, strict=True):
        same(given["y"], function(row))


def test_numbers_come_as_numpys_numbers() -> None:
    total = math.sum(np.arange(4))
    assert isinstance(total, np.int64)
    assert total == 6


def test_lists_texts_and_paths_are_values(tmp_path: Path) -> None:
    assert math.sum([1, 2, 3]) == 6
    assert text.upper(["a", "b"]) == ["A", "B"]
    assert text.upper(np.array(["a", "b"])) == ["A", "B"]
    file = tmp_path / "some.bin"
    file.write_bytes(b"\x00\xff")
    assert io.read(str(file)) == b"\x00\xff"
    assert io.read("some.bin", root=tmp_path) == b"\x00\xff"


def test_mistakes_are_errors_of_the_call() -> None:
    with pytest.raises(PipelineError, match="add: needs numbers"):
        math.add(1, "a")
    with pytest.raises(Error, match="reshape"):
        math.reshape(np.zeros(4), (3,))
    with pytest.raises(PipelineError, match="method"):
        method: Any = "cubic"
        image.resize(np.zeros((2, 2, 3), np.uint8), (1, 1), method=method)
    with pytest.raises(TypeError, match=re.escape("add: takes numbers, texts and")):
        math.add(1, object())
    with pytest.raises(Error):
        image.decode(b"no image")
