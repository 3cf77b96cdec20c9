"""The highest memory of a process tree, looked at from a process beside it.

`python -m harness.sampling PID` looks until it is told a line, then prints the highest.
It is a process of its own, so that it takes neither the interpreter's lock nor memory
of the one that is measured.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from harness.processes import end_with_parent, memory_bytes

_PAUSE_SECONDS = 0.1


class MemorySampler:
    """Looks at this process and its descendants while it is entered."""

    def __init__(self) -> None:
        self.highest = 0

    def __enter__(self) -> MemorySampler:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.sampling", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            preexec_fn=end_with_parent,
        )
        return self

    @property
    def pid(self) -> int:
        """The process that looks, which does not count."""
        return self._process.pid

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A word, not the end of its input: forked workers hold that open, too.
        told, _ = self._process.communicate(b"stop\n")
        self.highest = int(told)


def _watch(pid: int) -> int:
    """Look until there is input."""
    highest = 0
    while True:
        highest = max(highest, memory_bytes(pid, os.getpid()))
        ready, _, _ = select.select([sys.stdin], [], [], _PAUSE_SECONDS)
        if ready:
            return highest


if __name__ == "__main__":
    print(_watch(int(sys.argv[1])))
