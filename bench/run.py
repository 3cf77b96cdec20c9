"""Measures Millrace beside other systems that do the same work: `make bench-peers`.

Each run is a process of its own, in the environment of its system, which is made when
it is first needed. What cannot be installed, or cannot do a workload, is told in the
table with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.environments import Environments, MissingError
from harness.machine import machine
from harness.processes import adopt_orphans
from harness.progress import Progress
from harness.report import report
from harness.runner import Options, Result, Runner, Starter
from harness.systems import System, read_systems
from harness.workload import Workload, read_workloads

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
CACHE = ROOT / ".cache" / "bench"
_QUICK_MINUTES = 9.0


def main(words: Sequence[str]) -> int:
    """Run what is asked for."""
    given = _given(words)
    adopt_orphans()
    if given.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    workloads = _chosen_workloads(given)
    systems = _chosen_systems(given)
    if given.list:
        _list(workloads, systems)
        return 0
    return _run(given, workloads, systems)


def _given(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="some workloads and systems, 10 minutes")
    add("--only", action="append", default=[], help="workloads whose name begins so")
    add("--systems", default="", help="such as millrace,tfdata; all by default")
    add("--repeats", type=int, help="timed runs of each; 5 by default, quick 1")
    add("--scale", type=float, default=1.0, help="times the rows of the workloads")
    add("--seconds", type=float, help="of a timed run, at most; 20, quick 5")
    add("--minutes", type=float, help="after these nothing more is begun")
    add("--cores", type=int, default=0, help="use the first so many cores alone")
    add("--package", type=Path, default=ROOT / "build" / "release" / "python")
    add("--into", type=Path, help="the folder for results")
    add("--setup", action="store_true", help="make the environments, and end")
    add("--list", action="store_true", help="show workloads and systems, and end")
    return parser.parse_args(words)


def _chosen_workloads(given: argparse.Namespace) -> list[Workload]:
    every = read_workloads(BENCH / "workloads")
    if given.only:
        chosen = [w for w in every if w.name.startswith(tuple(given.only))]
        return chosen or sys.exit(f"no workload begins with {', '.join(given.only)}")
    return [workload for workload in every if workload.quick or not given.quick]


def _chosen_systems(given: argparse.Namespace) -> list[System]:
    every = read_systems(BENCH / "drivers" / "systems.toml")
    wanted = [name for name in given.systems.split(",") if name]
    if unknown := set(wanted) - {system.name for system in every}:
        sys.exit(f"no system is called {', '.join(sorted(unknown))}; see --list")
    if wanted:
        return [system for system in every if system.name in wanted]
    return [system for system in every if system.quick or not given.quick]


def _list(workloads: Sequence[Workload], systems: Sequence[System]) -> None:
    for workload in workloads:
        print(f"{workload.name:<28} {workload.title}")
    print()
    for system in systems:
        print(f"{system.name:<28} {system.title}")


def _options(given: argparse.Namespace) -> Options:
    quick = given.quick
    return Options(
        quick=quick,
        repeats=given.repeats or (1 if quick else 5),
        scale=given.scale,
        seconds=given.seconds or (5.0 if quick else 20.0),
        minutes=given.minutes or (_QUICK_MINUTES if quick else 24 * 60.0),
        threads=len(os.sched_getaffinity(0)),
        package=given.package,
    )


def _run(
    given: argparse.Namespace, workloads: Sequence[Workload], systems: Sequence[System]
) -> int:
    options = _options(given)
    pairs = [
        (workload, [s for s in systems if s.takes_part(workload.place, workload.kind)])
        for workload in workloads
    ]
    steps = sum(len(some) * (1 + options.repeats) for _, some in pairs)
    progress = Progress(steps)
    environments = Environments(BENCH / "envs", CACHE / "envs", progress.say)
    if given.setup:
        return _set_up(environments, systems)
    tools = environments.python("tools")
    into = given.into or (CACHE / "quick" if given.quick else BENCH / "results")
    into.mkdir(parents=True, exist_ok=True)
    facts = machine()
    runner = Runner(
        Starter(environments, options.package), CACHE / "data", options, progress
    )
    results: list[Result] = []
    for workload, some in pairs:
        path = BENCH / "workloads" / f"{workload.name}.toml"
        data = _data(workload, path, options, tools, progress)
        result = runner.run(workload, path, some, data)
        results.append({**result, "machine": facts})
        _write(results[-1], into, tools)
    progress.end()
    text = report(results, facts)
    (into / "table.md").write_text(text)
    print(text)
    return 0


def _set_up(environments: Environments, systems: Sequence[System]) -> int:
    for name in dict.fromkeys(["tools", *(system.environment for system in systems)]):
        try:
            print(f"{name}: {environments.python(name)}")
        except MissingError as error:
            print(f"{name}: cannot be made: {error}")
    return 0


def _data(
    workload: Workload,
    path: Path,
    options: Options,
    tools: Path,
    progress: Progress,
) -> Path:
    """Give the folder of a workload's data, made where it is not there yet."""
    rows = workload.rows(options.quick, options.scale)
    folder = CACHE / "data" / workload.data_name(rows)
    if not folder.exists():
        progress.say(f"making data: {folder.name}")
        script = str(BENCH / "make_data.py")
        subprocess.run([tools, script, str(path), str(rows), str(folder)], check=True)
    return folder


def _write(result: Result, into: Path, tools: Path) -> None:
    """Write the raw numbers of a workload, and its picture."""
    file = into / f"{result['workload']}.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    plot = str(BENCH / "harness" / "plot.py")
    subprocess.run([tools, plot, file, file.with_suffix(".png")], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
