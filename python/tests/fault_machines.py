"""Machines for tests of faults: network, mounts and clock of their own, on this one.

A machine is a process that holds its namespaces; when that ends, nothing of it is left.
Where namespaces may not be made, all machines are this one, and its loopback.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from fault_switch import NETWORK, Weather

HERE = Path(__file__).parent
_DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]
_DISK_BYTES = 2 << 20


def why_no_namespaces() -> str:
    """Say why machines cannot have networks of their own; empty where they can."""
    if os.environ.get("MILLRACE_TEST_NAMESPACES") == "0":
        return "MILLRACE_TEST_NAMESPACES=0 says so"
    missing = [name for name in ("ip", "nsenter", "unshare") if not shutil.which(name)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun may not be opened"
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "true"], capture_output=True, text=True
    )
    return tried.stderr.strip()


def build_clock(folder: Path) -> Path | None:
    """Compile what sets clocks of processes off; nothing where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-19")
    if compiler is None:
        return None
    library = folder / "clock.so"
    if not library.exists():
        source = str(HERE / "fault_clock.c")
        made = folder / f"clock.{os.getpid()}"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), source, "-ldl"],
            check=True,
        )
        made.rename(library)
    return library


class Machine:
    """One of them: what runs on it is started here."""

    def __init__(
        self, number: int, folder: Path, clock: Path | None, *, own: bool
    ) -> None:
        self.number = number
        self.own = own
        self.host = f"{NETWORK}{number + 1}" if own else "127.0.0.1"
        self._clock = clock
        self._seconds = folder / f"clock-{number}"
        self._seconds.write_bytes(struct.pack("q", 0))
        self._holder: subprocess.Popen[bytes] | None = None
        if own:
            words = ["unshare", "--net", "--mount", "sleep", "infinity"]
            self._holder = subprocess.Popen([*_DIES_WITH_US, *words])
            self._wait_until_apart()

    def _wait_until_apart(self) -> None:
        ours = Path("/proc/self/ns/net").readlink()
        while (Path(f"/proc/{self.pid}") / "ns/net").readlink() == ours:
            assert self._holder is not None and self._holder.poll() is None

    @property
    def pid(self) -> int:
        """A process in its namespaces."""
        assert self._holder is not None
        return self._holder.pid

    def _within(self, *words: str) -> list[str]:
        if not self.own:
            return list(words)
        return ["nsenter", "-n", "-m", "-t", str(self.pid), "--", *words]

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program on it, which ends when the test does."""
        clock = {}
        if self._clock is not None:
            preload = {"LD_PRELOAD": str(self._clock)}
            clock = {**preload, "MILLRACE_TEST_CLOCK": str(self._seconds)}
        return subprocess.Popen(
            [*_DIES_WITH_US, *self._within(*words)],
            env={**os.environ, **environment, **clock},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    def set_clock(self, seconds: int) -> None:
        """Set the time of day of all that runs on it off by that."""
        with self._seconds.open("r+b") as file:
            file.write(struct.pack("q", seconds))

    def mount_disk(self, folder: Path) -> None:
        """Have a small disk there."""
        size = f"size={_DISK_BYTES}"
        words = self._within("mount", "-t", "tmpfs", "-o", size, "none", str(folder))
        subprocess.run(words, check=True)

    def fill_disk(self, folder: Path) -> None:
        """Leave no room on it."""
        with self._filler(folder).open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                return

    def clear_disk(self, folder: Path) -> None:
        """Leave room again."""
        self._filler(folder).unlink(missing_ok=True)

    def _filler(self, folder: Path) -> Path:
        return Path(f"/proc/{self.pid}/root") / folder.relative_to("/") / "filler"

    def end(self) -> None:
        """Have nothing of it left."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()


class Network:
    """What machines are connected by; it does what it is told to packets."""

    def __init__(self, seed: int, machines: Sequence[Machine]) -> None:
        self._switch: subprocess.Popen[str] | None = None
        if not machines[0].own:
            return
        pids = [str(machine.pid) for machine in machines]
        program = [sys.executable, str(HERE / "fault_switch.py")]
        self._switch = subprocess.Popen(
            [*_DIES_WITH_US, "unshare", "--net", *program, str(seed), *pids],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._switch.stdout is not None
        assert self._switch.stdout.readline() == "ready\n", "the switch did not start"

    def set_weather(self, weather: Weather) -> None:
        """Change what becomes of packets from now on."""
        assert self._switch is not None and self._switch.stdin is not None
        self._switch.stdin.write(weather.line())
        self._switch.stdin.flush()

    def end(self) -> None:
        """Have nothing of it left."""
        if self._switch is not None:
            self._switch.kill()
            self._switch.communicate()


def make_certificates(folder: Path, clock: Path | None, machines: int) -> None:
    """Make an authority, and what it signs for all machines, valid since yesterday."""
    environment = dict(os.environ)
    if clock is not None:
        yesterday = folder / "yesterday"
        yesterday.write_bytes(struct.pack("q", -86400))
        environment["LD_PRELOAD"] = str(clock)
        environment["MILLRACE_TEST_CLOCK"] = str(yesterday)
    names = ",".join(f"IP:{NETWORK}{number + 1}" for number in range(machines))
    (folder / "names").write_text(f"subjectAltName={names}")
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for words in (
        f"req -x509 {curve} -days 9 -keyout ca.key -out ca.pem -subj /CN=authority",
        f"req {curve} -keyout own.key -out own.csr -subj /CN=machine",
        "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 "
        "-extfile names -out own.pem",
    ):
        subprocess.run(
            ["openssl", *words.split()],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
        )
