import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import measuring, processes
from harness.measuring import Mark, window_of
from harness.sampling import MemorySampler

_BENCH = Path(__file__).parents[1]


def _batches(count: int, seconds: float) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        time.sleep(seconds)
        yield {"x": np.zeros(4)}


def test_the_window_leaves_both_ends_out() -> None:
    marks = [Mark(i + 1, float(i), 0.0) for i in range(21)]
    first, last = window_of(marks)
    assert (first.batches, last.batches) == (3, 19)


def test_of_a_short_pass_all_counts_but_the_first_batch() -> None:
    marks = [Mark(1, 0.0, 0.0), Mark(2, 1.0, 0.0), Mark(3, 2.0, 0.0)]
    assert window_of(marks) == (marks[0], marks[-1])


def test_a_pass_is_measured() -> None:
    told = measuring.timed(_batches(60, 0.01), seconds=10)
    assert told["rows"] == 240
    assert told["first_batch_s"] >= 0.01
    assert 100 < told["rows_per_s"] <= 400
    assert 0.01 <= told["latency_p50_s"] <= told["latency_p99_s"]
    assert 0 < told["window_rows"] < 240


def test_a_pass_ends_when_its_time_is_up() -> None:
    told = measuring.timed(_batches(10_000, 0.01), seconds=0.3)
    assert told["rows"] < 10_000


def test_a_pass_of_one_batch_has_no_rate() -> None:
    told = measuring.timed(_batches(1, 0.0), seconds=1)
    assert told["rows_per_s"] is None
    assert told["cpu_s_per_1000_rows"] is None
    assert told["latency_p50_s"] is None


@pytest.mark.parametrize(("percent", "wanted"), [(50, 50.5), (99, 99.0), (100, 100.0)])
def test_percentiles(percent: int, wanted: float) -> None:
    assert measuring.percentile([float(i) for i in range(1, 101)], percent) == wanted


class _Numbers:
    """Ten batches that can be left and gone on with."""

    def __init__(self, lost: int = 0) -> None:
        self._at, self._lost = 0, lost

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while self._at < 10:
            self._at += 1
            yield {"x": np.zeros(4)}

    def save(self) -> int:
        return self._at + self._lost

    def load(self, state: int) -> None:
        self._at = state

    def close(self) -> None:
        pass


def test_resuming_is_measured_and_rows_are_counted() -> None:
    assert measuring.resumed(_Numbers, 10)["resume_rows"] == 40
    assert measuring.resumed(_Numbers, 10)["resume_s"] < 1
    assert measuring.resumed(lambda: _Numbers(lost=1), 10)["resume_rows"] == 36


def _busy_child(megabytes: int, seconds: float) -> subprocess.Popen[bytes]:
    code = (
        f"import time; kept = b'x' * ({megabytes} << 20)\n"
        f"end = time.time() + {seconds}\n"
        "while time.time() < end: pass\n"
        "input()"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)


def test_cpu_and_memory_are_of_all_processes() -> None:
    before = processes.cpu_seconds(os.getpid())
    with MemorySampler() as sampler:
        memory = processes.memory_bytes(os.getpid(), sampler.pid)
        child = _busy_child(64, 0.4)
        time.sleep(1.0)
        assert child.pid in processes.descendants(os.getpid())
        assert processes.cpu_seconds(os.getpid(), sampler.pid) - before > 0.1
        child.communicate(b"\n")
    assert processes.cpu_seconds(os.getpid()) - before > 0.1  # It ended, and counts.
    assert sampler.highest - memory > 60 << 20
    assert sampler.pid not in processes.descendants(os.getpid())


def test_one_run_prints_what_it_measured(tmp_path: Path) -> None:
    told = _one_run(tmp_path, "time")
    assert told["measured"]["rows"] == 5461
    assert told["versions"] == {"numpy": np.__version__, "nothing-such": "of this tree"}
    facts = _one_run(tmp_path, "check")["facts"]
    assert facts["rows"] == 5461
    x = np.arange(8192) * 2 + 1
    assert facts["columns"]["x"]["sum"] == int(x[x % 3 != 0].sum())


def test_one_run_says_what_a_driver_cannot_do(tmp_path: Path) -> None:
    assert _one_run(tmp_path, "time", "swim") == {"cannot": "no driver for this kind"}


def _one_run(folder: Path, mode: str, kind: str = "numbers") -> dict[str, Any]:
    """Run the plain loop, whose driver needs nothing but NumPy, in a process."""
    text = (_BENCH / "workloads" / "tiny_rows.toml").read_text()
    workload = folder / "tiny.toml"
    workload.write_text(text.replace('kind = "numbers"', f'kind = "{kind}"'))
    command = [sys.executable, str(_BENCH / "one_run.py"), "--workload", str(workload)]
    command += ["--module", "limit", "--mode", mode, "--rows", "8192"]
    command += ["--data", str(folder), "--kept", str(folder), "--threads", "2"]
    command += ["--packages", "numpy", "nothing-such"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told
