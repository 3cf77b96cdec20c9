"""Each example runs to its end, as a program of its own, and learns."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import millrace as mr

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "imagenet_torch": "torch",
    "jax_mnist_like": "jax",
    "tabular_parquet": "pyarrow",
    "text_packing": "numpy",
}
FRAMEWORKS = ("torch", "jax")


def run(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example that makes its data in a folder."""
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not here")
    package = str(Path(mr.__file__).parents[1])
    variables = {"PYTHONPATH": package, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def printed(name: str, folder: Path, *arguments: str) -> str:
    done = run(name, folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


def test_all_examples_are_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(NEEDS)
    for name in NEEDS:
        text = (EXAMPLES / f"{name}.py").read_text()
        assert text.count("\n") < 120
        assert f"`{name}.py`" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.frameworks if needed in FRAMEWORKS else ())
        for name, needed in NEEDS.items()
    ],
)
def test_says_how_to_use_it(name: str, tmp_path: Path) -> None:
    told = printed(name, tmp_path, "--help")
    assert "usage: " in told and "--" in told


def test_packed_rows_are_nearly_full(tmp_path: Path) -> None:
    told = printed("text_packing", tmp_path, "--texts", "2000", "--length", "256")
    padded, packed = numbers(r"([0-9.]+)% full", told)
    assert padded < 60 < 95 < packed
    assert told == printed(
        "text_packing", tmp_path, "--texts", "2000", "--length", "256"
    )


def test_packs_texts_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"text": "Two words, a sign."}\n{"text": "One!", "id": 2}\n')
    told = printed("text_packing", tmp_path, "--data", str(path))
    assert "10 tokens" in told  # Four words and two signs; a word and one; two ends.


def test_the_regression_learns(tmp_path: Path) -> None:
    told = printed("tabular_parquet", tmp_path, "--rows", "10000")
    losses = numbers(r"loss ([0-9.]+)", told)
    assert len(losses) == 3
    assert losses[-1] < losses[0]
    assert numbers(r"right: ([0-9.]+)%", told)[0] > 70


def test_what_does_not_learn_is_an_error(tmp_path: Path) -> None:
    done = run("tabular_parquet", tmp_path, "--rows", "500", "--epochs", "0")
    assert done.returncode == 1
    assert "it has not learnt" in done.stderr


@pytest.mark.frameworks
def test_the_network_in_jax_learns(tmp_path: Path) -> None:
    told = printed("jax_mnist_like", tmp_path)
    losses = numbers(r"last loss ([0-9.]+)", told)
    assert losses[-1] < losses[0]
    assert numbers(r"right: ([0-9.]+)%", told)[0] > 80


@pytest.mark.frameworks
def test_training_in_torch_goes_on_where_it_was(tmp_path: Path) -> None:
    few = ("--images", "32", "--epochs", "4")
    step = r"epoch \d+  step +\d+  loss [0-9.]+"
    whole = printed("imagenet_torch", tmp_path, *few)
    steps = re.findall(step, whole)
    losses = numbers(r"loss ([0-9.]+)", whole)
    assert len(steps) == 4 * 4
    assert losses[-1] < losses[0]
    assert len(numbers(r"waited ([0-9]+)%", whole)) == 4
    kept = ("--checkpoint", str(tmp_path / "kept.pt"))
    begun = printed("imagenet_torch", tmp_path, *few, *kept, "--stop", "6")
    rest = printed("imagenet_torch", tmp_path, *few, *kept)
    assert re.findall(step, begun) == steps[:6]
    assert re.findall(step, rest) == steps[6:]
