"""Makes one batch from the user's dataset, in the trainer or in a worker."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from millrace.torch.plan import Seeds
from millrace.torch.seeding import seed_libraries


@dataclass(frozen=True)
class Recipe:
    """What it takes to make batches: the user's objects, and how rows are grouped."""

    dataset: Any
    collate: Callable[[Any], Any]
    iterable: bool
    batch_size: int | None  # Rows per batch of an iterable dataset; None: no batches.
    batched: bool  # Map-style: an index is a list of keys, not one key.
    drop_last: bool


def fetch(recipe: Recipe, index: Any) -> Any:
    """Returns the batch of a map-style dataset for one index of the sampler."""
    dataset = recipe.dataset
    if not recipe.batched:
        return recipe.collate(dataset[index])
    many = getattr(dataset, "__getitems__", None)
    rows = many(index) if many else [dataset[key] for key in index]
    return recipe.collate(rows)


class Stream:
    """The batches of an iterable dataset in one process, in its own order.

    Batch k of stream s has the number k * streams + s, whatever the other streams do.
    """

    def __init__(self, recipe: Recipe, seeds: Seeds, stream: int, streams: int) -> None:
        self._recipe = recipe
        self._seeds = seeds
        self._stream = stream
        self._streams = streams
        self._taken = 0
        self._ended = False
        seed_libraries(seeds.opening(stream))
        self._rows = iter(recipe.dataset)

    def take(self) -> Any:
        """Returns the next batch, collated; raises StopIteration at the end."""
        return self._recipe.collate(self._take_rows())

    def skip(self, count: int) -> None:
        """Reads batches again without collating them.

        The dataset draws its random numbers as it did the first time.
        """
        with contextlib.suppress(StopIteration):
            for _ in range(count):
                self._take_rows()

    def _take_rows(self) -> Any:
        seed_libraries(self._seeds.batch(self._taken * self._streams + self._stream))
        self._taken += 1
        size = self._recipe.batch_size
        if size is None:
            return next(self._rows)
        if self._ended:
            raise StopIteration
        rows = list(islice(self._rows, size))
        self._ended = len(rows) < size
        if not rows or (self._ended and self._recipe.drop_last):
            raise StopIteration
        return rows
