from typing import Any

import numpy as np

from harness.content import Content, difference


def _facts(*batches: dict[str, Any]) -> dict[str, Any]:
    content = Content()
    for batch in batches:
        content.add(batch)
    return content.facts()


def _image(rows: int, value: int, *, first: bool = False) -> np.ndarray[Any, Any]:
    shape = (rows, 3, 4, 5) if first else (rows, 4, 5, 3)
    return np.full(shape, value, np.uint8)


def test_facts_do_not_depend_on_the_order_and_the_cut_of_batches() -> None:
    x = np.arange(10)
    assert _facts({"x": x[:4]}, {"x": x[4:]}) == _facts({"x": x[::-1]})


def test_channels_may_come_first_or_last() -> None:
    first, last = _image(2, 7, first=True), _image(2, 7)
    assert difference(_facts({"x": first}), _facts({"x": last}), {}) is None


def test_rows_columns_types_and_shapes_must_be_the_same() -> None:
    wanted = _facts({"x": np.zeros((4, 2), np.int64)})

    def told(batch: dict[str, Any]) -> str | None:
        return difference(_facts(batch), wanted, {})

    assert told({"x": np.zeros((3, 2), np.int64)}) == "3 rows, not 4"
    assert told({"y": np.zeros((4, 2), np.int64)}) == "columns y, not x"
    assert "dtype int32" in (told({"x": np.zeros((4, 2), np.int32)}) or "")
    assert "shape [3]" in (told({"x": np.zeros((4, 3), np.int64)}) or "")


def test_exact_columns_must_have_the_same_sum() -> None:
    wanted, metric = _facts({"x": np.array([1, 2])}), {"exact": ["x"]}
    assert difference(_facts({"x": np.array([2, 1])}), wanted, metric) is None
    assert difference(_facts({"x": np.array([2, 2])}), wanted, metric) is not None


def test_sums_of_floats_may_differ_by_their_order() -> None:
    wanted, metric = _facts({"x": np.array([0.1, 0.2])}), {"exact": ["x"]}
    nearly = _facts({"x": np.array([0.2, 0.1 + 1e-12])})
    assert difference(nearly, wanted, metric) is None
    other = _facts({"x": np.array([0.2, 0.11])})
    assert difference(other, wanted, metric) is not None


def test_close_columns_must_have_nearly_the_same_mean() -> None:
    wanted, metric = _facts({"x": _image(2, 100)}), {"close": {"x": 2.0}}
    assert difference(_facts({"x": _image(2, 102)}), wanted, metric) is None
    assert difference(_facts({"x": _image(2, 103)}), wanted, metric) is not None


def test_rows_of_many_shapes_have_the_number_of_their_axes() -> None:
    facts = _facts({"x": np.zeros((2, 4))}, {"x": np.zeros((2, 5))})
    assert facts["columns"]["x"]["shape"] == [None]
    assert facts["rows"] == 4
    assert facts["bytes"] == 8 * 18
