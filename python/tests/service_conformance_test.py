"""What tf.data service's tests ask of it, asked of ours, group by group.

Which of its behaviours hold, and which are meant to differ, is in docs/conformance.md;
this file has those that no other test of a service shows.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError, UnavailableError
from service_processes import Server, Service, columns, read, stream, values


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("conformance"), python=False) as running:
        yield running


def numbers(batches: Any) -> list[int]:
    return values(batches, "value")


def same_as_here(service: Service, dataset: mr.Dataset) -> None:
    """The service gives the rows of this process, as often as they come there."""
    with read(service, dataset) as there:
        assert sorted(numbers(there)) == sorted(numbers(mr.loader(dataset, seed=3)))


# --- data_service_ops ---


def test_ops_a_dispatcher_without_a_folder_serves_too() -> None:
    environment = {"MILLRACE_TOKEN": "secret", "MILLRACE_THREADS": "1"}
    dispatcher = Server(
        "dispatcher", "--listen", "127.0.0.1:0", environment=environment
    )
    worker = Server("worker", "--join", dispatcher.address, environment=environment)
    try:
        access = mr.Access(token="secret")
        ds = mr.range(100).batch(7)
        with ds.distribute(f"millrace://{dispatcher.address}", access=access) as there:
            assert sorted(numbers(there)) == list(range(100))
    finally:
        worker.kill()
        dispatcher.kill()


def test_ops_an_empty_dataset_has_an_end(service: Service) -> None:
    with read(service, mr.range(0).batch(3)) as there:
        assert list(there) == []
        assert list(there) == []  # And the next pass too.


def test_ops_the_same_dataset_is_read_again_and_again(service: Service) -> None:
    with read(service, mr.range(40).batch(4)) as there:
        for _ in range(5):
            assert sorted(numbers(there)) == list(range(40))


def test_ops_three_datasets_at_once(service: Service) -> None:
    loaders = [read(service, mr.range(100 * i).batch(9)) for i in (1, 2, 3)]
    turns = itertools.zip_longest(*loaders)
    found: list[list[int]] = [[], [], []]
    for batches in turns:
        for rows, batch in zip(found, batches, strict=True):
            rows += [] if batch is None else batch["value"].tolist()
    assert [sorted(rows) for rows in found] == [list(range(100 * i)) for i in (1, 2, 3)]
    for loader in loaders:
        loader.close()


def test_ops_a_seed_gives_the_same_shuffle_and_none_another(service: Service) -> None:
    def shuffled(seed: int | None) -> list[int]:
        with read(service, mr.range(500).shuffle().batch(10), seed=seed) as there:
            return numbers(there)

    assert shuffled(3) == shuffled(3)
    assert shuffled(None) != shuffled(None)


def test_ops_ragged_rows_keep_their_lengths(service: Service) -> None:
    texts = mr.from_rows([{"x": list(range(n))} for n in (3, 1, 4, 1, 5)])
    ds = texts.ragged_batch(2)
    with read(service, ds, open_lanes=1) as there:
        found = [[row.tolist() for row in batch["x"]] for batch in there]
    here = [[row.tolist() for row in batch["x"]] for batch in ds]
    assert found == here


def test_ops_short_batches_are_kept_or_dropped_once(service: Service) -> None:
    with read(service, mr.range(10).batch(100, drop_remainder=True)) as there:
        assert list(there) == []
    with read(service, mr.range(1003).batch(10, drop_remainder=True)) as there:
        assert len(numbers(there)) == 1000
    with read(service, mr.range(10).batch(100)) as there:
        assert [len(batch["value"]) for batch in there] == [10]


def test_ops_a_large_pipeline_reaches_workers_that_come_later(tmp_path: Path) -> None:
    table = np.arange(1 << 20)  # 8 MiB, which a message of tf.data would not carry.
    ds = mr.range(100).map(lambda row: {"x": mr.math.take(table, row["value"])})
    with (
        Service(tmp_path, workers=1, python=False) as own,
        read(own, ds.batch(10)) as there,
    ):
        batches = iter(there)
        found = values([next(batches)])
        own.workers.append(own.start_worker())
        own.workers[0].kill()
        assert sorted(found + values(batches)) == list(range(100))


def test_ops_a_job_has_a_name_that_is_text(service: Service) -> None:
    with pytest.raises(PipelineError, match="the name of a job is text, not 3"):
        read(service, mr.range(4), job=3)


def test_ops_other_settings_of_one_job_are_told(service: Service) -> None:
    two: dict[str, Any] = {
        "consumers": 2,
        "job": "settings",
        "run": "settings",
        "remainder": "drop",
    }
    first = read(service, mr.range(8).batch(2), consumer=0, **two)
    waiting = threading.Thread(target=lambda: next(iter(first), None))
    waiting.start()
    service.wait_for_job("settings")  # Else the other might set the example.
    other = read(service, mr.range(8).batch(2), consumer=1, open_lanes=3, **two)
    second = read(service, mr.range(8).batch(2), consumer=1, **two)
    try:
        with pytest.raises(PipelineError, match="open_lanes"):
            next(iter(other))
        assert next(iter(second)) is not None
    finally:
        waiting.join(60)
        for loader in (first, other, second):
            loader.close()


def test_ops_one_job_is_not_read_by_two_programs(service: Service) -> None:
    with read(service, stream(2000), job="held", run="one") as first:
        next(iter(first))
        with pytest.raises(PipelineError, match="takeover=True"):
            next(iter(read(service, stream(2000), job="held", run="other")))


# --- dynamic_sharding ---


@pytest.mark.parametrize(
    "dataset",
    [
        mr.range(300).flat_map(lambda row: {"value": mr.math.range(row["value"] % 4)}),
        mr.range(300).interleave(mr.range(300, 340)),
        mr.range(100).concat(mr.range(100, 150)),
        mr.range(300).enumerate(),
        mr.range(1000).take(5),
        mr.range(1000).skip(990),
        mr.range(100).mix(mr.range(100, 130), weights=[3, 1], seed=5),
        mr.range(4)
        .map(lambda row: {"which": row["value"] % 2})
        .choose(mr.range(9), mr.range(9)),
    ],
    ids=[
        *("flat_map", "interleave", "concat", "enumerate"),
        *("take", "skip", "mix", "choose"),
    ],
)
def test_dynamic_sharding_every_operator_covers_its_rows_once(
    service: Service, dataset: mr.Dataset
) -> None:
    same_as_here(service, dataset.batch(7))


def test_dynamic_sharding_zips_stay_in_step(service: Service) -> None:
    left = mr.range(500).map(lambda row: {"a": row["value"]})
    right = mr.range(400).map(lambda row: {"b": row["value"]})
    with read(service, left.zip(right).batch(9)) as there:
        pairs = [
            pair for b in columns(there) for pair in zip(b["a"], b["b"], strict=True)
        ]
    assert sorted(pairs) == [(i, i) for i in range(400)]


def test_dynamic_sharding_groups_hold_rows_of_one_key(service: Service) -> None:
    ds = mr.range(90).group_by(lambda row: row["value"] % 3, size=10)
    with read(service, ds) as there:
        groups = [np.asarray(row["value"]).tolist() for row in there]
    assert sorted(x for group in groups for x in group) == list(range(90))
    assert all(len({x % 3 for x in group}) == 1 for group in groups)


def test_dynamic_sharding_one_row_among_five_workers(tmp_path: Path) -> None:
    with (
        Service(tmp_path, workers=5, python=False) as own,
        read(own, mr.range(1).batch(4)) as there,
    ):
        assert numbers(there) == [0]
        for worker in own.workers[1:]:
            worker.kill()
        assert numbers(there) == [0]


def test_dynamic_sharding_shuffled_files_are_read_whole(
    service: Service, tmp_path: Path
) -> None:
    for number in range(20):
        rows = "".join(f"{number * 10 + i}\n" for i in range(10))
        (tmp_path / f"{number}.txt").write_text(rows)
    ds = mr.read_text(str(tmp_path / "*.txt")).shuffle(30).batch(8)
    with read(service, ds) as there:
        texts = [text for batch in there for text in batch["text"]]
    assert sorted(map(int, texts)) == list(range(200))


# --- fault_tolerance ---


def test_fault_tolerance_servers_may_come_in_any_order(tmp_path: Path) -> None:
    with Service(tmp_path, workers=0, python=False) as own:
        early = read(own, mr.range(50).batch(5), open_seconds=60)
        found: list[int] = []
        reading = threading.Thread(target=lambda: found.extend(numbers(early)))
        reading.start()  # It waits for a worker.
        own.workers.append(own.start_worker())
        reading.join(60)
        assert sorted(found) == list(range(50))
        early.close()


def test_fault_tolerance_a_worker_waits_for_its_dispatcher(tmp_path: Path) -> None:
    with Service(tmp_path, workers=1, python=False) as own:
        address = own.dispatcher.address
        own.dispatcher.kill()
        own.workers.append(own.start_worker())  # Nobody answers it yet.
        own.start_dispatcher(address)
        own.workers[0].kill()
        with read(own, mr.range(50).batch(5)) as there:
            assert sorted(numbers(there)) == list(range(50))


@pytest.mark.parametrize("point", [0, 1, 20, 39])
def test_fault_tolerance_a_dispatcher_restarts_at_any_point(
    tmp_path: Path, point: int
) -> None:
    with Service(tmp_path, workers=1, python=False) as own:
        ds = stream(200, 5)
        with read(own, ds) as there:
            batches = iter(there)
            found = [next(batches) for _ in range(point)]
            address = own.dispatcher.address
            own.dispatcher.kill()
            own.start_dispatcher(address)
            found += list(batches)
            again = columns(there)
        with read(own, ds) as undisturbed:
            assert columns(found) == columns(undisturbed)
            assert again == columns(undisturbed)


def test_fault_tolerance_four_of_five_workers_end(tmp_path: Path) -> None:
    with (
        Service(tmp_path, workers=5, python=False) as own,
        read(own, stream(4000, 10)) as there,
    ):
        batches = iter(there)
        found = values(next(batches) for _ in range(5))
        for worker in own.workers[1:]:
            worker.kill()
        assert sorted(found + values(batches)) == list(range(4000))


# --- worker_tags ---


def test_worker_tags_only_those_that_have_them_serve(tmp_path: Path) -> None:
    with Service(tmp_path, workers=1, python=False) as own:
        tagged = read(own, mr.range(30).batch(5), tags=["gpu"], open_seconds=1)
        with pytest.raises(UnavailableError, match="gpu"):
            next(iter(tagged))
        tagged.close()
        own.workers.append(own.start_worker("--tag", "gpu", "--tag", "fast"))
        with read(own, mr.range(30).batch(5), tags=["gpu"]) as there:
            assert sorted(numbers(there)) == list(range(30))


# --- metadata ---


def test_metadata_counts_are_known_without_reading(service: Service) -> None:
    assert len(read(service, mr.range(100).batch(8))) == 13
    assert len(read(service, mr.range(0).batch(8))) == 0
    with pytest.raises(TypeError):
        len(read(service, mr.range(9).filter(lambda row: row["value"] > 3)))


# --- multi_process_cluster ---


def test_multi_process_a_stuck_worker_does_not_hold_up_a_reader(
    tmp_path: Path,
) -> None:
    with (
        Service(tmp_path, workers=3, python=False) as own,
        read(own, stream(3000, 10)) as there,
    ):
        batches = iter(there)
        found = values(next(batches) for _ in range(3))
        own.workers[0].process.send_signal(signal.SIGSTOP)
        assert sorted(found + values(batches)) == list(range(3000))
