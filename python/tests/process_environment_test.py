"""What processes find that the package starts: threads, memory, modules, marks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.engine import engine
from millrace.functions import process_environment

VARIABLES = ("OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_")


def environment_there() -> dict[str, str]:
    """Look at the environment from inside a Python function."""

    def look(row: Any) -> dict[str, Any]:
        return {name: os.environ.get(name, "") for name in VARIABLES}

    dataset = mr.range(1).map(look, python=True)
    return {name: str(value) for name, value in next(iter(dataset)).items()}


def test_numeric_libraries_have_one_thread_and_memory_stays() -> None:
    there = environment_there()
    assert there["OMP_NUM_THREADS"] == "1"
    assert int(there["MALLOC_TRIM_THRESHOLD_"]) >= 1 << 20


def test_what_the_user_says_of_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "4096")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert process_environment()["MALLOC_TRIM_THRESHOLD_"] == "4096"
    assert process_environment()["OMP_NUM_THREADS"] == "1"


def test_large_results_are_made_in_memory_that_is_there_already() -> None:
    import resource

    def faults(row: Any) -> dict[str, Any]:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(1 << 20, np.uint8)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return {"faults": after - before}

    dataset = mr.range(4).map(faults, python=True)
    counts = [int(row["faults"]) for row in dataset]
    assert counts[-1] < 256, counts  # One of them has as many pages.


def test_a_mark_is_the_state_of_its_moment() -> None:
    dataset = mr.range(100).shuffle(10, seed=1).batch(7)
    iterator = engine().open(
        dataset._pipeline, seed=0, epoch=0, any_order=False, state=None
    )
    iterator.next()
    mark, state = iterator.mark(), iterator.state()
    first = iterator.next()
    assert first is not None
    assert mark.json() == state != iterator.state()
    again = engine().open(
        dataset._pipeline, seed=0, epoch=0, any_order=False, state=mark.json()
    )
    second = again.next()
    assert second is not None
    np.testing.assert_array_equal(first[1][0], second[1][0])


def test_blocks_can_be_taken_without_being_handed_over() -> None:
    dataset = mr.range(100).batch(10)
    iterator = engine().open(
        dataset._pipeline, seed=0, epoch=0, any_order=False, state=None
    )
    assert iterator.drain(4) == 4
    block = iterator.next()
    assert block is not None
    assert block[1][0][0].tolist() == list(range(40, 50))
    assert iterator.drain(100) == 5


def test_debugging_in_a_child_process_is_refused() -> None:
    with pytest.raises(mr.PipelineError, match="leave one of them out"):
        mr.range(3).debug().loader(isolate=True)
