"""Runs clang-tidy over the C++ files, remembering which were found clean.

A file's result depends on the file, on what it includes of ours, on .clang-tidy and on
the tool; a file found clean is not checked again until one of these changes. With a
limit in seconds no new file is begun after it: what git sees as changed goes first, and
what is left is said. Needs a configured build/asan, for its list of compile commands.

    tools/clang_tidy.py [--seconds N] [--fix] [FILE...]

With --fix, what clang-tidy can mend is mended: files one by one, as they share headers.

The results are kept in build/tidy-cache, or in $MILLRACE_CACHE_DIR/tidy.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cxx

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "asan"
PLAIN = ROOT / "build" / "tidy"  # The compile commands, less precompiled headers.
CLANG_TIDY = "clang-tidy-19"
# In tests, long functions and deep nesting are judged by people, not by clang-tidy.
TEST_ENDINGS = ("_test.cc", "_bench.cc", "_fuzz.cc")
TEST_CHECKS = "--checks=-readability-function-size"


def output_of(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


class Keys:
    """Names a file's result by everything the result depends on."""

    def __init__(self, root: Path, salt: str) -> None:
        self._root = root
        self._salt = salt
        self._texts: dict[str, str] = {}

    def of(self, path: str, command: str) -> str:
        """Return the key of a file that is compiled by `command`."""
        digest = hashlib.sha256()
        for part in (self._salt, command.replace(str(self._root), "")):
            digest.update(part.encode() + b"\0")
        for reached in sorted(self.reached_from(path)):
            digest.update(f"{reached}\0{self._text(reached)}\0".encode())
        return digest.hexdigest()

    def reached_from(self, path: str) -> set[str]:
        """Return the file and all files of ours it includes, directly or not."""
        reached: set[str] = set()
        waiting = [path]
        while waiting:
            current = waiting.pop()
            if current not in reached:
                reached.add(current)
                waiting += [
                    include.target
                    for include in cxx.includes(self._text(current))
                    if include.target.startswith("millrace/")
                ]
        return reached

    def _text(self, path: str) -> str:
        if path not in self._texts:
            file = self._root / path
            self._texts[path] = file.read_text() if file.is_file() else ""
        return self._texts[path]


def without_precompiled_headers(command: str) -> str:
    """Return a compile command under which a file sees only what it includes."""
    return re.sub(r" -include \S+/cmake_pch.hxx", "", command)


def compile_commands() -> dict[str, str]:
    """Return the compile command of each C++ file, by path; write them for the tool."""
    entries = [
        {**entry, "command": without_precompiled_headers(entry["command"])}
        for entry in json.loads((BUILD / "compile_commands.json").read_text())
        if (ROOT / "millrace") in Path(entry["file"]).parents
        if Path(entry["file"]).exists()
    ]
    PLAIN.mkdir(exist_ok=True)
    (PLAIN / "compile_commands.json").write_text(json.dumps(entries))
    return {
        str(Path(entry["file"]).relative_to(ROOT)): entry["command"]
        for entry in entries
    }


def changed_files() -> set[str]:
    """Return what git sees as changed or new."""
    lines = output_of("git", "status", "--porcelain", "--untracked-files=all")
    return {line[3:] for line in lines.splitlines()}


def check(path: str, *options: str) -> str:
    """Return what clang-tidy finds in a file; nothing when it is clean."""
    relaxed = [TEST_CHECKS] if path.endswith(TEST_ENDINGS) else []
    result = subprocess.run(
        [CLANG_TIDY, f"-p={PLAIN}", "--quiet", *relaxed, *options, str(ROOT / path)],
        capture_output=True,
        text=True,
    )
    if result.returncode == 0:
        return ""
    noise = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated\.\n", re.MULTILINE)
    return result.stdout + noise.sub("", result.stderr)


def run(
    todo: dict[str, str],
    cache: Path,
    seconds: float,
    check: Callable[[str], str] = check,
) -> tuple[int, int]:
    """Check files until the time is over; return how many failed and were left."""
    deadline = time.monotonic() + seconds

    def work(path: str) -> str | None:
        if time.monotonic() > deadline:
            return None
        found = check(path)
        if not found:
            (cache / todo[path]).touch()
        return found

    failed = left = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(todo, pool.map(work, todo), strict=True):
            if found is None:
                left += 1
            elif found:
                failed += 1
                print(f"{path}:\n{found.replace(str(ROOT) + '/', '')}", flush=True)
    return failed, left


def cache_folder() -> Path:
    """Return the folder of the results, made if need be."""
    shared = os.environ.get("MILLRACE_CACHE_DIR")
    folder = Path(shared) / "tidy" if shared else ROOT / "build" / "tidy-cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> int:
    """Check the files named, or all that need it."""
    parser = argparse.ArgumentParser(description="Run clang-tidy where needed.")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--no-tests", action="store_true", help="leave tests out")
    parser.add_argument("files", nargs="*", help="default: all")
    arguments = parser.parse_args()

    cache = cache_folder()
    settings = (ROOT / ".clang-tidy").read_text() + TEST_CHECKS
    keys = Keys(ROOT, output_of(CLANG_TIDY, "--version") + settings)
    wanted = {
        path: keys.of(path, command)
        for path, command in compile_commands().items()
        if not arguments.files or path in arguments.files
        if not (arguments.no_tests and path.endswith("_test.cc"))
    }
    changed = changed_files()
    todo = {
        path: wanted[path]
        for path in sorted(wanted, key=lambda path: (path not in changed, path))
        if not (cache / wanted[path]).exists()
    }
    if arguments.fix:
        for path in todo:
            check(path, "--fix")
        return 0
    failed, left = run(todo, cache, arguments.seconds)
    clean = len(wanted) - failed - left
    print(f"   {len(wanted)} files: {clean} clean, {failed} with findings, {left} left")
    if left:
        print("   Time is over; `make lint-all` checks the rest.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
