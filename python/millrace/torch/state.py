"""The loader's state as it is saved: a few JSON values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.torch.plan import Position

_VERSION = 1


@dataclass(frozen=True)
class LoaderState:
    """Where the next pass starts. The same on all ranks, but for a sampler's own."""

    seed: int
    epoch: int
    position: Position = field(default_factory=Position)
    sampler: Any = None  # What the sampler's own state_dict() said.
    sampler_epoch: int | None = None  # What its set_epoch() was last told.

    def to_dict(self) -> dict[str, Any]:
        """A dict that JSON can hold, if the sampler's own state can."""
        position = self.position
        result: dict[str, Any] = {
            "version": _VERSION,
            "seed": self.seed,
            "epoch": self.epoch,
            "batches": position.batches,
        }
        if position.ahead:
            result["ahead"] = list(position.ahead)
        if position.streams:
            result |= {"streams": list(position.streams), "turn": position.turn}
        if self.sampler is not None:
            result["sampler"] = self.sampler
        if self.sampler_epoch is not None:
            result["sampler_epoch"] = self.sampler_epoch
        return result

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "LoaderState":
        """Reads what `to_dict` wrote."""
        if saved.get("version") != _VERSION:
            raise ValueError(
                "DataLoader: this is not a state of millrace.torch.DataLoader (version "
                f"{saved.get('version')!r}); start without load_state_dict"
            )
        if "batches" not in saved:
            raise ValueError(
                "DataLoader: this is not a state of millrace.torch.DataLoader but of "
                "another loader; load it into mr.loader(...) or ds.distribute(...)"
            )
        position = Position(
            batches=int(saved["batches"]),
            ahead=tuple(saved.get("ahead", ())),
            streams=tuple(saved.get("streams", ())),
            turn=int(saved.get("turn", 0)),
        )
        return cls(
            seed=int(saved["seed"]),
            epoch=int(saved["epoch"]),
            position=position,
            sampler=saved.get("sampler"),
            sampler_epoch=saved.get("sampler_epoch"),
        )
