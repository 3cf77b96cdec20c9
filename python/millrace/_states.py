"""What states hold, and how a loader goes on from one of another kind.

A loader's own state is the engine's: lanes that are done, and how far others are. A
state of `distribute` is a number of rows of the logical order, the same for all ranks.
Both record how lanes are cut, so both name a place in the same stream of rows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
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


def interleaves(state: Mapping[str, Any]) -> bool:
    """Tell whether a state is of a service, whose order has several lanes open."""
    inner = state.get("state")
    return inner is not None and inner.get("tracks", 1) > 1


def check_order(state: Mapping[str, Any]) -> None:
    """Refuse to skip rows that come in another order here than they did there."""
    if state["skip"] > 0 and interleaves(state):
        raise PipelineError(
            "the state was taken on a service, within a block of rows, which come in "
            "another order here: go on from it there, or take it between batches"
        )


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
            'a state of a service, of order="any", or of batches of several sizes, is '
            "no number of rows: go on from it with a loader of the same dataset and "
            "batches, as the one that gave it, or with mr.loader(ds)"
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


def start_of(state: Mapping[str, Any], epoch: int) -> dict[str, Any]:
    """Give the engine's state of the start of an epoch, by one of another epoch."""
    kept = ("version", "seed", "row_fingerprint", "manifest_hash", "cuts", "lanes")
    start = {name: state[name] for name in kept}
    return {**start, "pass": epoch, "epoch": epoch, "order": "any", "tracks": 1}


def join_states(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the states of all ranks in order "any" to one of all.

    There `state_dict()` gives what this rank took. As many ranks go on each from its
    own; another number of ranks, from the joined state.

    Args:
        parts: The states that all ranks took at the same step, in any order.

    Example:
        >>> import millrace as mr
        >>> ds = mr.range(10).batch(2)
        >>> state = ds.loader(seed=0).state_dict()
        >>> mr.join_states([state]) == state
        True
    """
    states = [checked_state(part) for part in parts]
    if not states:
        raise PipelineError("there is no state to join")
    first = states[0]
    if len(states) == 1:
        return first
    if any(kind_of(state) != "lanes" or state["state"] is None for state in states):
        raise PipelineError(
            'these are not parts of one state: only order="any" has such; else the '
            "state of any rank is that of all"
        )
    for name in ("seed", "epoch", "taken"):
        if any(state[name] != first[name] for state in states):
            raise PipelineError(
                f"the states are not of one step: they differ in {name!r}"
            )
    if any(state["skip"] > 0 for state in states):
        raise PipelineError("a state was taken within a block of rows: it has no parts")
    joined = _core.join_states([json.dumps(state["state"]) for state in states])
    return {**first, "rows": None, "state": json.loads(joined)}


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
