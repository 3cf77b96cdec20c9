"""The `millrace` command, as the package installs it."""

from __future__ import annotations

import signal
import sys

from millrace import _core


def main() -> None:
    """Do what the command line says."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # It ends the command, as any other.
    if sys.argv[1:3] == ["bench", "python"]:
        from millrace.bench.command import main as bench

        sys.exit(bench(sys.argv[3:]))
    if sys.argv[1:2] == ["demo"]:  # The program's own shows pipelines without Python.
        from millrace import demo

        sys.exit(demo.main(sys.argv[2:]))
    sys.exit(_core.run_command(["millrace", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
