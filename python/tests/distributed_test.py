"""Several ranks read one pipeline, without a service."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError


def stream(rows: int = 1000, batch: int = 7) -> mr.Dataset:
    return (
        mr.range(rows)
        .shuffle(50)
        .map(lambda row, rng: {"x": row["value"], "noise": rng.normal()})
        .batch(batch)
    )


def unknown(rows: int = 1000) -> mr.Dataset:
    return mr.range(rows).filter(lambda r: r["value"] % 3 != 1).shuffle(20).batch(5)


def rank(
    dataset: mr.Dataset,
    consumer: int,
    consumers: int,
    remainder: str = "keep",
    **more: Any,
) -> Any:
    return dataset.distribute(
        consumer=consumer, consumers=consumers, remainder=remainder, seed=3, **more
    )


def field(batches: Any, name: str = "x") -> list[list[Any]]:
    return [batch[name].tolist() for batch in batches]


def dealt(dataset: mr.Dataset, consumers: int, remainder: str, name: str = "x") -> Any:
    """Put the ranks' batches together again, round by round."""
    all_ = [
        field(rank(dataset, i, consumers, remainder), name) for i in range(consumers)
    ]
    rounds = itertools.zip_longest(*all_)
    return [batch for turn in rounds for batch in turn if batch is not None], all_


@pytest.mark.parametrize("consumers", [1, 2, 3, 8])
def test_ranks_together_read_the_logical_order(consumers: int) -> None:
    one = field(rank(stream(), 0, 1))
    together, _ = dealt(stream(), consumers, "keep")
    assert sorted(itertools.chain(*together)) == list(range(1000))
    assert together == one


@pytest.mark.parametrize("consumers", [2, 3])
def test_drop_ends_all_ranks_with_the_same_round(consumers: int) -> None:
    for make, name in ((stream, "x"), (unknown, "value")):
        whole = field(rank(make(), 0, 1), name)
        full = [batch for batch in whole if len(batch) == len(whole[0])]
        together, ranks = dealt(make(), consumers, "drop", name)
        rounds = len(full) // consumers
        assert [len(each) for each in ranks] == [rounds] * consumers
        assert together == full[: rounds * consumers]
    assert len(rank(stream(), 1, 3, "drop")) == 1000 // 21


def test_pad_marks_what_is_real() -> None:
    consumers = 3
    loaders = [rank(stream(20, 4), i, consumers, "pad") for i in range(consumers)]
    batches = [list(loader) for loader in loaders]
    assert [len(each) for each in batches] == [len(loaders[0])] * 3 == [2] * 3
    rows = []
    for batch in itertools.chain(*batches):
        assert batch["x"].shape == (4,)
        rows += batch["x"][batch["valid"]].tolist()
    assert sorted(rows) == list(range(20))
    tiny = [list(rank(stream(3, 4), i, consumers, "pad")) for i in range(consumers)]
    assert [each[0]["valid"].sum() for each in tiny] == [3, 0, 0]


def test_states_go_on_with_other_ranks_and_batch_sizes() -> None:
    whole = np.concatenate([b["x"] for b in rank(stream(), 0, 1)])
    loader = rank(stream(), 1, 2)
    batches = iter(loader)
    for _ in range(10):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    assert state == {**state, "rows": 140}
    for consumers, size in ((1, 7), (3, 7), (2, 10), (4, 1), (1, 400)):
        parts = []
        for i in range(consumers):
            again = rank(stream(batch=size), i, consumers)
            again.load_state_dict(state)
            parts.append(field(again))
        rounds = itertools.zip_longest(*parts)
        rest = [row for turn in rounds for batch in turn if batch for row in batch]
        assert rest == whole[140:].tolist()


def test_a_state_of_other_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"x": {i}}}\n' for i in range(100)))
    loader = rank(mr.read_jsonl(path).batch(5), 0, 2)
    next(iter(loader))
    state = loader.state_dict()
    path.write_text("".join(f'{{"x": {i}}}\n' for i in range(120)))
    again = rank(mr.read_jsonl(path).batch(5), 0, 2)
    again.load_state_dict(state)
    with pytest.raises(PipelineError, match="of other data"):
        next(iter(again))


def test_states_are_the_same_on_all_ranks() -> None:
    states = []
    for i in range(2):
        loader = rank(stream(), i, 2)
        batches = iter(loader)
        next(batches)
        next(batches)
        states.append(loader.state_dict())
        assert loader.state_dict(batches=1)["rows"] == 14
    assert states[0] == states[1]


def test_draws_do_not_depend_on_the_number_of_ranks() -> None:
    alone = field(rank(stream(), 0, 1), "noise")
    together, _ = dealt(stream(), 4, "keep", "noise")
    assert together == alone


def test_epochs_differ_and_agree() -> None:
    loaders = [rank(stream(), i, 2, "drop") for i in range(2)]
    first = [field(loader) for loader in loaders]
    second = [field(loader) for loader in loaders]
    assert first != second
    assert len(set(itertools.chain(*itertools.chain(*second)))) == 14 * 71
    for loader in loaders:
        loader.set_epoch(0)
    assert [field(loader) for loader in loaders] == first


def test_a_global_batch_holds_the_same_rows_for_any_number_of_ranks() -> None:
    alone = field(rank(stream(960, 12), 0, 1, global_batch=True))
    for consumers in (2, 3, 4):
        parts = [
            field(rank(stream(960, 12), i, consumers, global_batch=True))
            for i in range(consumers)
        ]
        steps = [list(itertools.chain(*step)) for step in zip(*parts, strict=True)]
        assert [sorted(step) for step in steps] == [sorted(step) for step in alone]
    with pytest.raises(PipelineError, match="cannot be dealt to 5"):
        rank(stream(960, 12), 0, 5, global_batch=True)


def test_only_own_rows_are_mapped() -> None:
    seen = rank(stream(1000, 10), 0, 2, "keep")
    list(seen)
    operators = json.loads(seen._pass.iterator.facts())["operators"]
    mapped = next(o for o in operators if o["name"] == "map")
    assert mapped["rows_in"] == 500
    assert "run by every consumer" in seen.explain()


def test_an_unset_seed_comes_from_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled = mr.range(100).shuffle(50).batch(10)

    def of(consumer: int, **more: Any) -> list[list[int]]:
        dealt = shuffled.distribute(
            consumer=consumer, consumers=2, remainder="keep", **more
        )
        return [batch["value"].tolist() for batch in dealt]

    first = of(0, run="a") + of(1, run="a")
    assert sorted(itertools.chain(*first)) == list(range(100))
    assert first == of(0, run="a") + of(1, run="a")
    assert first != of(0, run="b") + of(1, run="b")
    assert of(0, run="a", seed=3) == of(0, seed=3)
    monkeypatch.setenv("MILLRACE_RUN", "a")
    assert of(0) + of(1) == first
    assert of(0, run="b") != of(0)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(PipelineError, match="nobody remembers where the run was"):
        stream().distribute(resume=True)
    with pytest.raises(PipelineError, match='run="" is no id'):
        stream().distribute(run="")
    with pytest.raises(PipelineError, match="must say how they end"):
        stream().distribute(consumer=0, consumers=2, seed=1)
    with pytest.raises(PipelineError, match="set seed="):
        stream().distribute(consumer=0, consumers=2, remainder="drop")
    with pytest.raises(PipelineError, match="needs to know how many rows"):
        rank(unknown(), 0, 2, "pad")
    with pytest.raises(PipelineError, match="there is no consumer 2 of 2"):
        rank(stream(), 2, 2)
    with pytest.raises(PipelineError, match="no state of a loader"):
        rank(stream(), 0, 2).load_state_dict({"version": 1})
    endless = mr.range(10).repeat().batch(3).distribute(consumer=1, consumers=2, seed=1)
    assert next(iter(endless))["value"].tolist() == [3, 4, 5]


PROGRAM = """
import json, os, sys
import millrace as mr
loader = (
    mr.range(100).shuffle(30).batch(4).distribute(remainder="drop", members=MEMBERS)
)
rows = [batch["value"].tolist() for batch in loader]
print(json.dumps([loader.consumer, loader.consumers, rows]))
"""


@pytest.mark.parametrize(("ranks", "members"), [(2, 1), (4, 1), (4, 2)])
def test_ranks_are_found_from_the_launcher(
    tmp_path: Path, ranks: int, members: int
) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.replace("MEMBERS", str(members)))
    processes = [
        subprocess.Popen(
            [sys.executable, program],
            env={
                **__import__("os").environ,
                "RANK": str(i),
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
                "TORCHELASTIC_RUN_ID": "a-run",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(ranks)
    ]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    groups = ranks // members
    assert [consumer for consumer, _, _ in told] == [i // members for i in range(ranks)]
    assert all(consumers == groups for _, consumers, _ in told)
    for i in range(ranks):
        assert told[i][2] == told[i // members * members][2]
    rows = [told[i * members][2] for i in range(groups)]
    read = list(itertools.chain(*itertools.chain(*rows)))
    assert len(set(read)) == len(read) == 100 // (4 * groups) * 4 * groups
