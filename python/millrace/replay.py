"""Batches again: what a loader gave after a state, without moving any loader."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from millrace._states import interleaves
from millrace.errors import PipelineError
from millrace.loader import Loader

if TYPE_CHECKING:
    from millrace.dataset import Dataset


class Replays:
    """What datasets have of this."""

    def replay(
        self, state: Mapping[str, Any], *, batches: int, **rank: Any
    ) -> Iterator[Any]:
        """Give exactly the batches that a loader of this dataset gave after a state.

        They are computed in this process, from the same data; no loader is moved. The
        passes after the state's own follow it, epoch by epoch.

        Args:
            state: What `state_dict` of a loader gave, also of another process.
            batches: How many.
            rank: For a state of a distributed loader, what `distribute` was given:
                consumer, consumers, remainder, members, global_batch.

        Example:
            >>> import millrace as mr
            >>> ds = mr.range(100).shuffle(20).batch(4)
            >>> loader = mr.loader(ds)
            >>> stream = iter(loader)
            >>> _ = next(stream)
            >>> state = loader.state_dict()
            >>> seen = [next(stream)["value"].tolist() for _ in range(3)]
            >>> again = ds.replay(state, batches=3)
            >>> seen == [batch["value"].tolist() for batch in again]
            True
        """
        if interleaves(state):
            raise PipelineError(
                "this is a state of a service, whose batches come in another order "
                "than those of this process: open_lanes=1 of distribute has them in "
                "the same"
            )
        loader = _loader_of(cast("Dataset", self), state, rank)
        loader.load_state_dict(dict(state))
        return _first(loader, batches)


def _loader_of(
    dataset: Dataset, state: Mapping[str, Any], rank: dict[str, Any]
) -> Loader:
    if state.get("kind") == "rows":
        return dataset.distribute(seed=state["seed"], **rank)
    if rank:
        raise PipelineError(
            f"{', '.join(rank)}: this is no state of a distributed loader, so there "
            "are no ranks to choose from"
        )
    return Loader(dataset)


def _first(loader: Loader, count: int) -> Iterator[Any]:
    with loader:
        for number in itertools.count():
            given = 0
            for batch in itertools.islice(loader, count):
                given += 1
                yield batch
            count -= given
            # The state's own pass may have come to its end there.
            if count == 0 or (given == 0 and number > 0):
                return
