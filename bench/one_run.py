"""Runs one workload with one system, in this process, and prints one line of JSON.

`run.py` starts it with the system's own interpreter. Modes: `check` looks into every
batch and at memory, `time` takes batches as quickly as they come, `resume` leaves a
pass in its middle and goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import importlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivers.interface import CannotError, Run
from harness import measuring, processes
from harness.sampling import MemorySampler
from harness.workload import read_workload

MODES = ("check", "time", "resume")


def main(words: Sequence[str]) -> None:
    """Run what is asked for."""
    given = _given(words)
    processes.adopt_orphans()
    # What a system prints goes elsewhere: the last line of our output is the result.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        told = _told(given)
    except CannotError as reason:
        told = {"cannot": str(reason)}
    print(json.dumps(told), file=out, flush=True)
    # Threads and processes that a system left must not keep the result back.
    processes.end_descendants()
    os._exit(0)


def _given(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--module", required=True)
    parser.add_argument("--option", default="")
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--packages", nargs="*", default=[])
    return parser.parse_args(words)


def _told(given: argparse.Namespace) -> dict[str, Any]:
    driver = importlib.import_module(f"drivers.{given.module}")
    run = Run(
        workload=read_workload(given.workload),
        rows=given.rows,
        data=given.data,
        kept=given.kept,
        threads=given.threads,
        option=given.option,
    )
    serve = getattr(driver, "serve", None)
    with contextlib.ExitStack() as servers:
        if serve is not None:
            address = servers.enter_context(serve(run))
            run = dataclasses.replace(run, address=address)
        told = _MEASURES[given.mode](driver, run, given.seconds)
    told["versions"] = {name: _version(name) for name in given.packages}
    return told


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of this tree"


def _batches(run: Run) -> int:
    share: float = run.pipeline.get("rows_kept", 1.0)
    return max(1, int(run.rows * share / run.batch))


def _check(driver: Any, run: Run, seconds: float) -> dict[str, Any]:
    gc.collect()
    before = processes.memory_bytes(os.getpid())
    with MemorySampler() as sampler:
        feed = driver.open_feed(run)
        facts = measuring.checked(feed)
        feed.close()
    over = max(0, sampler.highest - before)
    return {"facts": facts, "settings": feed.settings, "memory_bytes": over}


def _time(driver: Any, run: Run, seconds: float) -> dict[str, Any]:
    feed = driver.open_feed(run)
    measured = measuring.timed(feed, seconds)
    feed.close()
    return {"measured": measured}


def _resume(driver: Any, run: Run, seconds: float) -> dict[str, Any]:
    return {"measured": measuring.resumed(lambda: driver.open_feed(run), _batches(run))}


_MEASURES = {"check": _check, "time": _time, "resume": _resume}


if __name__ == "__main__":
    main(sys.argv[1:])
