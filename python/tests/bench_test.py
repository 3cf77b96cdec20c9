"""`millrace bench python`, as a user runs it, and how its lines are judged."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from millrace.bench.lines import Line, as_json, medians, table


def line(ours: float, limit: float | None, *, at_most: bool = False) -> Line:
    return Line("work", "rows/s", ours, limit, "a peer", 1.5, at_most)


@pytest.mark.parametrize(
    ("found", "reached"),
    [
        (line(30.0, 20.0), True),
        (line(29.0, 20.0), False),
        (line(30.0, 20.0, at_most=True), True),
        (line(31.0, 20.0, at_most=True), False),
        (line(30.0, None), None),
    ],
)
def test_a_bar_is_reached_or_missed_or_not_measured(
    found: Line, reached: bool | None
) -> None:
    assert found.reached is reached
    assert ("MISS" in table([found])) is (reached is False)
    assert ("n/a" in table([found])) is (reached is None)
    assert json.loads(as_json([found]))[0]["reached"] is reached


def test_measures_take_turns_and_the_middle_one_counts() -> None:
    order: list[str] = []
    values = iter([5.0, 1.0, 9.0])

    def first() -> float:
        order.append("first")
        return next(values)

    def second() -> float:
        order.append("second")
        return 2.0

    assert medians(3, first, second) == [5.0, 2.0]
    assert order == ["first", "second"] * 3


def test_the_command_measures_what_is_here() -> None:
    words = ["bench", "python", "--only", "hand_over", "--repeats", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "millrace.command", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert "numpy" in found[0]["name"]
    assert found[0]["ours"] > 0
    assert done.returncode == int(any(not line["reached"] for line in found))


def test_a_workload_that_is_not_known_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "millrace.command", "bench", "python", "--only", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "hand_over" in done.stderr
