"""How far a run is: a bar where someone watches, else a line for each step."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 24


class Progress:
    """Tells each step of so many."""

    def __init__(self, steps: int, out: TextIO = sys.stderr) -> None:
        self._steps = max(1, steps)
        self._done = 0
        self._out = out
        self._begin = time.monotonic()

    def step(self, what: str, steps: int = 1) -> None:
        """Tell what comes next; so many steps are done when it is."""
        self._show(what)
        self._done = min(self._steps, self._done + steps)

    def skip(self, steps: int) -> None:
        """Count steps that will not come."""
        self._done = min(self._steps, self._done + steps)

    def say(self, what: str) -> None:
        """Tell something on a line of its own."""
        self._out.write(("\r\033[K" if self._out.isatty() else "") + what + "\n")
        self._out.flush()

    def end(self) -> None:
        """Tell that all is done."""
        self._done = self._steps
        self._show("done")
        if self._out.isatty():
            self._out.write("\n")

    def _show(self, what: str) -> None:
        filled = _WIDTH * self._done // self._steps
        bar = "#" * filled + "." * (_WIDTH - filled)
        seconds = int(time.monotonic() - self._begin)
        clock = f"{seconds // 60}:{seconds % 60:02d}"
        line = f"[{bar}] {self._done}/{self._steps} {clock} {what}"
        self._out.write(f"\r\033[K{line}" if self._out.isatty() else f"{line}\n")
        self._out.flush()
