"""Budgets, forks, and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from millrace.engine import default_budget, parse_bytes
from millrace.errors import PipelineError


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )


def test_sizes_are_read_as_people_write_them() -> None:
    assert parse_bytes("512MB") == 512 << 20
    assert parse_bytes("1.5 GiB") == 3 << 29
    assert parse_bytes(7) == 7
    with pytest.raises(PipelineError, match="512MB or 2GB"):
        parse_bytes("much")


def test_ranks_of_a_host_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_THREADS", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = default_budget()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert default_budget().memory_bytes == alone.memory_bytes // 2
    assert default_budget().threads == max(1, alone.threads // 2)
    monkeypatch.setenv("MILLRACE_THREADS", "5")
    assert default_budget().threads == 5


def test_budgets_are_set_before_the_engine_runs() -> None:
    result = run(
        """
        import millrace as mr
        mr.configure(threads=3, memory="300MB")
        list(mr.range(3))
        assert mr.budget().threads == 3
        try:
            mr.configure(threads=4)
        except mr.Error as error:
            print(error)
        """
    )
    assert "the engine runs already, with 3 threads" in result.stdout, result.stderr


def test_a_forked_child_that_uses_the_engine_is_told() -> None:
    result = run(
        """
        import os, sys
        import millrace as mr
        list(mr.range(3))
        if os.fork() == 0:
            try:
                list(mr.range(3))
            except mr.Error as error:
                print(error, flush=True)
            sys.exit(0)
        assert os.wait()[1] == 0
        print(len(list(mr.range(3))))
        """
    )
    assert "was forked from one where Millrace's engine runs" in result.stdout
    assert result.stdout.endswith("3\n"), result.stderr


def test_a_forked_child_that_does_not_use_it_exits_cleanly() -> None:
    result = run(
        """
        import multiprocessing, sys
        import millrace as mr
        batches = iter(mr.range(1000000).batch(10))
        next(batches)
        child = multiprocessing.get_context("fork").Process(target=print, args=("hi",))
        child.start()
        child.join(60)
        print(child.exitcode, flush=True)
        """
    )
    assert result.stdout == "hi\n0\n", result.stderr


INTERRUPTED = """
import os, signal
import millrace as mr

def begin():
    os.write(1, b"begun\\n")

def function(row):
    begin()
    signal.pause()

def generator():
    begin()
    signal.pause()
    yield {"x": 1}

try:
    WORK
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "work",
    [
        'begin(); list(mr.range(10**15).filter(lambda r: r["value"] < 0))',
        # What a function or generator gives is tried where the pipeline is built.
        "mr.range(9).map(function, python=True)",
        "mr.from_generator(generator)",
    ],
)
def test_ctrl_c_returns_at_once(work: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("WORK", work)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output == "interrupted\n"
    assert process.returncode == 0


def test_importing_is_light() -> None:
    result = run(
        """
        import sys
        import millrace
        heavy = {"torch", "jax", "tensorflow", "pyarrow"} & set(sys.modules)
        print(heavy or "none")
        """
    )
    assert result.stdout == "none\n", result.stderr
