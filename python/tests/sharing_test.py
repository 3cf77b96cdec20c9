"""Jobs that share their rows: real dispatchers and workers, on this machine."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import millrace as mr
from millrace.errors import PipelineError
from service_processes import Service, columns, read, stream, values


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("sharing")) as running:
        yield running


def visits(
    service: Service, name: str, there: Callable[[dict[str, int]], bool]
) -> dict[str, int]:
    """Give how a job was given its rows, once workers have told so much."""
    for _ in range(100):
        told: dict[str, int] = service.jobs()[name]["visits"]
        if there(told):
            return told
        time.sleep(0.1)
    raise AssertionError(told)


def counted(path: Path, rows: int = 600, batch: int = 8) -> mr.Dataset:
    """Rows that write down that they were computed."""

    def note(row: dict[str, Any]) -> dict[str, Any]:
        with path.open("a") as file:
            file.write(f"{row['value']}\n")
        return {"x": row["value"]}

    return mr.range(rows).map(note, python=True).batch(batch)


def computed(path: Path) -> Counter[int]:
    """Tell how often each row was computed."""
    return Counter(int(line) for line in path.read_text().splitlines())


def test_two_trainers_see_the_same_rows_and_most_are_computed_once(
    service: Service, tmp_path: Path
) -> None:
    ds = counted(tmp_path / "rows")
    more: dict[str, Any] = {"seed": None, "share": "once"}
    with read(service, ds, **more) as one, read(service, ds, **more) as other:
        first, second = iter(one), iter(other)
        pairs = list(zip(first, second, strict=True))
        # Less what the first had before the second came.
        visits(service, other.job, lambda told: told["shared"] > 300)
    assert columns(a for a, _ in pairs) == columns(b for _, b in pairs)
    assert sorted(values(a for a, _ in pairs)) == list(range(600))
    assert set(computed(tmp_path / "rows")) == set(range(600))
    told = [service.jobs()[job.job] for job in (one, other)]
    assert {job["group"] for job in told} == {"once"}


def test_trainers_with_one_seed_share_without_a_word(service: Service) -> None:
    ds = stream(40_000, 100)
    with read(service, ds, job="auto 1") as one, read(service, ds, job="auto 2") as two:
        pairs = list(zip(one, two, strict=True))
    assert columns(a for a, _ in pairs) == columns(b for _, b in pairs)
    assert sorted(values(a for a, _ in pairs)) == list(range(40_000))


def test_another_seed_or_off_shares_nothing(service: Service, tmp_path: Path) -> None:
    ds = counted(tmp_path / "rows", 100)
    with (
        read(service, ds, seed=1) as one,
        read(service, ds, seed=2) as two,
        read(service, ds, seed=1, share="off") as off,
    ):
        for loader in (one, two, off):
            assert sorted(values(loader)) == list(range(100))
    assert min(computed(tmp_path / "rows").values()) >= 3


def test_a_late_trainer_begins_with_the_epoch_of_its_group(service: Service) -> None:
    ds = stream(1000, 10)
    more: dict[str, Any] = {"seed": None, "share": "late"}
    with read(service, ds, **more) as one:
        epochs = [columns(one) for _ in range(2)]
        batches = iter(one)
        third = [next(batches)]
        with read(service, ds, **more) as late:
            found = columns(late)
            assert late.state_dict()["epoch"] == 3
            assert late.seed == one.seed
        third += batches
    assert columns(third) == found
    assert found not in epochs


def test_trainers_may_batch_otherwise(service: Service) -> None:
    more: dict[str, Any] = {"seed": None, "share": "sizes"}
    with (
        read(service, stream(3000, 7), **more) as seven,
        read(service, stream(3000, 32), **more) as large,
    ):
        small, wide = iter(seven), iter(large)
        first = [next(small)]
        second = values(wide)
        assert sorted(second) == list(range(3000))
        visits(service, large.job, lambda told: told["shared"] > 0)
        assert sorted(values(itertools.chain(first, small))) == sorted(second)


@pytest.mark.parametrize("order", ["fixed", "any"])
def test_a_late_trainer_gets_everything_once(service: Service, order: str) -> None:
    ds = stream(20_000, 50)
    more: dict[str, Any] = {"seed": None, "share": f"late {order}", "order": order}
    with read(service, ds, **more) as one:
        batches = iter(one)
        first = list(itertools.islice(batches, 50))
        with read(service, ds, **more) as late:
            assert sorted(values(late)) == list(range(20_000))
        assert sorted(values([*first, *batches])) == list(range(20_000))


def test_a_slow_trainer_and_a_tiny_window_lose_nothing(tmp_path: Path) -> None:
    ds = stream(20_000, 50)
    more: dict[str, Any] = {"seed": None, "share": "tiny"}
    with Service(tmp_path, workers=0, python=False) as own:
        own.workers = [own.start_worker("--window-memory", "1kB") for _ in range(2)]
        with read(own, ds, **more) as fast, read(own, ds, **more) as slow:
            fast_rows, slow_batches = iter(fast), iter(slow)
            first = [next(slow_batches)]
            whole = columns(fast_rows)
            assert sorted(values(whole)) == list(range(20_000))
            assert columns(first) + columns(slow_batches) == whole


def test_who_may_miss_rows_has_none_twice(tmp_path: Path) -> None:
    def large(row: dict[str, Any]) -> dict[str, Any]:
        return {"x": row["value"], "large": mr.math.range(row["value"] * 0 + 12_500)}

    ds = mr.range(4000).map(large).batch(10)  # 1 MB each: more than is asked for ahead.
    more: dict[str, Any] = {"seed": None, "share": "skips", "order": "any"}
    more["visit"] = "at_most_once"
    with Service(tmp_path, workers=0, python=False) as own:
        own.workers = [own.start_worker("--window-memory", "1kB") for _ in range(2)]
        with read(own, ds, **more) as fast, read(own, ds, **more) as slow:
            batches = iter(slow)
            first = [next(batches)]
            assert len(set(values(fast))) > 2000
            found = values(itertools.chain(first, batches))
            # What it had not begun when it fell back was computed again.
            assert visits(own, slow.job, lambda told: told["again"] > 0)["made"] > 0
    assert len(set(found)) == len(found) > 2000


def test_workers_and_the_dispatcher_may_be_lost(tmp_path: Path) -> None:
    ds = stream(60_000, 50)
    more: dict[str, Any] = {"seed": None, "share": "faults"}
    with (
        Service(tmp_path, workers=3, python=False) as own,
        read(own, ds, **more) as one,
        read(own, ds, **more) as two,
    ):
        rows: list[Any] = []
        for number, pair in enumerate(zip(one, two, strict=True)):
            rows.append(columns(pair))
            if number == 100:
                own.workers[0].kill()
            if number == 200:
                address = own.dispatcher.address
                own.dispatcher.kill()
                own.start_dispatcher(address)
        assert all(a == b for a, b in rows)
        assert sorted(values([a for a, _ in rows])) == list(range(60_000))


def test_endless_data_is_shared_too(service: Service) -> None:
    ds = mr.range(500).shuffle(50).repeat().batch(10)
    more: dict[str, Any] = {"seed": None, "share": "endless"}
    with read(service, ds, **more) as one, read(service, ds, **more) as two:
        pairs = itertools.islice(zip(one, two, strict=False), 200)
        assert all(columns([a]) == columns([b]) for a, b in pairs)
        told = visits(service, two.job, lambda told: told["shared"] > 0)
    assert told["skipped"] == 0


def test_what_cannot_be_shared_so_is_refused(service: Service) -> None:
    with pytest.raises(PipelineError, match="share"):
        next(iter(read(service, stream(), share="")))
    with pytest.raises(PipelineError, match="share_hold"):
        next(iter(read(service, stream(), share_hold=-1.0)))
    with pytest.raises(PipelineError, match="service"):
        stream().distribute(share="search")
