"""The command line of `millrace bench python`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence

from millrace.bench import drop_in, functions, hand_over, isolate, jpeg
from millrace.bench.lines import Line, as_json, from_json, table

_WORKLOADS: dict[str, Callable[[int], list[Line]]] = {
    "hand_over": hand_over.lines,
    "functions": functions.lines,
    "drop_in": drop_in.lines,
    "jpeg": jpeg.lines,
    "isolate": isolate.lines,
}


def main(words: Sequence[str]) -> int:
    """Run what is asked for; 0 where nothing missed its bar."""
    parser = argparse.ArgumentParser(
        prog="millrace bench python",
        description="Measure the Python package beside torch and plain Python, each "
        "in this run. What is not installed is not measured.",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(_WORKLOADS),
        help="a workload to run; may be repeated",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="medians are of so many; 5 by default"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    given = parser.parse_args(words)
    names = given.only or list(_WORKLOADS)
    if len(names) == 1:
        found = _WORKLOADS[names[0]](given.repeats)
    else:
        found = [line for name in names for line in _apart(name, given.repeats)]
    print(as_json(found) if given.json else table(found))
    return int(not found or any(line.reached is False for line in found))


def _apart(name: str, repeats: int) -> list[Line]:
    """Run a workload in a process of its own.

    Frameworks that one workload imports stay out of the next one's memory and threads,
    and some of them cannot be in one process.
    """
    print(f"running {name}", file=sys.stderr, flush=True)
    words = ["bench", "python", "--only", name, "--repeats", str(repeats), "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "millrace.command", *words],
        stdout=subprocess.PIPE,
        check=False,
    )
    try:
        return from_json(ran.stdout)
    except ValueError:
        print(f"{name} ended with {ran.returncode} and gave nothing", file=sys.stderr)
        return [Line(name, "no result", 0, 1, f"exit {ran.returncode}", 1)]
