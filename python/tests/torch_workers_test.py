"""The DataLoader's processes: how they start, fail, are shared, and always end."""

import multiprocessing
import os
import pickle
import random
import select
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
import torch
import torch.utils.data
from torch.utils.data import Dataset, IterableDataset

import millrace
from millrace.torch import DataLoader

PACKAGE_FOLDER = Path(millrace.__file__).parents[1]  # Where it is built.
METHODS = ["fork", "spawn", "forkserver"]
EXIT_SECONDS = 30.0


class Where(Dataset[Any]):
    """Row i is (i, the process that read it)."""

    def __init__(self, count: int = 40) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return index, os.getpid()


class Patient(Where):
    """In the trainer only the first batch is read before the dataset is elsewhere."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.trainer = os.getpid()
        self.arrived = multiprocessing.get_context("spawn").Event()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.arrived.set()

    def __getitem__(self, index: int) -> Any:
        if os.getpid() == self.trainer and index >= 4:
            assert self.arrived.wait(EXIT_SECONDS)
        return super().__getitem__(index)


class Shared(Where):
    """Rows that show what the trainer writes to shared memory."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.value: Any = multiprocessing.get_context(method).Value("i", 0)
        self.large = torch.zeros(1 << 20)

    def __getitem__(self, index: int) -> Any:
        return self.value.value, self.large[0]


class Draws(Where):
    """Rows with random numbers."""

    def __getitem__(self, index: int) -> Any:
        return index, random.random(), np.random.rand(), torch.rand(2)


class Images(Where):
    """Rows too large to be gathered."""

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 32, 32), index, dtype=torch.float32)


class Faulty(Where):
    """Row 5 does what `fault` names."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def __getitem__(self, index: int) -> int:
        if index == 5:
            getattr(self, self.fault)()
        return index

    def raises(self) -> None:
        raise KeyError("no such picture")

    def raises_odd(self) -> None:
        raise OddError(1, 2)

    def stops(self) -> None:
        raise StopIteration

    def killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def leaves(self) -> None:
        os._exit(7)

    def hangs(self) -> None:
        threading.Event().wait()


class Interrupts(Faulty):
    """Row 5 interrupts the trainer, when the test is ready for it."""

    def __init__(self) -> None:
        super().__init__("interrupts")
        self.trainer = os.getpid()
        self.ready = multiprocessing.get_context("fork").Event()

    def interrupts(self) -> None:
        assert self.ready.wait(EXIT_SECONDS)
        os.kill(self.trainer, signal.SIGINT)
        self.hangs()


class OddError(Exception):
    """Cannot be unpickled: it is made with two arguments and keeps one."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left}{right}")


class OnlyInWorkers(Where):
    """Cannot be read in the trainer."""

    def __getitem__(self, index: int) -> int:
        info: Any = torch.utils.data.get_worker_info()
        return index * int(info.num_workers)


class Setting(IterableDataset[Any]):
    """Yields what a worker's process looks like."""

    def __iter__(self) -> Iterator[Any]:
        info: Any = torch.utils.data.get_worker_info()
        yield {
            "id": info.id,
            "workers": info.num_workers,
            "same": info.dataset is self,
            "marked": getattr(self, "mark", None),
            "threads": torch.get_num_threads(),
            "ignores": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
            "pid": os.getpid(),
        }


class BrokenSetting(Setting):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("no such file")


def mark(worker: int) -> None:
    info: Any = torch.utils.data.get_worker_info()
    info.dataset.mark = worker * 10


def nothing(worker: int) -> None:
    pass


def refuse(worker: int) -> None:
    raise ValueError(f"worker {worker} has no disk")


def keep(rows: list[Any]) -> list[Any]:
    return rows


def odd(rows: list[Any]) -> Any:
    return torch.eye(3).to_sparse(), Tagged(torch.ones(70_000)), threading


class Tagged(torch.Tensor):
    """A tensor with an attribute."""


def tagged(rows: list[Any]) -> Any:
    result: Any = torch.ones(len(rows), 9000).as_subclass(Tagged)
    result.tag = "here"
    return result, torch.eye(3).to_sparse(), np.zeros((0, 3)), "text"


def wait_for_exit(pids: list[int]) -> None:
    """Fails if one of the processes lives on."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([handle], [], [], EXIT_SECONDS)
        os.close(handle)
        assert ended, f"process {pid} lives on"


def children(pid: int) -> list[int]:
    """All processes that descend from one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


def rows_of(batches: Any) -> list[int]:
    return [row for batch in batches for row in batch[0].tolist()]


@pytest.mark.parametrize("method", METHODS)
def test_every_start_method_gives_the_same_batches(method: str) -> None:
    def make(**options: Any) -> Any:
        return DataLoader(Draws(30), 4, shuffle=True, seed=3, **options)

    here = make()
    expected = [list(here), list(here)]
    loader = make(
        num_workers=2,
        multiprocessing_context=multiprocessing.get_context(method),
        worker_init_fn=nothing,  # So that the trainer does not serve.
        persistent_workers=True,
    )
    for epoch in expected:
        found = list(loader)
        assert len(found) == len(epoch)
        for batch, wanted in zip(found, epoch, strict=True):
            assert all(map(torch.equal, batch, wanted))


def test_the_trainer_serves_until_spawned_workers_are_there() -> None:
    rows = Patient(100_000_000)
    loader = DataLoader(rows, 4, num_workers=2, multiprocessing_context="spawn")
    pids: list[int] = []
    for number, (ids, makers) in enumerate(loader):
        assert ids.tolist() == list(range(4 * number, 4 * number + 4))
        pids.append(int(makers[0]))
        if pids[-1] != os.getpid():
            break
    assert pids[0] == os.getpid()


@pytest.mark.parametrize("method", METHODS)
def test_shared_values_and_large_tensors_reach_the_workers(method: str) -> None:
    rows = Shared(method)
    loader = DataLoader(
        rows,
        2,
        num_workers=2,
        multiprocessing_context=method,
        persistent_workers=True,
        worker_init_fn=nothing,
    )
    for value in (5, 6):
        rows.value.value = value
        rows.large[0] = value * 10  # Moved to shared memory with the first pass.
        first = next(iter(loader))
        assert first[0].tolist() == [value, value]
        if method != "fork" or value == 5:
            assert first[1].tolist() == [value * 10] * 2


def test_what_only_workers_can_read_is_left_to_them() -> None:
    loader = DataLoader(
        OnlyInWorkers(8), 4, num_workers=2, multiprocessing_context="spawn"
    )
    assert [batch.tolist() for batch in loader] == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_a_dataset_that_cannot_be_pickled_fails_at_once() -> None:
    rows = Where()
    rows.hook = lambda: None  # type: ignore[attr-defined]
    loader = DataLoader(rows, num_workers=1, multiprocessing_context="spawn")
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        iter(loader)


def test_workers_look_like_those_of_torch() -> None:
    loader = DataLoader(Setting(), None, num_workers=2, worker_init_fn=mark)
    seen = list(loader)
    assert [row.pop("pid") for row in seen] != [os.getpid()] * 2
    common = {"workers": 2, "same": True, "threads": 1, "ignores": True}
    assert seen == [{"id": 0, "marked": 0, **common}, {"id": 1, "marked": 10, **common}]
    assert torch.utils.data.get_worker_info() is None


def test_errors_carry_the_users_frames_and_do_not_end_the_pass() -> None:
    loader = DataLoader(Faulty("raises"), 2, num_workers=2)
    batches = iter(loader)
    found: list[Any] = []
    with pytest.raises(KeyError, match="no such picture") as caught:
        while True:
            found.append(next(batches))
    notes = "\n".join(caught.value.__notes__)
    assert "in raises" in notes
    assert "torch_workers_test.py" in notes
    assert len(found) == 2
    assert len(list(batches)) == 17


@pytest.mark.parametrize("workers", [0, 1])
def test_odd_errors_are_errors_all_the_same(workers: int) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Faulty("stops"), 2, num_workers=workers))
    expected = (OddError, "12") if workers == 0 else (RuntimeError, "OddError: 12")
    with pytest.raises(expected[0], match=expected[1]):
        list(DataLoader(Faulty("raises_odd"), 2, num_workers=workers))


def test_errors_before_the_first_batch() -> None:
    with pytest.raises(ValueError, match="has no disk"):
        next(iter(DataLoader(Where(), num_workers=2, worker_init_fn=refuse)))
    with pytest.raises(OSError, match="no such file"):
        next(iter(DataLoader(BrokenSetting(), num_workers=1)))
    with pytest.raises(TypeError, match="pickle"):
        next(iter(DataLoader(Where(), num_workers=1, collate_fn=odd)))


@pytest.mark.parametrize(
    ("fault", "message"),
    [("killed", r"killed by signal 9 \(SIGKILL\)"), ("leaves", "exited with code 7")],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_the_death_of_a_worker_is_named(
    fault: str, message: str, persistent: bool
) -> None:
    rows = Faulty(fault)
    loader = DataLoader(rows, 2, num_workers=2, persistent_workers=persistent)
    taken: list[Any] = []
    with pytest.raises(RuntimeError, match=rf"worker \d \(pid \d+\) .*{message}"):
        taken += iter(loader)
    rows.fault = "__len__"
    resumed = DataLoader(rows, 2)
    resumed.load_state_dict(loader.state_dict())
    assert torch.cat([*taken, *resumed]).tolist() == list(range(40))
    assert len(list(loader)) == 20  # The next pass just works.


def test_the_death_of_the_template_is_named() -> None:
    loader = DataLoader(Where(4000), 2, num_workers=2)
    batches = iter(loader)
    worker = int(next(batches)[1][0])
    status = Path(f"/proc/{worker}/status").read_text()
    template = next(
        int(line.split()[1]) for line in status.splitlines() if line[:5] == "PPid:"
    )
    os.kill(template, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(batches)
    wait_for_exit([worker])


@pytest.mark.parametrize("workers", [0, 1])
def test_an_interrupted_batch_is_made_after_a_resume(workers: int) -> None:
    rows = Interrupts()
    context = "fork" if workers else None
    loader = DataLoader(rows, 2, num_workers=workers, multiprocessing_context=context)
    batches = iter(loader)
    taken = [next(batches), next(batches)]
    with pytest.raises(KeyboardInterrupt):
        rows.ready.set()
        next(batches)
    resumed = DataLoader(Faulty("__len__"), 2)
    resumed.load_state_dict(loader.state_dict())
    assert torch.cat([*taken, *resumed]).tolist() == list(range(40))


def test_timeout_names_itself() -> None:
    loader = DataLoader(Faulty("hangs"), 2, num_workers=1, timeout=0.5)
    batches = iter(loader)
    first = next(batches)
    assert first.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match=r"timed out after 0\.5 seconds"):
        list(batches)


def test_persistent_workers_stay_and_others_go() -> None:
    def pids(loader: Any) -> list[int]:
        return [row["pid"] for row in loader]

    loader = DataLoader(Setting(), None, num_workers=2, persistent_workers=True)
    first = pids(loader)
    assert len(first) == 2
    next(iter(loader))
    assert pids(loader) == first
    del loader
    wait_for_exit(first)
    loader = DataLoader(Setting(), None, num_workers=2)
    assert not set(pids(loader)) & set(pids(loader))


def test_an_abandoned_pass_leaves_nothing_for_the_next() -> None:
    loader = DataLoader(Where(), 1, num_workers=2, persistent_workers=True)
    for taken in (1, 3, 0):
        batches = iter(loader)
        for _ in range(taken):
            next(batches)
    assert rows_of(loader) == list(range(40))


def test_only_workers_that_do_not_persist_serve_two_passes_at_once() -> None:
    loader = DataLoader(Where(), 4, num_workers=1, persistent_workers=True)
    older, newer = iter(loader), iter(loader)
    assert len(list(newer)) == 10
    with pytest.raises(RuntimeError, match="one iterator at a time"):
        next(older)
    loader = DataLoader(Where(), 4, num_workers=1)
    for left, right in zip(loader, loader, strict=True):
        assert torch.equal(left[0], right[0])


def test_an_abandoned_pass_ends_its_workers() -> None:
    loader = DataLoader(Where(4000), 4, num_workers=2)
    for _, makers in loader:
        worker = int(makers[0])
        break
    wait_for_exit([worker])
    assert loader.state_dict()["batches"] == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_gathered_batches_are_the_same(method: str) -> None:
    """Small rows without randomness are read by their owners, and only those."""
    options: dict[str, Any] = {"shuffle": True, "seed": 4}
    loader = DataLoader(
        Where(4000),
        100,
        num_workers=4,
        multiprocessing_context=method,
        worker_init_fn=nothing,  # So that the trainer does not serve.
        **options,
    )
    loader._routing.start()
    owners: list[set[int]] = [set(), set(), set(), set()]
    found = list(loader)
    expected = list(DataLoader(Where(4000), 100, **options))
    assert [batch[0].tolist() for batch in found] == [
        batch[0].tolist() for batch in expected
    ]
    for ids, makers in found[20:]:  # Behind the window of the trial.
        for row, maker in zip(ids.tolist(), makers.tolist(), strict=True):
            owners[row // 1000].add(maker)
    assert all(len(makers) == 1 for makers in owners)
    assert len(set.union(*owners)) == 4


@pytest.mark.parametrize("rows", [Draws(400), Images(400)])
def test_rows_that_do_not_suit_are_not_gathered(rows: Any) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 4, "collate_fn": keep}
    loader = DataLoader(rows, 40, num_workers=2, **options)
    loader._routing.start()
    for found, expected in zip(loader, DataLoader(rows, 40, **options), strict=True):
        assert str(found) == str(expected)
    assert not loader._routing.watches
    assert loader._routing.split(list(range(400))) is None


def test_an_error_in_a_gathered_row_is_the_users() -> None:
    loader = DataLoader(Faulty("raises"), 40, shuffle=True, num_workers=2)
    loader._routing.start()
    with pytest.raises(KeyError, match="no such picture"):
        list(loader)


def test_workers_that_copy_what_they_share_make_it_gather() -> None:
    rows = [(i, float(i), str(i)) for i in range(400_000)]
    loader = DataLoader(rows, 500, shuffle=True, num_workers=2, collate_fn=len)
    assert sum(loader) == 400_000
    assert loader._routing.split(list(range(0, 400_000, 1000))) is not None


def test_odd_batches_cross() -> None:
    loader = DataLoader(Where(12), 4, num_workers=1, collate_fn=tagged)
    for tensor, sparse, empty, text in loader:
        assert type(tensor) is Tagged
        assert vars(tensor)["tag"] == "here"
        assert tensor.shape == (4, 9000)
        assert torch.equal(sparse.to_dense(), torch.eye(3))
        assert empty.shape == (0, 3)
        assert text == "text"


def test_large_requests_and_many_small_answers_cross() -> None:
    order = torch.randperm(60_000).tolist()
    big = DataLoader(Where(60_000), 20_000, sampler=order, num_workers=1)
    assert rows_of(big) == order
    small = DataLoader(Where(3000), 1, num_workers=2, prefetch_factor=500)
    assert rows_of(small) == list(range(3000))


def test_descriptors_and_memory_come_back() -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def run() -> None:
        for batch in DataLoader(Images(400), 16, num_workers=2):
            assert len(batch) == 16

    run()
    before = open_files()
    shared = set(Path("/dev/shm").iterdir())
    for _ in range(3):
        run()
    assert open_files() <= before
    assert set(Path("/dev/shm").iterdir()) <= shared


def test_pinning_copies_to_pinned_memory_or_warns() -> None:
    for workers in (0, 1):
        loader = DataLoader(Images(), 4, num_workers=workers, pin_memory=True)
        if torch.accelerator.is_available():
            found = list(loader)
            assert all(batch.is_pinned() for batch in found)
        else:
            with pytest.warns(UserWarning, match="no accelerator"):
                found = list(loader)
        assert [batch[0, 0, 0, 0] for batch in found] == list(range(0, 40, 4))


def test_a_thread_that_ends_does_not_take_the_workers_with_it() -> None:
    made: list[Any] = []
    loader = DataLoader(Where(400), 4, num_workers=2)
    thread = threading.Thread(target=lambda: made.append(iter(loader)))
    thread.start()
    thread.join()
    assert rows_of(made[0]) == list(range(400))


def test_a_forked_child_cannot_use_the_iterator_nor_harm_it() -> None:
    loader = DataLoader(Where(400), 4, num_workers=2)
    batches = iter(loader)
    found = [next(batches)]
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            next(batches)
        except RuntimeError as error:
            os.write(theirs, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert b"forked process" in os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)
    assert rows_of([*found, *batches]) == list(range(400))


def test_a_forked_child_that_lives_on_does_not_keep_the_workers() -> None:
    loader = DataLoader(Where(400), 4, num_workers=1)
    batches = iter(loader)
    worker = int(next(batches)[1][0])
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(theirs)
        os.read(ours, 1)  # Until the test has ended.
        os._exit(0)
    del batches
    wait_for_exit([worker])
    os.close(theirs)
    os.close(ours)
    os.waitpid(pid, 0)


SCRIPT = """
import os, sys, threading
from torch_workers_test import Faulty, Where, children
from millrace.torch import DataLoader

if __name__ == "__main__":
    dataset = Faulty("hangs") if sys.argv[2] == "hang" else Where(10**9)
    loader = DataLoader(
        dataset, 2, num_workers=2, worker_init_fn=int,
        multiprocessing_context=sys.argv[1],
    )
    batches = iter(loader)
    next(batches), next(batches)
    print(*children(os.getpid()), flush=True)
    while True:
        next(batches)
"""


def start_script(tmp_path: Path, method: str, kind: str) -> Any:
    """Runs SCRIPT; returns it and the processes under it, once it is loading."""
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": f"{here}:{PACKAGE_FOLDER}"}
    trainer = subprocess.Popen(
        [sys.executable, str(script), method, kind],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert trainer.stdout is not None
    pids = [int(pid) for pid in trainer.stdout.readline().split()]
    assert len(pids) >= 3, trainer.communicate()[1]
    return trainer, pids


@pytest.mark.parametrize("method", METHODS)
def test_kill_of_the_trainer_leaves_nothing(tmp_path: Path, method: str) -> None:
    shared = set(Path("/dev/shm").iterdir())
    kind = "hang" if method == "fork" else "run"
    trainer, pids = start_script(tmp_path, method, kind)
    trainer.kill()
    trainer.communicate()
    wait_for_exit(pids)
    assert set(Path("/dev/shm").iterdir()) <= shared


def test_a_main_module_without_guard_is_named(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from millrace.torch import DataLoader\n"
        "loader = DataLoader(range(10**9), 4, num_workers=1,\n"
        "                    multiprocessing_context='spawn')\n"
        "for batch in loader:\n"
        "    pass\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_FOLDER)}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * EXIT_SECONDS,
    )
    assert done.returncode == 1
    assert "exited with code 1" in done.stderr
    assert 'if __name__ == "__main__"' in done.stderr


def test_interrupt_returns_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    trainer, pids = start_script(tmp_path, "fork", "hang")
    trainer.send_signal(signal.SIGINT)
    _, errors = trainer.communicate(timeout=EXIT_SECONDS)
    assert errors.count("KeyboardInterrupt") == 1
    assert trainer.returncode != 0
    wait_for_exit(pids)
