"""Server processes of a system, which end with the one that measures."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.processes import end_with_parent


class Server:
    """A process that says in its first lines where it listens."""

    def __init__(self, command: Sequence[str], mark: str = "listens on") -> None:
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
            preexec_fn=end_with_parent,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if mark in line:
                self.address = line.split()[-1]
                return
        raise RuntimeError(f"{' '.join(command)} ended before it listened")

    def end(self) -> None:
        """End it; there is nothing to hand over."""
        self._process.kill()
        self._process.wait()
