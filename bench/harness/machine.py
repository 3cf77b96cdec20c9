"""What the machine is, since figures mean nothing without it."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path


def machine() -> dict[str, str]:
    """Tell the machine: processor, cores, memory, system, load, and the day."""
    load = os.getloadavg()[0]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _first("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory >> 30} GB",
        "system": _first("/etc/os-release", "PRETTY_NAME", "=").strip('"'),
        "kernel": platform.release(),
        "commit": _commit(),
        "python": platform.python_version(),
        "load": f"{load:.2f}",
        "day": datetime.date.today().isoformat(),
    }


def _commit() -> str:
    """Give the commit that is measured, marked where files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    folder = Path(__file__).parent
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def _first(path: str, key: str, separator: str = ":") -> str:
    """Give the value of the first line of a file that begins with a key."""
    try:
        for line in Path(path).read_text().splitlines():
            name, found, value = line.partition(separator)
            if found and name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return "unknown"
