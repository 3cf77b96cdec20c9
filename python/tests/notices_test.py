"""What the package tells people while it works, and how datasets look."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millrace as mr
from millrace import notices
from millrace import progress as progress_module
from millrace.notices import waited_for
from millrace.progress import Progress

RANKS = """
import millrace as mr

ds = mr.range(4).batch(2)
ds.head(1)
for _ in range(2):
    list(ds)
list(mr.loader(ds))
print("distributed")
list(ds.distribute(None, remainder="drop", seed=1))
list(mr.range(4).shard(2, 0))
"""


def run_as_rank(world: int) -> str:
    ranks = {"RANK": "0", "WORLD_SIZE": str(world)}
    result = subprocess.run(
        [sys.executable, "-c", RANKS],
        capture_output=True,
        text=True,
        env={**os.environ, **ranks},
        check=True,
    )
    assert result.stdout == "distributed\n"
    return result.stderr


def test_ranks_that_read_the_same_rows_are_warned_once() -> None:
    told = run_as_rank(2)
    assert told.count("there are 2 ranks") == 1
    assert 'ds.distribute(None, remainder="drop")' in told
    assert run_as_rank(1) == ""


class Release(logging.Handler):
    """Lets a generator go on once its wait was told."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        self.file.touch()


def waiting_for(file: Path) -> None:
    while not file.exists():
        os.sched_yield()


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    monkeypatch.setenv("MILLRACE_WAIT_SECONDS", "0.2")
    handler = Release(tmp_path / "go on")
    logger = logging.getLogger("millrace")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def test_a_long_wait_for_a_function_is_told_once(release: Release) -> None:
    file = release.file

    def slow(row: Any) -> dict[str, Any]:
        if row["value"] == 500:
            waiting_for(file)
        return {"x": row["value"]}

    dataset = mr.range(501).map(slow, python=True)
    assert len(list(dataset)) == 501
    assert len(release.messages) == 1
    assert "over 0.2 s: map_python (%1) has" in release.messages[0]
    assert "rows in work" in release.messages[0]


def test_a_long_wait_for_an_isolated_engine_is_told_once(release: Release) -> None:
    file = release.file

    def slow(row: Any) -> dict[str, Any]:
        waiting_for(file)
        return {"x": row["value"]}

    dataset = mr.range(3).map(slow, python=True, output={"x": "int64"})
    with dataset.loader(isolate=True) as loader:
        assert len(list(loader)) == 3
    assert len(set(release.messages)) == len(release.messages)
    assert "the engine's process (pid " in release.messages[0]
    assert "at work on block 0" in release.messages[0]


def test_a_long_wait_for_a_source_is_told(release: Release) -> None:
    file = release.file

    def slow() -> Iterator[dict[str, Any]]:
        yield {"x": 1}
        waiting_for(file)
        yield {"x": 2}

    dataset = mr.from_generator(slow, output={"x": "int64"})
    assert len(list(dataset.map(lambda row: {"y": row["x"]}))) == 2
    assert len(release.messages) == 1
    assert "from_generator (%0) gives no rows, after 1 of them" in release.messages[0]


def test_what_is_waited_for_is_the_last_with_rows_in_work() -> None:
    def operator(name: str, number: int, given: int, taken: int) -> dict[str, Any]:
        rows = {"rows_in": given, "rows_out": taken, "rows_left_out": 0}
        return {"name": name, "number": number, **rows}

    source, first = operator("range", 0, 0, 90), operator("map", 1, 90, 80)
    batch = operator("batch", 2, 80, 8)
    last = operator("map_python", 3, 8, 7)
    facts = {"operators": [source, first, batch, last]}
    assert waited_for(facts) == "map_python (%3) has 1 rows in work"
    facts = {"operators": [source, first, batch]}
    assert waited_for(facts) == "map (%1) has 10 rows in work"
    facts = {"operators": [source, operator("map", 1, 90, 90), batch]}
    assert "range (%0) gives no rows, after 90" in waited_for(facts)


def test_progress_shows_only_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress_module, "_NEXT_SECONDS", 0.0)
    with Progress("saving", 10) as progress:
        progress.show(5)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("saving", 10) as progress:
        progress.show(5)
        progress.show(10)
    out, err = capsys.readouterr()
    assert out == ""
    assert "saving: ████████████············  50%" in err
    assert "100%" in err
    assert err.endswith("\r")
    with Progress("reading", None, " rows") as progress:
        assert list(progress.over("ab")) == ["a", "b"]
    assert "reading: 1 rows in 0 s" in capsys.readouterr().err


def test_short_work_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert len(mr.range(3).head(2)) == 2
    assert capsys.readouterr().err == ""


def test_a_dataset_shows_what_it_is_and_what_it_may_use() -> None:
    dataset = mr.range(10).map(lambda row: {"<x>": row["value"]}).batch(4)
    shown = repr(dataset)
    assert "<x>: int64[?]" in shown
    assert "%2 = batch(%1, size=4)" in shown
    assert "3 batches" in shown
    assert str(mr.budget()) in shown
    page = dataset._repr_html_()
    assert "<code>&lt;x&gt;</code>" in page
    assert "size=4" in page
    assert str(mr.budget()) in page
    assert "endless rows" in repr(mr.range(3).repeat())
    assert "calling thread" in repr(dataset.debug())


def test_a_wait_is_long_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MILLRACE_WAIT_SECONDS", raising=False)
    assert notices.wait_seconds() == 30.0
    monkeypatch.setenv("MILLRACE_WAIT_SECONDS", "2.5")
    assert notices.wait_seconds() == 2.5
    monkeypatch.setenv("MILLRACE_WAIT_SECONDS", "soon")
    assert notices.wait_seconds() == 30.0
