"""What the tests of faults would see: rows that are lost, doubled or out of order."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from fault_plan import Plan, make_plan
from fault_promises import Batches, WrongError, check_same, check_visits, keep_taken
from fault_reader import numbers


@pytest.fixture
def plan() -> Plan:
    return dataclasses.replace(make_plan(0, own_networks=True), kind="counted")


def test_the_same_seed_is_the_same_plan() -> None:
    assert make_plan(7, own_networks=True) == make_plan(7, own_networks=True)
    assert make_plan(7, own_networks=True) != make_plan(8, own_networks=True)


def test_without_networks_there_are_other_faults() -> None:
    kinds = {
        fault.what
        for seed in range(50)
        for fault in make_plan(seed, own_networks=False).faults
    }
    assert kinds == {"kill", "stop", "clock"}


def test_rows_that_are_lost_or_doubled_are_seen(plan: Plan) -> None:
    rows = numbers("counted")
    check_visits(plan, rows, "pass 0")
    with pytest.raises(WrongError, match=r"missing \[3\]"):
        check_visits(plan, [row for row in rows if row != 3], "pass 0")
    with pytest.raises(WrongError, match=r"twice \[3\]"):
        check_visits(plan, sorted([*rows, 3]), "pass 0")


def test_each_way_to_visit_has_its_own_promise(plan: Plan) -> None:
    rows = numbers("counted")
    most = dataclasses.replace(plan, visit="at_most_once")
    least = dataclasses.replace(plan, visit="at_least_once")
    check_visits(most, rows[1:], "")
    check_visits(least, sorted([*rows, 3]), "")
    with pytest.raises(WrongError):
        check_visits(most, sorted([*rows, 3]), "")
    with pytest.raises(WrongError):
        check_visits(least, rows[1:], "")


def test_another_order_is_seen() -> None:
    one: Batches = {(0, 0): {"x": [1]}, (0, 1): {"x": [2]}}
    other: Batches = {(0, 0): {"x": [2]}, (0, 1): {"x": [1]}}
    check_same(one, one, "consumer 0")
    with pytest.raises(WrongError, match=r"batch \(0, 0\)"):
        check_same(one, other, "consumer 0")
    with pytest.raises(WrongError, match="None"):
        check_same(one, {(0, 0): {"x": [1]}}, "consumer 0")


def test_what_a_later_life_takes_again_counts_once(tmp_path: Path) -> None:
    def lines(*batches: tuple[int, int, int]) -> str:
        return "".join(
            json.dumps({"epoch": epoch, "batch": number, "x": [x]}) + "\n"
            for epoch, number, x in batches
        )

    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(lines((0, 0, 10), (0, 1, 11), (0, 2, 12)) + '{"epoch": 0, "ba')
    second.write_text(lines((0, 1, 21)))
    found = keep_taken([((0, 0), first), ((0, 1), second)])
    assert found == {(0, 0): {"x": [10]}, (0, 1): {"x": [21]}}
