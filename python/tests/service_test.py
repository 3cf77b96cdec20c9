"""A service makes the batches: real dispatchers and workers, on this machine."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace import _core
from millrace.errors import AccessError, PipelineError, UnavailableError
from service_processes import Service, columns, read, read_together, stream, values


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


def noise_of(batches: Any) -> dict[int, float]:
    """Tell which row drew what."""
    return dict(zip(values(batches), values(batches, "noise"), strict=True))


# --- The same rows ---


def test_one_open_lane_is_the_logical_order_bit_for_bit(service: Service) -> None:
    here = mr.loader(stream(), seed=3)
    with read(service, stream(), open_lanes=1) as there:
        for _ in range(2):  # Epochs.
            assert columns(there) == columns(here)


def test_several_open_lanes_give_the_same_rows_in_another_order(
    service: Service,
) -> None:
    ds = stream(20_000, 100)
    here = columns(mr.loader(ds, seed=3))
    with read(service, ds) as there:
        found = columns(there)
    assert len(found) == len(here)
    assert sorted(values(found)) == sorted(values(here))
    assert noise_of(found) == noise_of(here)


def test_the_stream_is_the_same_whatever_the_workers(
    service: Service, tmp_path: Path
) -> None:
    ds = stream(20_000, 100)
    with (
        Service(tmp_path, workers=1) as other,
        read(service, ds) as two,
        read(other, ds) as one,
    ):
        assert columns(two) == columns(one)


def test_arrays_travel_with_the_pipeline(service: Service) -> None:
    rows = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    table = np.arange(1000) ** 2
    ds = mr.from_arrays({"x": rows, "at": np.arange(1000)}).map(
        lambda row: {"x": row["x"], "square": mr.math.take(table, row["at"])}
    )
    ds = ds.batch(10)
    with read(service, ds, open_lanes=1) as there:
        assert columns(there) == columns(ds)


def test_texts_tuples_and_unbatched_rows_come_as_they_are(service: Service) -> None:
    texts = mr.from_rows([{"t": "one"}, {"t": "two"}, {"t": "three"}])
    with read(service, texts.batch(2)) as there:
        assert [batch["t"] for batch in there] == [["one", "two"], ["three"]]
    pairs = mr.range(5).map(lambda row: (row["value"], row["value"] * 2))
    with read(service, pairs) as there:
        assert [(int(a), int(b)) for a, b in there] == [(i, 2 * i) for i in range(5)]


def test_arrays_are_the_readers_own_and_aligned(service: Service) -> None:
    with read(service, stream()) as there:
        batch = next(iter(there))
    batch["x"] += 1  # Writable.
    assert batch["noise"].ctypes.data % 64 == 0


# --- Passes ---


def test_epochs_are_shuffled_anew_and_can_be_chosen(service: Service) -> None:
    with read(service, stream(100)) as there:
        first, second = values(there), values(there)
        assert first != second and sorted(first) == sorted(second)
        assert there.epoch == 1
        there.set_epoch(0)
        assert values(there) == first
    with read(service, stream(100)) as later:
        later.set_epoch(1)
        assert values(later) == second


def test_a_pass_that_was_left_is_not_gone_on_with(service: Service) -> None:
    with read(service, stream(3000)) as there:
        assert len(list(itertools.islice(there, 3))) == 3
        second = values(there)
        there.set_epoch(1)
        assert values(there) == second
        assert sorted(second) == list(range(3000))


def test_the_length_is_that_of_this_consumer(service: Service) -> None:
    def length(**more: Any) -> int:
        return len(read(service, mr.range(100).batch(8), job="length", **more))

    assert length() == 13
    two = {"consumers": 2, "remainder": "keep"}
    assert [length(consumer=i, **two) for i in range(2)] == [7, 6]
    assert length(consumer=0, consumers=2, remainder="drop") == 6
    assert length(consumer=0, consumers=2, remainder="drop", global_batch=True) == 12
    parts = {"consumers": 8, "remainder": "keep", "global_batch": True}
    assert [length(consumer=i, **parts) for i in range(8)] == [12, 13] * 4
    with pytest.raises(TypeError):
        len(read(service, mr.range(9).filter(lambda row: row["value"] > 3).batch(2)))


def test_stats_tell_how_it_goes(service: Service) -> None:
    with read(service, stream(100, 10)) as there:
        assert there.stats()["batches"] == 0
        list(there)
        stats = there.stats()
    assert stats["batches"] == 10 and stats["rows"] == 100
    assert stats["bytes"] == 100 * 16
    assert 0 <= stats["wait_fraction"] <= 1


# --- Several consumers ---


def together(loaders: list[Any], take: int | None = None) -> list[list[Any]]:
    """Read with all of them at once, each in a thread; a pass, or so many batches."""
    found: list[list[Any]] = [[] for _ in loaders]
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for batch in loaders[number]:
                found[number].append(batch)
                if len(found[number]) == take:
                    return
        except BaseException as error:  # Told below.
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(loaders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not errors, errors
    return found


def test_two_consumers_share_the_rows(service: Service) -> None:
    loaders = read_together(service, stream(1000, 8), "two")
    for _ in range(2):  # Epochs.
        found = together(loaders)
        assert [len(batches) for batches in found] == [len(one) for one in loaders]
        assert sorted(values([*found[0], *found[1]])) == list(range(1000))
    for one in loaders:
        one.close()


def test_a_global_batch_is_dealt_in_slices(service: Service) -> None:
    loaders = read_together(
        service, stream(100, 8), "slices", remainder="drop", global_batch=True
    )
    found = together(loaders)
    assert [len(batches) for batches in found] == [12, 12]
    with read(service, stream(100, 8)) as alone:
        whole = columns(alone)
    both = zip(columns(found[0]), columns(found[1]), strict=True)
    joined = [[*a["x"], *b["x"]] for a, b in both]
    assert joined == [batch["x"] for batch in whole[:12]]
    for one in loaders:
        one.close()


def test_members_of_a_group_get_the_same(service: Service) -> None:
    members = [
        read(
            *(service, stream(100)),
            job="members",
            run="members",
            consumer=0,
            consumers=1,
            members=2,
            member=number,
        )
        for number in range(2)
    ]
    found = together(members)
    assert columns(found[0]) == columns(found[1])
    assert sorted(values(found[0])) == list(range(100))
    for one in members:
        one.close()


def test_padding_marks_the_rows_that_fill_the_last_round_up(service: Service) -> None:
    loaders = read_together(
        service, stream(100, 8), "padded", consumers=3, remainder="pad"
    )
    found = together(loaders)
    assert [len(batches) for batches in found] == [len(one) for one in loaders]
    assert {len(batches) for batches in found} == {5}
    batches = [batch for batches in found for batch in batches]
    assert all(batch["valid"].shape == batch["x"].shape for batch in batches)
    valid = [value for batch in batches for value in batch["x"][batch["valid"]]]
    assert sorted(valid) == list(range(100))
    assert any(not batch["valid"].any() for batch in batches)
    for one in loaders:
        one.close()


@pytest.mark.parametrize("order", ["fixed", "any"])
@pytest.mark.parametrize("behind", [False, True])
def test_repeat_gives_copies(service: Service, order: str, behind: bool) -> None:
    once = mr.range(10).map(lambda row: {"x": row["value"]})
    thrice = once.batch(4).repeat(3) if behind else once.repeat(3).batch(4)
    with read(service, thrice, order=order) as there:
        sizes = [len(batch["x"]) for batch in there]
        assert sorted(sizes) == sorted([4, 4, 2] * 3 if behind else [4] * 7 + [2])
        assert sorted(values(there)) == sorted([*range(10)] * 3)


@pytest.mark.parametrize("order", ["fixed", "any"])
def test_a_pipeline_without_end_goes_on(service: Service, order: str) -> None:
    endless = mr.range(10).map(lambda row: {"x": row["value"]}).repeat().batch(4)
    seen: set[int] = set()
    with read(service, endless, order=order) as there:
        # In any order, one worker may give much before another begins.
        for number, batch in enumerate(itertools.islice(there, 1_000_000)):
            seen.update(values([batch]))
            if number >= 100 and len(seen) == 10:
                break
    assert seen == set(range(10))


# --- Any order ---


def test_any_order_gives_every_row_once(service: Service) -> None:
    ds = stream(3000, 8)
    here = columns(mr.loader(ds, seed=3))
    with read(service, ds, order="any") as there:
        first, second = columns(there), columns(there)
        assert noise_of(first) == noise_of(here)
        assert sorted(values(second)) == list(range(3000))
        assert noise_of(first) != noise_of(second)
        there.set_epoch(0)
        assert noise_of(columns(there)) == noise_of(here), "it can be read again"


def test_any_order_is_shared_by_consumers_that_end_together(service: Service) -> None:
    loaders = read_together(service, stream(1000, 8), "any", order="any", consumers=3)
    for _ in range(2):  # Epochs.
        found = together(loaders)
        counts = [len(batches) for batches in found]
        assert sum(counts) == 125 and max(counts) - min(counts) <= 1
        assert sorted(values(itertools.chain(*found))) == list(range(1000))
    for one in loaders:
        one.close()


def test_any_order_goes_on_from_parts_and_from_what_they_join_to(
    service: Service,
) -> None:
    def head(loader: Any) -> Iterator[Any]:
        yield from itertools.islice(loader, 20)  # Opened by who reads it.

    def stopped(name: str) -> tuple[list[Any], list[dict[str, Any]]]:
        loaders = read_together(service, stream(1000, 8), name, order="any")
        taken = together([head(one) for one in loaders])
        parts = [one.state_dict() for one in loaders]
        for one in loaders:
            one.close()
        return values(itertools.chain(*taken)), parts

    def rest(loaders: list[Any], states: list[dict[str, Any]]) -> list[Any]:
        for one, state in zip(loaders, states, strict=True):
            one.load_state_dict(json.loads(json.dumps(state)))
        found = values(itertools.chain(*together(loaders)))
        for one in loaders:
            one.close()
        return found

    taken, parts = stopped("parts")
    same = read_together(service, stream(1000, 8), "parts again", order="any")
    assert sorted(taken + rest(same, parts)) == list(range(1000))

    taken, parts = stopped("joined")
    joined = mr.join_states(parts)
    three = read_together(service, stream(1000, 8), "three", order="any", consumers=3)
    assert sorted(taken + rest(three, [joined] * 3)) == list(range(1000))
    with pytest.raises(PipelineError, match="one step"):
        mr.join_states([parts[0], {**parts[1], "taken": 7}])


@pytest.mark.parametrize("visit", ["at_most_once", "at_least_once"])
def test_other_visits_give_all_rows_where_nothing_is_lost(
    service: Service, visit: str
) -> None:
    with read(service, stream(), order="any", visit=visit) as there:
        assert sorted(values(there)) == list(range(1000))


def test_with_sharding_off_every_worker_gives_all_rows(service: Service) -> None:
    with read(service, stream(), order="any", sharding="off") as there:
        assert sorted(values(there)) == sorted([*range(1000), *range(1000)])
        with pytest.raises(TypeError, match="as many copies"):
            len(there)
    with (
        read(service, stream(), sharding="off") as there,
        pytest.raises(PipelineError, match='"dynamic" or "static"'),
    ):
        next(iter(there))


# --- States ---


def halfway(loader: Any, batches: int) -> tuple[list[Any], dict[str, Any]]:
    """Take some batches; give their rows, and the state as it travels."""
    taken = values(itertools.islice(loader, batches))
    return taken, json.loads(json.dumps(loader.state_dict()))


def test_a_state_goes_on_exactly_on_the_service(service: Service) -> None:
    ds = stream(20_000, 100)
    with read(service, ds) as there:
        batches = iter(there)
        for _ in range(70):
            next(batches)
        state = json.loads(json.dumps(there.state_dict()))
        earlier = there.state_dict(batches=64)
        rest = columns(batches)
    with read(service, ds, seed=None) as again:
        again.load_state_dict(state)
        assert columns(again) == rest
        assert again.seed == 3
        again.load_state_dict(earlier)
        assert columns(again)[6:] == rest


def test_a_state_of_the_service_goes_on_in_this_process(service: Service) -> None:
    ds = stream(20_000, 100)
    with read(service, ds) as there:
        before, state = halfway(there, 33)
        next_epoch = values(there)
    here = mr.loader(ds)
    here.load_state_dict(state)
    assert sorted(before + values(here)) == list(range(20_000))
    assert sorted(values(here)) == sorted(next_epoch)
    other_size = mr.loader(stream(20_000, 64))
    other_size.load_state_dict(state)
    assert sorted(before + values(other_size)) == list(range(20_000))


def test_a_state_of_this_process_goes_on_on_the_service(service: Service) -> None:
    ds = stream(20_000, 100)
    here = mr.loader(ds, seed=3)
    list(here)
    before, state = halfway(here, 33)  # Of the second epoch.
    with read(service, ds, seed=None) as there:
        there.load_state_dict(state)
        assert there.epoch == 1
        assert sorted(before + values(there)) == list(range(20_000))
        third = values(there)
    here.set_epoch(2)
    assert sorted(values(here)) == sorted(third)


def test_a_state_of_the_end_of_a_pass_begins_the_next(service: Service) -> None:
    with read(service, stream(100)) as there:
        list(there)
        state = there.state_dict()
        second = values(there)
    assert state["epoch"] == 1 and state["state"] is None
    with read(service, stream(100), seed=None) as again:
        again.load_state_dict(state)
        assert values(again) == second


def test_a_state_goes_on_with_other_consumers(service: Service) -> None:
    ds = stream(5000, 10)
    loaders = read_together(service, ds, "fewer")
    found = together(loaders, take=40)
    states = [one.state_dict() for one in loaders]
    for one in loaders:
        one.close()
    assert states[0]["state"]["cursors"] == states[1]["state"]["cursors"]
    three = read_together(service, ds, "more", consumers=3)
    for one in three:
        one.load_state_dict(states[0])
    rest = together(three)
    rows = [*found[0], *found[1], *rest[0], *rest[1], *rest[2]]
    assert sorted(values(rows)) == list(range(5000))
    for one in three:
        one.close()


def test_states_that_do_not_fit_are_refused(service: Service) -> None:
    with read(service, stream()) as there:
        _, state = halfway(there, 3)
    with read(service, stream(500), seed=None) as other:
        other.load_state_dict(state)
        with pytest.raises(PipelineError, match="fingerprint"):
            next(iter(other))
    ranks = stream().distribute(consumer=0, consumers=1, seed=3)
    next(iter(ranks))
    there = read(service, stream())
    with pytest.raises(PipelineError, match="distribute\\(None\\)"):
        there.load_state_dict(ranks.state_dict())
    with pytest.raises(PipelineError, match="open_lanes=1"):
        stream().replay(state, batches=1)


@pytest.mark.parametrize("order", ["fixed", "any"])
def test_a_run_without_a_state_resumes_where_the_job_was(
    service: Service, order: str
) -> None:
    def some(batches: int | None) -> tuple[list[Any], int]:
        job: dict[str, Any] = {"job": f"resumed {order}", "order": order}
        with read(service, stream(1000, 8), **job, resume=True) as there:
            taken = values(itertools.islice(there, batches))
            return taken, there.epoch

    first, epoch = some(30)
    rest, same = some(None)
    assert sorted(first + rest) == list(range(1000))
    assert (epoch, same) == (0, 0)
    again, later = some(None)
    assert sorted(again) == list(range(1000)) and later == 1


# --- What goes wrong ---


def test_bad_rows_are_told_with_their_file(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"x": 1}\n{"x": 2}\n{"x": \n')
    ds = mr.read_jsonl(str(file), fields="{x: int64}").batch(2)
    with read(service, ds) as there, pytest.raises(mr.DataError, match=r"rows\.jsonl"):
        list(there)


def test_a_service_that_is_not_there_is_told_soon() -> None:
    nobody = stream().distribute("millrace://127.0.0.1:1", job="nobody")
    with pytest.raises(UnavailableError) as raised:
        next(iter(nobody))
    assert "127.0.0.1:1" in str(raised.value)
    assert "millrace dispatcher --listen 127.0.0.1:1" in str(raised.value)


def test_a_wrong_token_is_told(service: Service) -> None:
    other = stream().distribute(service.address, access=mr.Access(token="another"))
    with pytest.raises(AccessError, match="token"):
        next(iter(other))


def test_the_token_comes_from_the_environment(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_TOKEN", service.token)
    with stream(100).distribute(service.address) as there:
        assert len(values(there)) == 100
    monkeypatch.setenv("MILLRACE_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(PipelineError, match="cannot read the token"):
        stream().distribute(service.address)
    (tmp_path / "token").write_text(f"{service.token}\n")
    monkeypatch.delenv("MILLRACE_TOKEN")
    with stream(100).distribute(service.address) as there:
        assert len(values(there)) == 100


@pytest.mark.parametrize(
    "address",
    [
        "dispatcher:7171",
        "http://host:1",
        "millrace://",
        "millrace://host:x",
        "millrace",
    ],
)
def test_addresses_are_checked(address: str) -> None:
    with pytest.raises(PipelineError, match="millrace://dispatcher:7171"):
        stream().distribute(address)


def test_arguments_that_cannot_be_served_are_errors(service: Service) -> None:
    def refused(match: str, *words: Any, **more: Any) -> None:
        with pytest.raises(PipelineError, match=match):
            stream().distribute(*words, **more)

    refused("order: only a service", order="any")
    refused("job, tags: only a service", job="x", tags=["gpu"])
    refused("isolate=True", service.address, isolate=True)
    refused("must say how they end", service.address, consumer=0, consumers=2)
    two = {"consumer": 0, "consumers": 2, "remainder": "drop"}
    pairs = mr.range(10).map(lambda row: (row["value"], row["value"])).batch(2)
    with pytest.raises(PipelineError, match="give dicts"):
        read(service, pairs, consumer=0, consumers=2, remainder="pad", job="x")
    refused("must name the job", service.address, **two)
    refused("no consumer 2", service.address, consumer=2, consumers=2, remainder="drop")
    refused("give member too", service.address, members=2, **two)
    refused("no member 3 of 2", members=2, member=3)
    with pytest.raises(PipelineError, match="debug"):
        stream().debug().distribute(service.address)
    lossy = read(service, stream(), visit="at_most_once")
    with pytest.raises(PipelineError, match='order="any"'):
        next(iter(lossy))


def test_a_seed_that_the_service_draws_is_known_once_it_is_open(
    service: Service,
) -> None:
    ranks = [
        read(
            *(service, stream(100)),
            seed=None,
            job="drawn",
            consumer=number,
            consumers=2,
            remainder="drop",
        )
        for number in range(2)
    ]
    with pytest.raises(PipelineError, match="set seed="):
        ranks[0].state_dict()
    together(ranks)
    assert ranks[0].seed == ranks[1].seed
    assert ranks[0].state_dict() == ranks[1].state_dict()
    for one in ranks:
        one.close()


# --- Processes ---


def script(service: Service, body: str) -> subprocess.Popen[str]:
    """Start a program that has `ds` and `read`."""
    text = f"""
import os, signal, sys, time
import millrace as mr

access = mr.Access(token={service.token!r})

def read(dataset, **more):
    return dataset.distribute({service.address!r}, access=access, **more)
"""
    return subprocess.Popen(
        [sys.executable, "-c", text + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_ends_a_wait_for_a_batch(service: Service) -> None:
    program = script(
        service,
        """
        def sleeps(row):
            time.sleep(3600)

        slow = mr.range(4).map(sleeps, python=True, output={"x": "int64"}).batch(2)
        loader = read(slow)
        batches = iter(loader)
        try:
            print("waits", flush=True)
            next(batches)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "waits\n"
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=60)
    assert output == "interrupted\n", errors


def test_ctrl_c_ends_a_wait_for_others(service: Service) -> None:
    program = script(
        service,
        """
        two = {"consumer": 0, "consumers": 2, "remainder": "drop"}
        loader = read(mr.range(9), job="alone", **two)
        try:
            print("waits", flush=True)
            next(iter(loader))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "waits\n"
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=60)
    assert output == "interrupted\n", errors


def test_a_forked_child_is_told(service: Service) -> None:
    program = script(
        service,
        """
        loader = read(mr.range(1000).batch(10))
        batches = iter(loader)
        next(batches)
        child = os.fork()
        if child == 0:
            try:
                next(batches)
            except mr.PipelineError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(len(list(batches)))
        """,
    )
    output, errors = program.communicate(timeout=60)
    assert output.split() == ["7", "99"], errors


def test_a_job_that_was_left_is_free_for_others(service: Service) -> None:
    body = """
        loader = read(mr.range(100).batch(10), job="shared", seed=1)
        batches = iter(loader)
        print(next(batches)["value"][0])
        """
    for _ in range(2):  # The first ends amid a pass, and the next need not wait.
        output, errors = script(service, body).communicate(timeout=60)
        assert output == "0\n", errors


def test_the_token_and_state_never_show_in_repr(service: Service) -> None:
    assert service.token not in repr(service.access)


def test_servers_end_when_they_are_told_to(tmp_path: Path) -> None:
    with Service(tmp_path, workers=1) as fleet:
        assert fleet.workers[0].end() == 0
        assert fleet.dispatcher.end() == 0


def test_an_attachment_that_is_too_large_is_refused(service: Service) -> None:
    ds = mr.from_arrays({"x": np.zeros(9 << 20)}).batch(1)
    with pytest.raises(PipelineError, match="save the rows in files"):
        next(iter(read(service, ds)))


def test_the_jobs_reader_is_one_object(service: Service) -> None:
    loader = read(service, stream(100))
    list(loader)
    job = loader._reader._job
    assert isinstance(job, _core.ServiceJob)
    list(loader)
    assert loader._reader._job is job  # The next pass opens nothing anew.
    loader.close()
