"""A picture of one result: `python plot.py RESULT.json PICTURE.png`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot

_COLOURS = {"ours": "#1f6f8b", "peer": "#b8c4cc", "limit": "#e3d7b5"}


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw four panels of bars: rate, CPU, memory, first batch."""
    shown = [of for of in result["systems"].values() if of["median"]]
    shown.sort(key=lambda of: of["median"].get("rows_per_s") or 0)
    panels = [
        (f"{result['counted']} per second", _of_median("rows_per_s", 1)),
        (f"CPU s per 1000 {result['counted']}", _of_median("cpu_s_per_1000_rows", 1)),
        ("memory, MB", lambda of: of.get("memory_bytes", 0) / 1e6),
        ("first batch, s", _of_median("first_batch_s", 1)),
    ]
    figure, axes = pyplot.subplots(
        1, len(panels), sharey=True, figsize=(13, 0.9 + 0.38 * max(1, len(shown)))
    )
    titles = [of["title"] for of in shown]
    colours = [_COLOURS[of["role"]] for of in shown]
    for axis, (title, value_of) in zip(axes, panels, strict=True):
        values = [value_of(of) for of in shown]
        bars = axis.barh(titles, values, color=colours)
        axis.bar_label(bars, [f"{value:,.3g}" for value in values], padding=2, size=8)
        axis.set_title(title, size=9)
        axis.margins(x=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        axis.xaxis.set_major_formatter("{x:,.3g}")
    figure.suptitle(result["title"], size=10)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _of_median(name: str, factor: float) -> Any:
    return lambda of: (of["median"].get(name) or 0) * factor


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
