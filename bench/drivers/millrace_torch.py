"""Millrace's DataLoader, which takes the place of PyTorch's, over the same data set."""

from __future__ import annotations

import importlib
from typing import Any

from drivers.interface import Feed, Run, choose
from drivers.python_objects import ObjectRows

# By name: its types are checked where PyTorch is installed.
loaders: Any = importlib.import_module("millrace.torch")


def objects(run: Run) -> Feed:
    """Rows of small objects, in worker processes."""
    loader = loaders.DataLoader(
        ObjectRows(run.rows),
        batch_size=run.batch,
        shuffle=True,
        num_workers=run.threads,
    )
    return Feed(lambda: loader, {"num_workers": run.threads})


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    return choose(run, {"objects": objects})
