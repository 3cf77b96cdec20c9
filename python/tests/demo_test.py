"""`millrace demo`, as the package has it."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import millrace as mr
from millrace import demo


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    package = str(Path(mr.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "millrace.command", *arguments],
        env={**os.environ, "PYTHONPATH": package, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    demo.make_images(folder, 32)
    return folder


def test_shows_what_it_says(tmp_path: Path) -> None:
    few = ("--images", "64", "--steps", "10", "--seconds", "0.2")
    done = command("demo", *few, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    losses = re.search(r"loss: ([0-9. ]+)\n", done.stdout)
    assert losses is not None
    assert len(losses[1].split()) == 10
    rates = re.findall(r"^ .* ([0-9,]+) +([0-9.]+)$", done.stdout, re.MULTILINE)
    assert len(rates) == 3
    assert rates[0][1] == "1.00"
    assert "by 2 workers" in done.stdout
    assert re.search(r"^ +demo +1 of 1 ", done.stdout, re.MULTILINE), "of millrace jobs"
    assert len(re.findall(r"^ +127\.0\.0\.1:\d+ ", done.stdout, re.MULTILINE)) == 2
    assert "bottleneck: " in done.stdout
    assert list(tmp_path.glob("millrace*")) == []


def test_the_service_ends_with_the_block() -> None:
    with demo.local_service(1) as service:
        assert command("workers", "--dispatcher", service).returncode == 0
    gone = command("workers", "--dispatcher", service)
    assert gone.returncode == 1
    assert "no dispatcher answers" in gone.stderr


def test_other_verbs_are_the_programs_own() -> None:
    done = command("list", "batch")
    assert done.returncode == 0
    assert "Rows per batch" in done.stdout
    told = command("demo", "--help")
    assert told.returncode == 0
    assert "--images" in told.stdout
    assert command("demo", "--no-such").returncode == 2


def test_the_softmax_model_learns(images: Path) -> None:
    batches = demo.make_pipeline(images).repeat().loader(seed=7)
    losses = list(demo.softmax_steps(itertools.islice(batches, 12)))
    assert losses[0] == pytest.approx(np.log(len(demo.CLASSES)))
    assert np.mean(losses[-3:]) < 0.7 * losses[0]


def test_what_does_not_learn_is_an_error(tmp_path: Path) -> None:
    done = command("demo", "--images", "4", "--steps", "1", "--seconds", "0.1")
    assert done.returncode == 1
    assert "The loss did not fall" in done.stderr


def test_the_loops_make_the_same_rows(images: Path) -> None:
    batch = next(iter(demo.make_pipeline(images)))["image"]
    ways = [
        demo.batched(demo.call_by_call(images)),
        demo.from_engine(demo.make_pipeline(images)),
    ]
    if demo.is_here("PIL"):
        ways.append(demo.batched(demo.with_pillow(images)))
    for batches in ways:
        made = next(batches)
        assert (made.shape, made.dtype) == (batch.shape, batch.dtype)
        # Crops differ, the colours of all images together hardly.
        assert np.allclose(
            made.mean(axis=(0, 2, 3)), batch.mean(axis=(0, 2, 3)), atol=0.15
        )
        assert np.allclose(made.std(), batch.std(), atol=0.15)
