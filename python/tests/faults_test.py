"""Real processes under faults: every row once, in the same order, whatever happens.

Each run is a program of its own (fault_run.py), and all of it follows from its seed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fault_machines import HERE, why_no_namespaces
from fault_plan import make_plan
from fault_promises import keep_expected

RUNS = int(os.environ.get("MILLRACE_FAULTS_RUNS", "10"))
FIRST = int(os.environ.get("MILLRACE_FAULTS_SEED", "0"))
AT_ONCE = 3  # They mostly wait.
RUN_SECONDS = 300


def run(seed: int, expected: Path) -> tuple[int, str]:
    """Play a seed; give its exit code and what it said."""
    words = [str(HERE / "fault_run.py"), "--seed", str(seed), "--expected"]
    done = subprocess.run(
        [sys.executable, *words, str(expected)],
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_row_comes_once_and_in_order(tmp_path: Path) -> None:
    why = why_no_namespaces()
    if why:
        print(f"on the loopback of this machine, without networks of its own: {why}")
    seeds = range(FIRST, FIRST + RUNS)
    expected: dict[tuple[str, int], Path] = {}
    files = {}
    for seed in seeds:
        plan = make_plan(seed, own_networks=not why)
        fleet = plan.kind, plan.consumers
        if fleet not in expected:
            folder = tmp_path / f"{plan.kind}-{plan.consumers}"
            expected[fleet] = keep_expected(*fleet, folder)
        files[seed] = expected[fleet]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        results = threads.map(lambda seed: (seed, *run(seed, files[seed])), seeds)
        for seed, code, said in results:
            print(f"seed {seed}: {'held' if code == 0 else 'WRONG'}", flush=True)
            if code != 0:
                pytest.fail(f"seed {seed}:\n{said}")
