"""Results as Markdown: a table for each workload, and what Millrace must reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]
_NEAR = 0.97  # Within 3 % counts as first.
_SHORT = 2.0  # A rate so many times that of the whole pass is none.
_HEAD = (
    "| system | {counted}/s | to Millrace | from `iter` | MB/s | CPU s per 1000 "
    "| memory MB | first batch s | p50 ms | p99 ms | resume s |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def report(results: Sequence[Result], machine: Mapping[str, str]) -> str:
    """Write all results."""
    parts = [
        "# Measured",
        "Medians of runs in turn. Memory is the highest of all processes above the "
        "imported framework, while the consumer is slower than the loader; the time to "
        "the first batch is from `iter`; CPU is of all processes. Rates are of the "
        "middle of a pass; beside them, those of the whole of it, from `iter` on.",
        ", ".join(f"{name} {value}" for name, value in machine.items()) + ".",
        verdicts(results),
    ]
    parts += [section(result) for result in results]
    return "\n\n".join(part for part in parts if part) + "\n"


def verdicts(results: Sequence[Result]) -> str:
    """Write what must be reached, and whether it is."""
    lines = ["| workload | against | wanted | reached | |", "|---|---|--:|--:|---|"]
    for result in results:
        for bar in result["bars"]:
            peer = result["systems"].get(bar["peer"])
            times = _times(result, bar["peer"])
            shown = "-" if times is None else f"{times:.2f}"
            verdict = "" if times is None else "yes" if times >= bar["times"] else "no"
            title = peer["title"] if peer else bar["peer"]
            cells = (result["title"], title, f"{bar['times']:g}", shown, verdict)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _times(result: Result, peer: str) -> float | None:
    """Give how many times the rate of a peer Millrace reaches: the lesser of two.

    A window flatters who works far ahead in a short pass, the whole of the pass who
    begins quickly.
    """
    ours, theirs = ours_of(result), result["systems"].get(peer)
    ratios = [_ratio(ours, theirs, name) for name in ("rows_per_s", "rows_per_s_whole")]
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def _ratio(ours: Result | None, theirs: Result | None, name: str) -> float | None:
    if ours is None or theirs is None:
        return None
    rate, other = ours["median"].get(name), theirs["median"].get(name)
    return rate / other if rate and other else None


def ours_of(result: Result) -> Result | None:
    """Give Millrace's part of a result: the first of its ways."""
    ours = [of for of in result["systems"].values() if of["role"] == "ours"]
    return ours[0] if ours else None


def _rate(of_system: Result | None) -> float | None:
    return None if of_system is None else of_system["median"].get("rows_per_s")


def section(result: Result) -> str:
    """Write one workload: what was measured, then what was not and why."""
    of_all = result["systems"].values()
    measured = [of for of in of_all if of["median"]]
    limits = [of for of in measured if of["role"] == "limit"]
    others = [of for of in measured if of["role"] != "limit"]
    others.sort(key=lambda of: -(_rate(of) or 0))
    lines = [f"## {result['title']}", ""]
    lines += [_HEAD.format(counted=result["counted"])]
    lines += [_line(result, of) for of in [*others, *limits]]
    lines += ["", *_remarks(of_all), "", *_settings(measured)]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip()


def _line(result: Result, of_system: Result) -> str:
    median = of_system["median"]
    rate, ours = _rate(of_system), _rate(ours_of(result))
    ratio = rate / ours if rate and ours else None
    facts = of_system.get("facts")
    bytes_per_row = facts["bytes"] / facts["rows"] if facts and facts["rows"] else 0
    cells = [
        _name(result, of_system),
        number(rate),
        "-" if ratio is None else f"{ratio:.2f}",
        number(median.get("rows_per_s_whole")),
        number(rate * bytes_per_row / 1e6 if rate and bytes_per_row else None),
        number(median.get("cpu_s_per_1000_rows")),
        number(_scaled(of_system.get("memory_bytes"), 1e-6)),
        number(median.get("first_batch_s")),
        number(_scaled(median.get("latency_p50_s"), 1e3)),
        number(_scaled(median.get("latency_p99_s"), 1e3)),
        number(median.get("resume_s")),
    ]
    return f"| {' | '.join(cells)} |"


def _name(result: Result, of_system: Result) -> str:
    """Give the title; bold for those that are first, or nearly so."""
    rates = [
        _rate(of) or 0 for of in result["systems"].values() if of["role"] != "limit"
    ]
    title = str(of_system["title"])
    if of_system["role"] == "limit":
        return f"*{title}*"
    rate = _rate(of_system)
    first = rate is not None and rate >= _NEAR * max(rates)
    return f"**{title}**" if first else title


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def number(value: float | None) -> str:
    """Write a figure with three digits that count."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 or not value else f"{value:.1e}"


def _remarks(of_all: Any) -> list[str]:
    reasons = [
        f"- {of['title']}: {remark}"
        for of in of_all
        for remark in (of["reason"], of.get("note"), _too_short(of["median"]))
        if remark
    ]
    return ["Not measured, or with a remark:", "", *reasons] if reasons else []


def _too_short(median: Mapping[str, float]) -> str | None:
    """Say so where most of a pass was made before its first batch was given."""
    rate, whole = median.get("rows_per_s"), median.get("rows_per_s_whole")
    if not rate or not whole or rate < _SHORT * whole:
        return None
    return "too short a pass for it: only the rate from `iter` means something"


def _settings(measured: Sequence[Result]) -> list[str]:
    lines = []
    for of_system in measured:
        versions = [f"{k} {v}" for k, v in of_system.get("versions", {}).items()]
        settings = [f"{k} {v}" for k, v in of_system.get("settings", {}).items()]
        lines.append(f"- {of_system['title']}: {', '.join(versions + settings)}")
    return ["Versions and settings:", "", *lines] if lines else []
