"""States that one kind of loader gave, loaded into another."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

import millrace as mr
from millrace.errors import PipelineError


def stream(batch: int = 7) -> mr.Dataset:
    return (
        mr.range(1000)
        .shuffle(50)
        .map(lambda row, rng: {"x": row["value"], "noise": rng.normal()})
        .batch(batch)
    )


def filtered(batch: int = 7) -> mr.Dataset:
    """Rows whose places are known in one lane only; a plain loader has many."""
    kept = mr.range(10_000).filter(lambda row: row["value"] % 3 != 1)
    return kept.rename({"value": "x"}).shuffle(20).batch(batch)


def rank(dataset: mr.Dataset, consumer: int, consumers: int, **more: Any) -> Any:
    given = {"remainder": "keep", "seed": 3, **more}
    return dataset.distribute(consumer=consumer, consumers=consumers, **given)


def rows(batches: Any, name: str = "x") -> list[Any]:
    return list(itertools.chain(*(batch[name].tolist() for batch in batches)))


def taken(loader: Any, count: int) -> dict[str, Any]:
    """Take so many batches; give the state, as a checkpoint has it."""
    list(itertools.islice(loader, count))
    return dict(json.loads(json.dumps(loader.state_dict())))


def together(loaders: list[Any]) -> list[Any]:
    """Give what ranks read, round by round."""
    parts = [[batch["x"].tolist() for batch in loader] for loader in loaders]
    turns = itertools.zip_longest(*parts, fillvalue=[])
    return list(itertools.chain(*itertools.chain(*turns)))


@pytest.mark.parametrize("batch", [7, 10, 1])
@pytest.mark.parametrize("name", ["x", "noise"])
def test_a_state_of_ranks_goes_on_in_a_plain_loader(batch: int, name: str) -> None:
    whole = rows(rank(stream(), 0, 1), name)
    loader = mr.loader(stream(batch), seed=77)
    loader.load_state_dict(taken(rank(stream(), 1, 2), 10))
    assert rows(loader, name) == whole[140:]
    assert loader.state_dict() == {**loader.state_dict(), "epoch": 1, "state": None}
    assert sorted(rows(loader)) == list(range(1000))  # The next epoch.
    assert loader.epoch == 1


def test_on_the_way_its_states_are_numbers_of_rows() -> None:
    whole = rows(rank(stream(), 0, 1))
    loader = mr.loader(stream(10))
    loader.load_state_dict(taken(rank(stream(), 0, 2), 10))
    assert loader.state_dict()["rows"] == 140
    state = taken(loader, 3)
    assert state["rows"] == 170
    assert loader.state_dict(batches=1)["rows"] == 150
    for other in (mr.loader(stream()), rank(stream(20), 0, 1)):
        other.load_state_dict(state)
        assert rows(other) == whole[170:]


@pytest.mark.parametrize(("batch", "consumers"), [(7, 1), (7, 2), (5, 3)])
def test_a_state_of_a_plain_loader_goes_on_in_ranks(batch: int, consumers: int) -> None:
    whole = rows(mr.loader(stream(), seed=3))
    state = taken(mr.loader(stream(), seed=3), 13)
    ranks = [rank(stream(batch), i, consumers) for i in range(consumers)]
    for loader in ranks:
        loader.load_state_dict(state)
    assert together(ranks) == whole[91:]
    assert {loader.epoch for loader in ranks} == {0}


def test_through_all_kinds_every_row_comes_once() -> None:
    whole = rows(mr.loader(stream(), seed=3))
    seen = []
    state: dict[str, Any] | None = None
    makers: list[Callable[[], Any]] = [
        lambda: mr.loader(stream(), seed=3),
        lambda: rank(stream(4), 0, 1),
        lambda: mr.loader(stream(9), seed=4),
        lambda: mr.loader(stream(9), seed=4).to("numpy"),
        lambda: rank(stream(), 0, 1),
    ]
    for make in makers:
        loader = make()
        if state is not None:
            loader.load_state_dict(state)
        seen += rows(itertools.islice(loader, 11))
        state = json.loads(json.dumps(loader.state_dict()))
    assert seen == whole[: len(seen)]
    assert state is not None
    assert state["rows"] == len(seen) == 11 * (7 + 4 + 9 + 9 + 7)


def test_states_at_the_end_begin_the_next_epoch_in_either() -> None:
    for first, second in (
        (mr.loader(stream(), seed=3), rank(stream(), 0, 1)),
        (rank(stream(), 0, 1), mr.loader(stream(), seed=3)),
    ):
        list(first)
        second.load_state_dict(first.state_dict())
        assert second.epoch == 1
        assert sorted(rows(second)) == list(range(1000))
        assert second.epoch == 1


def test_batches_of_another_size_go_on_from_a_batch_some_time_ago() -> None:
    whole = rows(mr.loader(stream(), seed=3))
    loader = mr.loader(stream(), seed=3)
    list(itertools.islice(loader, 25))
    state = loader.state_dict(batches=18)
    assert state["skip"] > 0
    other = mr.loader(stream(11))
    other.load_state_dict(state)
    assert rows(other) == whole[18 * 7 :]


def test_padded_ranks_have_the_same_state_at_every_round() -> None:
    ranks = [rank(mr.range(20).batch(4), i, 3, remainder="pad") for i in range(3)]
    for _ in zip(*ranks, strict=True):
        states = [loader.state_dict() for loader in ranks]
        assert states[0] == states[1] == states[2]


def test_a_state_of_many_lanes_that_are_not_counted_is_refused() -> None:
    state = taken(mr.loader(filtered(), seed=3), 2)
    other = rank(filtered(), 0, 2)
    other.load_state_dict(state)
    with pytest.raises(PipelineError, match=r"loader of the same kind.*filter \(%1\)"):
        iter(other)
    # The other way round there is one lane: a place in it is a number of rows.
    whole = rows(rank(filtered(), 0, 1))
    plain = mr.loader(filtered())
    plain.load_state_dict(taken(rank(filtered(), 0, 2), 2))
    assert rows(plain) == whole[28:]


def test_a_state_of_no_number_of_rows_says_so() -> None:
    state = taken(mr.loader(stream(), seed=3, order="any"), 2)
    with pytest.raises(PipelineError, match='order="any"'):
        rank(stream(), 0, 2).load_state_dict(state)


def test_a_state_of_another_pipeline_is_refused() -> None:
    state = taken(mr.loader(filtered(), seed=3), 2)
    with pytest.raises(PipelineError, match="of another pipeline"):
        rank(stream(), 0, 2).load_state_dict(state)


@pytest.mark.parametrize(
    ("state", "match"),
    [
        ({"version": 1, "seed": 1, "epoch": 0}, "it has no 'taken'"),
        ({"version": 1, "kind": "rows", "seed": 1}, "it has no 'epoch'"),
        ({"version": 1, "kind": "words"}, "no state of a loader"),
        ({"version": 7, "kind": "rows"}, "another version: 7"),
        ({"model": 1}, "another version: None"),
        (
            {"version": 1, "seed": 1, "epoch": 0, "batches": 3},
            r"millrace\.torch\.DataLoader",
        ),
        (b"{}", "not bytes; set_state takes"),
    ],
)
def test_what_is_no_state_is_named(state: Any, match: str) -> None:
    for loader in (mr.loader(stream()), rank(stream(), 0, 2)):
        with pytest.raises(PipelineError, match=match):
            loader.load_state_dict(state)
