"""tf.data service on this machine: a dispatcher, and workers in processes beside it.

Batches travel uncompressed, as its documentation advises where the network is no limit.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from drivers import tfdata
from drivers.interface import CannotError, Feed, Run
from drivers.servers import Server

_SERVER = str(Path(__file__).with_name("tfdata_server.py"))


@contextlib.contextmanager
def serve(run: Run) -> Iterator[str]:
    """Start a dispatcher and workers; gives the address."""
    servers = [Server([sys.executable, _SERVER, "dispatcher"])]
    try:
        address = servers[0].address
        for _ in range(run.workload.client["workers"]):
            servers.append(Server([sys.executable, _SERVER, "worker", address]))
        yield f"grpc://{address}"
    finally:
        for server in servers:
            server.end()


def ready(run: Run) -> Any:
    """Batches that are there already: one, again and again."""
    array = np.random.default_rng(0).integers(
        0, 256, (1, run.pipeline["bytes"]), np.uint8
    )
    return tf.data.Dataset.from_tensors({"x": tf.constant(array)}).repeat(run.rows)


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    kind = run.workload.kind
    make = ready if kind == "ready" else tfdata.DATASETS.get(kind)
    if make is None:
        raise CannotError("no driver for this kind")
    service = tf.data.experimental.service
    # One worker that repeats one batch has nothing to deal out.
    policy = service.ShardingPolicy
    mode = policy.OFF if kind == "ready" else policy.DYNAMIC
    workers = run.workload.client["workers"]
    # The workers run what stands before, and share the machine's cores.
    inside = tfdata.tuned(make(run), max(1, run.threads // workers))
    dataset = inside.apply(service.distribute(mode, run.address, compression=None))
    settings = {
        "workers": workers,
        "processing_mode": mode.name,
        "compression": "none",
        "deterministic": False,
    }
    live = tfdata.Pass(tfdata.tuned(dataset, run.threads))
    return Feed(lambda: live, settings)
