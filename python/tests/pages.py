"""Pages of the documentation as programs.

The blocks of a page run as one program, in order: what a reader gets who copies one
after the other. Lines keep their numbers, so a traceback names the line of the page.

- A block ```python runs; with title="train.py" it is saved under that name instead.
- A block ```sh runs in a shell that stops at the first failure.
- A block ```text behind one of these is what that prints. With the word `numbers` its
  numbers may differ; with the word `sample` it is not compared.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import millrace

_FENCE = re.compile(r"^```(\S*)\s*(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MARK = "--- end of the block that begins on line "
_TORCH = re.compile(r'\b(?:import|from) (?:millrace\.)?torch\b|to\("torch"')


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    info: str
    line: int  # Of the opening fence, from 1 on.
    text: str

    @property
    def title(self) -> str | None:
        """The name of the file that the block is."""
        found = _TITLE.search(self.info)
        return found[1] if found else None


def blocks(page: str) -> Iterator[Block]:
    """Give the fenced blocks of a page."""
    opened: Block | None = None
    inside: list[str] = []
    for number, line in enumerate(page.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened, inside = Block(fence[1], fence[2], number, ""), []
        elif opened is not None and line == "```":
            yield dataclasses.replace(opened, text="\n".join(inside))
            opened = None
        elif opened is not None:
            inside.append(line)
    assert opened is None, f"line {opened.line}: the block has no end"


def links(page: str) -> list[str]:
    """Give the places that a page links to, but for those in the web."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose)


def anchors(page: str) -> set[str]:
    """Give the places of a page that links can name: its headings."""
    headings = [line for line in page.splitlines() if re.match(r"#+ ", line)]
    slugs = [re.sub(r"[^\w\s-]", "", line.lower()).split() for line in headings]
    names = ["-".join(words) for words in slugs]
    counted = [(name, names[:at].count(name)) for at, name in enumerate(names)]
    return {f"{name}-{count}" if count else name for name, count in counted}


def is_program(page: str) -> bool:
    """Tell whether a page has code to run."""
    return any(block.language == "python" for block in blocks(page))


def needs_torch(page: str) -> bool:
    """Tell whether the code of a page uses torch."""
    return any(b.language == "python" and _TORCH.search(b.text) for b in blocks(page))


def _code(block: Block) -> str:
    """Give a block's code, on as many lines as it has."""
    if block.title is not None:
        written = f'open({block.title!r}, "w").write({block.text!r} + "\\n")'
    elif block.language == "sh":
        command = ["sh", "-ec", block.text]
        written = f'__import__("subprocess").run({command!r}, check=True)'
    else:
        return block.text
    return written + "\n" * block.text.count("\n")


def program(page: str) -> str:
    """Write a page's program: each line of code where the page has it."""
    lines = [""] * (page.count("\n") + 2)
    for block in blocks(page):
        if block.language not in ("python", "sh"):
            continue
        code = _code(block).split("\n")
        lines[block.line : block.line + len(code)] = code
        lines[block.line + len(code)] = f'print("{_MARK}{block.line}", flush=True)'
    return "\n".join(lines)


def _printed(output: str) -> dict[int, str]:
    """Take apart what a program printed: by the line that a block begins on."""
    parts = re.split(rf"^{_MARK}(\d+)\n", output, flags=re.MULTILINE)
    return {
        int(line): text for text, line in zip(parts[::2], parts[1::2], strict=False)
    }


def _compared(text: str, info: str) -> list[str]:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    if "numbers" not in info.split():
        return lines
    return [" ".join(_NUMBER.sub("0", line).split()) for line in lines]


def check_output(page: str, output: str) -> None:
    """Compare what was printed with what the page shows."""
    printed = _printed(output)
    before: Block | None = None
    for block in blocks(page):
        shown = block.language == "text" and "sample" not in block.info.split()
        if shown and before is not None and before.line in printed:
            found = _compared(printed[before.line], block.info)
            assert found == _compared(block.text, block.info), (
                f"line {block.line}: the page shows what is not printed; it is\n"
                f"{printed[before.line]}"
            )
        before = block


def _environment(folder: Path) -> dict[str, str]:
    """Give the environment of a user: the command installed, no rank, two threads."""
    commands = folder / "bin"
    commands.mkdir()
    command = commands / "millrace"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m millrace.command "$@"\n')
    command.chmod(0o755)
    path = [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "PYTHONPATH": str(Path(millrace.__file__).parent.parent),
        "MILLRACE_THREADS": "2",
        "PYTHONWARNINGS": "error::SyntaxWarning",
    }


def run_page(page: str, folder: Path, prepared: str = "") -> None:
    """Run a page in a folder, behind a command that prepares it."""
    place = folder / "page"
    place.mkdir()
    environment = _environment(folder)
    subprocess.run(["sh", "-ec", prepared], cwd=place, env=environment, check=True)
    script = place / "page.py"
    script.write_text(program(page))
    result = subprocess.run(
        [sys.executable, script.name],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-6000:]}"
    check_output(page, result.stdout)
