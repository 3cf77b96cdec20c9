"""The command on Python files: explain, run, profile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PIPELINE = """
import millrace as mr
from helper import double

train = mr.range(100).map(lambda row: {"x": double(row["value"])}).batch(32)
if __name__ == "__main__":
    raise SystemExit("this is no program")
"""


def millrace(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "millrace.command", *map(str, words)],
        capture_output=True,
        text=True,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "train.py").write_text(PIPELINE)
    return tmp_path / "train.py"


def test_explain_shows_the_pipeline(file: Path) -> None:
    result = millrace("explain", file)
    assert result.returncode == 0, result.stderr
    assert "batch(%1, size=32)" in result.stdout


def test_run_shows_batches_and_counts(file: Path) -> None:
    result = millrace("run", file, "--show", 2)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("x: array([ 0,  2,  4,")
    assert result.stdout.count("x: array(") == 2
    assert result.stdout.endswith("100 rows in 4 batches\n")
    assert "rows/s" in result.stderr
    short = millrace("run", file, "--blocks", 1)
    assert short.stdout.endswith("32 rows in 1 batches\n")


def test_profile_says_where_the_time_goes(file: Path) -> None:
    result = millrace("profile", file, "--seconds", 0.5)
    assert result.returncode == 0, result.stderr
    assert "batch" in result.stdout


def test_several_datasets_are_told_apart(file: Path) -> None:
    file.write_text(PIPELINE + "test = mr.range(3)\nagain = test\n")
    unclear = millrace("run", file)
    assert unclear.returncode == 1
    assert "choose one of again, test, train with --name" in unclear.stderr
    assert millrace("run", file, "--name", "test").stdout.endswith("3 rows\n")
    wrong = millrace("explain", file, "--name", "none")
    assert "defines no dataset none; it has again, test, train" in wrong.stderr


def test_what_is_wrong_is_one_line(file: Path, tmp_path: Path) -> None:
    file.write_text("x = 1\n")
    assert "defines no dataset" in millrace("explain", file).stderr
    assert "there is no file" in millrace("run", tmp_path / "none.py").stderr
    file.write_text("import millrace as mr\nds = mr.read_csv('/none/*.csv')\n")
    result = millrace("run", file)
    assert result.returncode == 1
    assert result.stderr.startswith("millrace: ")
    assert "Traceback" not in result.stderr


def test_help_teaches(file: Path) -> None:
    shown = millrace("run", file, "--help").stdout
    assert "import millrace as mr" in shown
    assert "--blocks" in shown
    for verb in ("explain", "run", "profile"):
        assert "train.py" in millrace(verb, "--help").stdout


def test_text_files_go_to_the_engine_as_before(tmp_path: Path) -> None:
    text = tmp_path / "pipeline.txt"
    text.write_text("%0 = range(stop=10)\n%1 = batch(%0, size=4)\n")
    result = millrace("run", text, "--quiet")
    assert result.returncode == 0, result.stderr
    assert "10 rows in 3 blocks" in result.stdout
