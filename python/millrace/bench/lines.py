"""What a benchmark says: a value of ours beside a limit, and the bar for their ratio.

Both are measured in the same run, one after the other and several times, since machines
differ and are never quiet; the median counts.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True)
class Line:
    """One comparison.

    Attributes:
        name: Of the workload.
        unit: Of both values.
        ours: Our value.
        limit: What it stands beside; None where that is not installed here.
        limit_is: What that is, for people.
        bar: For ours / limit.
        at_most: Whether the ratio must stay under the bar; else it must reach it.
    """

    name: str
    unit: str
    ours: float
    limit: float | None
    limit_is: str
    bar: float
    at_most: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours over the limit."""
        return None if not self.limit else self.ours / self.limit

    @property
    def reached(self) -> bool | None:
        """Whether the bar is; None where there was nothing to compare with."""
        if self.ratio is None:
            return None
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar


def medians(repeats: int, *measures: Callable[[], float]) -> list[float]:
    """Measure several things in turn, so often; give the median of each.

    Example:
        >>> medians(3, lambda: 2.0, lambda: 5.0)
        [2.0, 5.0]
    """
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [statistics.median(values) for values in zip(*rounds, strict=True)]


def table(lines: Sequence[Line]) -> str:
    """Write lines for people."""
    head = f"  {'workload':<46} {'ours':>9} {'limit':>9} {'ratio':>7} {'bar':>7}"
    return "\n".join([head, *map(_shown, lines)])


def _shown(line: Line) -> str:
    verdict = {None: "n/a ", True: "    ", False: "MISS"}[line.reached]
    limit = "-" if line.limit is None else _short(line.limit)
    ratio = "-" if line.ratio is None else f"{line.ratio:.2f}"
    sign = "<" if line.at_most else ">"
    return (
        f"  {line.name:<46} {_short(line.ours):>9} {limit:>9} {ratio:>7} {sign}"
        f"{line.bar:>6.2f}  {verdict} {line.unit}; limit: {line.limit_is}"
    )


def _short(value: float) -> str:
    for unit in ("", "k", "M"):
        if abs(value) < 10_000:
            return f"{value:.{3 if abs(value) < 10 else 1}f}{unit}"
        value /= 1000
    return f"{value:.1f}G"


def as_json(lines: Sequence[Line]) -> str:
    """Write lines for programs."""
    told = [
        {**dataclasses.asdict(line), "ratio": line.ratio, "reached": line.reached}
        for line in lines
    ]
    return json.dumps(told, indent=2)


def from_json(text: str | bytes) -> list[Line]:
    """Read lines that `as_json` wrote.

    Example:
        >>> line = Line("a", "s", 1.0, 2.0, "b", 0.5)
        >>> from_json(as_json([line])) == [line]
        True
    """
    names = {field.name for field in dataclasses.fields(Line)}
    return [
        Line(**{name: told[name] for name in told.keys() & names})
        for told in json.loads(text)
    ]
