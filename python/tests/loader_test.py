"""Loaders: passes, epochs, and states that go on exactly where they were taken."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError


def shuffled() -> mr.Dataset:
    return (
        mr.range(1000)
        .shuffle(50)
        .map(lambda row, rng: {"x": row["value"], "noise": rng.normal()})
        .batch(7)
    )


def taken(batches: Any) -> list[tuple[list[int], list[float]]]:
    return [(b["x"].tolist(), b["noise"].tolist()) for b in batches]


def test_goes_on_from_any_batch() -> None:
    loader = mr.loader(shuffled(), seed=3)
    whole = taken(loader)
    for stop in (0, 1, 5, 8, 9, 100, len(whole) - 1, len(whole)):
        first = mr.loader(shuffled(), seed=3)
        batches = iter(first)
        before = [next(batches) for _ in range(stop)]
        state = json.loads(json.dumps(first.state_dict()))
        second = mr.loader(shuffled(), seed=77)
        second.load_state_dict(state)
        assert taken(before) + taken(second) == whole


def test_the_state_of_a_batch_taken_some_time_ago() -> None:
    loader = mr.loader(shuffled(), seed=3)
    whole = taken(loader)
    loader.set_epoch(0)
    batches = iter(loader)
    for count in range(1, 40):
        next(batches)
        for back in range(min(count, 8) + 1):
            state = loader.state_dict(batches=count - back)
            assert state["taken"] == count - back
            again = mr.loader(shuffled())
            again.load_state_dict(state)
            assert taken([next(iter(again))]) == [whole[count - back]]
    with pytest.raises(PipelineError, match="is not known"):
        loader.state_dict(batches=1)


def test_goes_on_within_a_block_of_rows() -> None:
    rows = mr.range(5000).shuffle(100)
    loader = mr.loader(rows, seed=1)
    whole = [r["value"] for r in loader]
    loader.set_epoch(0)
    batches = iter(loader)
    before = [next(batches)["value"] for _ in range(1234)]
    state = loader.state_dict()
    again = mr.loader(rows)
    again.load_state_dict(state)
    assert before + [r["value"] for r in again] == whole


def test_a_state_at_the_end_begins_the_next_epoch() -> None:
    loader = mr.loader(shuffled(), seed=3)
    list(loader)
    state = loader.state_dict()
    assert state["epoch"] == 1
    second = taken(loader)
    again = mr.loader(shuffled())
    again.load_state_dict(state)
    assert taken(again) == second


def test_with_another_batch_size() -> None:
    rows = mr.range(1000).shuffle(50, seed=4)
    loader = mr.loader(rows.batch(10), seed=1)
    batches = iter(loader)
    for _ in range(30):
        next(batches)
    again = mr.loader(rows.batch(25))
    again.load_state_dict(loader.state_dict())
    rest = np.concatenate([b["value"] for b in batches])
    assert [b["value"].tolist() for b in again] == rest.reshape(-1, 25).tolist()


def test_epochs_come_one_after_another_or_as_they_are_set() -> None:
    loader = mr.loader(shuffled(), seed=3)
    first, second = taken(loader), taken(loader)
    assert first != second
    loader.set_epoch(0)
    assert taken(loader) == first
    loader.set_epoch(1)
    assert loader.epoch == 1
    assert taken(loader) == second


def test_setting_the_epoch_of_a_loaded_state_keeps_the_position() -> None:
    loader = mr.loader(shuffled(), seed=3)
    whole = taken(loader)
    loader.set_epoch(0)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert taken(loader) == whole[1:]
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert taken(loader) != whole[1:]


def test_a_pass_that_was_left_is_abandoned_by_the_next() -> None:
    loader = mr.loader(shuffled(), seed=3)
    old = iter(loader)
    next(old)
    new = iter(loader)
    next(new)
    assert list(old) == []
    assert len(list(new)) == len(loader) - 1


def test_a_state_of_another_pipeline_or_version_is_refused() -> None:
    loader = mr.loader(shuffled(), seed=3)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    other = mr.loader(mr.range(999).batch(7))
    other.load_state_dict(state)
    with pytest.raises(PipelineError):
        next(iter(other))
    with pytest.raises(PipelineError, match="another version"):
        loader.load_state_dict({"version": 99})
    with pytest.raises(PipelineError, match="order must be"):
        mr.loader(shuffled(), order="wild")


def test_any_order_gives_every_row_once() -> None:
    with mr.loader(shuffled(), seed=3, order="any") as loader:
        rows = np.concatenate([b["x"] for b in loader])
    assert sorted(rows.tolist()) == list(range(1000))


def test_tells_how_the_pass_goes() -> None:
    loader = mr.loader(shuffled(), seed=3)
    assert loader.stats()["batches"] == 0
    list(loader)
    stats = loader.stats()
    assert stats["rows"] == 1000
    assert stats["batches"] == len(loader) == 143
    assert 0 <= stats["wait_fraction"] <= 1
    assert stats["bottleneck"] and stats["remedy"]
    assert all(not isinstance(v, dict | list) for v in stats.values())


def test_the_queue_is_what_is_made_and_not_taken() -> None:
    loader = mr.loader(shuffled(), seed=3)
    batches = iter(loader)
    for _ in range(20):
        next(batches)
    while loader.stats()["queue"] == 0:  # The engine makes batches ahead.
        os.sched_yield()
    assert loader.stats()["queue"] <= len(loader) - 20
    state = loader.state_dict()
    list(batches)
    assert loader.stats()["queue"] == 0
    resumed = mr.loader(shuffled(), seed=3)
    resumed.load_state_dict(state)
    list(resumed)
    assert resumed.stats()["queue"] == 0
