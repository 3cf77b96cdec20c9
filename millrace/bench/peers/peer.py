"""What every program here does: get ready, then work whenever it is told to.

A peer prints `ready`, or why it cannot be; then for each line it reads it does its work
once and prints what it reached per second.
"""

import sys
import time
from collections.abc import Callable


def serve(amount: float, work: Callable[[], object]) -> None:
    """Warm up, say that we are ready, and work as often as we are told to."""
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        work()
        print(amount / (time.perf_counter() - start), flush=True)


def missing(package: str) -> None:
    """Say what is not installed, and end."""
    print(f"{package} is not installed: pip install {package}", flush=True)
    sys.exit(3)
