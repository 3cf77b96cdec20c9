"""The examples in the docstrings, run as they stand."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = [
    "millrace",
    *(f"millrace.{name}" for name in ("dataset", "engine", "loader", "rows", "rng")),
    *(f"millrace.{name}" for name in ("_building", "generators", "memory", "worker")),
    "millrace.progress",
]
PROGRAM = """
import doctest, importlib, sys
failed, ran = doctest.testmod(importlib.import_module(sys.argv[1]))
sys.exit(failed)
"""


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
