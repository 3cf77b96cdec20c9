"""What a traced value does: each operation is the kernel that it should be."""

import copy
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millrace.tracing import TracingError, Untraceable
from tracing_rows import ROWS, mapped, rows_of, text_of, traced

Function = Callable[[Any], Any]
TABLE = np.array([1, 2, 3, 4], np.float32)

OPERATIONS: list[tuple[Function, str]] = [
    (lambda row: row["x"] + 1, ".x + 1"),
    (lambda row: 1 + row["x"], "1 + .x"),
    (lambda row: row["x"] - 1, ".x - 1"),
    (lambda row: 1 - row["x"], "1 - .x"),
    (lambda row: 2 * row["x"], "2 * .x"),
    (lambda row: row["x"] / 2, ".x / 2"),
    (lambda row: 1 / row["x"], "1 / .x"),
    (lambda row: row["x"] // 2, ".x // 2"),
    (lambda row: 7 // row["x"], "7 // .x"),
    (lambda row: row["x"] % 2, ".x % 2"),
    (lambda row: 7 % row["x"], "7 % .x"),
    (lambda row: row["x"] ** 2, "power(.x, 2)"),
    (lambda row: 2 ** row["x"], "power(2, .x)"),
    (lambda row: divmod(row["x"], 2)[1], ".x % 2"),
    (lambda row: divmod(7, row["x"])[0], "7 // .x"),
    (lambda row: -row["x"], "-.x"),
    (lambda row: +row["x"], ".x"),
    (lambda row: abs(row["x"]), "absolute(.x)"),
    (lambda row: row["x"] < 1, ".x < 1"),
    (lambda row: row["x"] >= 1, ".x >= 1"),
    (lambda row: 1 > row["x"], ".x < 1"),  # noqa: SIM300
    (lambda row: row["x"] == 1, ".x == 1"),
    (lambda row: row["x"] != 1, ".x != 1"),
    (lambda row: row["t"] == "a", '.t == "a"'),
    (lambda row: row["ok"] & (row["x"] < 3), ".ok and .x < 3"),
    (lambda row: row["ok"] | (row["x"] < 3), ".ok or .x < 3"),
    (lambda row: True & row["ok"], "true and .ok"),
    (lambda row: ~row["ok"], "not .ok"),
    (lambda row: row["ok"] ^ row["ok"], "(.ok or .ok) and not (.ok and .ok)"),
    (lambda row: round(row["f"]), 'cast(round(.f), dtype="int64")'),
    (lambda row: math.floor(row["f"]), 'cast(floor(.f), dtype="int64")'),
    (lambda row: math.ceil(row["f"]), 'cast(ceil(.f), dtype="int64")'),
    (lambda row: row["t"] + "!", 'text_join(.t, "!")'),
    (lambda row: "no. " + row["t"], 'text_join("no. ", .t)'),
    (lambda row: row["b"][1:3], "text_slice(.b, start=1, stop=3)"),
]

PARTS: list[tuple[Function, str]] = [
    (lambda row: row["v"][0], ".v[0]"),
    (lambda row: row["v"][-1], ".v[-1]"),
    (lambda row: row["v"][row["x"]], ".v[.x]"),
    (lambda row: row["v"][np.int8(1)], ".v[1i8]"),
    (lambda row: row["v"][1:3], ".v[1:3]"),
    (lambda row: row["v"][::-1], ".v[::-1]"),
    (lambda row: row["v"][:], ".v"),
    (lambda row: row["v"][[2, 0]], "take(.v, int64[2, 0])"),
    (lambda row: row["v"][row["n"]], "take(.v, .n)"),
    (lambda row: row["v"][None], "expand_dims(.v, axis=0)"),
    (lambda row: row["img"][1, 2], ".img[1][2]"),
    (lambda row: row["img"][:, 2], "at(.img, 2, axis=1)"),
    (lambda row: row["img"][..., 0], "at(.img, 0, axis=2)"),
    (lambda row: row["img"][..., None], "expand_dims(.img, axis=3)"),
    (
        lambda row: row["img"][:, ::-1],
        "slice(.img, axis=1, start=none, stop=none, step=-1)",
    ),
    (lambda row: row["v"].astype(np.int32), 'cast(.v, dtype="int32")'),
    (lambda row: row["x"].astype(float), 'cast(.x, dtype="float64")'),
    (lambda row: row["v"].reshape(2, 2), "reshape(.v, shape=[2, 2])"),
    (lambda row: row["v"].reshape((2, -1)), "reshape(.v, shape=[2, -1])"),
    (lambda row: row["img"].flatten(), "reshape(.img, shape=[-1])"),
    (lambda row: row["img"].T, "transpose(.img, axes=none)"),
    (lambda row: row["img"].transpose(2, 0, 1), "transpose(.img, axes=[2, 0, 1])"),
    (lambda row: row["v"][None].squeeze(0), "squeeze(expand_dims(.v, axis=0), axis=0)"),
    (lambda row: row["v"].clip(0, 1), "clip(.v, 0, 1)"),
    (lambda row: row["v"].sum(), "sum(.v, axis=none, keep_axis=false)"),
    (
        lambda row: row["img"].mean(axis=0, keepdims=True),
        "mean(.img, axis=0, keep_axis=true)",
    ),
    (lambda row: row["v"].argmax(), "argmax(reshape(.v, shape=[-1]), axis=0)"),
    (lambda row: row["v"].argsort(), "argsort(.v, axis=-1, descending=false)"),
    (lambda row: row["v"].cumsum(axis=0), "cumsum(.v, axis=0)"),
    (lambda row: row["img"].shape[0], "shape(.img)[0]"),
    (lambda row: row["v"] * row["v"].size, ".v * 4"),
    (lambda row: list(row["v"])[3], ".v[3]"),
    (lambda row: sum(row["v"]), "0 + .v[0] + .v[1] + .v[2] + .v[3]"),
    (lambda row: row["v"] + len(row["v"]), ".v + 4"),
    (lambda row: copy.deepcopy(row["x"]), ".x"),
    (lambda row: [row["x"], 2], "stack(.x, 2, axis=0)"),
    (lambda row: [row["x"]], "expand_dims(.x, axis=0)"),
]

NUMPY: list[tuple[Function, str]] = [
    (lambda row: TABLE * row["v"], "float32[1.0, 2.0, 3.0, 4.0] * .v"),
    (lambda row: row["v"] - TABLE, ".v - float32[1.0, 2.0, 3.0, 4.0]"),
    (
        lambda row: TABLE == row["v"],  # noqa: SIM300
        "float32[1.0, 2.0, 3.0, 4.0] == .v",
    ),
    (lambda row: np.float32(2) * row["f"], "2.0f32 * .f"),
    (lambda row: np.int64(2) * row["x"], "2i64 * .x"),
    (lambda row: np.add(TABLE, row["v"]), "float32[1.0, 2.0, 3.0, 4.0] + .v"),
    (lambda row: np.sqrt(row["f"]), "sqrt(.f)"),
    (lambda row: np.square(row["x"]), ".x * .x"),
    (lambda row: np.maximum(row["x"], 0), "maximum(.x, 0)"),
    (lambda row: np.logical_not(row["ok"]), "not .ok"),
    (lambda row: np.clip(row["v"], 0, 1), "clip(.v, 0, 1)"),
    (lambda row: np.where(row["ok"], row["v"], 0), "where(.ok, .v, 0)"),
    (lambda row: np.sum(row["v"], axis=0), "sum(.v, axis=0, keep_axis=false)"),
    (lambda row: np.max(row["v"]), "max(.v, axis=none, keep_axis=false)"),
    (lambda row: np.concatenate([row["v"], row["v"]]), "concat(.v, .v, axis=0)"),
    (lambda row: np.stack([row["x"], row["x"]]), "stack(.x, .x, axis=0)"),
    (lambda row: np.transpose(row["v"]), "transpose(.v, axes=none)"),
    (lambda row: np.flip(row["v"], 0), ".v[::-1]"),
    (lambda row: np.round(row["v"]), "round(.v)"),
    (lambda row: np.expand_dims(row["v"], 0), "expand_dims(.v, axis=0)"),
    (lambda row: np.reshape(row["v"], (2, 2)), "reshape(.v, shape=[2, 2])"),
    (lambda row: np.take(row["v"], [0]), "take(.v, int64[0])"),
    (lambda row: np.shape(row["v"])[0] + row["x"], "4 + .x"),
]


@pytest.mark.parametrize(("function", "text"), OPERATIONS + PARTS)
def test_an_operation_is_its_kernel(function: Function, text: str) -> None:
    assert text_of(function) == text


@pytest.mark.parametrize(("function", "text"), NUMPY)
def test_a_function_of_numpy_is_its_kernel(function: Function, text: str) -> None:
    assert text_of(function) == text


# More that must be as NumPy has it, types included.
SAME: list[Function] = [
    lambda row: np.floor(row["v"]),
    lambda row: np.ceil(row["v"]),
    lambda row: np.rint(row["v"] * 0.5),
    lambda row: np.isnan(row["v"]),
    lambda row: np.isfinite(row["v"]),
    lambda row: np.remainder(row["v"], -2),
    lambda row: np.fabs(row["v"]),
    lambda row: np.logical_or(row["ok"], row["x"] > 2),
    lambda row: np.minimum(row["v"], row["f"]),
    lambda row: np.power(row["x"], 3),
    lambda row: np.mean(row["img"], axis=2),
    lambda row: np.mean(row["x"]),
    lambda row: np.sum(row["img"]),
    lambda row: np.sum(row["v"] > 0),
    lambda row: np.min(row["img"], axis=1, keepdims=True),
    lambda row: np.any(row["v"] < 0),
    lambda row: np.all(row["v"] < 0, axis=0),
    lambda row: np.argmax(row["img"]),
    lambda row: np.argmax(row["img"], axis=1),
    lambda row: np.argsort(row["v"]),
    lambda row: np.sort(row["v"]),
    lambda row: np.cumsum(row["img"][0]),
    lambda row: np.cumsum(row["v"], axis=0),
    lambda row: np.ravel(row["img"]),
    lambda row: np.transpose(row["img"], (2, 0, 1)),
    lambda row: np.fliplr(row["img"]),
    lambda row: np.flipud(row["img"]),
    lambda row: np.concatenate([row["v"], TABLE, row["n"]]),
    lambda row: np.stack([row["v"], TABLE], axis=1),
    lambda row: np.where(row["v"] > 0, row["v"], row["x"]),
    lambda row: np.clip(row["img"], 5, 15),
    lambda row: np.take(row["v"], row["n"]),
    lambda row: np.size(row["v"]) * row["x"],
    lambda row: np.squeeze(row["v"][None], 0),
    lambda row: row["img"][1:3, ::2, -1],
    lambda row: row["img"][-1, ..., 1],
    lambda row: row["img"][..., ::-1][:2, None],
    lambda row: row["img"][-3:, 10:, :],
    lambda row: row["img"][[0, 0, 2]],
    lambda row: row["img"] * 30,
    lambda row: row["img"] / 255,
    lambda row: row["img"].astype(np.float32) / 255,
    lambda row: (row["img"] - row["img"].mean(axis=0)) / 2,
    lambda row: row["img"] // 3 % 2,
    lambda row: -row["v"] % 3,
    lambda row: (row["x"] - 5) // 2,
    lambda row: (row["x"] - 5) % 2,
    lambda row: row["x"] + row["f"],
    lambda row: row["img"] + row["v"][0],
    lambda row: row["ok"].astype(np.int32) + 1,
    lambda row: row["f"].astype(int),
    lambda row: row["v"].max(axis=0) - row["v"].min(),
    lambda row: row["v"].copy().ravel(),
]


@pytest.mark.parametrize(
    "function", [*(function for function, _ in OPERATIONS + PARTS + NUMPY), *SAME]
)
def test_rows_get_what_python_and_numpy_would_give(function: Function) -> None:
    given = mapped(lambda row: {"y": function(row)})
    for row, result in zip(rows_of(ROWS), given, strict=True):
        wanted = function(row)
        np.testing.assert_array_equal(result["y"], wanted)
        if isinstance(wanted, np.ndarray | np.generic):
            assert result["y"].dtype == wanted.dtype


@pytest.mark.parametrize("function", [np.exp, np.log, np.log1p, np.tanh])
def test_functions_of_real_numbers_are_as_near_as_their_type_allows(
    function: Callable[[Any], Any],
) -> None:
    given = mapped(lambda row: {"y": function(row["f"]), "z": function(row["x"])})
    for row, result in zip(rows_of(ROWS), given, strict=True):
        np.testing.assert_allclose(result["y"], function(row["f"]), rtol=2e-7)
        np.testing.assert_allclose(result["z"], function(row["x"]), rtol=1e-15)
        assert result["y"].dtype == np.float32


# What Python would answer once and for all, with the remedy that the error names.
TRAPS: list[tuple[Function, str]] = [
    (lambda row: 1 if row["x"] > 3 else 2, "mr.math.where"),
    (lambda row: row["ok"] and row["x"] > 3, "`&`"),
    (lambda row: row["ok"] or row["x"] > 3, "`|`"),
    (lambda row: not row["ok"], "`~`"),
    (lambda row: 1 < row["x"] < 3, "mr.math.where"),
    (lambda row: max(row["x"], 1), "mr.math.maximum"),
    (lambda row: min(row["v"]), "mr.math.where"),
    (lambda row: row["x"] in (1, 2), "mr.math.where"),
    (lambda row: "a" in row["t"], "mr.text.contains"),
    (lambda row: [0 for _ in range(row["x"])], ".astype"),
    (lambda row: [i + 1 for i in row["n"]], "mr.math"),
    (lambda row: sum(row["n"]), ".sum()"),
    (lambda row: len(row["n"]), "mr.math.length"),
    (lambda row: len(row["x"]), "mr.math.length"),
    (lambda row: list(row["img"]), "mr.math"),
    (lambda row: float(row["x"]), ".astype"),
    (lambda row: int(row["f"]), ".astype"),
    (lambda row: math.sqrt(row["x"]), "mr.math"),
    (lambda row: [1, 2, 3][row["x"]], "mr.math"),
    (lambda row: {1: 2}[row["x"]], "mr.math.take"),
    (lambda row: str(row["x"]), "mr.text.to_text"),
    (lambda row: f"{row['x']}", "mr.text.to_text"),
    (lambda row: f"{row['x']:3d}", "mr.text.to_text"),
    (lambda row: "%s" % row["x"], "mr.text.to_text"),  # noqa: UP031
    (lambda row: "{}".format(row["x"]), "mr.text.to_text"),
    (lambda row: open(row["t"]), ".astype"),  # noqa: PTH123, SIM115
    (lambda row: os.path.join("data", row["t"]), "mr.io.read"),  # noqa: PTH118
    (lambda row: Path("data") / row["t"], "isinstance"),
    (lambda row: np.array(row["v"]), "mr.math"),
    (lambda row: np.asarray(row["v"]), "mr.math"),
    (lambda row: np.linalg.norm(row["v"]), "numpy.linalg.norm"),
    (lambda row: np.add.reduce(row["v"]), "numpy.add.reduce"),
    (lambda row: np.sin(row["v"]), "numpy.sin"),
    (lambda row: np.add(row["v"], 1, dtype=np.float64), "dtype"),
    (lambda row: np.sum(row["v"], dtype=np.float64), "dtype"),
    (lambda row: np.take(row["img"], [0], axis=1), "axis"),
    (lambda row: isinstance(row["x"], int), ".dtype"),
    (lambda row: hasattr(row["x"], "real"), "attribute real"),
    (lambda row: row["t"].lower(), "mr.text"),
    (lambda row: row["t"][0], "mr.text.slice"),
    (lambda row: row["v"][row["v"] > 0], "mr.math.where"),
    (lambda row: row["v"][: row["x"]], "argument stop"),
    (lambda row: row["v"].reshape(row["x"]), "argument shape"),
    (lambda row: row["v"] @ row["v"], "matrices"),
    (lambda row: row["v"].__setitem__(0, 1), "make a new one"),
    (lambda row: row["x"] == None, "NoneType"),  # noqa: E711
    (lambda row: row["x"] + object(), "object"),
    (lambda row: round(row["f"], 2), "mr.math.round"),
    (lambda row: copy.copy(row["x"]).__reduce_ex__(2), "pickled"),
]


@pytest.mark.parametrize(("function", "remedy"), TRAPS)
def test_what_would_be_frozen_is_an_error_with_the_remedy(
    function: Function, remedy: str
) -> None:
    with pytest.raises(Untraceable) as raised:
        traced(function)
    assert remedy in raised.value.reason
    assert raised.value.place is not None
    assert raised.value.place.file == __file__
    assert "lambda row:" in raised.value.place.source


WRONG: list[tuple[Function, str]] = [
    (lambda row: {"y": row["size"]}, "there is no field 'size'; fields are: x, f,"),
    (lambda row: {"y": row["imgs"]}, "did you mean 'img'?"),
    (lambda row: {"y": row["x"] + row["t"]}, "add: needs numbers"),
    (lambda row: {"y": row["img"] + 300}, "300 does not fit uint8"),
    (lambda row: {"y": row["v"].reshape(3)}, "reshape"),
    (lambda row: {"y": row["v"] + np.zeros(3)}, "shapes do not go together"),
    (lambda row: {"y": row["v"][0, 0]}, "no axis"),
    (lambda row: {"y": row["x"].astype("int128")}, "int128"),
    (lambda row: {"y": 2**70 + row["x"]}, "constant"),
]


@pytest.mark.parametrize(("function", "message"), WRONG)
def test_what_is_wrong_is_found_at_once_with_the_line(
    function: Function, message: str
) -> None:
    with pytest.raises((TracingError, Untraceable)) as raised:
        traced(function)
    assert message in raised.value.reason
    assert raised.value.place is not None
    assert raised.value.place.file == __file__


def test_bytes_become_a_string() -> None:
    assert text_of(lambda row: row["b"].astype(str)) == 'cast(.b, dtype="string")'


def test_types_and_shapes_are_known_without_rows() -> None:
    seen: dict[str, Any] = {}

    def look(row: Any) -> Any:
        values = {name: (row[name].dtype, repr(row[name])) for name in row}
        seen.update(values, ndim=row["img"].ndim, channels=row["img"].shape[2])
        return {"x": row["x"]}

    with pytest.raises(TracingError, match="changes seen"):
        traced(look)
    assert seen["x"] == (np.dtype(np.int64), "<traced int64>")
    assert seen["v"] == (np.dtype(np.float32), "<traced float32[4]>")
    assert seen["t"] == (str, "<traced string>")
    assert seen["b"] == (bytes, "<traced bytes>")
    assert seen["img"] == (np.dtype(np.uint8), "<traced uint8[?, ?, 3]>")
    assert (seen["ndim"], seen["channels"]) == (3, 3)


def test_a_value_is_of_no_use_outside_of_its_function() -> None:
    kept: list[Any] = []

    def keep(row: Any) -> Any:
        kept.append(row["x"])
        return {"x": row["x"]}

    with pytest.raises(TracingError, match="changes kept"):
        traced(keep)
    assert not isinstance(kept[0], int)
    assert "has ended" in repr(kept[0])
    with pytest.raises(Untraceable, match="outside the function"):
        kept[0] + 1
    with pytest.raises(Untraceable, match="another function"):
        traced(lambda row: {"x": row["x"] + kept[0]})


def test_the_row_is_a_dict_of_its_own() -> None:
    def change(row: Any) -> Any:
        assert "x" in row
        assert "y" not in row
        assert list(row)[:2] == ["x", "f"]
        assert row.get("y") is None
        row["y"] = row.pop("x") * 2
        for name in ("v", "n", "ok", "t", "b", "img"):
            del row[name]
        return row

    assert traced(change).function.text == "{f: .f, y: .x * 2}"
    both = traced(lambda row: {**row, "x": 1}).function.text
    assert both.startswith("{x: 1, f: .f, v: .v")


def test_a_function_may_ask_for_a_field_that_is_not_there() -> None:
    def asks(row: Any) -> Any:
        try:
            return {"y": row["weight"]}
        except KeyError:
            return {"y": 1.0}

    assert traced(asks).function.text == "{y: 1.0}"
