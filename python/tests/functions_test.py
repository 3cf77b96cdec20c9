"""Functions that run in Python, in processes beside the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace import _core
from millrace.errors import DataError, PipelineError


def in_python(function: Any, rows: int = 10, **options: Any) -> mr.Dataset:
    return mr.range(rows).map(function, python=True, **options)


def numbers(dataset: mr.Dataset) -> list[int]:
    return [int(row["x"]) for row in dataset]


def test_rows_of_all_kinds_go_there_and_back() -> None:
    table = np.arange(3)

    def function(row: Any) -> dict[str, Any]:
        n = int(row["value"])
        return {
            "x": n,
            "array": table + n,
            "image": np.full((n + 1, 2, 3), n, np.uint8),
            "text": f"row {n}",
            "bytes": bytes([n]) * n,
            "words": ["a"] * (n + 1),
            "flag": n % 2 == 0,
            "half": np.float16(n),
        }

    dataset = in_python(function, 5)
    assert str(dataset.spec["image"]) == "uint8[?, ?, ?]"
    for n, row in enumerate(dataset):
        expected = function({"value": n})
        assert list(row) == list(expected)
        for name, value in expected.items():
            assert np.array_equal(row[name], value), name
    assert row["half"].dtype == np.float16
    assert row["image"].dtype == np.uint8


def test_order_and_rows_are_those_of_the_traced_function() -> None:
    def function(row: Any, rng: Any) -> dict[str, Any]:
        return {"x": row["value"] + 1, "n": rng.uniform(), "m": rng.normal()}

    for make in (mr.range(300), mr.range(300).shuffle(50)):
        native = make.map(function, python=False).batch(7)
        python = make.map(function, python=True).batch(7)
        for epoch in range(2):
            a, b = mr.loader(native, seed=5), mr.loader(python, seed=5)
            a.set_epoch(epoch)
            b.set_epoch(epoch)
            for left, right in zip(a, b, strict=True):
                for name in left:
                    assert np.array_equal(left[name], right[name])


def test_falls_back_with_one_warning_that_quotes_the_line() -> None:
    def function(row: Any) -> dict[str, Any]:
        return {"x": 1 if row["value"] > 5 else 0}

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = mr.range(10).map(function)
    assert len(caught) == 1
    assert 'row["value"] > 5' in str(caught[0].message)
    assert numbers(dataset) == [0] * 6 + [1] * 4
    with pytest.raises(PipelineError, match="cannot be traced"):
        mr.range(10).map(function, python=False)


def test_exceptions_carry_the_users_frames() -> None:
    def inner(n: int) -> int:
        return 1 // (n - 7)

    with pytest.raises(DataError) as caught:
        list(in_python(lambda row: {"x": inner(int(row["value"]))}))
    message = str(caught.value)
    assert "row 7" in message
    assert "ZeroDivisionError" in message
    assert "return 1 // (n - 7)" in message
    assert "runner.py" not in message


def test_bad_rows_are_left_out_where_errors_are_ignored() -> None:
    def function(row: Any) -> dict[str, Any]:
        n = int(row["value"])
        if n % 10 == 3:
            raise ValueError(n)
        return {"x": n}

    dataset = in_python(function, 1000).ignore_errors()
    loader = mr.loader(dataset, seed=0)
    good = [n for n in range(1000) if n % 10 != 3]
    assert [int(row["x"]) for row in loader] == good
    assert loader.stats()["rows_left_out"] == 100


def test_a_process_that_dies_costs_one_row() -> None:
    def function(row: Any) -> dict[str, Any]:
        if row["value"] in (0, 7):
            os.kill(os.getpid(), signal.SIGSEGV)
        return {"x": row["value"]}

    dataset = in_python(function, 20, output={"x": "int64"})
    assert numbers(dataset.ignore_errors()) == [*range(1, 7), *range(8, 20)]
    with pytest.raises(DataError, match="row 0: the Python function's process died"):
        list(dataset)


def test_a_process_that_is_killed_while_it_waits_costs_nothing() -> None:
    dataset = in_python(lambda row: {"x": row["value"], "pid": os.getpid()}, 500)
    assert numbers(dataset) == list(range(500))
    waiting = _core.runner_pids()
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    rows = list(dataset)
    assert [int(row["x"]) for row in rows] == list(range(500))
    assert waiting and not set(waiting) & {int(row["pid"]) for row in rows}


def test_a_process_that_never_begins_is_an_error_that_says_so() -> None:
    def init() -> None:
        os._exit(7)

    dataset = in_python(lambda row: {"x": 1}, output={"x": "int64"}, init=init)
    with pytest.raises(mr.Error, match=r"exit code 7 before it began .* init="):
        list(dataset.ignore_errors())  # No row is to blame.


def test_a_function_that_hangs_costs_one_row() -> None:
    def function(row: Any) -> dict[str, Any]:
        while row["value"] == 3:
            pass
        return {"x": row["value"]}

    dataset = in_python(function, 6, timeout=2.0)
    assert numbers(dataset.ignore_errors()) == [0, 1, 2, 4, 5]
    with pytest.raises(DataError, match="did not return within"):
        list(dataset)


def test_results_that_are_no_rows_say_what_to_give() -> None:
    with pytest.raises(DataError, match="return a dict, tuple or dataclass"):
        in_python(lambda row: 3)
    with pytest.raises(DataError, match="give numbers, texts or arrays"):
        in_python(lambda row: {"x": object()})

    def other_type(row: Any) -> dict[str, Any]:
        return {"x": np.float32(1) if row["value"] == 4 else np.float64(1)}

    with pytest.raises(DataError, match=r"float32, and was float64 for the first row"):
        list(in_python(other_type))

    def other_fields(row: Any) -> dict[str, Any]:
        return {"y": 1} if row["value"] == 4 else {"x": 1}

    with pytest.raises(DataError, match="give the same for every row"):
        list(in_python(other_fields))


def test_no_row_to_learn_from_needs_a_declaration() -> None:
    empty = mr.range(0)
    with pytest.raises(PipelineError, match="declare it with output="):
        empty.map(lambda row: {"x": 1}, python=True)
    declared = empty.map(lambda row: {"x": 1}, python=True, output={"x": "int64"})
    assert list(declared) == []


def test_init_runs_once_in_each_process(tmp_path: Path) -> None:
    def init() -> None:
        (tmp_path / str(os.getpid())).touch()

    def function(row: Any) -> dict[str, Any]:
        return {"x": os.getpid()}

    pids = set(numbers(in_python(function, 5000, init=init)))
    started = {int(path.name) for path in tmp_path.iterdir()}
    assert pids <= started
    assert os.getpid() not in pids


def test_functions_may_use_the_users_own_modules(tmp_path: Path) -> None:
    (tmp_path / "my_helper.py").write_text("def double(x):\n    return x * 2\n")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import millrace as mr
            import my_helper

            def function(row):
                return {"x": my_helper.double(int(row["value"]))}

            print([int(r["x"]) for r in mr.range(4).map(function, python=True)])
            """
        )
    )
    result = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[0, 2, 4, 6]\n"


def test_what_cannot_travel_says_so() -> None:
    lock = __import__("threading").Lock()

    def function(row: Any) -> dict[str, Any]:
        with lock:
            return {"x": 1}

    with pytest.raises(PipelineError, match="cannot go to another process"):
        in_python(function)


def test_map_batches_sees_many_rows_at_once() -> None:
    dataset = mr.range(7).map_batches(
        lambda rows: {"x": np.cumsum(rows["value"])}, 3, python=True
    )
    assert numbers(dataset) == [0, 1, 3, 3, 7, 12, 6]


def test_filter_runs_in_python_too() -> None:
    def odd(row: Any) -> bool:
        return bool(row["value"] % 2) or int(row["value"]) == 4

    with pytest.warns(UserWarning, match="odd cannot be traced"):
        dataset = mr.range(8).filter(odd)
    assert [int(r["value"]) for r in dataset] == [1, 3, 4, 5, 7]
    assert list(dataset.spec) == ["value"]
    pairs = mr.range(5).map(lambda r: (r["value"], 1.0))
    kept = list(pairs.filter(lambda pair: int(pair[0]) > 2, python=True))
    assert kept == [(3, 1.0), (4, 1.0)]


def test_what_only_python_has_needs_python() -> None:
    def double(row: Any) -> dict[str, Any]:
        return {"x": row["value"] * 2}

    with pytest.raises(PipelineError, match="init= is for functions that run in"):
        mr.range(3).map(double, python=False, init=print)
    with pytest.raises(PipelineError, match="output= is for functions that run in"):
        mr.range(3).map(double, python=False, output={"x": "int64"})
    with pytest.raises(PipelineError, match="filter: init= is for functions"):
        mr.range(3).filter(lambda row: row["value"] > 1, python=False, init=print)


def test_functions_of_others_must_be_traced() -> None:
    with pytest.raises(PipelineError, match="only map and filter run in Python"):
        mr.range(8).group_by(lambda row: 1 if row["value"] > 2 else 0)


def test_inputs_cannot_be_written_to() -> None:
    def function(row: Any) -> dict[str, Any]:
        row["x"][0] = 5
        return {"x": row["x"]}

    arrays = mr.from_arrays({"x": np.zeros((3, 2))})
    with pytest.raises(DataError, match="read-only"):
        list(arrays.map(function, python=True, output={"x": "float64[?]"}))


def test_large_results_use_memory_again() -> None:
    def function(row: Any) -> dict[str, Any]:
        return {"x": np.full(100_000, row["value"], np.float32)}

    total = 0.0
    for batch in in_python(function, 400).batch(10):
        total += float(batch["x"][:, 0].sum())
    assert total == sum(range(400))


PARENT = """
import os, sys, time
import millrace as mr
from millrace import _core

def function(row):
    if row["value"] > 5:
        os.write(1, b"%d\\n" % os.getpid())  # At once: others write as well.
        time.sleep(600)
    return {"x": row["value"]}

list(mr.range(100).map(function, python=True).batch(1))
"""


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_parent(number: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    descriptor = os.pidfd_open(child)
    parent.send_signal(number)
    parent.wait(timeout=60)
    poller = __import__("select").poll()
    poller.register(descriptor)
    assert poller.poll(60_000), "the process of the function is still there"
    assert _gone(child)


def test_processes_are_used_again() -> None:
    list(in_python(lambda row: {"x": row["value"]}))
    before = set(_core.runner_pids())
    list(in_python(lambda row: {"x": row["value"] * 3}))
    assert before & set(_core.runner_pids())
