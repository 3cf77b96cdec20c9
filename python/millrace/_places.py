"""Errors about the user's own code, with the line that they are about."""

import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from millrace.errors import Placed

_PACKAGE = str(Path(__file__).parent) + os.sep
_LIBRARIES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")
)


@dataclass(frozen=True)
class Place:
    """A line of the user's own code."""

    file: str
    line: int

    @property
    def source(self) -> str:
        """The text of the line; empty where it is not known."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        source = self.source
        return f"{self.file}:{self.line}" + (f": {source}" if source else "")


class Untraceable(Placed, TypeError):  # noqa: N818 (Python may run it)
    """A function does what cannot be recorded, though Python could run it."""


def place_of_code(code: CodeType) -> Place:
    """Gives the line where a function begins."""
    return Place(code.co_filename, code.co_firstlineno)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _is_library(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    installed = "site-packages" in name or "dist-packages" in name
    return installed or name.startswith((*_LIBRARIES, "<frozen"))


def _innermost(frames: list[tuple[FrameType, int]]) -> Place | None:
    """Picks the user's own line; a library's where there is no other."""
    others = [(frame, line) for frame, line in frames if not _is_ours(frame)]
    own = [(frame, line) for frame, line in others if not _is_library(frame)]
    for frame, line in own or others:
        return Place(frame.f_code.co_filename, line)
    return None


def current_place() -> Place | None:
    """Gives the line of the user's code that is running."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return _innermost(frames)


def place_of_traceback(traceback: TracebackType | None) -> Place | None:
    """Gives the line of the user's code that an exception came from."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return _innermost(frames[::-1])
