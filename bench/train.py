"""Trains a ResNet-50 on a GPU, fed by one loader after the other.

Each run is a process of its own, confined to some cores with all that it starts;
loaders take turns. Told are images per second, how much of the time the GPU waited for
a batch, and what must be reached. See bench/training/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.machine import machine
from harness.runner import RunError, run_process

BENCH = Path(__file__).resolve().parent
_WORKLOAD = BENCH / "workloads" / "jpeg_folders_antialias.toml"
_ROWS = 8192
_RUN_SECONDS_MAX = 150.0
_FEW_CORES = 4
_IDLE_MAX = 0.05
# What may be ready or in work of Millrace: what was made while the model was built is
# gone before anything is counted.
_MEMORY = "1GB"
_OURS = ("millrace", "millrace_service")
_LOADERS = ("ready", "decode", *_OURS, "torch")

Told = Mapping[str, float]
Runs = dict[tuple[int, str], list[Told]]  # By cores, and loader with its workers.


def main(words: Sequence[str]) -> int:
    """Run what is asked for."""
    given = _given(words)
    _make_data(given.data)
    cores = given.cores or [len(os.sched_getaffinity(0)), _FEW_CORES]
    steps = [
        (some, loader, workers)
        for some in cores
        for loader in given.loaders.split(",")
        for workers in _workers(loader, some)
    ]
    runs: Runs = {}
    end = time.monotonic() + 60 * given.minutes
    for _ in range(given.repeats):
        for some, loader, workers in steps:
            if time.monotonic() > end:
                continue
            name = f"{loader} {workers}" if loader == "torch" else loader
            told = _run(given, some, loader, workers)
            print(f"{some:3} cores  {name:<20} {json.dumps(told)}", flush=True)
            if told:
                runs.setdefault((some, name), []).append(told)
    text = report(_medians(runs), machine())
    print(text)
    if given.into:
        given.into.mkdir(parents=True, exist_ok=True)
        (given.into / "train.md").write_text(text)
        raw = {f"{some} cores, {name}": told for (some, name), told in runs.items()}
        (given.into / "train.json").write_text(json.dumps(raw, indent=1) + "\n")
    return 0


def _given(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, help="class folders; made if not there")
    add("--cores", type=int, action="append", help="all of them and 4 by default")
    add("--loaders", default=",".join(_LOADERS), help="by default all")
    add("--repeats", type=int, default=3, help="runs of each, in turn")
    add("--seconds", type=float, default=12.0, help="of a run, once it is warm")
    add("--warm", type=float, default=12.0, help="seconds that do not count")
    add("--minutes", type=float, default=60.0, help="after these nothing is begun")
    add("--device", default="cuda")
    add("--into", type=Path, help="a folder for the results")
    return parser.parse_args(words)


def _make_data(folder: Path) -> None:
    if not folder.exists():
        words = [str(BENCH / "make_data.py"), str(_WORKLOAD), str(_ROWS), str(folder)]
        subprocess.run([sys.executable, *words], check=True)


def _workers(loader: str, cores: int) -> list[int]:
    """Give the numbers of processes to try: PyTorch's is tuned."""
    if loader == "torch":
        return [max(1, cores - 1), cores, cores + cores // 2]
    return [cores]


def _run(given: argparse.Namespace, cores: int, loader: str, workers: int) -> Told:
    words = ["--loader", loader, "--data", str(given.data), "--device", given.device]
    words += ["--cores", str(cores), "--workers", str(workers)]
    words += ["--warm", str(given.warm), "--seconds", str(given.seconds)]
    command = [sys.executable, str(BENCH / "training" / "one.py"), *words]
    try:
        environment = {**os.environ, "MILLRACE_MEMORY": _MEMORY}
        return run_process(command, environment, _RUN_SECONDS_MAX)
    except RunError as error:
        print(f"{loader}: {error}", flush=True)
        return {}


def _medians(runs: Runs) -> dict[tuple[int, str], Told]:
    return {
        key: {name: statistics.median(run[name] for run in some) for name in some[0]}
        for key, some in runs.items()
    }


def report(medians: Mapping[tuple[int, str], Told], facts: Mapping[str, str]) -> str:
    """Write what was measured, and what must be reached."""
    lines = [
        "# A ResNet-50 fed by one loader after the other",
        "",
        ", ".join(f"{name} {value}" for name, value in facts.items()) + ".",
        "",
        "| cores | loader | images/s | GPU idle | cores used | decoded beside, per s |",
        "|--:|---|--:|--:|--:|--:|",
    ]
    for (cores, name), told in medians.items():
        cells = [f"{told['images_per_s']:,.0f}", f"{told['idle']:.1%}"]
        cells += [f"{told['cores_used']:.1f}", f"{told['decoded_per_s']:,.0f}"]
        lines.append(f"| {cores} | {name} | {' | '.join(cells)} |")
    lines += ["", "| cores | what | wanted | reached | |", "|--:|---|--:|--:|---|"]
    for cores in dict.fromkeys(cores for cores, _ in medians):
        told_here = {name: told for (c, name), told in medians.items() if c == cores}
        judge = _few_cores if cores <= _FEW_CORES else _all_cores
        lines += [f"| {cores} | {line} |" for line in judge(told_here)]
    return "\n".join(lines) + "\n"


def _all_cores(told: Mapping[str, Told]) -> list[str]:
    idle = {name: told[name]["idle"] for name in _OURS if name in told}
    return [
        f"{name}: GPU idle | < {_IDLE_MAX:.0%} | {part:.1%} | {_said(part < _IDLE_MAX)}"
        for name, part in idle.items()
    ]


def _few_cores(told: Mapping[str, Told]) -> list[str]:
    rates = {name: run["images_per_s"] for name, run in told.items()}
    peers = [rate for name, rate in rates.items() if name.startswith("torch")]
    lines = []
    for name in _OURS:
        if name in rates and peers:
            times = rates[name] / max(peers)
            verdict = _said(times >= 2)
            lines.append(f"{name} beside torch's best | 2 | {times:.2f} | {verdict}")
        if name in rates and {"ready", "decode"} <= told.keys():
            limit = min(rates["ready"], told["decode"]["decoded_per_s"])
            part = rates[name] / limit
            verdict = _said(part >= 0.95)
            lines.append(
                f"{name} beside the lower of ready batches and plain decoding "
                f"| 0.95 | {part:.2f} | {verdict}"
            )
    return lines


def _said(reached: bool) -> str:
    return "yes" if reached else "no"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
