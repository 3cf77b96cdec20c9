"""Batches of a worker on this machine come in memory that both processes have."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.errors import PipelineError
from millrace.frameworks.pinned_mappings import PinnedMappings
from service_processes import Service, read

ROWS = 96
BATCH_BYTES = 4 * 256 * 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("shared"), workers=1, python=False) as running:
        yield running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    """A worker without memory that a reader before could write to: that is copied."""
    with Service(tmp_path, workers=1, python=False) as running:
        yield running


def large(rows: int = ROWS, repeat: int = 1) -> mr.Dataset:
    """Batches of a megabyte, each unlike the others."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 1 << 30, (rows, 64 * 1024)).astype(np.int32)
    ds = mr.from_arrays({"x": x, "at": np.arange(rows)}).repeat(repeat)
    return ds.map(lambda row: {"x": row["x"] + 1, "at": row["at"]}).batch(4)


def assert_shared(stats: dict[str, Any], batches: int) -> None:
    """Nothing large came through the stream."""
    assert stats["bytes_shared"] == batches * BATCH_BYTES
    assert stats["bytes_streamed"] < 100_000


def sums(batches: Any) -> list[tuple[list[int], int]]:
    return [(b["at"].tolist(), int(b["x"].astype(np.int64).sum())) for b in batches]


def expected(ds: mr.Dataset) -> list[tuple[list[int], int]]:
    return sums(mr.loader(ds, seed=3))


def test_the_batches_are_the_same_bit_for_bit_and_are_not_copied(
    fresh: Service,
) -> None:
    ds = large()
    with read(fresh, ds, open_lanes=1) as shared:
        found = [(b["x"].tobytes(), b["at"].tobytes()) for b in shared]
        stats = shared.stats()
    with read(fresh, ds, open_lanes=1, shared_memory="off") as streamed:
        assert [(b["x"].tobytes(), b["at"].tobytes()) for b in streamed] == found
        without = streamed.stats()
    assert found == [
        (b["x"].tobytes(), b["at"].tobytes()) for b in mr.loader(ds, seed=3)
    ]
    assert stats["workers_sharing_memory"] == 1
    assert_shared(stats, ROWS // 4)
    assert stats["bytes_copied"] == 0
    assert stats["note"] == ""
    assert without["workers_sharing_memory"] == without["bytes_shared"] == 0
    assert without["bytes_streamed"] > ROWS // 4 * BATCH_BYTES


def test_the_only_reader_may_write_to_its_arrays(service: Service) -> None:
    with read(service, large(), open_lanes=1) as there:
        for batch, (at, sum_) in zip(there, expected(large()), strict=True):
            assert batch["x"].flags.writeable and batch["x"].ctypes.data % 64 == 0
            assert (batch["at"].tolist(), int(batch["x"].sum(dtype=np.int64))) == (
                at,
                sum_,
            )
            batch["x"][...] = -1  # Nobody ever sees it.
        assert there.stats()["bytes_shared"] > 0


def together(loaders: list[Any], look: Any) -> list[Any]:
    """Read with all of them at a time."""
    found: list[Any] = [None] * len(loaders)

    def run(number: int) -> None:
        with loaders[number] as loader:
            found[number] = look(loader)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(loaders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_members_read_the_same_memory_and_cannot_write_to_it(fresh: Service) -> None:
    def look(loader: Any) -> Any:
        found = list(loader)
        shared = [batch for batch in found if not batch["x"].flags.writeable]
        assert len(shared) == ROWS // 4
        with pytest.raises(ValueError, match="read-only"):
            shared[0]["x"][0] = 0
        assert_shared(loader.stats(), ROWS // 4)
        return sums(found)

    group: dict[str, Any] = {
        "job": "group",
        "run": "group",
        "consumer": 0,
        "consumers": 1,
        "members": 2,
    }
    loaders = [read(fresh, large(), member=i, open_lanes=1, **group) for i in range(2)]
    for rows in together(loaders, look):
        assert rows == expected(large())


def test_copies_are_the_readers_own(fresh: Service) -> None:
    def look(loader: Any) -> Any:
        found = []
        for batch in loader:
            found.append((batch["at"].tolist(), int(batch["x"].sum(dtype=np.int64))))
            batch["x"] += 1
        return found, loader.stats()["bytes_copied"]

    group: dict[str, Any] = {
        "job": "own",
        "run": "own",
        "consumer": 0,
        "consumers": 1,
        "members": 2,
    }
    loaders = [
        read(fresh, large(), member=i, open_lanes=1, copy=True, **group)
        for i in range(2)
    ]
    for rows, copied in together(loaders, look):
        assert rows == expected(large())
        assert copied >= ROWS // 4 * BATCH_BYTES


def test_two_jobs_of_one_host_do_not_disturb_each_other(service: Service) -> None:
    with (
        read(service, large(repeat=4), open_lanes=1) as one,
        read(service, large(repeat=4), open_lanes=1) as two,
    ):
        first, second = [], []
        for mine, other in zip(one, two, strict=True):
            first.append(mine)
            second.append(other)
        assert sums(first) == sums(second) == expected(large(repeat=4))


def test_who_keeps_all_batches_is_told_and_they_stay_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mr.notices._told.clear()
    ds = large(repeat=16)
    with (
        Service(tmp_path, workers=1, python=False) as service,
        caplog.at_level(logging.WARNING, logger="millrace"),
        read(service, ds, open_lanes=1) as there,
    ):
        kept = list(there)
        stats = there.stats()
        assert "this reader keeps" in stats["note"]
        assert stats["bytes_shared"] <= 256 * BATCH_BYTES
        assert stats["bytes_shared"] > 200 * BATCH_BYTES
        assert stats["bytes_streamed"] > 128 * BATCH_BYTES
        assert [r.message for r in caplog.records if "this reader keeps" in r.message]
        assert sums(kept) == expected(ds)
        del kept
        assert sum(1 for _ in there) == ROWS * 16 // 4
        stats = there.stats()  # Of a pass in which nothing is kept.
        assert stats["bytes_shared"] > 300 * BATCH_BYTES and stats["note"] == ""


def test_arrays_outlive_their_worker_and_the_loader(tmp_path: Path) -> None:
    with Service(tmp_path, workers=1, python=False) as service:
        with read(service, large(), open_lanes=1) as there:
            batches = iter(there)
            kept = [next(batches) for _ in range(5)]
            before = sums(kept)
            other = service.start_worker()
            service.workers[0].kill()
            assert sums(kept) == before
            kept += list(batches)  # What is left comes from the other.
            assert there.stats()["bytes_shared"] > 0
        assert sums(kept) == expected(large())
        assert sums(mr.loader(large(), seed=3)) == sums(kept)
        other.kill()
    assert sums(kept) == expected(large())
    assert "@millrace-" not in Path("/proc/net/unix").read_text()


def shared_bytes(pid: int) -> int:
    """Memory of a process that it shares with others, as the kernel counts it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssShmem:")[1].split()[0]) * 1024


READER = """
import os, sys
import numpy as np
import millrace as mr
sys.path.insert(0, {tests!r})
from shared_memory_test import large
ds = large(repeat=8)
if {user}:
    import millrace.service
    ds.distribute(consumer=0, consumers=1)  # Loads what it needs.
    os.setgroups([])
    os.setresgid({user}, {user}, {user})
    os.setresuid({user}, {user}, {user})
loader = ds.distribute({address!r}, access=mr.Access(token={token!r}), seed=3)
kept = []
for batch in loader:
    kept.append(batch)
    if len(kept) == 64:
        break
stats = loader.stats()
print(stats["bytes_shared"], stats["note"], flush=True)
sys.stdin.read()
"""


def start_reader(service: Service, user: int = 0) -> subprocess.Popen[str]:
    """Start a reader that keeps 64 batches, acting for another user from then on."""
    program = READER.format(
        tests=str(Path(__file__).parent),
        address=service.address,
        token=service.token,
        user=user,
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_memory_of_a_reader_that_is_killed_comes_back(tmp_path: Path) -> None:
    with Service(tmp_path, workers=1, python=False) as service:
        worker = service.workers[0].process.pid
        reader = start_reader(service)
        assert reader.stdout is not None
        assert int(reader.stdout.readline().split()[0]) >= 64 * BATCH_BYTES
        held = 0
        while (now := shared_bytes(worker)) != held:  # It works ahead.
            held = now
            time.sleep(0.5)
        assert held >= 64 * BATCH_BYTES
        reader.kill()
        reader.communicate()
        end = time.monotonic() + 30
        while shared_bytes(worker) > held - 60 * BATCH_BYTES:
            assert time.monotonic() < end
            time.sleep(0.05)
        with read(service, large(), open_lanes=1) as there:  # Others are served.
            assert sums(there) == expected(large())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_reader_gets_its_batches_by_copying(service: Service) -> None:
    reader = start_reader(service, user=65534)
    out, _ = reader.communicate(input="", timeout=60)
    assert out.split()[0] == "0" and "another user" in out


def test_a_worker_can_be_told_to_share_nothing(tmp_path: Path) -> None:
    with Service(tmp_path, workers=0, python=False) as service:
        service.workers.append(service.start_worker("--shared-memory", "off"))
        with read(service, large(), open_lanes=1) as there:
            assert sums(there) == expected(large())
            stats = there.stats()
    assert stats["bytes_shared"] == 0 and "as it was told" in stats["note"]


def test_settings_that_are_none_are_refused(service: Service) -> None:
    with pytest.raises(PipelineError, match='"auto" or "off"'):
        read(service, large(), shared_memory="on")
    with pytest.raises(PipelineError, match="only a service"):
        large().distribute(copy=True)


class Cudart:
    """What pinning needs of CUDA's runtime, for machines that have none."""

    class cudaError:  # noqa: N801
        success = 0

    def __init__(self) -> None:
        self.registered: dict[int, int] = {}
        self.calls = 0

    def cudaHostRegister(  # noqa: N802
        self, address: int, size: int, flags: int
    ) -> int:
        assert flags == 0 and address not in self.registered
        self.registered[address] = size
        self.calls += 1
        return 0

    def cudaHostUnregister(self, address: int) -> int:  # noqa: N802
        del self.registered[address]
        return 0


def test_shared_memory_is_pinned_once_while_it_is_mapped(fresh: Service) -> None:
    cudart = Cudart()
    pinned = PinnedMappings(cudart)
    with read(fresh, large(repeat=24), open_lanes=1) as there:
        for batch in there:
            assert pinned.pin(batch["x"])
            start = batch["x"].ctypes.data
            assert any(
                address <= start and start + batch["x"].nbytes <= address + size
                for address, size in cudart.registered.items()
            )
            assert not pinned.pin(batch["at"])  # Came through the stream.
        assert cudart.calls < 200  # Of 576: it is used again and again.
    del batch
    mapped = len(cudart.registered)
    with read(fresh, large(), open_lanes=1) as there:
        assert pinned.pin(next(iter(there))["x"])
    assert len(cudart.registered) < mapped  # What was unmapped was let go before.
    assert not pinned.pin(np.zeros(10))
