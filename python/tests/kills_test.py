"""kill -9 of a program or of any process under it: nothing is left, and it runs again.

Each program has a temporary folder of its own, in which it leaves nothing either.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import millrace as mr

PACKAGE_FOLDER = Path(mr.__file__).parent.parent
END_SECONDS = 60

# A program tells the processes under it once all of them work, and goes on until it is
# killed, or one of them, or it has taken as many batches as it was asked for.
PROGRAM = """
import itertools, os, sys, time
from pathlib import Path

import millrace as mr


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


def function(row):
    time.sleep(0.001)
    return {"x": row["value"]}


def generator():
    for i in itertools.count():
        time.sleep(0.001)
        yield {"x": i}


class Rows:
    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        time.sleep(0.001)
        return {"x": index}


def batches(kind):
    mapped = mr.range(10**9).map(function, python=True, output={"x": "int64"}).batch(8)
    if kind == "functions":
        return mapped
    if kind == "generator":
        return mr.from_generator(generator).batch(8)
    if kind == "isolate":
        return mapped.loader(isolate=True)
    from millrace.torch import DataLoader

    return DataLoader(
        Rows(), 8, num_workers=2, multiprocessing_context=kind, worker_init_fn=int
    )


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    taken = 0
    for batch in batches(kind):
        assert batch["x"].tolist() == list(range(taken, taken + 8))
        taken += 8
        if taken == 400:
            print(*children(os.getpid()), flush=True)
        if taken == count:
            break
    print("taken", taken)


if __name__ == "__main__":
    main()
"""

KINDS = ["functions", "generator", "isolate"]
FORK, SPAWN, FORKSERVER = (
    pytest.param(method, marks=pytest.mark.frameworks)
    for method in ("fork", "spawn", "forkserver")
)


class Program:
    """A program at work, and what there was before it."""

    def __init__(self, folder: Path, kind: str, count: int = 0) -> None:
        self._temporary = folder / "temporary"
        self._temporary.mkdir(exist_ok=True)
        self._shared = set(Path("/dev/shm").iterdir())
        path = folder / "program.py"
        path.write_text(PROGRAM)
        environment = {
            **os.environ,
            "PYTHONPATH": str(PACKAGE_FOLDER),
            "TMPDIR": str(self._temporary),
        }
        self.process = subprocess.Popen(
            [sys.executable, str(path), kind, str(count)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        self.pids = [int(pid) for pid in line.split()]
        self.handles = [os.pidfd_open(pid) for pid in self.pids]

    def check_nothing_is_left(self) -> tuple[str, str]:
        """Wait for its end; give what it wrote."""
        written = self.process.communicate(timeout=END_SECONDS)
        for pid, handle in zip(self.pids, self.handles, strict=True):
            assert select.select([handle], [], [], END_SECONDS)[0], f"{pid} lives on"
            os.close(handle)
        assert list(self._temporary.iterdir()) == []
        assert set(Path("/dev/shm").iterdir()) <= self._shared
        return written


def check_it_runs_again(folder: Path, kind: str) -> None:
    output, errors = Program(folder, kind, 800).check_nothing_is_left()
    assert output == "taken 800\n", errors


@pytest.mark.parametrize("kind", [*KINDS, FORK, SPAWN, FORKSERVER])
def test_of_the_program(tmp_path: Path, kind: str) -> None:
    program = Program(tmp_path, kind)
    assert program.pids
    program.process.kill()
    program.check_nothing_is_left()
    check_it_runs_again(tmp_path, kind)


@pytest.mark.parametrize("kind", [*KINDS, FORK, FORKSERVER])
def test_of_any_process_under_it(tmp_path: Path, kind: str) -> None:
    number, count = 0, 1
    while number < count:
        program = Program(tmp_path, kind, 2000)
        count = len(program.pids)
        signal.pidfd_send_signal(program.handles[number], signal.SIGKILL)
        output, errors = program.check_nothing_is_left()
        # One that had nothing to do may not be missed.
        if program.process.returncode == 0:
            assert output == "taken 2000\n"
        else:
            assert re.search(r"signal 9|SIGKILL", errors), errors
        number += 1
    check_it_runs_again(tmp_path, kind)


WRITING = """
import os, signal, sys
import millrace as mr

folder, how = sys.argv[1:]


def function(row):
    if row["value"] == 15_000 and how == "killed":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return {"x": row["value"]}


rows = mr.range(20_000).map(function, python=True, output={"x": "int64"})
kept = rows.cache(folder + "/kept")
print(len(list(kept.save(folder + "/saved", file_size="64KB"))))
"""


def write(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WRITING, str(folder), how],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_FOLDER), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
    )


def test_while_it_writes_files(tmp_path: Path) -> None:
    assert write(tmp_path, "killed").returncode == -signal.SIGKILL
    unfinished = [path for path in tmp_path.rglob("*") if ".part" in path.name]
    assert unfinished == []
    assert {path.name for path in tmp_path.iterdir()} <= {"kept", "saved"}
    assert not (tmp_path / "saved" / "saved.json").exists()
    again = write(tmp_path, "whole")
    assert again.stdout == "20000\n", again.stderr
