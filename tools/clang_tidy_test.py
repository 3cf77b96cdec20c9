"""Tests what tools/clang_tidy.py remembers, and that it keeps to its time."""

from pathlib import Path

import pytest

import clang_tidy

FILES = {
    "millrace/a/x.cc": '#include "millrace/a/x.h"\n#include <vector>\n',
    "millrace/a/x.h": '#include "millrace/a/y.h"\n',
    "millrace/a/y.h": '#include "millrace/a/x.h"\n// A cycle does no harm.\n',
    "millrace/a/z.h": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "millrace/a").mkdir(parents=True)
    for path, text in FILES.items():
        (tmp_path / path).write_text(text)
    return tmp_path


def key(root: Path, salt: str = "v1", command: str = "clang -O1") -> str:
    return clang_tidy.Keys(root, salt).of("millrace/a/x.cc", command)


def test_a_file_reaches_what_it_includes_directly_or_not(root: Path) -> None:
    reached = clang_tidy.Keys(root, "").reached_from("millrace/a/x.cc")
    assert reached == {"millrace/a/x.cc", "millrace/a/x.h", "millrace/a/y.h"}


@pytest.mark.parametrize("path", ["millrace/a/x.cc", "millrace/a/y.h"])
def test_the_key_changes_with_what_is_reached(root: Path, path: str) -> None:
    before = key(root)
    (root / path).write_text(FILES[path] + "int x;\n")
    assert key(root) != before


def test_the_key_changes_with_settings_and_command_only(root: Path) -> None:
    before = key(root)
    (root / "millrace/a/z.h").write_text("int z;\n")
    assert key(root) == before
    assert key(root, salt="v2") != before
    assert key(root, command="clang -O2") != before


def test_the_key_is_the_same_in_another_clone(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "millrace/a").mkdir(parents=True)
    for path, text in FILES.items():
        (other / path).write_text(text)
    assert key(other, command=f"clang -I{other}/a") == key(
        root, command=f"clang -I{root}/a"
    )


def test_only_clean_files_are_remembered(tmp_path: Path) -> None:
    todo = {"good.cc": "key1", "bad.cc": "key2"}
    found = {"good.cc": "", "bad.cc": "bad.cc:1: error"}
    assert clang_tidy.run(todo, tmp_path, 60, found.__getitem__) == (1, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["key1"]


def test_begins_nothing_when_the_time_is_over(tmp_path: Path) -> None:
    todo = {"a.cc": "key1", "b.cc": "key2"}
    assert clang_tidy.run(todo, tmp_path, -1, todo.__getitem__) == (0, 2)


def test_a_file_is_checked_without_precompiled_headers() -> None:
    command = "clang -O1 -include /b/x.dir/cmake_pch.hxx -c x.cc"
    plain = clang_tidy.without_precompiled_headers(command)
    assert plain == "clang -O1 -c x.cc"
