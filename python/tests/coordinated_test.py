"""Coordinated reads: in every round all consumers have batches of one bucket.

What tf.data service's coordinated_read_test and coordinated_read_ft_test ask, asked of
real dispatchers and workers on this machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError
from service_processes import Service, read, read_together, values

UP_TO = [16, 32, 48]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("coordinated"), python=False) as running:
        yield running


def bucketed(rows: int, group: int, **more: Any) -> mr.Dataset:
    """Rows of lengths 1 to 64, in four buckets."""
    return (
        mr.range(rows)
        .map(lambda row: {"x": row["value"], "length": row["value"] * 7919 % 64 + 1})
        .bucket(lambda row: row["length"], UP_TO, [4, 3, 2, 2], group=group, **more)
    )


def bucket_of(batch: Any) -> int:
    """The bucket of a batch, whose rows must all be of it."""
    buckets = set(np.searchsorted(UP_TO, np.asarray(batch["length"])).tolist())
    assert len(buckets) == 1, buckets
    return int(buckets.pop())


def rounds(
    loaders: list[Any],
    most: int | None = None,
    between: Callable[[int], None] | None = None,
) -> list[list[Any]]:
    """Read in step: a round is a batch of each, or None of those at their end."""
    found: list[list[Any]] = []
    batches: list[Any] = [None] * len(loaders)
    errors: list[BaseException] = []

    def step() -> None:
        if all(batch is None for batch in batches):
            stopped.set()
            return
        found.append(list(batches))
        if len(found) == most:
            stopped.set()
        if between is not None:
            between(len(found))

    stopped = threading.Event()
    barrier = threading.Barrier(len(loaders), action=step)

    def run(number: int) -> None:
        try:
            source = iter(loaders[number])
            while not stopped.is_set():
                batches[number] = next(source, None)
                barrier.wait(90)
        except BaseException as error:  # Told below.
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(loaders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not errors, errors
    return found


def check(found: list[list[Any]]) -> list[Any]:
    """All of a round are of one bucket; gives the batches of all rounds."""
    for number, batches in enumerate(found):
        here = {bucket_of(batch) for batch in batches if batch is not None}
        assert len(here) == 1, (number, here)
    return [batch for batches in found for batch in batches if batch is not None]


def close(loaders: list[Any]) -> None:
    for loader in loaders:
        loader.close()


# --- coordinated_read ---


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("consumers", [1, 2, 5])
def test_groups_are_kept(tmp_path: Path, workers: int, consumers: int) -> None:
    with Service(tmp_path, workers, python=False) as own:
        loaders = read_together(
            own, bucketed(3000, 10), "groups", consumers, remainder="drop"
        )
        found = rounds(loaders)
        batches = check(found)
        assert all(None not in batches for batches in found)  # All end together.
        rows = values(batches)
        assert len(rows) == len(set(rows))
        left_out = 3000 - len(rows)
        assert left_out < 4 * 4 * consumers  # Less than a round of each bucket.
        close(loaders)


def test_many_consumers_and_workers_have_like_batches_in_every_round(
    tmp_path: Path,
) -> None:
    with Service(tmp_path, workers=4, python=False) as own:
        loaders = read_together(own, bucketed(20_000, 15), "many", 15, remainder="drop")
        found = rounds(loaders)
        assert len(found) > 100
        rows = values(check(found))
        assert len(rows) == len(set(rows)) > 19_000
        close(loaders)


def test_what_fills_no_round_is_kept_if_told_so(service: Service) -> None:
    loaders = read_together(service, bucketed(500, 4), "kept", 2)
    for _ in range(2):  # Epochs.
        found = rounds(loaders)
        # In the last round of a bucket some may have none, and go on to the next.
        rows = values(b for batches in found for b in batches if b is not None)
        assert sorted(rows) == list(range(500))
    close(loaders)


def test_padding_fills_a_round_with_its_own_rows(service: Service) -> None:
    loaders = read_together(service, bucketed(1003, 8), "padded", 4, remainder="pad")
    found = rounds(loaders)
    batches = check(found)
    assert all(None not in batches for batches in found)
    real = [x for b in batches for x, v in zip(b["x"], b["valid"], strict=True) if v]
    assert sorted(int(x) for x in real) == list(range(1003))
    filled = [b for b in batches if not b["valid"].any()]
    assert 0 < len(filled) < 4 * 4
    close(loaders)


def test_data_without_end_is_read_in_rounds_too(service: Service) -> None:
    ds = (
        mr.range(5000)
        .map(lambda row: {"x": row["value"], "length": row["value"] * 7919 % 64 + 1})
        .repeat()
        .bucket(lambda row: row["length"], UP_TO, [4, 3, 2, 2], group=4)
    )
    loaders = read_together(service, ds, "endless", 4)
    assert len(check(rounds(loaders, 600))) == 2400
    close(loaders)


def test_a_consumer_that_comes_back_goes_on_at_its_round(service: Service) -> None:
    ds = bucketed(8000, 4)
    loaders = read_together(service, ds, "back", 2, remainder="drop")
    first = check(rounds(loaders, 50))
    states = [one.state_dict() for one in loaders]
    assert states[0]["state"]["run"] == states[1]["state"]["run"]
    close(loaders)
    again = read_together(service, ds, "back again", 2, remainder="drop")
    for one, state in zip(again, states, strict=True):
        one.load_state_dict(state)
    rest = check(rounds(again))
    close(again)
    straight = read_together(service, ds, "straight", 2, remainder="drop")
    whole = check(rounds(straight))
    close(straight)
    assert values([*first, *rest]) == values(whole)


@pytest.mark.parametrize("after", [1, 2, 3, 7, 50, 201])
@pytest.mark.parametrize("others", [1, 3, 6, 12])
def test_a_state_goes_on_with_another_number_that_divides_the_group(
    service: Service, after: int, others: int
) -> None:
    ds = bucketed(4000, 12)
    name = f"from 2 to {others} after {after}"
    loaders = read_together(service, ds, name, 2)
    first = check(rounds(loaders, after))
    state = loaders[0].state_dict()
    close(loaders)
    again = read_together(service, ds, name + " again", others, remainder="pad")
    for one in again:
        one.load_state_dict(state)
    rest = check(rounds(again))
    close(again)
    real = [x for b in rest for x, v in zip(b["x"], b["valid"], strict=True) if v]
    assert sorted([*values(first), *(int(x) for x in real)]) == list(range(4000))


def test_what_makes_no_sense_is_told(service: Service) -> None:
    def refused(match: str, dataset: mr.Dataset, consumers: int, **more: Any) -> None:
        loaders = read_together(
            service, dataset, f"refused {match}", consumers, remainder="drop", **more
        )
        with pytest.raises(AssertionError, match=match):
            rounds(loaders)
        close(loaders)

    four = bucketed(100, 4)
    refused("groups of 4 batches, and 3 consumers cannot share them", four, 3)
    refused('needs order="fixed"', four, 2, order="any")
    refused("global_batch", four, 2, global_batch=True)
    refused("in front of it", four.repeat(2), 2)


def test_states_of_one_process_and_of_a_service_are_told_apart(
    service: Service,
) -> None:
    ds = bucketed(4000, 4)
    here = mr.loader(ds, seed=3)
    next(iter(here))
    with read(service, ds) as there:
        there.load_state_dict(here.state_dict())
        with pytest.raises(PipelineError, match="not read in runs"):
            next(iter(there))
    with read(service, ds) as there:
        next(iter(there))
        state = there.state_dict()
    with pytest.raises(PipelineError):
        here.load_state_dict(state)
        next(iter(here))


# --- coordinated_read_ft ---


@pytest.mark.parametrize("added", [1, 3, 10])
def test_workers_join_without_any_consumer_noticing(
    service: Service, tmp_path: Path, added: int
) -> None:
    ds = bucketed(10_000, 6)
    with Service(tmp_path, workers=1, python=False) as own:

        def join(step: int) -> None:
            if step == 20:
                own.workers += [own.start_worker() for _ in range(added)]

        loaders = read_together(own, ds, "joined", 3, remainder="drop")
        found = values(check(rounds(loaders, between=join)))
        close(loaders)
    loaders = read_together(service, ds, f"joined {added}", 3, remainder="drop")
    assert values(check(rounds(loaders))) == found
    close(loaders)


def test_a_worker_ends_and_another_comes(service: Service, tmp_path: Path) -> None:
    ds = bucketed(10_000, 6)
    with Service(tmp_path, workers=2, python=False) as own:

        def fault(step: int) -> None:
            if step == 20:
                own.workers[0].kill()
            if step == 200:
                own.workers[0] = own.start_worker()

        loaders = read_together(own, ds, "killed", 3, remainder="drop")
        found = values(check(rounds(loaders, between=fault)))
        close(loaders)
    loaders = read_together(service, ds, "not killed", 3, remainder="drop")
    assert values(check(rounds(loaders))) == found
    close(loaders)


def test_all_workers_and_the_dispatcher_are_replaced_one_by_one(
    service: Service, tmp_path: Path
) -> None:
    ds = bucketed(10_000, 6)
    with Service(tmp_path, workers=2, python=False) as own:

        def replace(step: int) -> None:
            if step in (20, 60):
                number = (20, 60).index(step)
                own.workers[number].end()
                own.workers[number] = own.start_worker()
            if step == 100:
                own.workers.append(own.start_worker())
            if step == 140:
                own.dispatcher.kill()
                own.start_dispatcher(own.dispatcher.address)

        loaders = read_together(own, ds, "rolling", 3, remainder="drop")
        found = values(check(rounds(loaders, between=replace)))
        close(loaders)
    loaders = read_together(service, ds, "quiet", 3, remainder="drop")
    assert values(check(rounds(loaders))) == found
    close(loaders)
