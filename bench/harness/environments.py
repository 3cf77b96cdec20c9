"""Python environments, one for each system, made when they are first needed.

`envs/NAME.txt` lists packages, pinned. A first line `# base: OTHER` puts an environment
on top of another, whose packages it sees: several systems stand on PyTorch, which has
5 GB. A line `# libraries: FOLDER` has systems find the shared libraries that a package
carries in such a folder, under the names that these have elsewhere.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Command = Callable[[list[str]], None]


class MissingError(Exception):
    """An environment that cannot be made here, and why."""


def base_of(requirements: str) -> str | None:
    """Give the environment that one stands on, if any."""
    return _directive("base", requirements)


def _directive(name: str, requirements: str) -> str | None:
    found = re.search(rf"^# {name}: (\S+)$", requirements, re.MULTILINE)
    return found.group(1) if found else None


class Environments:
    """The environments below a folder, made of the lists in another."""

    def __init__(self, lists: Path, folder: Path, say: Callable[[str], None]) -> None:
        self._lists = lists
        self._folder = folder
        self._say = say

    def python(self, name: str) -> Path:
        """Give the interpreter of an environment, made now where it is not there.

        Raises:
            MissingError: It cannot be made; tried again only when its list changes.
        """
        wanted = (self._lists / f"{name}.txt").read_text()
        folder = self._folder / name
        python = folder / "bin" / "python"
        if _text(folder / "installed.txt") == wanted and python.exists():
            return python
        if _text(folder / "failed.txt") == wanted:
            raise MissingError(_text(folder / "why.txt") or "it did not install")
        self._make(name, wanted)
        return python

    def variables(self, name: str) -> dict[str, str]:
        """Give the variables that a process of an environment needs."""
        links = self._folder / name / "links"
        if not links.exists():
            return {}
        carried = (links / "carried").resolve()
        return {"LD_LIBRARY_PATH": f"{links}:{carried}"}

    def _make(self, name: str, wanted: str) -> None:
        folder = self._folder / name
        base = base_of(wanted)
        below = self.python(base) if base else None
        self._say(f"making the environment {name}")
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        python = folder / "bin" / "python"
        if below:
            (_packages(python) / "base.pth").write_text(f"{_packages(below)}\n")
        words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            _run([str(python), *words, "-r", str(self._lists / f"{name}.txt")])
        except MissingError as error:
            (folder / "why.txt").write_text(str(error))
            (folder / "failed.txt").write_text(wanted)
            raise
        if carried := _directive("libraries", wanted):
            _link(_packages(python) / carried, folder / "links")
        (folder / "installed.txt").write_text(wanted)


def _link(carried: Path, links: Path) -> None:
    """Link libraries by their plain names: wheels have hashes in theirs."""
    links.mkdir()
    (links / "carried").symlink_to(carried)
    for library in carried.iterdir():
        plain = re.sub(r"-[0-9a-f]{8}(\.so\.\d+).*", r"\1", library.name)
        if plain != library.name:
            (links / plain).symlink_to(library)


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _packages(python: Path) -> Path:
    """Give the folder of an environment's packages."""
    return next((python.parents[1] / "lib").glob("python*/site-packages"))


def _run(command: list[str]) -> None:
    """Run a command; its last words are the reason if it fails."""
    # Packages that the one who measures has in view are not the environment's.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise MissingError(_reason(done.stderr))


def _reason(text: str) -> str:
    """Give the line of an output that says most of why it failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"^([A-Z]\w*Error|ERROR): ", line)]
    return (errors or lines or ["it failed and said nothing"])[0][:200]
