"""Engines in a process of their own: the same batches, and a quiet trainer."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from framework_batches import Example, all_numbers, bfloat16s, lists
from millrace.errors import (
    DataError,
    EngineLostError,
    NotFoundError,
    PipelineError,
)

Row = dict[str, Any]


def shuffled() -> mr.Dataset:
    return (
        mr.range(1000)
        .shuffle(50)
        .map(lambda row, rng: {"x": row["value"], "noise": rng.normal()})
        .batch(7)
    )


def taken(batches: Any) -> list[tuple[list[int], list[float]]]:
    return [(b["x"].tolist(), b["noise"].tolist()) for b in batches]


def numbered(batches: int, floats: int = 16 * 1024) -> mr.Dataset:
    """Batches of so many numbers: batch i is i, i, …."""
    return (
        mr.range(batches * floats)
        .map(lambda row: {"x": (row["value"] // floats).astype("float32")})
        .batch(floats)
    )


def wait_for_end(pid: int) -> None:
    """Wait until a process is gone, whoever's child it is."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        assert poller.poll(60_000), f"process {pid} is still there"
    finally:
        os.close(descriptor)


def engine_pid(loader: Any) -> int:
    return int(loader.stats()["engine_pid"])


# --- The same as without ---


def test_rows_order_and_epochs_are_the_same() -> None:
    with mr.loader(shuffled(), seed=3, isolate=True) as isolated:
        plain = mr.loader(shuffled(), seed=3)
        for _ in range(2):
            assert taken(isolated) == taken(plain)
        isolated.set_epoch(7)
        plain.set_epoch(7)
        assert taken(isolated) == taken(plain)
        assert isolated.epoch == plain.epoch == 7
        assert len(isolated) == len(plain)
        pid = engine_pid(isolated)
    plain.close()
    assert isolated.stats()["batches"] == 0
    assert taken(isolated) == taken(plain)
    assert engine_pid(isolated) != pid
    isolated.close()


@pytest.mark.parametrize("isolate", [True, False])
def test_states_go_on_with_and_without(isolate: bool) -> None:
    whole = taken(mr.loader(shuffled(), seed=3))
    first = mr.loader(shuffled(), seed=3, isolate=isolate)
    second = mr.loader(shuffled(), isolate=not isolate)
    for stop in (0, 1, 12, len(whole) - 1, len(whole)):
        first.set_epoch(0)
        batches = iter(first)
        before = [next(batches) for _ in range(stop)]
        state = json.loads(json.dumps(first.state_dict()))
        second.load_state_dict(state)
        assert taken(before) + taken(second) == whole
    first.close()
    second.close()


def test_the_state_of_a_batch_taken_some_time_ago() -> None:
    whole = taken(mr.loader(shuffled(), seed=3))
    again = mr.loader(shuffled())
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        batches = iter(loader)
        for _ in range(25):
            next(batches)
        for back in range(9):
            again.load_state_dict(loader.state_dict(batches=25 - back))
            assert taken([next(iter(again))]) == [whole[25 - back]]


def test_goes_on_within_a_block_of_rows() -> None:
    rows = mr.range(5000).shuffle(100)
    whole = [r["value"] for r in mr.loader(rows, seed=1)]
    with mr.loader(rows, seed=1, isolate=True) as loader:
        batches = iter(loader)
        before = [next(batches)["value"] for _ in range(1234)]
        loader.load_state_dict(loader.state_dict())
        assert before + [r["value"] for r in loader] == whole


def test_a_pass_that_was_left_is_abandoned_by_the_next() -> None:
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        old = iter(loader)
        next(old)
        new = iter(loader)
        next(new)
        assert list(old) == []
        assert len(list(new)) == len(loader) - 1


def same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, mr.Ragged):
        same(left.values, right.values)
        same(list(left.axes), list(right.axes))
    elif dataclasses.is_dataclass(left) and not isinstance(left, type):
        same(vars(left), vars(right))
    elif isinstance(left, dict):
        assert list(left) == list(right)
        same(list(left.values()), list(right.values()))
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            same(a, b)
    elif isinstance(left, np.ndarray | np.generic):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    else:
        assert left == right


def texts() -> mr.Dataset:
    """Rows with texts, of which a block is more than a message holds."""
    rows = [{"text": "ä" * (i * 50), "raw": bytes([i]) * i} for i in range(100)]
    return mr.from_rows(rows)


def images() -> mr.Dataset:
    """Rows whose arrays differ in shape."""
    return mr.from_rows(
        [{"image": np.full((i, 2, 3), i, np.uint8), "at": i} for i in range(9)]
    )


KINDS = {
    "numbers": all_numbers(),
    "bfloat16": bfloat16s(),
    "ragged": lists(),
    "texts": texts(),
    "batches of texts": texts().batch(8),
    "ragged texts": mr.from_rows(
        [{"words": ["a"] * (i + 1)} for i in range(4)]
    ).ragged_batch(4),
    "images": images(),
    "tuples": shuffled().as_tuple("noise", "x"),
    "dataclasses": mr.range(5)
    .map(lambda row: Example(row["value"] * 2, row["value"]))
    .batch(2),
    "one array twice": mr.from_arrays(dict.fromkeys("ab", np.arange(9))).batch(4),
    "rows": mr.range(10),
    "nothing": mr.range(0).batch(2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_all_kinds(kind: str) -> None:
    with mr.loader(KINDS[kind], seed=1, isolate=True) as isolated:
        if kind == "bfloat16":
            pytest.importorskip("ml_dtypes")
        same(list(isolated), list(mr.loader(KINDS[kind], seed=1)))


def test_ranks_read_as_without() -> None:
    ds = mr.range(50).shuffle(10, seed=1).batch(4)
    for remainder in ("keep", "drop", "pad"):
        for consumer in (0, 2):
            given: Any = {"consumer": consumer, "consumers": 3, "seed": 5}
            plain = ds.distribute(**given, remainder=remainder)
            isolated = ds.distribute(**given, remainder=remainder, isolate=True)
            with isolated:
                batches = iter(isolated)
                first = next(batches)
                state = isolated.state_dict()
                same([first, *batches], list(plain))
                plain.load_state_dict(state)
                isolated.load_state_dict(state)
                same(list(isolated), list(plain))


def test_a_rank_without_rows_is_padded() -> None:
    ds = mr.range(3).batch(4)
    given: Any = {"consumer": 1, "consumers": 2, "seed": 5, "remainder": "pad"}
    with ds.distribute(**given, isolate=True) as isolated:
        same(list(isolated), list(ds.distribute(**given)))


# --- Memory ---


LARGE = 600_000  # Floats of a batch that is not copied.


@pytest.mark.parametrize(("batches", "floats"), [(200, 16 * 1024), (40, LARGE)])
def test_batches_that_are_kept_stay_as_they_are(batches: int, floats: int) -> None:
    with mr.loader(numbered(batches, floats), seed=0, isolate=True) as loader:
        kept = [batch["x"] for batch in loader]
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        assert loader.stats()["channel_segments"] >= batches
    assert descriptors < 100
    for number, array in enumerate(kept):
        assert (array == number).all()
        array += 1  # The memory is the user's to write to.
    assert all((array == n + 1).all() for n, array in enumerate(kept))


def test_large_batches_are_not_copied() -> None:
    with mr.loader(numbered(40, LARGE), seed=0, isolate=True) as loader:
        for number, batch in enumerate(loader):
            assert (batch["x"] == number).all()
            batch["x"][:] = -1  # Nobody else sees that.
        stats = loader.stats()
    assert stats["channel_bytes"] == 40 * LARGE * 4
    assert stats["bytes_copied"] == 0


def test_batches_outlive_the_process_that_made_them() -> None:
    for floats in (16 * 1024, LARGE):
        with mr.loader(numbered(9, floats), seed=0, isolate=True) as loader:
            batches = iter(loader)
            kept = [next(batches)["x"], next(batches)["x"]]
            os.kill(engine_pid(loader), signal.SIGKILL)
            wait_for_end(engine_pid(loader))
        assert [float(array.mean()) for array in kept] == [0, 1]


@pytest.mark.parametrize(("floats", "ahead"), [(16 * 1024, 16), (LARGE, 2)])
def test_memory_is_used_again_when_the_last_array_over_it_dies(
    floats: int, ahead: int
) -> None:
    with mr.loader(numbered(60, floats), seed=0, isolate=True) as loader:
        seen: list[int] = []
        parts: list[Any] = []
        for number, batch in enumerate(loader):
            assert (batch["x"] == number).all()
            seen.append(batch["x"].ctypes.data)
            if number < 3:
                parts.append(batch["x"][5:7])  # Keeps all of the batch.
        stats = loader.stats()
    assert len(set(seen[3:]) & set(seen[:3])) == 0
    assert all((part == number).all() for number, part in enumerate(parts))
    assert len(set(seen)) <= 3 + ahead + 5
    assert stats["channel_segments"] <= 3 + ahead + 5
    assert all(address % 64 == 0 for address in seen)


def test_memory_is_let_go_where_sizes_change() -> None:
    rows = [{"x": np.zeros(i * 80_000 + 1, np.uint8)} for i in range(90)]
    with mr.loader(mr.from_rows(rows).batch(1), seed=0, isolate=True) as loader:
        for row, batch in zip(rows, loader, strict=True):
            assert batch["x"].shape == (1, *row["x"].shape)
        assert loader.stats()["channel_segments"] <= 40  # Of 90 sizes.


def mapped() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:millrace")


def test_nothing_stays_mapped_after_a_pass() -> None:
    gc.collect()
    before = mapped()
    loader = mr.loader(numbered(20), seed=0, isolate=True)
    kept = [batch["x"] for batch in loader]
    assert mapped() > before
    loader.close()
    assert mapped() >= before + 20  # The user's.
    del kept
    assert mapped() == before


def test_the_trainers_process_stays_quiet() -> None:
    program = """
        import os
        import millrace as mr
        from millrace import engine

        def threads():
            return len(os.listdir("/proc/self/task"))

        ds = mr.range(100_000).shuffle(100).map(lambda r: {"x": r["value"] * 2})
        before = threads()
        loader = ds.batch(64).loader(isolate=True)
        seen = {threads() for batch in loader}
        print(seen == {before}, engine._process.engine is None)
        """
    assert run(program) == "True True\n"


def run(program: str, **variables: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert result.stderr == ""
    return result.stdout


# --- Python functions, errors ---


def test_functions_run_beside_the_engines_process(tmp_path: Path) -> None:
    (tmp_path / "my_helper.py").write_text("def double(x):\n    return x * 2\n")
    program = """
        import os, sys
        import millrace as mr
        import my_helper

        def function(row):
            return {"x": my_helper.double(int(row["value"])), "parent": os.getppid()}

        ds = mr.range(4).map(function, python=True)
        loader = ds.loader(isolate=True)
        rows = list(loader)
        print([int(row["x"]) for row in rows])
        print({int(row["parent"]) for row in rows} == {loader.stats()["engine_pid"]})
        """
    assert run(program, PYTHONPATH=_path(tmp_path)) == "[0, 2, 4, 6]\nTrue\n"


def _path(folder: Path) -> str:
    known = [os.environ.get("PYTHONPATH", ""), str(Path(mr.__file__).parent.parent)]
    return os.pathsep.join([str(folder), *filter(None, known)])


def test_budgets_are_those_of_the_engines_process() -> None:
    program = """
        import millrace as mr
        mr.configure(threads=3, memory="64MB")
        loader = mr.range(10).loader(isolate=True)
        list(loader)
        print(loader.stats()["threads"])
        """
    assert run(program) == "3\n"


def test_errors_are_those_of_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 1}\n' * 100)
    ds = mr.read_jsonl(str(path)).batch(10)
    path.write_text('{"x": 1}\n' * 50 + '{"x": "one"}\n' + '{"x": 1}\n' * 49)
    messages = []
    for isolate in (True, False):
        with mr.loader(ds, seed=0, isolate=isolate) as loader:
            batches = iter(loader)
            with pytest.raises(DataError, match=r"rows\.jsonl") as caught:
                list(batches)
            messages.append(str(caught.value))
            assert list(batches) == []
    assert messages[0] == messages[1]


def test_files_that_are_gone_are_an_error_of_the_first_iteration(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("a\n")
    ds = mr.read_text(str(path))
    with ds.loader(seed=0, isolate=True) as loader:
        assert len(list(loader)) == 1
        path.unlink()
        with pytest.raises(NotFoundError, match=r"rows\.txt"):
            list(loader)
        path.write_text("a\n")
        assert len(list(loader)) == 1


def test_exceptions_carry_the_users_frames() -> None:
    def inner(n: int) -> int:
        return 1 // (n - 7)

    def function(row: Any) -> Row:
        return {"x": inner(int(row["value"]))}

    with mr.range(10).map(function, python=True).loader(isolate=True) as loader:
        with pytest.raises(DataError) as caught:
            list(loader)
        assert "row 7" in str(caught.value)
        assert "return 1 // (n - 7)" in str(caught.value)


def test_a_state_of_another_pipeline_is_refused() -> None:
    loader = mr.loader(shuffled(), seed=3)
    next(iter(loader))
    with mr.loader(mr.range(999).batch(7), isolate=True) as other:
        other.load_state_dict(loader.state_dict())
        with pytest.raises(PipelineError):
            next(iter(other))


# --- Seeing, ending ---


def test_tells_how_the_pass_goes() -> None:
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        assert loader.stats()["batches"] == 0
        batches = iter(loader)
        next(batches)
        assert loader.stats()["rows"] == 7
        list(batches)
        stats = loader.stats()
    assert stats["rows"] == 1000
    assert stats["batches"] == 143
    assert stats["channel_bytes"] >= 1000 * (8 + 8)
    assert stats["bytes_copied"] >= stats["channel_bytes"]
    assert stats["channel_memory_bytes"] > 0
    assert 0 <= stats["wait_fraction"] <= 1
    assert stats["bottleneck"] and stats["remedy"]
    assert all(not isinstance(v, dict | list) for v in stats.values())


def test_the_process_ends_with_the_loader() -> None:
    loader = mr.loader(shuffled(), isolate=True)
    next(iter(loader))
    first = engine_pid(loader)
    loader.close()
    wait_for_end(first)
    batches = iter(loader)
    next(batches)
    second = engine_pid(loader)
    del loader, batches
    gc.collect()
    wait_for_end(second)


def test_closing_ends_a_wait_in_another_thread() -> None:
    def function(row: Any) -> Row:
        while row["value"] > 0:
            pass
        return {"x": row["value"]}

    ds = mr.range(9).map(function, python=True, output={"x": "int64"}).batch(1)
    loader = ds.loader(isolate=True)
    batches = iter(loader)
    rest: list[Any] = []
    thread = threading.Thread(target=lambda: rest.extend(batches))
    assert next(batches)["x"].tolist() == [0]
    thread.start()
    loader.close()
    thread.join(60)
    assert not thread.is_alive()
    assert rest == []


def test_a_process_that_was_killed_is_one_error_and_the_next_goes_on() -> None:
    whole = taken(mr.loader(shuffled(), seed=3))
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        batches = iter(loader)
        before = [next(batches) for _ in range(20)]
        os.kill(engine_pid(loader), signal.SIGKILL)
        with pytest.raises(EngineLostError, match=r"signal 9 \(SIGKILL\)"):
            for batch in batches:
                before.append(batch)
        assert list(batches) == []
        assert loader.state_dict()["taken"] == len(before)
        loader.set_epoch(0)
        assert taken(before) + taken(loader) == whole
        second = taken(loader)
        pid = engine_pid(loader)
        loader.set_epoch(1)
        os.kill(pid, signal.SIGKILL)  # Between two passes: nobody is disturbed.
        wait_for_end(pid)
        assert taken(loader) == second


def test_a_rank_whose_process_was_killed_goes_on() -> None:
    ds = mr.range(5000).shuffle(10, seed=1).batch(4)
    given: Any = {"consumer": 1, "consumers": 3, "seed": 5, "remainder": "keep"}
    with ds.distribute(**given, isolate=True) as loader:
        batches = iter(loader)
        before = [next(batches) for _ in range(20)]
        os.kill(engine_pid(loader), signal.SIGKILL)
        with pytest.raises(EngineLostError):
            for batch in batches:
                before.append(batch)
        same([*before, *loader], list(ds.distribute(**given)))


def test_interrupts_are_the_trainers_business() -> None:
    whole = taken(mr.loader(shuffled(), seed=3))
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        batches = iter(loader)
        first = next(batches)
        os.kill(engine_pid(loader), signal.SIGINT)
        assert taken([first, *batches]) == whole


PARENT = """
import os, time
import millrace as mr

def function(row):
    if row["value"] > 5:
        os.write(1, b"%d %d\\n" % (os.getpid(), os.getppid()))  # At once, or not.
        time.sleep(600)
    return {"x": row["value"]}

ds = mr.range(100).map(function, python=True, output={"x": "int64"}).batch(1)
try:
    list(ds.loader(isolate=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_trainer(number: signal.Signals) -> None:
    before = set(Path("/dev/shm").iterdir())
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    if number == signal.SIGINT:
        os.killpg(parent.pid, number)  # As the terminal does: all of them get it.
        assert parent.stdout.read().count("interrupted") == 1
    else:
        parent.send_signal(number)
    parent.wait(timeout=60)
    for pid in pids:
        wait_for_end(pid)
    assert set(Path("/dev/shm").iterdir()) <= before


def test_a_forked_process_has_an_engine_of_its_own() -> None:
    whole = taken(mr.loader(shuffled(), seed=3))
    with mr.loader(shuffled(), seed=3, isolate=True) as loader:
        batches = iter(loader)
        before = [next(batches)]
        child = os.fork()
        if child == 0:
            refused = _refusal(batches)
            loader.set_epoch(0)
            fine = "forked" in refused and taken(loader) == whole
            loader.close()
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert taken([*before, *batches]) == whole


def _refusal(batches: Any) -> str:
    try:
        next(batches)
    except PipelineError as error:
        return str(error)
    return ""


FORKING = """
import os
import millrace as mr

loader = mr.range(100).batch(2).loader(isolate=True)
batches = iter(loader)
next(batches)
if os.fork() == 0:
    os.read(0, 1)
    os._exit(0)
print(loader.stats()["engine_pid"], flush=True)
os.read(0, 1)
"""


def test_a_forked_process_does_not_keep_the_engines_alive() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin is not None and parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    wait_for_end(pid)
    parent.stdin.close()  # Now the forked one ends too.
    assert parent.stdout.read() == ""
    parent.stdout.close()


# --- Frameworks ---


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_frameworks_take_the_memory_as_it_is(name: str) -> None:
    pytest.importorskip(name)
    with numbered(30).to(name, isolate=True) as loader:
        kept = list(loader)
        assert [float(batch["x"][9]) for batch in kept] == list(range(30))
        stats = loader.stats()
        assert stats["bytes_copied"] == stats["channel_bytes"]
        state = loader.state_dict()
    plain = numbered(30).to(name)
    plain.load_state_dict(state)
    assert [float(batch["x"][9]) for batch in plain] == list(range(30))


@pytest.mark.frameworks
def test_a_thread_takes_ahead_of_the_user() -> None:
    torch = pytest.importorskip("torch")
    from millrace.frameworks.device_loader import DeviceLoader

    plain = mr.loader(shuffled(), seed=3)
    first, second = taken(plain), taken(plain)
    with mr.loader(shuffled(), seed=3, isolate=True) as inner:
        loader = DeviceLoader(inner, torch.device("cpu"))
        batches = iter(loader)
        before = [next(batches), next(batches)]
        assert loader.stats()["batches"] == 2
        plain.load_state_dict(loader.state_dict())
        assert taken(before) + taken(plain) == first
        assert taken(loader) == second
        os.kill(engine_pid(loader), signal.SIGKILL)
        wait_for_end(engine_pid(loader))
        loader.set_epoch(0)
        assert taken(loader) == first
