"""Tracing whole functions: their results, what they must not touch, and the lines."""

import dataclasses
import functools
import random
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from millrace.errors import PipelineError
from millrace.rng import Rng
from millrace.tracing import Structure, TracingError, Untraceable, trace
from tracing_rows import ROWS, traced

Row = Any


@dataclasses.dataclass
class Sample:
    image: Any
    label: Any


class Pair(NamedTuple):
    first: Any
    second: Any


# --- Results. ---


def test_a_dict_is_a_row() -> None:
    given = traced(lambda row: {"y": row["x"] * 2, "one": 1, "name": "a"})
    assert given.function.text == '{y: .x * 2, one: 1, name: "a"}'
    assert given.structure == Structure(dict, ("y", "one", "name"))
    assert given.structure.rebuilt([1, 2, 3]) == {"y": 1, "one": 2, "name": 3}


def test_a_tuple_is_a_row_of_numbered_fields() -> None:
    given = traced(lambda row: (row["x"], row["t"]))
    assert given.function.text == '{"0": .x, "1": .t}'
    assert given.structure is not None
    assert given.structure.rebuilt([1, 2]) == (1, 2)


def test_a_dataclass_and_a_named_tuple_are_rows() -> None:
    sample = traced(lambda row: Sample(row["img"], label=3))
    assert sample.function.text == "{image: .img, label: 3}"
    assert sample.structure is not None
    assert sample.structure.rebuilt([1, 2]) == Sample(1, 2)
    pair = traced(lambda row: Pair(row["x"], row["t"]))
    assert pair.function.text == "{first: .x, second: .t}"
    assert pair.structure is not None
    assert pair.structure.rebuilt([1, 2]) == Pair(1, 2)
    assert type(pair.structure.rebuilt([1, 2])) is Pair


def test_a_function_sees_rows_as_the_one_before_made_them() -> None:
    names = tuple(name for name, _, _ in ROWS.fields)
    row = Structure(tuple, names)
    given = trace(lambda row: {"y": row[0] + 1}, "map", "function", {}, [ROWS], row=row)
    assert given.function.text == "{y: .x + 1}"


def test_a_state_beside_the_row_makes_it_a_dict() -> None:
    names = tuple(name for name, _, _ in ROWS.fields)
    arguments = {"state": "{sum: int64}"}
    given = trace(
        lambda row: {"state.sum": row["state.sum"] + row["x"]},
        "scan",
        "function",
        arguments,
        [ROWS],
        row=Structure(tuple, names),
    )
    assert given.function.text == '{"state.sum": ."state.sum" + .x}'


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda row: row["x"], "returned one value"),
        (lambda row: [row["x"]], "returned a list"),
        (lambda row: None, "returned nothing"),
        (lambda row: 5, "returned a int"),
        (lambda row: {1: row["x"]}, "names of fields are texts"),
        (lambda row: {"": row["x"]}, "names of fields are texts"),
        (lambda: 1, "called with a row"),
        (lambda row, other: row, "called with a row"),
    ],
)
def test_what_is_no_row_is_an_error(result: Callable[..., Any], message: str) -> None:
    with pytest.raises(TracingError) as raised:
        traced(result)
    assert message in raised.value.reason
    assert isinstance(raised.value, PipelineError)
    assert raised.value.place is not None
    assert raised.value.place.file == __file__


def test_what_gives_no_constant_in_a_row_is_an_error() -> None:
    with pytest.raises(Untraceable, match="NoneType"):
        traced(lambda row: {"x": None})
    with pytest.raises(Untraceable, match="set"):
        traced(lambda row: {"x": {1, 2}})


def test_a_predicate_gives_one_value() -> None:
    given = traced(lambda row: row["x"] > 1, "filter", "predicate")
    assert given.function.text == "{.x > 1}"
    assert given.structure is None
    with pytest.raises(
        TracingError, match=r"filter: .* one value, and returned a dict"
    ):
        traced(lambda row: {"x": row["x"]}, "filter", "predicate")


def test_scan_sees_its_state_beside_the_row() -> None:
    def total(row: Row) -> Row:
        return {"state.sum": row["state.sum"] + row["x"], "x": row["x"]}

    given = trace(total, "scan", "function", {"state": "{sum: int64}"}, [ROWS])
    assert given.function.text == '{"state.sum": ."state.sum" + .x, x: .x}'


def test_generators_are_left_to_python() -> None:
    def several(row: Row) -> Iterator[Row]:
        yield row

    with pytest.raises(Untraceable, match="generator"):
        traced(several)


# --- Constants. ---


def test_arrays_of_a_closure_are_constants_by_value() -> None:
    weights = np.array([1, 2, 3, 4], np.float32)
    given = traced(lambda row: {"y": row["v"] * weights})
    weights[:] = 0
    assert given.function.text == "{y: .v * float32[1.0, 2.0, 3.0, 4.0]}"


def test_large_arrays_are_beside_the_text() -> None:
    table = np.arange(1000)
    text = traced(lambda row: {"y": row["x"] + table}).function.text
    assert text.startswith("{y: .x + @")


def test_plain_numbers_give_way_and_numpys_do_not() -> None:
    text = traced(lambda row: {"a": row["f"] * 2, "b": row["f"] * np.float64(2)})
    assert text.function.text == "{a: .f * 2, b: .f * 2.0f64}"


def test_arrays_of_any_layout_and_order_of_bytes_are_constants() -> None:
    wide = np.arange(8, dtype=">i4")[::2]
    text = traced(lambda row: {"y": row["x"] + wide}).function.text
    assert text == "{y: .x + int32[0, 2, 4, 6]}"


# --- What must not be touched. ---


def test_random_numbers_come_from_rng() -> None:
    def noise(row: Row, rng: Rng) -> Row:
        return {"y": row["x"] + rng.uniform(), "z": rng.integers(5, shape=2)}

    text = traced(noise).function.text
    assert "uniform#" in text
    assert "integers#" in text
    assert "shape=[2]" in text


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (random.random, "random"),
        (np.random.rand, "numpy.random"),
        (lambda: np.random.normal(size=2), "numpy.random"),
    ],
)
def test_global_generators_are_errors_and_stay_where_they_were(
    draw: Callable[[], Any], name: str
) -> None:
    numpys: Callable[[], Any] = np.random.get_state
    before = random.getstate(), numpys()[2]
    with pytest.raises(TracingError, match=f"draws from {name}.*rng.uniform"):
        traced(lambda row: {"y": row["x"] * draw()})
    assert (random.getstate(), numpys()[2]) == before


def test_torchs_generator_is_an_error_too() -> None:
    torch = pytest.importorskip("torch")
    before = torch.random.get_rng_state().clone()
    with pytest.raises(TracingError, match="draws from torch"):
        traced(lambda row: {"y": row["x"] * torch.rand(2).numpy()})
    assert torch.equal(torch.random.get_rng_state(), before)


def test_torchs_functions_are_left_to_python_and_its_tensors_are_constants() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(Untraceable, match="torch's add"):
        traced(lambda row: {"y": torch.add(row["x"], 1)})
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    text = traced(lambda row: {"y": row["v"] * weights}).function.text
    assert text == "{y: .v * float32[1.0, 2.0, 3.0, 4.0]}"


def test_a_draw_counts_even_where_the_function_goes_to_python() -> None:
    def sometimes(row: Row) -> Row:
        return {"y": 1} if random.random() < row["x"] else {"y": 2}

    with pytest.raises(TracingError, match="draws from random"):
        traced(sometimes)


def test_what_differs_between_two_calls_is_an_error() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(TracingError, match=r"something else.*rng"):
        traced(lambda row: {"y": row["x"] + generator.random()})
    with pytest.raises(TracingError, match=r"something else.*rng"):
        traced(lambda row: {"y": row["x"] + time.perf_counter_ns()})
    names = iter("ab")
    with pytest.raises(TracingError, match="something else"):
        traced(lambda row: {next(names): row["x"]})
    kinds = iter([dict, Pair])
    with pytest.raises(TracingError, match="something else"):
        traced(lambda row: next(kinds)(first=row["x"], second=1))


COUNTER = 0


def test_changed_variables_are_errors() -> None:
    count = 0
    seen: list[Any] = []
    cache: dict[str, Any] = {}
    totals = np.zeros(3)
    stats = SimpleNamespace(rows=0)

    def counts(row: Row) -> Row:
        nonlocal count
        count += 1
        return {"y": row["x"]}

    def counts_globally(row: Row) -> Row:
        global COUNTER
        COUNTER += 1
        return {"y": row["x"] + COUNTER}

    def appends(row: Row) -> Row:
        seen.append(1)
        return {"y": row["x"]}

    def keeps(row: Row) -> Row:
        cache["last"] = row["x"]
        return {"y": row["x"]}

    def adds(row: Row) -> Row:
        totals[0] += 1
        return {"y": row["x"]}

    def reports(row: Row) -> Row:
        stats.rows += 1
        return {"y": row["x"]}

    def remembers(row: Row, memory: list[Any] = []) -> Row:  # noqa: B006
        memory.append(1)
        return {"y": row["x"]}

    named: dict[str, Callable[..., Any]] = {"count": counts, "seen": appends}
    named |= {"COUNTER": counts_globally, "cache": keeps, "totals": adds}
    named |= {"stats": reports, "memory": remembers}
    for name, function in named.items():
        with pytest.raises(TracingError, match=f"changes {name}.*scan") as raised:
            traced(function)
        assert raised.value.place is not None
        assert "def " in raised.value.place.source


def test_what_is_prepared_once_is_no_change() -> None:
    tables: dict[int, Any] = {}

    def looks_up(row: Row) -> Row:
        if 4 not in tables:
            tables[4] = np.arange(4)
        return {"y": row["v"] + tables[4]}

    assert "int64[0, 1, 2, 3]" in traced(looks_up).function.text


class Counting:
    def __init__(self) -> None:
        self.calls = 0
        self.factor = 3

    def scaled(self, row: Row) -> Row:
        return {"y": row["x"] * self.factor}

    def __call__(self, row: Row) -> Row:
        self.calls += 1
        return {"y": row["x"]}


def test_methods_partials_and_objects_are_functions() -> None:
    counting = Counting()
    assert traced(counting.scaled).function.text == "{y: .x * 3}"

    def times(factor: int, row: Row) -> Row:
        return {"y": row["x"] * factor}

    assert traced(functools.partial(times, 4)).function.text == "{y: .x * 4}"
    with pytest.raises(TracingError, match=r"changes self\.calls"):
        traced(counting)


def test_constants_that_do_not_equal_themselves_are_no_change() -> None:
    nothing = float("nan")
    assert "nan" in traced(lambda row: {"y": row["f"] * nothing}).function.text


# --- Errors. ---


def test_an_error_that_the_function_catches_counts_all_the_same() -> None:
    def careful(row: Row) -> Row:
        try:
            value = float(row["x"])
        except Exception:
            value = 0.0
        return {"y": value}

    with pytest.raises(Untraceable, match="Python number") as raised:
        traced(careful)
    assert raised.value.place is not None
    assert raised.value.place.source == 'value = float(row["x"])'


def test_other_errors_leave_the_function_to_python() -> None:
    def broken(row: Row) -> Row:
        raise KeyError("not there")

    with pytest.raises(Untraceable, match="KeyError: 'not there'") as raised:
        traced(broken)
    assert raised.value.place is not None
    assert raised.value.place.source == 'raise KeyError("not there")'
    assert isinstance(raised.value.__cause__, KeyError)


def test_the_line_is_the_users_and_not_a_librarys() -> None:
    with pytest.raises(Untraceable) as raised:
        traced(lambda row: {"y": np.vectorize(float)(row["v"])})
    assert raised.value.place is not None
    assert raised.value.place.file == __file__


def test_the_message_names_operator_line_and_remedy() -> None:
    with pytest.raises(Untraceable) as raised:
        traced(lambda row: {"y": 1 if row["x"] else 2})
    first, second = str(raised.value).split("\n")
    assert first.startswith("map: a condition")
    assert f"{__file__}:" in second
    assert "1 if row" in second
