"""Runs workloads with systems: checks first, then timed runs in turn, then medians.

Each run is a process of its own (`one_run.py`) in the system's environment. Systems
take turns, so that what disturbs the machine for a while disturbs all of them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from harness.content import difference
from harness.environments import Environments, MissingError
from harness.processes import end_descendants
from harness.progress import Progress
from harness.systems import System
from harness.workload import Workload

Result = dict[str, Any]
_RUN_SECONDS_MAX = 240.0
_BENCH = Path(__file__).resolve().parents[1]


class RunError(Exception):
    """A run that failed, and why."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How much is run.

    Attributes:
        quick: Whether the small data sets are taken.
        repeats: Timed runs of each system.
        scale: How many times more rows than the workloads say.
        seconds: How long a timed run takes at most.
        minutes: After so many, nothing more is begun.
        threads: How many cores there are.
        package: Where the package `millrace` is.
    """

    quick: bool
    repeats: int
    scale: float
    seconds: float
    minutes: float
    threads: int
    package: Path


class Starts(Protocol):
    """What starts a run; tests have one of their own."""

    def __call__(self, words: Sequence[str], system: System) -> dict[str, Any]:
        """Run `one_run.py` with these words; give what it told."""


class Starter:
    """Starts runs in the environments of their systems."""

    def __init__(self, environments: Environments, package: Path) -> None:
        self._environments = environments
        self._package = package

    def __call__(self, words: Sequence[str], system: System) -> dict[str, Any]:
        """Run `one_run.py` with these words; give what it told."""
        python = self._environments.python(system.environment)
        if not system.module:
            raise RunError("it installs here, but nobody has written a driver yet")
        more = self._environments.variables(system.environment)
        environment = {**os.environ, "PYTHONPATH": "", **more}
        if system.role == "ours":
            environment["PYTHONPATH"] = str(self._package)
        command = [str(python), str(_BENCH / "one_run.py"), *words]
        return run_process(command, environment, _RUN_SECONDS_MAX)


def run_process(
    command: Sequence[str], environment: Mapping[str, str], seconds: float
) -> dict[str, Any]:
    """Run a process that prints a line of JSON; give what it told.

    Raises:
        RunError: It failed, took too long, or told nothing.
    """
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            out, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise RunError(f"it took over {seconds:.0f} s") from None
        finally:
            end_descendants()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise RunError(_last_words(errors) or f"it ended with {process.returncode}")
    told: dict[str, Any] = json.loads(lines[-1])
    return told


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class Runner:
    """Runs workloads, one after the other."""

    def __init__(
        self, start: Starts, data: Path, options: Options, progress: Progress
    ) -> None:
        self._start = start
        self._data = data
        self._options = options
        self._progress = progress
        self._end = time.monotonic() + 60 * options.minutes

    def run(
        self, workload: Workload, path: Path, systems: Sequence[System], data: Path
    ) -> Result:
        """Run a workload with all systems that work where it wants them to.

        Args:
            workload: What to do.
            path: Its file.
            systems: Those to run.
            data: The folder of its data.
        """
        rows = workload.rows(self._options.quick, self._options.scale)
        told: dict[str, Result] = {}
        for system in systems:
            words = self._words(workload, path, system, data)
            check_rows = workload.rows_to_check(rows)
            told[system.name] = self._checked(workload, system, words, check_rows)
        _compare(workload, told)
        able = [system for system in systems if told[system.name]["reason"] is None]
        self._progress.skip((len(systems) - len(able)) * self._options.repeats)
        for _ in range(self._options.repeats):
            for system in able:
                words = self._words(workload, path, system, data)
                self._timed(workload, system, words, rows, told[system.name])
        for of_system in told.values():
            of_system["median"] = medians(of_system["runs"])
        return {
            "workload": workload.name,
            "title": workload.title,
            "rows": rows,
            "counted": workload.metric["counted"],
            "bars": [dataclasses.asdict(bar) for bar in workload.bars],
            "systems": told,
        }

    def _words(
        self, workload: Workload, path: Path, system: System, data: Path
    ) -> list[str]:
        kept = self._data / f"{data.name}-{system.name}"
        words = ["--workload", str(path), "--data", str(data), "--kept", str(kept)]
        words += ["--module", system.module, "--option", system.option]
        words += ["--threads", str(self._options.threads)]
        words += ["--seconds", str(self._options.seconds)]
        return [*words, "--packages", *system.packages]

    def _checked(
        self, workload: Workload, system: System, words: list[str], rows: int
    ) -> Result:
        """Look into all batches of a pass; the reason where that does not work."""
        self._progress.step(f"{workload.name}: {system.title}, content")
        found: Result = {
            "title": system.title,
            "role": system.role,
            "reason": None,
            "runs": [],
        }
        if workload.kind in system.cannot:
            return {**found, "reason": system.cannot[workload.kind]}
        try:
            told = self._started(
                ["--mode", "check", "--rows", str(rows), *words], system
            )
        except (RunError, MissingError) as error:
            return {**found, "reason": str(error)}
        if "cannot" in told:
            return {**found, "reason": told["cannot"]}
        return {**found, **told}

    def _timed(
        self,
        workload: Workload,
        system: System,
        words: list[str],
        rows: int,
        told: Result,
    ) -> None:
        """Add a timed run, and one that resumes where the workload asks for it."""
        self._progress.step(f"{workload.name}: {system.title}")
        modes = ["time", "resume"] if workload.metric.get("resume") else ["time"]
        measured: dict[str, Any] = {}
        try:
            for mode in modes:
                more = ["--mode", mode, "--rows", str(rows)]
                measured |= self._started([*more, *words], system)["measured"]
        except RunError as error:
            told["reason"] = told["reason"] or str(error)
            return
        if "resume_rows" in measured and measured["resume_rows"] != rows:
            told["note"] = f"resumed with {measured['resume_rows']} of {rows} rows"
            del measured["resume_s"]
        told["runs"].append(measured)

    def _started(self, words: list[str], system: System) -> dict[str, Any]:
        if time.monotonic() > self._end:
            raise RunError("not run: the time was up")
        return self._start(words, system)


def _compare(workload: Workload, told: Mapping[str, Result]) -> None:
    """Give a reason to those whose content is not that of the first which has some."""
    able = [
        of for of in told.values() if of["reason"] is None and of["role"] != "limit"
    ]
    for of_system in able[1:]:
        differs = difference(of_system["facts"], able[0]["facts"], workload.metric)
        if differs:
            of_system["reason"] = f"other content than {able[0]['title']}: {differs}"


def medians(runs: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Give the median of each figure, and how far the rates are apart."""
    names = {name for run in runs for name, value in run.items() if value is not None}
    found = {
        name: statistics.median(
            value for run in runs if (value := run.get(name)) is not None
        )
        for name in sorted(names)
    }
    rates = [rate for run in runs if (rate := run.get("rows_per_s"))]
    if len(rates) > 1:
        found["spread"] = (max(rates) - min(rates)) / statistics.median(rates)
    return found
