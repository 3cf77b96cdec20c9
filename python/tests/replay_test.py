"""Batches again: those that a loader gave after a state."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import millrace as mr
from millrace.errors import PipelineError


def stream(rows: int = 200) -> mr.Dataset:
    return (
        mr.range(rows)
        .shuffle(40)
        .map(lambda row, rng: {"x": row["value"], "u": rng.uniform()})
        .filter(lambda row: row["u"] < 0.8)
        .batch(7)
    )


def plain(batches: Any) -> list[Any]:
    return [(batch["x"].tolist(), batch["u"].tolist()) for batch in batches]


@pytest.mark.parametrize("after", [0, 1, 5, 13])
def test_gives_what_the_loader_gave(after: int) -> None:
    loader = mr.loader(stream(), seed=3)
    batches = iter(loader)
    for _ in itertools.islice(batches, after):
        pass
    state = json.loads(json.dumps(loader.state_dict()))
    given = plain(itertools.islice(batches, 6))
    assert plain(stream().replay(state, batches=6)) == given


def test_no_loader_is_moved() -> None:
    dataset = stream()
    one, other = mr.loader(dataset, seed=3), mr.loader(dataset, seed=3)
    batches, others = iter(one), iter(other)
    for _ in range(8):
        state = one.state_dict()
        (again,) = plain(dataset.replay(state, batches=1))
        assert one.state_dict() == state
        assert [again] == plain([next(batches)]) == plain([next(others)])


def test_goes_on_into_the_next_epoch() -> None:
    loader = mr.loader(stream(60), seed=3)
    first = list(loader)
    ended = loader.state_dict()
    again = mr.loader(stream(60), seed=3)
    for _ in itertools.islice(again, len(first) - 1):
        pass
    state = again.state_dict()
    second = plain(loader)
    replayed = plain(stream(60).replay(state, batches=1 + len(second)))
    assert replayed == plain(first[-1:]) + second
    assert plain(stream(60).replay(ended, batches=2)) == second[:2]


def test_a_state_right_at_the_end_of_a_pass_goes_on_too() -> None:
    loader = mr.loader(mr.range(4).batch(2), seed=3)
    batches = iter(loader)
    next(batches), next(batches)
    replayed = mr.range(4).batch(2).replay(loader.state_dict(), batches=3)
    assert [b["value"].tolist() for b in replayed] == [[0, 1], [2, 3], [0, 1]]


def test_data_without_rows_ends() -> None:
    nothing = mr.range(9).filter(lambda row: row["value"] > 10).batch(2)
    state = mr.loader(nothing).state_dict()
    assert list(nothing.replay(state, batches=3)) == []


@pytest.mark.parametrize("remainder", ["keep", "drop"])
def test_gives_what_a_rank_got(remainder: str) -> None:
    for consumer in range(2):
        rank: dict[str, Any] = {
            "consumer": consumer,
            "consumers": 2,
            "remainder": remainder,
        }
        loader = stream().distribute(seed=5, **rank)
        batches = iter(loader)
        for _ in itertools.islice(batches, 3):
            pass
        state = json.loads(json.dumps(loader.state_dict()))
        given = plain(itertools.islice(batches, 4))
        assert plain(stream().replay(state, batches=4, **rank)) == given


def test_padded_batches_come_again() -> None:
    dataset = mr.range(20).batch(4)
    rank: dict[str, Any] = {"consumer": 1, "consumers": 2, "remainder": "pad"}
    loader = dataset.distribute(seed=5, **rank)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    given = [(b["value"].tolist(), b["valid"].tolist()) for b in batches]
    again = dataset.replay(state, batches=len(given), **rank)
    assert [(b["value"].tolist(), b["valid"].tolist()) for b in again] == given


def test_batches_have_the_users_form() -> None:
    pairs = mr.range(6).enumerate().as_tuple("value", "index")
    state = mr.loader(pairs).state_dict()
    assert list(pairs.replay(state, batches=2)) == [(0, 0), (1, 1)]


def test_states_of_something_else_are_refused(tmp_path: Path) -> None:
    state = mr.loader(stream()).state_dict()
    with pytest.raises(PipelineError, match="no state of a loader"):
        stream().replay({"rows": 3}, batches=1)
    with pytest.raises(PipelineError, match="no ranks to choose from"):
        stream().replay(state, batches=1, consumer=0, consumers=2)
    loader = mr.loader(stream())
    next(iter(loader))
    with pytest.raises(PipelineError):
        list(mr.range(5).batch(2).replay(loader.state_dict(), batches=1))
