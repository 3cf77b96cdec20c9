"""The systems that are measured, as `drivers/systems.toml` lists them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class System:
    """One system.

    Attributes:
        name: In the list, and on the command line.
        title: For people.
        environment: The Python environment it runs in.
        module: Its driver; none where it was never seen to install.
        place: Where it works: "local", "service", or both.
        option: Which of the driver's ways.
        role: "ours", "peer", or "limit".
        packages: Whose versions are told.
        kinds: The kinds of workloads it takes part in; all where there are none.
        quick: Whether a quick run has it.
        cannot: Reasons by kind of workload, for those that it cannot do.
    """

    name: str
    title: str
    environment: str
    module: str
    place: tuple[str, ...]
    option: str = ""
    role: str = "peer"
    packages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    quick: bool = False
    cannot: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def takes_part(self, place: str, kind: str) -> bool:
        """Tell whether it is asked to do such a workload at all."""
        return place in self.place and (not self.kinds or kind in self.kinds)


def read_systems(path: Path) -> list[System]:
    """Read the list, in its order."""
    told = tomllib.loads(path.read_text())
    return [System(name, **_frozen(of_system)) for name, of_system in told.items()]


def _frozen(told: dict[str, Any]) -> dict[str, Any]:
    """Make tuples of lists."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
