"""A bad network between machines of a test: a program that is the switch between them.

Each machine is a network namespace, named by a process in it, and gets one interface.
What it sends comes here, and goes on to the machine that it is for: or is lost,
doubled, or late and so out of order, as the last line from the standard input says.

    fault_switch.py SEED PID PID ...
"""

from __future__ import annotations

import dataclasses
import fcntl
import heapq
import json
import os
import random
import selectors
import struct
import subprocess
import sys
import time
from collections.abc import Sequence

NETWORK = "10.77.0."  # Machine i has the address i + 1.
_SET_INTERFACE = 0x400454CA  # TUNSETIFF
_PACKETS_OF_IP = 0x1001  # IFF_TUN | IFF_NO_PI
_PACKET_MAX = 9000
_WAITING_MAX = 10_000


@dataclasses.dataclass(frozen=True)
class Weather:
    """What becomes of packets."""

    loss: float = 0.0  # Of so many, one is lost: 0.1 is one of ten.
    double: float = 0.0
    delay: float = 0.0  # Seconds.
    jitter: float = 0.0  # Up to so many more.
    cut: tuple[tuple[int, int], ...] = ()  # Nothing goes from here to there.

    def line(self) -> str:
        """Give what a switch reads."""
        return json.dumps(dataclasses.asdict(self)) + "\n"


def _make_interface(pid: int, number: int) -> int:
    """Put an interface into the namespace of a process; give what has its packets."""
    packets = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    asked = struct.pack("16sH22x", b"mr%d", _PACKETS_OF_IP)
    made = fcntl.ioctl(packets, _SET_INTERFACE, asked)
    name = made[:16].rstrip(b"\0").decode()
    subprocess.run(["ip", "link", "set", name, "netns", str(pid)], check=True)
    lines = (
        "link set lo up",
        f"link set {name} mtu {_PACKET_MAX}",
        f"addr add {NETWORK}{number + 1}/24 dev {name}",
        f"link set {name} up",
    )
    subprocess.run(
        ["nsenter", "-n", "-t", str(pid), "ip", "-batch", "-"],
        input="\n".join(lines),
        text=True,
        check=True,
    )
    return packets


class Switch:
    """Takes packets of all machines, and gives them to those they are for."""

    def __init__(self, seed: int, pids: Sequence[int]) -> None:
        self._random = random.Random(seed)
        self._ports = [_make_interface(pid, i) for i, pid in enumerate(pids)]
        self._weather = Weather()
        self._cut: set[tuple[int, int]] = set()
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0

    def run(self) -> None:
        """Run until the standard input ends."""
        watched = selectors.DefaultSelector()
        watched.register(sys.stdin, selectors.EVENT_READ, -1)
        for number, port in enumerate(self._ports):
            watched.register(port, selectors.EVENT_READ, number)
        while True:
            wait = self._waiting[0][0] - time.monotonic() if self._waiting else None
            for key, _ in watched.select(wait if wait is None else max(wait, 0)):
                if key.data >= 0:
                    self._read(key.data)
                elif not self._obey():
                    return
            self._deliver()

    def _obey(self) -> bool:
        line = sys.stdin.readline()
        if not line:
            return False
        self._weather = Weather(**json.loads(line))
        self._cut = {(here, there) for here, there in self._weather.cut}
        return True

    def _read(self, number: int) -> None:
        for _ in range(64):
            try:
                packet = os.read(self._ports[number], _PACKET_MAX)
            except BlockingIOError:
                return
            self._take(number, packet)

    def _take(self, here: int, packet: bytes) -> None:
        there = packet[19] - 1 if packet[0] >> 4 == 4 else -1  # IPv4.
        if not 0 <= there < len(self._ports) or (here, there) in self._cut:
            return
        weather = self._weather
        copies = 1 + (self._random.random() < weather.double)
        if self._random.random() < weather.loss:
            return
        for _ in range(copies):
            if len(self._waiting) >= _WAITING_MAX:
                return
            late = weather.delay + weather.jitter * self._random.random()
            self._count += 1
            due = time.monotonic() + late
            heapq.heappush(self._waiting, (due, self._count, there, packet))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, there, packet = heapq.heappop(self._waiting)
            try:
                os.write(self._ports[there], packet)
            except OSError:  # It has no room, or is down: lost.
                continue


if __name__ == "__main__":
    switch = Switch(int(sys.argv[1]), [int(pid) for pid in sys.argv[2:]])
    print("ready", flush=True)
    switch.run()
