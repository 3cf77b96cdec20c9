"""What happens in one run of the tests of faults: all of it is drawn from one seed."""

from __future__ import annotations

import dataclasses
import random

import fault_reader
from fault_switch import Weather

FAIR = Weather()
SECONDS = 4.0  # In which faults begin.


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that goes wrong, and is well again after a while."""

    at: float  # Seconds after the start.
    lasts: float
    what: str  # "kill", "stop", "weather", "disk", "clock"
    who: int = 0  # The machine.
    weather: Weather = FAIR
    seconds: int = 0  # That a clock is set off by.

    def __str__(self) -> str:
        """Say it in words, for people."""
        words = f"{self.at:.2f} s: {self.what} of machine {self.who}"
        if self.what == "weather":
            words = f"{self.at:.2f} s: {self.weather}"
        if self.what == "clock":
            words += f" by {self.seconds} s"
        return f"{words}, for {self.lasts:.2f} s"


@dataclasses.dataclass(frozen=True)
class Plan:
    """A fleet, what it does, and what happens to it."""

    seed: int
    kind: str
    workers: int
    consumers: int
    epochs: int
    order: str
    visit: str
    faults: tuple[Fault, ...]

    @property
    def machines(self) -> int:
        """The dispatcher's, the workers', then the consumers'."""
        return 1 + self.workers + self.consumers


def _weather(draw: random.Random, machines: int) -> Weather:
    kind = draw.choice(("lossy", "slow", "cut", "one way", "alone"))
    if kind == "lossy":
        return Weather(loss=draw.uniform(0.02, 0.2), double=0.05, jitter=0.01)
    if kind == "slow":
        return Weather(delay=draw.uniform(0.01, 0.1), jitter=draw.uniform(0, 0.1))
    one, other = draw.sample(range(machines), 2)
    if kind == "cut":
        return Weather(cut=((one, other), (other, one)))
    if kind == "one way":
        return Weather(cut=((one, other),))
    others = [number for number in range(machines) if number != one]
    return Weather(cut=tuple(pair for i in others for pair in ((one, i), (i, one))))


def _fault(draw: random.Random, machines: int, own_networks: bool) -> Fault:
    kinds = ["kill"] * 5 + ["stop"] * 3 + ["clock"]
    if own_networks:
        kinds += ["weather"] * 4 + ["disk"]
    what = draw.choice(kinds)
    at = draw.uniform(0, SECONDS)
    lasts = draw.uniform(0.05, 3.0)
    who = draw.randrange(machines)
    if what == "disk":
        who = 0
    if what == "clock" and who == 0:  # A dispatcher numbers its news by its clock.
        who = draw.randrange(1, machines)
    weather = _weather(draw, machines) if what == "weather" else FAIR
    seconds = draw.choice((-3000, -60, -2, 2, 60, 3000)) if what == "clock" else 0
    return Fault(at, lasts, what, who, weather, seconds)


def make_plan(
    seed: int,
    *,
    own_networks: bool,
    order: str = "fixed",
    visit: str = "exactly_once",
) -> Plan:
    """Draw a plan; the same seed gives the same, where machines are alike."""
    draw = random.Random(seed)
    workers = draw.randint(1, 3)
    consumers = draw.randint(1, 2)
    machines = 1 + workers + consumers
    faults = [_fault(draw, machines, own_networks) for _ in range(draw.randint(2, 6))]
    return Plan(
        seed=seed,
        kind=draw.choice(fault_reader.KINDS),
        workers=workers,
        consumers=consumers,
        epochs=draw.randint(1, 2),
        order=order,
        visit=visit,
        faults=tuple(sorted(faults, key=lambda fault: fault.at)),
    )
