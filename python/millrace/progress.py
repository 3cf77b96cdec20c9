"""A line that shows how far long work has come, where somebody is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

_FIRST_SECONDS = 1.0  # Shorter work shows nothing.
_NEXT_SECONDS = 0.1
_WIDTH = 24

T = TypeVar("T")


def _is_seen() -> bool:
    """Tell whether standard error is a terminal, or the page of a notebook."""
    if sys.stderr is None:
        return False
    shell = sys.modules.get("IPython")
    kernel = getattr(shell.get_ipython(), "kernel", None) if shell else None
    return kernel is not None or sys.stderr.isatty()


class Progress:
    """Shows progress on standard error, after the first second of it.

    Example:
        >>> from millrace.progress import Progress
        >>> with Progress("saving", total=10) as progress:
        ...     progress.show(5)
    """

    def __init__(self, what: str, total: float | None = None, unit: str = "") -> None:
        """Name the work, how much of it there is where that is known, and in what."""
        self._what = what
        self._total = total if total and total > 0 else None
        self._unit = unit
        self._before = 0.0
        self._seen = _is_seen()
        self._begin = time.monotonic()
        self._next = self._begin + _FIRST_SECONDS
        self._shown = 0  # Columns of the line.

    def begin(self, total: float, before: float = 0.0) -> None:
        """Say how much there is, once that is known, and what others did of it."""
        self._total = total if total > 0 else None
        self._before = before

    def show(self, done: float) -> None:
        """Show that so much is done; cheap where it is not time to."""
        if not self._seen or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _NEXT_SECONDS
        line = self._line(done)
        print("\r" + line.ljust(self._shown), end="", file=sys.stderr, flush=True)
        self._shown = len(line)

    def _line(self, done: float) -> str:
        seconds = time.monotonic() - self._begin
        if self._total is None:
            return f"{self._what}: {done:,.0f}{self._unit} in {seconds:.0f} s"
        part = min(1.0, done / self._total)
        bar = "█" * int(part * _WIDTH)
        own = done - self._before
        left = seconds * (self._total - done) / own if own > 0 else 0.0
        return f"{self._what}: {bar:·<{_WIDTH}} {part:4.0%}, {left:.0f} s left"

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Give items, counting them."""
        for done, item in enumerate(items):
            self.show(done)
            yield item

    def __enter__(self) -> Progress:
        """Take the line away at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
