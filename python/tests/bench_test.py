"""`millrace bench python`, as a user runs it, and how its lines are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace.bench import command, functions, isolate, jpeg
from millrace.bench.lines import Line, as_json, from_json, medians, table


def line(ours: float, limit: float | None, *, at_most: bool = False) -> Line:
    return Line("work", "rows/s", ours, limit, "a peer", 1.5, at_most)


@pytest.mark.parametrize(
    ("found", "reached"),
    [
        (line(30.0, 20.0), True),
        (line(29.0, 20.0), False),
        (line(30.0, 20.0, at_most=True), True),
        (line(31.0, 20.0, at_most=True), False),
        (line(30.0, None), None),
    ],
)
def test_a_bar_is_reached_or_missed_or_not_measured(
    found: Line, reached: bool | None
) -> None:
    assert found.reached is reached
    assert ("MISS" in table([found])) is (reached is False)
    assert ("n/a" in table([found])) is (reached is None)
    assert json.loads(as_json([found]))[0]["reached"] is reached
    assert from_json(as_json([found])) == [found]


def test_measures_take_turns_and_the_middle_one_counts() -> None:
    order: list[str] = []
    values = iter([5.0, 1.0, 9.0])

    def first() -> float:
        order.append("first")
        return next(values)

    def second() -> float:
        order.append("second")
        return 2.0

    assert medians(3, first, second) == [5.0, 2.0]
    assert order == ["first", "second"] * 3


def test_the_command_measures_what_is_here() -> None:
    words = ["bench", "python", "--only", "hand_over", "--repeats", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "millrace.command", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert "numpy" in found[0]["name"]
    assert found[0]["ours"] > 0
    assert done.returncode == int(any(not line["reached"] for line in found))


def test_each_workload_runs_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    told = line(30.0, 20.0)

    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        started.append(words)
        if "isolate" in words:
            return subprocess.CompletedProcess(words, -6, b"")
        return subprocess.CompletedProcess(words, 0, as_json([told]).encode())

    monkeypatch.setattr(subprocess, "run", run)
    words = ["--only", "jpeg", "--only", "isolate", "--repeats", "3"]
    assert command.main(words) == 1  # One died; what the other gave is told.
    assert [words[words.index("--only") + 1] for words in started] == [
        "jpeg",
        "isolate",
    ]
    shown = capsys.readouterr()
    assert "work" in shown.out
    assert "exit -6" in shown.out
    assert "isolate ended with -6" in shown.err


def test_help_lists_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "millrace.command", "bench", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "python (the Python package" in " ".join(done.stdout.split())


def test_a_workload_that_is_not_known_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "millrace.command", "bench", "python", "--only", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "hand_over" in done.stderr


def test_the_function_that_is_measured_does_what_the_kernels_do() -> None:
    image = np.random.default_rng(1).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    given = functions.augmented(image, 3, 5, True)

    def by_kernels(row: Any) -> dict[str, Any]:
        crop = mr.image.crop(row["image"], np.array([3, 5, 224, 224]))
        flipped = mr.image.flip_horizontal(crop, True)
        mean, deviation = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
        scaled = mr.image.normalize(flipped, mean, deviation, scale=1.0)
        return {"image": mr.image.to_chw(scaled)}

    rows = mr.from_arrays({"image": image[None]}).map(by_kernels, python=False)
    np.testing.assert_allclose(next(iter(rows))["image"], given, atol=1e-5)


def test_rows_are_augmented_with_their_own_numbers() -> None:
    images = np.random.default_rng(2).integers(0, 256, (4, 256, 256, 3), dtype=np.uint8)
    ds = mr.from_arrays({"image": images}).map(functions.augmented_row, python=True)
    loader = mr.loader(ds, seed=3)
    first = [row["image"] for row in loader]
    assert [image.shape for image in first] == [(3, 224, 224)] * 4
    loader.set_epoch(0)
    again = [row["image"] for row in loader]
    np.testing.assert_array_equal(first, again)
    loader.set_epoch(1)
    assert not np.array_equal(first, [row["image"] for row in loader])


def test_what_torch_would_be_given_are_the_same_rows() -> None:
    images = np.random.default_rng(2).integers(0, 256, (4, 256, 256, 3), dtype=np.uint8)
    rows = functions.Rows(np.repeat(images, 32, axis=0), 10)
    assert len(rows) == 10
    assert rows[3].shape == (3, 224, 224)
    assert rows[3].dtype == np.float32


def test_jpegs_are_measured_also_without_a_peer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jpeg, "_ROWS", 192)
    monkeypatch.setattr(jpeg, "_peer", lambda decoder, rows: None)
    lines = jpeg.lines(1)
    assert [line.limit_is for line in lines] == [
        "torch and Pillow",
        "torch, torchvision's decoder",
    ]
    assert all(line.ours > 0 and line.reached is None for line in lines)


def test_isolated_batches_are_the_same_batches() -> None:
    for ds in (isolate.columns(6), isolate.images(2)):
        here = list(ds.loader(seed=0))
        with ds.loader(seed=0, isolate=True) as loader:
            there = list(loader)
        assert len(here) == len(there)
        for ours, theirs in zip(here, there, strict=True):
            assert ours.keys() == theirs.keys()
            for name, values in ours.items():
                np.testing.assert_array_equal(values, theirs[name])
