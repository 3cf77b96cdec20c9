"""The `millrace` command, as the package installs it.

Most of it is the engine's. What is done with a pipeline in a Python file is done here,
where Python is at hand: `millrace explain train.py`, `run`, `profile`.
"""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any

from millrace import _core, packages
from millrace.dataset import Dataset
from millrace.errors import Error, PipelineError
from millrace.functions import configure_runners
from millrace.loader import Loader

_EXAMPLE = """\
FILE is a Python file that defines a dataset, such as:

  import millrace as mr

  train = mr.range(1000).map(lambda row: {"x": row["value"] * 2}).batch(32)

It is run as a module of its own: what stands under `if __name__ == "__main__":` is left
out. Several datasets are told apart by --name.
"""


def main() -> None:
    """Do what the command line says."""
    words = sys.argv[1:]
    if len(words) > 1 and words[0] in _VERBS and _names_python(words[1:]):
        sys.exit(_with_python(words))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # It ends the command, as any other.
    if words[:2] == ["bench", "python"]:
        from millrace.bench.command import main as bench

        sys.exit(bench(words[2:]))
    if words[:1] == ["demo"]:  # The program's own shows pipelines without Python.
        from millrace import demo

        sys.exit(demo.main(words[1:]))
    if words[:1] in (["dispatcher"], ["worker"], ["local"], ["top"]):
        _hold_signals()
    if words[:1] == ["worker"]:
        configure_runners()
        _core.prepare_worker(packages.installed())
    sys.exit(_core.run_command(["millrace", *words]))


def _hold_signals() -> None:
    """Have the signals that end a server wait until it asks for them, in all threads.

    Libraries have started threads by now, which would be ended by them; those of a
    program that begins anew hold them from the start.
    """
    ending = {signal.SIGTERM, signal.SIGINT}
    if not ending <= signal.pthread_sigmask(signal.SIG_BLOCK, ending):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _names_python(words: list[str]) -> bool:
    return any(word.endswith(".py") for word in words)


def _with_python(words: list[str]) -> int:
    options = _parser().parse_args(words)
    try:
        _VERBS[options.verb](_dataset(options.file, options.name), options)
    except KeyboardInterrupt:
        return 130
    except (Error, OSError) as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millrace",
        description="What can be done with a dataset that a Python file defines.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, help in _HELP.items():
        verb = verbs.add_parser(
            name,
            help=help,
            description=help,
            epilog=_EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.add_argument("file", metavar="FILE", help="the Python file")
        verb.add_argument("--name", help="which dataset, where there are several")
        if name == "run":
            verb.add_argument(
                "--blocks", type=int, help="stop after so many batches or rows"
            )
            verb.add_argument(
                "--show", type=int, default=1, help="how many to show; 1 by default"
            )
            verb.add_argument("--seed", type=int, default=0, help="0 by default")
        if name == "profile":
            verb.add_argument(
                "--seconds", type=float, default=5.0, help="for how long; 5 by default"
            )
    return parser


def _dataset(file: str, name: str | None) -> Dataset:
    """Run a file and find the dataset in it."""
    path = Path(file).resolve()
    if not path.is_file():
        raise PipelineError(f"there is no file {file}")
    sys.path.insert(0, str(path.parent))  # As `python FILE` does.
    found = {
        key: value.dataset if isinstance(value, Loader) else value
        for key, value in runpy.run_path(str(path), run_name="__pipeline__").items()
        if isinstance(value, Dataset | Loader)
    }
    if name is not None and name in found:
        return found[name]
    if name is None and len(set(map(id, found.values()))) == 1:
        return next(iter(found.values()))
    if not found:
        raise PipelineError(
            f"{file} defines no dataset: write one as `ds = mr.read(…)`"
        )
    listed = ", ".join(sorted(found))
    if name is not None:
        raise PipelineError(f"{file} defines no dataset {name}; it has {listed}")
    raise PipelineError(
        f"{file} defines several datasets: choose one of {listed} with --name"
    )


def _explain(dataset: Dataset, options: argparse.Namespace) -> None:
    print(dataset.explain(), end="")


def _run(dataset: Dataset, options: argparse.Namespace) -> None:
    begin = time.monotonic()
    count = 0
    with dataset.loader(seed=options.seed) as loader:
        for item in loader:
            if count < options.show:
                print(_shown(item))
            count += 1
            if count == options.blocks:
                break
        rows = loader.stats()["rows"]
    seconds = time.monotonic() - begin
    blocks = f" in {count} batches" if dataset._pipeline.batches else ""
    print(f"{rows} rows{blocks}")
    print(f"{rows / max(seconds, 1e-9):,.0f} rows/s", file=sys.stderr)


def _shown(item: Any) -> str:
    if not isinstance(item, dict):
        return repr(item)
    return "\n".join(f"{name}: {value!r}" for name, value in item.items())


def _profile(dataset: Dataset, options: argparse.Namespace) -> None:
    print(dataset.profile(options.seconds), end="")


_HELP = {
    "explain": "Show what a dataset is, how it will run, and why.",
    "run": "Run a dataset for one pass; show its first batches and its speed.",
    "profile": "Run a dataset for a while; show where time goes, and what to do.",
}
_VERBS = {"explain": _explain, "run": _run, "profile": _profile}


if __name__ == "__main__":
    main()
