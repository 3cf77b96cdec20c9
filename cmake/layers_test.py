"""Proves that the build refuses what cmake/layers.cmake does not allow.

Each test writes a project of three small layers, low <- middle <- high, builds it with
our own cmake/millrace_layer.cmake, and breaks one rule.
"""

import subprocess
from pathlib import Path

import pytest

CMAKE = Path(__file__).resolve().parent

PROJECT = {
    "CMakeLists.txt": f"""
cmake_minimum_required(VERSION 3.25)
project(trial LANGUAGES CXX)
include({CMAKE}/compiler.cmake)
include({CMAKE}/millrace_layer.cmake)
enable_testing()
include(layers.cmake)
""",
    "layers.cmake": """
millrace_layer(low)
millrace_layer(middle USES low)
millrace_layer(high USES middle)
""",
    "millrace/low/one.h": "int One();\n",
    "millrace/low/one.cc": '#include "millrace/low/one.h"\nint One() { return 1; }\n',
    "millrace/low/one_test.cc": """
#include <gtest/gtest.h>
#include "millrace/low/one.h"
TEST(OneTest, IsOne) { EXPECT_EQ(One(), 1); }
""",
    "millrace/middle/two.h": "int Two();\n",
    "millrace/middle/two.cc": """
#include "millrace/middle/two.h"
#include "millrace/low/one.h"
int Two() { return One() + One(); }
""",
    "millrace/high/three.cc": """
#include "millrace/low/one.h"
#include "millrace/middle/two.h"
int Three() { return One() + Two(); }
""",
}


class Trial:
    """The project, written to a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for path, text in PROJECT.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        """Write or overwrite a file of the project."""
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def include(self, path: str, header: str) -> None:
        """Add an include to a file of the project."""
        self.write(path, f'#include "{header}"\n{PROJECT[path]}')

    def run(self, *command: str) -> tuple[bool, str]:
        """Run a command; return whether it succeeded, and what it said."""
        result = subprocess.run(
            command,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return result.returncode == 0, " ".join(result.stdout.split())

    def configure(self) -> tuple[bool, str]:
        """Configure the project."""
        return self.run("cmake", "-S", ".", "-B", "build", "-G", "Ninja")

    def build(self, target: str = "all") -> tuple[bool, str]:
        """Build a target of the project."""
        return self.run("cmake", "--build", "build", "--target", target)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_layers_that_keep_to_the_list_build_and_run(trial: Trial) -> None:
    assert trial.configure()[0]
    built, said = trial.build()
    assert built, said
    passed, said = trial.run("ctest", "--test-dir", "build")
    assert passed and "low.one" in said, said


def test_a_new_file_needs_no_edit_of_the_build(trial: Trial) -> None:
    assert trial.configure()[0]
    assert trial.build("low")[0]
    trial.write("millrace/low/four.cc", "int Four() { return 4; }\n")
    built, said = trial.build("low")
    assert built
    assert "four.cc" in said


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_what_one_clone_compiled_serves_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", compiler)
    for name in ("one", "other"):
        monkeypatch.setenv("CCACHE_STATSLOG", str(tmp_path / f"{name}.log"))
        clone = Trial(tmp_path / name)
        assert clone.configure()[0]
        built, said = clone.build("high")
        assert built, said
    hits = (tmp_path / "other.log").read_text().count("direct_cache_hit")
    # GCC's own form of the headers is the same in both folders at times; Clang's never.
    assert hits >= 4, "of three files, and the empty one of the headers"


def test_an_undeclared_include_is_not_found(trial: Trial) -> None:
    trial.write("layers.cmake", PROJECT["layers.cmake"].replace("USES middle", ""))
    assert trial.configure()[0]
    built, said = trial.build("high")
    assert not built
    assert "millrace/low/one.h: No such file" in said


def test_an_include_upwards_is_not_found(trial: Trial) -> None:
    trial.include("millrace/low/one.cc", "millrace/middle/two.h")
    assert trial.configure()[0]
    built, said = trial.build("low")
    assert not built
    assert "millrace/middle/two.h: No such file" in said


def test_a_use_upwards_is_refused(trial: Trial) -> None:
    trial.write(
        "layers.cmake", "millrace_layer(low USES middle)\nmillrace_layer(middle)\n"
    )
    configured, said = trial.configure()
    assert not configured
    assert "Layer low uses middle, which is not listed before it" in said


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("millrace_layer(higher USES high)", "Layer higher has no sources"),
        ("millrace_layer(high THREADS three)", "Layer high has no three_test.cc"),
        ("millrace_layer(high USED middle)", "unknown words 'USED;middle'"),
    ],
)
def test_a_line_that_names_nothing_is_refused(
    trial: Trial, line: str, complaint: str
) -> None:
    layers = PROJECT["layers.cmake"].replace("millrace_layer(high USES middle)", line)
    trial.write("layers.cmake", layers)
    configured, said = trial.configure()
    assert not configured
    assert complaint in said


def test_a_test_outside_its_suite_fails(trial: Trial) -> None:
    test = PROJECT["millrace/low/one_test.cc"].replace("OneTest", "NumberTest")
    trial.write("millrace/low/one_test.cc", test)
    assert trial.configure()[0]
    assert trial.build("low_test")[0]
    passed, said = trial.run("ctest", "--test-dir", "build")
    assert not passed
    assert "low.one" in said
