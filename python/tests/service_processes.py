"""Real dispatchers and workers for tests: processes on this machine, on free ports."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import millrace as mr

TOKEN = "a token for tests"
PACKAGED = [sys.executable, "-m", "millrace.command"]
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def _die_with_the_test() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def program() -> list[str]:
    """Give the `millrace` command built beside the package: it begins at once, and has
    no Python; or that of the package, where there is none."""
    built = Path(mr.__file__).absolute().parents[2] / "bin" / "millrace"
    return [str(built)] if built.exists() else PACKAGED


class Server:
    """A process of `millrace`, once it listens."""

    def __init__(
        self, *words: str, environment: Mapping[str, str], python: bool = True
    ) -> None:
        # As long as it runs; a pipe that no one reads would fill up.
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*(PACKAGED if python else program()), *words],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **environment},
            preexec_fn=_die_with_the_test,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert " listens on " in line, line + self.logged()
        self.address = line.split()[-1]

    def logged(self) -> str:
        """Give what it has written to its log."""
        self.log.seek(0)
        return self.log.read()

    def kill(self) -> None:
        """End it as a lost machine ends."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """End it as people do; gives its exit code."""
        self.process.terminate()
        self.process.wait(30)
        return self.process.returncode


class Service:
    """A dispatcher, and workers; they may run Python functions, unless told not to."""

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        token: str = TOKEN,
        *,
        python: bool = True,
    ) -> None:
        self.token = token
        self.python = python
        self.folder = folder
        self.environment = {
            "MILLRACE_TOKEN": token,
            "MILLRACE_THREADS": "1",
            "MILLRACE_MEMORY": "256MB",
        }
        self.start_dispatcher("127.0.0.1:0")
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_dispatcher(self, address: str) -> None:
        """Start a dispatcher, which goes on from what the one before kept."""
        words = ("dispatcher", "--listen", address, "--state")
        self.dispatcher = Server(
            *(*words, str(self.folder / "state")),
            environment=self.environment,
            python=self.python,
        )

    def start_worker(
        self, *words: str, python: bool | None = None, **more: str
    ) -> Server:
        """Start a worker, which `workers` does not have."""
        python = self.python if python is None else python
        allowed = ["--allow-python"] if python else []
        return Server(
            *("worker", "--join", self.dispatcher.address, *allowed, *words),
            environment={**self.environment, **more},
            python=self.python,
        )

    @property
    def address(self) -> str:
        """What `distribute` takes."""
        return f"millrace://{self.dispatcher.address}"

    @property
    def access(self) -> mr.Access:
        """What opens it."""
        return mr.Access(token=self.token)

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Give what `millrace jobs` knows, by the names of jobs."""
        words = ["jobs", "--json", "--dispatcher", self.dispatcher.address]
        told = subprocess.run(
            [*program(), *words],
            env={"MILLRACE_TOKEN": self.token},
            capture_output=True,
            check=True,
            timeout=60,
        )
        return {job["name"]: job for job in json.loads(told.stdout)["jobs"]}

    def wait_for_job(self, name: str) -> None:
        """Wait until someone has opened a job."""
        for _ in range(600):
            if name in self.jobs():
                return
            time.sleep(0.1)
        raise AssertionError(f"no one opened {name}")

    def __enter__(self) -> Service:
        """Run until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all processes."""
        for server in [*self.workers, self.dispatcher]:
            server.kill()


def stream(rows: int = 1000, batch: int = 7) -> mr.Dataset:
    """Rows with random numbers, in an order that is shuffled."""
    return (
        mr.range(rows)
        .shuffle(50)
        .map(lambda row, rng: {"x": row["value"], "noise": rng.normal()})
        .batch(batch)
    )


def read(
    service: Service, dataset: mr.Dataset, seed: int | None = 3, **more: Any
) -> Any:
    return dataset.distribute(service.address, access=service.access, seed=seed, **more)


def read_together(
    service: Service, dataset: mr.Dataset, name: str, consumers: int = 2, **more: Any
) -> list[Any]:
    """Give the loaders of all consumers of one job."""
    return [
        read(
            *(service, dataset),
            job=name,
            run=name,
            consumer=number,
            consumers=consumers,
            **{"remainder": "keep", **more},
        )
        for number in range(consumers)
    ]


def columns(batches: Any) -> list[dict[str, Any]]:
    return [
        {name: np.asarray(column).tolist() for name, column in batch.items()}
        for batch in batches
    ]


def values(batches: Any, name: str = "x") -> list[Any]:
    return [value for batch in batches for value in np.asarray(batch[name]).tolist()]
