"""Millrace through a service on this machine: a dispatcher, and workers beside it.

Option "stream" sends batches through sockets, as between machines; "shared" leaves them
in memory that both ends have.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

import millrace as mr
from drivers.interface import CannotError, Feed, Run
from drivers.millrace import DATASETS, SEED
from drivers.servers import Server

_ARRAY_BYTES = 4 << 20  # Arrays travel with the pipeline: small ones begin sooner.


def command() -> list[str]:
    """Give the `millrace` command: the one built beside the package, if it is there."""
    built = Path(mr.__file__).absolute().parents[2] / "bin" / "millrace"
    if built.exists():
        return [str(built)]
    return [sys.executable, "-m", "millrace.command"]


@contextlib.contextmanager
def running(workers: int, threads: int) -> Iterator[str]:
    """Run a dispatcher and workers of so many threads each; gives the address."""
    servers = []
    with tempfile.TemporaryDirectory() as state:
        words = ["dispatcher", "--listen", "127.0.0.1:0", "--state", state]
        try:
            servers.append(Server([*command(), *words]))
            join = ["worker", "--join", servers[0].address, "--threads", str(threads)]
            servers += [Server([*command(), *join]) for _ in range(workers)]
            yield f"millrace://{servers[0].address}"
        finally:
            for server in servers:
                server.end()


def serve(run: Run) -> contextlib.AbstractContextManager[str]:
    """Start a dispatcher and workers, which share the cores; gives the address."""
    workers = run.workload.client["workers"]
    return running(workers, max(1, run.threads // workers))


def ready(run: Run) -> mr.Dataset:
    """Batches that are there already: one, again and again.

    Each turn of a repeat is a lane, so a turn has several where they are small.
    """
    size = run.pipeline["bytes"]
    array = np.random.default_rng(0).integers(0, 256, (1, size), np.uint8)
    most = max(1, _ARRAY_BYTES // size)
    count = next(n for n in range(min(most, run.rows), 0, -1) if run.rows % n == 0)
    rows = mr.from_arrays({"x": np.repeat(array, count, axis=0)})
    return rows.batch(1).repeat(run.rows // count)


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    kind = run.workload.kind
    make = ready if kind == "ready" else DATASETS.get(kind)
    if make is None:
        raise CannotError("no driver for this kind")
    shared: Literal["auto", "off"] = "auto" if run.option == "shared" else "off"
    loader = make(run).distribute(run.address, seed=SEED, shared_memory=shared)
    settings = {"workers": run.workload.client["workers"], "shared_memory": shared}
    return Feed(
        lambda: loader,
        {**settings, "order": "fixed"},
        close=loader.close,
        save=loader.state_dict,
        load=loader.load_state_dict,
    )
