"""What states hold, and how a loader goes on from one of another kind.

A loader's own state is the engine's: lanes that are done, and how far others are. A
state of `distribute` is a number of rows of the logical order, the same for all ranks.
Both record how lanes are cut, so both name a place in the same stream of rows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millrace import _core
from millrace.errors import PipelineError

if TYPE_CHECKING:
    from millrace.dataset import Dataset

VERSION = 1
_MEMBERS = {
    "lanes": ("seed", "epoch", "taken", "skip", "state"),
    "rows": ("seed", "epoch", "rows", "cut"),
}
_CUT = ("version", "row_fingerprint", "manifest_hash", "cuts")


def kind_of(state: Mapping[str, Any]) -> str:
    """Name the kind of a state: "rows" of distribute, "lanes" of other loaders."""
    return str(state.get("kind", "lanes"))


def checked_state(state: Any) -> dict[str, Any]:
    """Give a state of a loader, of either kind; say what is wrong with others."""
    if not isinstance(state, Mapping):
        raise PipelineError(
            "a state is the dict that state_dict() gave, not "
            f"{type(state).__name__}; set_state takes the bytes of get_state()"
        )
    if "batches" in state and "state" not in state and "rows" not in state:
        raise PipelineError(
            "this is a state of millrace.torch.DataLoader: load it into one of these"
        )
    version, members = state.get("version"), _MEMBERS.get(kind_of(state))
    if version != VERSION or members is None:
        raise PipelineError(
            f"this is no state of a loader, or of another version: {version!r}, "
            f"not {VERSION}"
        )
    missing = [name for name in members if name not in state]
    if missing:
        raise PipelineError(f"this is no state of a loader: it has no {missing[0]!r}")
    return dict(state)


def rows_of_batch(pipeline: _core.Pipeline) -> int | None:
    """Tell how many rows a batch has; 1 without batches, None where sizes differ."""
    try:
        return _core.distribute(pipeline, consumers=1, consumer=0)[1]
    except PipelineError:
        return None


def cut_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what of the engine's state says how lanes are cut."""
    return {name: state[name] for name in _CUT}


def by_rows(state: dict[str, Any], pipeline: _core.Pipeline) -> dict[str, Any]:
    """Give a state, of this pipeline, as a number of rows."""
    if kind_of(state) == "rows":
        return state
    kept = {name: state[name] for name in ("version", "seed", "epoch")}
    if state["state"] is None:
        return {**kept, "kind": "rows", "rows": 0, "cut": None}
    if state.get("rows") is None:
        raise PipelineError(
            'a state of order="any", or of batches of several sizes, is no number of '
            "rows: go on from it with a loader of the same dataset and batches, as the "
            "one that gave it"
        )
    cut = cut_of(state["state"])
    if cut["row_fingerprint"] != pipeline.row_fingerprint:
        raise PipelineError("the state is of another pipeline")
    return {**kept, "kind": "rows", "rows": state["rows"], "cut": cut}


def checked_cut(cut: dict[str, Any] | None, text: str) -> dict[str, Any]:
    """Give how a pass is cut, by its own state; check that a loaded cut fits it."""
    state = json.loads(text)
    if cut is None:
        return cut_of({**state, "row_fingerprint": "0" * 64})
    if cut["manifest_hash"] != state["manifest_hash"]:
        raise PipelineError(
            "the state is of other data: files were added, removed or changed since"
        )
    return cut


@dataclasses.dataclass(frozen=True)
class RowsPlace:
    """Where a pass began that goes by a number of rows."""

    rows: int  # Of all consumers, taken before.
    round: int  # That all consumers take at once.
    cut: dict[str, Any]

    def state(self, taken: int) -> dict[str, Any]:
        """Give the position after so many batches of the pass."""
        rows = self.rows + taken * self.round
        return {"kind": "rows", "rows": rows, "cut": self.cut}


def behind(dataset: Dataset, rows: int) -> Dataset:
    """Give a dataset without so many rows of its logical order, batched anew."""
    dealt = _core.distribute(dataset._pipeline, consumers=1, consumer=0, skipped=rows)
    return dataset._like(dealt[0], dataset._structure)
