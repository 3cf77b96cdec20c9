"""One pass measured: rates, CPU, latencies, the time to the first batch and to resume.

Rates, CPU and latencies are those of a window in the middle of the pass: not before the
queues of a system are full, and not while they run empty.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from harness.content import Content
from harness.processes import cpu_seconds

_EDGE = 0.1  # Of a pass, at either end, that the window leaves out.
_MARK_SECONDS = 0.1  # From one look at the CPU time to the next.


@dataclasses.dataclass(frozen=True)
class Mark:
    """How far a pass was at some batch: batches taken, when, CPU time until then."""

    batches: int
    at: float
    cpu: float


def window_of(marks: list[Mark]) -> tuple[Mark, Mark]:
    """Give the marks between which a pass is measured; all of it where it is short."""
    begin, end = marks[0].at, marks[-1].at
    edge = (end - begin) * _EDGE
    first = next(mark for mark in marks if mark.at >= begin + edge)
    last = next(mark for mark in reversed(marks) if mark.at <= end - edge)
    if last.batches - first.batches < 4:
        return marks[0], marks[-1]
    return first, last


def timed(source: Iterable[Any], seconds: float) -> dict[str, Any]:
    """Take the batches of a pass as quickly as they come.

    Args:
        source: What is measured.
        seconds: How long at most, from the first batch on.
    """
    stamps: list[float] = []
    sizes: list[int] = []
    marks: list[Mark] = []
    clock = time.perf_counter
    begin = clock()
    next_mark = begin
    for batch in source:
        now = clock()
        stamps.append(now)
        sizes.append(len(next(iter(batch.values()))))
        if now >= next_mark:
            marks.append(Mark(len(stamps), now, cpu_seconds(os.getpid())))
            next_mark = now + _MARK_SECONDS
            if now - stamps[0] > seconds:
                break
    marks.append(Mark(len(stamps), stamps[-1], cpu_seconds(os.getpid())))
    told = _over(stamps, sizes, *window_of(marks))
    whole = sum(sizes) / (stamps[-1] - begin)
    first = stamps[0] - begin
    return {
        "rows": sum(sizes),
        "first_batch_s": first,
        "rows_per_s_whole": whole,
        **told,
    }


def _over(
    stamps: list[float], sizes: list[int], first: Mark, last: Mark
) -> dict[str, Any]:
    """Tell what counts of the batches behind one mark, up to another."""
    rows = sum(sizes[first.batches : last.batches])
    window = stamps[first.batches - 1 : last.batches]
    waits = [after - before for before, after in itertools.pairwise(window)]
    seconds = last.at - first.at
    return {
        "window_rows": rows,
        "window_s": seconds,
        "rows_per_s": rows / seconds if seconds else None,
        "cpu_s_per_1000_rows": _per_1000(last.cpu - first.cpu, rows),
        "latency_p50_s": percentile(waits, 50),
        "latency_p99_s": percentile(waits, 99),
    }


def _per_1000(seconds: float, rows: int) -> float | None:
    return 1000 * seconds / rows if rows else None


def percentile(values: list[float], percent: int) -> float | None:
    """Give the smallest value that so many percent of all do not exceed."""
    if not values:
        return None
    if percent == 50:
        return statistics.median(values)
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def checked(source: Iterable[Any]) -> dict[str, Any]:
    """Take all batches of a pass, and look into each."""
    content = Content()
    for batch in source:
        content.add(batch)
    return content.facts()


def resumed(open_source: Callable[[], Any], batches: int) -> dict[str, Any]:
    """Leave a pass in its middle; measure how long another takes to go on there.

    The time is from loading the state to the next batch, in a source of its own.
    """
    half = max(1, batches // 2)
    source = open_source()
    if source.save is None:
        return {}
    iterator = iter(source)
    taken = sum(len(next(iter(next(iterator).values()))) for _ in range(half))
    state = source.save()
    del iterator
    source.close()
    source = open_source()
    begin = time.perf_counter()
    source.load(state)
    rest = iter(source)
    left = len(next(iter(next(rest).values())))
    seconds = time.perf_counter() - begin
    left += sum(len(next(iter(batch.values()))) for batch in rest)
    source.close()
    return {"resume_s": seconds, "resume_rows": taken + left}
