"""Programs that end while other threads of theirs are inside the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import threading
import time

import millrace as mr

entered = threading.Event()

def read():
    for _ in {dataset}:
        entered.set()

threading.Thread(target=read, daemon=True).start()
entered.wait()
time.sleep(0.05)
print("done")
"""

# One whose reader mostly runs, and one whose reader mostly waits.
DATASETS = {
    "ready": "mr.range(1 << 40).batch(8)",
    "awaited": "mr.range(1 << 40).batch(1 << 20).map(lambda r: {'x': r['value'] * 3})",
}


@pytest.mark.parametrize("kind", list(DATASETS))
def test_a_daemon_thread_that_reads_lets_the_program_end(kind: str) -> None:
    program = PROGRAM.format(dataset=DATASETS[kind])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
