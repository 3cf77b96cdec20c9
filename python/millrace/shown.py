"""How a dataset shows itself, in a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import html
from typing import TYPE_CHECKING

from millrace.engine import budget
from millrace.errors import Error

if TYPE_CHECKING:
    from millrace.dataset import Dataset


def _length(dataset: Dataset) -> str:
    rows = dataset._pipeline.rows
    if rows is None:
        with contextlib.suppress(Error):  # Files may be missing where it is shown.
            rows, _ = dataset._count()
    what = "batches" if dataset._pipeline.batches else "rows"
    if rows is None:
        return f"{what} not counted before they are read"
    return f"endless {what}" if rows < 0 else f"{rows:,} {what}"


def _place(dataset: Dataset) -> str:
    if dataset._debug:
        return "in the calling thread (debug)"
    return str(budget())


def as_text(dataset: Dataset) -> str:
    """Show the fields, the pipeline as the text form has it, and the budgets."""
    fields = ", ".join(f"{name}: {spec}" for name, spec in dataset.spec.items())
    shown = dataset._pipeline.shown.rstrip()
    return f"<Dataset of {{{fields}}}\n{shown}\n{_length(dataset)}; {_place(dataset)}>"


def as_html(dataset: Dataset) -> str:
    """Show the same as a notebook likes it: fields as a table, the pipeline folded."""
    rows = "".join(
        f"<tr><td><code>{html.escape(name)}</code></td>"
        f"<td><code>{html.escape(str(spec))}</code></td></tr>"
        for name, spec in dataset.spec.items()
    )
    return (
        f"<div><b>Dataset</b>: {html.escape(_length(dataset))}"
        f"<table><thead><tr><th>field</th><th>type</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f"<details open><summary>pipeline</summary>"
        f"<pre>{html.escape(dataset._pipeline.shown.rstrip())}</pre></details>"
        f"<small>{html.escape(_place(dataset))}</small></div>"
    )
