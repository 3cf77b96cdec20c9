"""Workers of a service save rows, lane by lane: real processes, some of them killed."""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import millrace as mr
from millrace.errors import AccessError, Error, NotFoundError, PipelineError
from service_processes import Service, values


class SavingService(Service):
    """A service whose workers may write below its folder."""

    def __init__(self, *words: Any, **more: Any) -> None:
        # Nobody reads what they log, and each lane that fails is a line.
        os.environ["MILLRACE_LOG_LEVEL"] = "error"
        super().__init__(*words, **more)

    def start_worker(self, *words: str, **more: Any) -> Any:
        roots = ("--read-root", "/", "--write-root", str(self.folder))
        return super().start_worker(*roots, *words, **more)

    def __enter__(self) -> SavingService:
        """Run until the end of the block."""
        return self

    def save(self, dataset: mr.Dataset, name: str, **more: Any) -> mr.Dataset:
        return dataset.save(
            self.folder / name, service=self.address, access=self.access, **more
        )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SavingService]:
    with SavingService(tmp_path_factory.mktemp("save"), python=False) as running:
        yield running


def numbers(rows: int, work: int = 0) -> mr.Dataset:
    """Rows of a number, a text and a list; each takes some work."""
    return mr.range(rows).map(
        lambda row: {
            "x": row["value"],
            "t": mr.text.to_text(row["value"]),
            "s": mr.math.sum(mr.math.range(row["value"] % 2 + work)),
        }
    )


def rows_of(dataset: mr.Dataset) -> list[dict[str, Any]]:
    return [dict(row) for row in dataset]


def same_as_here(service: SavingService, dataset: mr.Dataset, name: str) -> mr.Dataset:
    """The service saves what this process does: the same rows in the same order."""
    there = service.save(dataset, name, seed=5)
    here = dataset.save(service.folder / f"{name}-here", seed=5)
    assert str(rows_of(there)) == str(rows_of(here))
    return there


# --- The same rows ---


@pytest.mark.parametrize("workers", [1, 3])
def test_rows_are_saved_in_their_order_whatever_the_workers(
    tmp_path: Path, workers: int
) -> None:
    with SavingService(tmp_path, workers, python=False) as service:
        for rows in (0, 10, 1000):
            there = same_as_here(service, numbers(rows), f"rows-{rows}")
            assert [int(row["x"]) for row in there] == list(range(rows))


@pytest.mark.parametrize("format", ["frames", "arrow", "parquet", "tar"])
def test_every_format_is_saved_and_loaded(service: SavingService, format: str) -> None:
    ds = mr.range(300).map(
        lambda row: {"cls": row["value"], "__key__": mr.text.to_text(row["value"])}
    )
    there = service.save(ds, f"format-{format}", format=format)
    assert [int(row["cls"]) for row in there] == list(range(300))
    names = sorted((service.folder / f"format-{format}").iterdir())
    assert all(name.suffix == f".{format}" for name in names[:-1])
    assert names[-1].name == "saved.json"


def test_pipelines_of_all_kinds_are_saved_as_here(service: SavingService) -> None:
    ds = mr.range(2000)
    shuffled = ds.shuffle(30).map(
        lambda row, rng: {"x": row["value"], "noise": rng.normal()}
    )
    same_as_here(service, shuffled, "shuffled")
    same_as_here(service, ds.filter(lambda row: row["value"] % 7 == 0), "filtered")
    same_as_here(service, ds.repeat(3), "repeated")
    same_as_here(service, ds.concat(mr.range(10)), "sources")
    same_as_here(service, ds.zip(mr.range(100, 5000).rename({"value": "y"})), "zipped")
    same_as_here(service, ds.mix(mr.range(50)), "mixed")
    same_as_here(service, ds.batch(7), "batches")
    same_as_here(service, ds.filter(lambda row: row["value"] > 3).batch(7), "tails")


def test_files_are_saved_as_here(service: SavingService, tmp_path: Path) -> None:
    for number in range(5):
        lines = (json.dumps({"n": number * 100 + i}) for i in range(100))
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    there = same_as_here(service, mr.read(tmp_path / "*.jsonl"), "files")
    assert [int(row["n"]) for row in there] == list(range(500))


def test_many_are_saved_at_once(service: SavingService) -> None:
    saved: dict[int, mr.Dataset] = {}

    def save(number: int) -> None:
        saved[number] = service.save(numbers(500 + number), f"together-{number}")

    threads = [threading.Thread(target=save, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, dataset in saved.items():
        assert [int(row["x"]) for row in dataset] == list(range(500 + number))
    assert len(saved) == 4


def test_what_was_saved_is_read_by_a_service_and_gone_on_with(
    service: SavingService,
) -> None:
    saved = service.save(numbers(1000), "read-again").batch(10)
    how: dict[str, Any] = {
        "service": service.address,
        "access": service.access,
        "seed": 3,
    }
    with saved.distribute(**how) as there:
        batches = iter(there)
        first = values(next(batches) for _ in range(30))
        state = there.state_dict()
    with saved.distribute(**how) as there:
        there.load_state_dict(state)
        rest = values(there)
    assert sorted(first + rest) == list(range(1000))


def test_python_functions_save_too(tmp_path: Path) -> None:
    def squared(row: dict[str, Any]) -> dict[str, Any]:
        return {"square": int(str(int(row["value"]))) ** 2}

    with SavingService(tmp_path, 2) as service:
        saved = service.save(mr.range(200).map(squared, python=True), "squares")
        assert [int(row["square"]) for row in saved] == [i * i for i in range(200)]


# --- What is refused ---


def test_what_is_there_is_replaced_only_when_asked_for(service: SavingService) -> None:
    service.save(numbers(50), "again")
    with pytest.raises(Error, match="saved there before"):
        service.save(numbers(60), "again")
    assert len(rows_of(mr.load(service.folder / "again"))) == 50
    assert len(rows_of(service.save(numbers(60), "again", replace=True))) == 60


def test_what_cannot_be_saved_is_told_first(service: SavingService) -> None:
    with pytest.raises(PipelineError, match="without end"):
        service.save(mr.range(10).repeat(), "endless")
    with pytest.raises(PipelineError, match="tar files cannot hold"):
        service.save(mr.range(10), "wrong", format="tar")
    with pytest.raises(PipelineError, match="__key__"):
        ds = mr.range(10).map(lambda row: {"cls": row["value"]})
        service.save(ds, "wrong", format="tar")
    with pytest.raises(PipelineError, match="no format"):
        service.save(mr.range(10), "wrong", format="paper")
    with pytest.raises(PipelineError, match="file_size"):
        service.save(mr.range(10), "wrong", file_size="1MB")
    with pytest.raises(PipelineError, match="give service"):
        mr.range(10).save(service.folder / "wrong", tags=["gpu"])
    assert not (service.folder / "wrong").exists()


def test_a_folder_that_workers_may_not_write_to_is_named(
    service: SavingService, tmp_path: Path
) -> None:
    with pytest.raises(AccessError, match="--write-root") as raised:
        mr.range(10).save(tmp_path, service=service.address, access=service.access)
    assert str(tmp_path) in str(raised.value)


def test_a_function_that_fails_ends_the_save_and_whoever_waits_for_it(
    service: SavingService,
) -> None:
    table = list(range(700))
    ds = mr.range(1000).map(lambda row: {"x": mr.math.take(table, row["value"])})
    with pytest.raises(Error, match="of 250 lanes are there"):
        service.save(ds, "fails")
    with pytest.raises(NotFoundError, match=r"saved\.json"):
        mr.load(service.folder / "fails")
    waiting = mr.load(service.folder / "fails", wait=60)
    with pytest.raises(Error, match="not saved to their end"):
        rows_of(waiting)


def test_what_is_loaded_must_be_what_was_saved(service: SavingService) -> None:
    with pytest.raises(NotFoundError, match="nothing was saved"):
        mr.load(service.folder / "nowhere")
    service.save(mr.range(10), "spec")
    with pytest.raises(Error, match="other rows were saved"):
        rows_of(mr.load(service.folder / "spec", fields="{value: int32}"))


# --- Faults ---


def lanes_there(folder: Path) -> int:
    return len(list(folder.glob("rows-*")))


def lanes_noted(folder: Path) -> int:
    state = folder / "saving-state.json"
    return len(json.loads(state.read_text())["lanes"]) if state.exists() else 0


def until(happens: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def during_a_save(
    service: SavingService, dataset: mr.Dataset, name: str, fault: Callable[[], None]
) -> mr.Dataset:
    """Save, with something happening after some lanes."""
    saved: list[Any] = []

    def save() -> None:
        try:
            saved.append(service.save(dataset, name))
        except Exception as error:
            saved.append(error)

    thread = threading.Thread(target=save)
    thread.start()
    until(lambda: lanes_there(service.folder / name) > 10)
    fault()
    thread.join()
    if not isinstance(saved[0], mr.Dataset):
        raise saved[0]
    return saved[0]


SLOW = 30_000  # Work that makes a row take some ten microseconds.


def test_a_killed_worker_is_not_noticed(tmp_path: Path) -> None:
    with SavingService(tmp_path, 2, python=False) as service:

        def fault() -> None:
            service.workers[0].kill()
            service.workers[0] = service.start_worker()

        saved = during_a_save(service, numbers(20_000, SLOW), "rows", fault)
        assert values(saved.batch(1000)) == list(range(20_000))


def test_a_killed_dispatcher_is_not_noticed(tmp_path: Path) -> None:
    with SavingService(tmp_path, 2, python=False) as service:

        def fault() -> None:
            address = service.dispatcher.address
            service.dispatcher.kill()
            service.start_dispatcher(address)

        saved = during_a_save(service, numbers(20_000, SLOW), "rows", fault)
        assert values(saved.batch(1000)) == list(range(20_000))


def test_killed_workers_cost_their_open_lanes_only(tmp_path: Path) -> None:
    """What had a file when a worker was killed is not computed again."""
    log = tmp_path / "log"

    def logged(row: dict[str, Any]) -> dict[str, Any]:
        number = int(row["value"])
        with log.open("a") as file:
            file.write(f"{number} {os.getppid()}\n")
        time.sleep(0.0005)
        return {"x": number}

    there: set[int] = set()
    with SavingService(tmp_path, 2) as service:
        killed = service.workers[0].process.pid

        def fault() -> None:
            for path in (service.folder / "rows").glob("rows-*"):
                there.add(int(path.name.split("-")[1]))
            time.sleep(0.3)  # What was there is known to whoever saves.
            service.workers[0].kill()

        dataset = mr.range(4096).map(logged, python=True)
        saved = during_a_save(service, dataset, "rows", fault)
        assert [int(row["x"]) for row in saved] == list(range(4096))
    assert there
    computed = collections.defaultdict(list)
    for line in log.read_text().splitlines():
        row, worker = map(int, line.split())
        computed[row].append(worker)
    computed[0].pop(0)  # To see which fields there are, before it runs.
    again = {row for row, workers in computed.items() if len(workers) > 1}
    assert len(computed) == 4096
    assert not {row // 16 for row in again} & there
    assert all(computed[row][0] == killed for row in again)


CLIENT = """
    import sys
    import millrace as mr

    rows, work, folder, service, token = sys.argv[1:]
    ds = mr.range(int(rows)).map(
        lambda row: {
            "x": row["value"],
            "t": mr.text.to_text(row["value"]),
            "s": mr.math.sum(mr.math.range(row["value"] % 2 + int(work))),
        }
    )
    ds.save(folder, service=service, access=mr.Access(token=token))
"""


def test_a_killed_client_is_gone_on_with(tmp_path: Path) -> None:
    with SavingService(tmp_path, 2, python=False) as service:
        folder = tmp_path / "rows"
        work = 4 * SLOW
        words = ["60000", str(work), str(folder), service.address, service.token]

        def kill_when(happens: Callable[[], bool]) -> None:
            client = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(CLIENT), *words]
            )
            until(happens)
            client.send_signal(signal.SIGKILL)
            client.wait()

        kill_when(lambda: lanes_noted(folder) > 0)
        there = lanes_there(folder)
        kill_when(lambda: lanes_there(folder) > there)  # Who went on with it, too.
        with pytest.raises(Error, match="another pipeline"):
            service.save(numbers(60_001, work), "rows")
        with pytest.raises(Error, match="being saved there by a service"):
            numbers(10).save(folder)
        saved = service.save(numbers(60_000, work), "rows")
        assert values(saved.batch(1000)) == list(range(60_000))
        assert len(rows_of(numbers(10).save(folder, replace=True))) == 10


def test_an_interrupted_save_is_gone_on_with_elsewhere(tmp_path: Path) -> None:
    with SavingService(tmp_path, 1, python=False) as service:
        folder = tmp_path / "rows"
        words = ["20000", str(SLOW), str(folder), service.address, service.token]
        client = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CLIENT), *words],
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: lanes_there(folder) > 10)
        client.send_signal(signal.SIGINT)
        _, said = client.communicate()
        assert "KeyboardInterrupt" in said
        assert (
            "interrupted" in json.loads((folder / "saving.json").read_text())["failed"]
        )
    (tmp_path / "other").mkdir()
    with SavingService(tmp_path / "other", 1, python=False) as other:
        other.workers.append(other.start_worker("--write-root", str(folder)))
        other.workers.pop(0).kill()
        saved = numbers(20_000, SLOW).save(
            folder, service=other.address, access=other.access
        )
        assert values(saved.batch(1000)) == list(range(20_000))


def test_a_full_disk_is_named_and_the_save_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("only root may make a disk that is soon full")
    try:
        with SavingService(tmp_path, 2, python=False) as service:
            ds = mr.range(50_000).map(
                lambda row: {"x": row["value"], "many": mr.math.range(row["value"] % 8)}
            )
            with pytest.raises(Error, match="No space left"):
                service.save(ds, "disk/rows")
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            saved = service.save(ds, "disk/rows")
            assert values(saved.select(["x"]).batch(1000)) == list(range(50_000))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


# --- Reading what is being written ---


def test_a_reader_may_begin_before_the_writer(service: SavingService) -> None:
    folder = service.folder / "live"
    found: list[int] = []

    def read() -> None:
        found.extend(values(mr.load(folder, wait=30).batch(100)))

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.3)
    saved = service.save(numbers(10_000, SLOW), "live")
    reader.join()
    assert found == list(range(10_000))
    assert values(saved.batch(100)) == found
    assert values(mr.load(folder, wait=30).batch(100)) == found


def test_the_workers_that_write_may_wait_as_well(tmp_path: Path) -> None:
    """Whoever waits for a lane keeps nobody from writing it."""
    with SavingService(tmp_path, 1, python=False) as service:
        found: list[int] = []

        def read() -> None:
            ds = mr.load(tmp_path / "rows", wait=30).batch(10)
            how: dict[str, Any] = {"service": service.address, "access": service.access}
            for order in ("any", "fixed"):
                with ds.distribute(order=order, **how) as there:
                    found.extend(values(there))

        reader = threading.Thread(target=read)
        reader.start()
        service.save(numbers(20_000, SLOW), "rows")
        reader.join()
        assert sorted(found) == sorted([*range(20_000), *range(20_000)])


def test_a_save_that_nobody_drives_is_waited_for_only_so_long(tmp_path: Path) -> None:
    with SavingService(tmp_path, 1, python=False) as service:
        folder = tmp_path / "rows"
        words = ["200000", str(SLOW), str(folder), service.address, service.token]
        client = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CLIENT), *words]
        )
        until(lambda: lanes_there(folder) > 3)
        client.kill()
        client.wait()
        begin = time.monotonic()
        with pytest.raises(Error, match=r"nothing was seen for 1\.5s"):
            rows_of(mr.load(folder, wait=1.5))
        assert time.monotonic() - begin < 30
    with pytest.raises(NotFoundError, match="nor begun to be"):
        mr.load(tmp_path / "nowhere", wait=0.1)
