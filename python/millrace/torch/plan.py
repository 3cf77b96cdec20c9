"""The order of one pass: the sampler's batches, numbered, and where a pass stands."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
)

from millrace.torch.seeding import BATCH, ORDER, Seeded, mix

# `state_dict(batches=n)` reaches back this many batches.
_HISTORY = 16
_CHAIN_MAX = 8
_KEYS_AT_ONCE = 4096
_END = object()
# Opening a stream is numbered apart from its batches.
_OPENING = 1 << 63


@dataclass(frozen=True)
class Seeds:
    """The seeds of one pass of one rank."""

    seed: int
    epoch: int
    rank: int

    def batch(self, number: int) -> int:
        """For making a batch. Ranks draw apart, whatever the number of workers."""
        return mix(self.seed, BATCH, self.epoch, self.rank, number)

    def opening(self, stream: int) -> int:
        """For what an iterable dataset draws before its first row."""
        return self.batch(_OPENING + stream)

    def order(self, number: int) -> int:
        """For the sampler's draw of a batch. All ranks draw alike."""
        return mix(self.seed, ORDER, self.epoch, number)


@dataclass(frozen=True)
class Position:
    """How far the training loop is in a pass."""

    batches: int = 0  # Taken, in all.
    ahead: tuple[int, ...] = ()  # Of them, those behind one that is not yet taken.
    streams: tuple[int, ...] = ()  # Iterable: batches taken from each worker.
    turn: int = 0  # Iterable: the worker whose batch is next.

    @property
    def prefix(self) -> int:
        """The number of the first batch that was not taken."""
        return self.batches - len(self.ahead)


def sampler_chain(sampler: Any) -> list[Any]:
    """The sampler, and the samplers inside it."""
    found: list[Any] = []
    pending = [sampler]
    while pending and len(found) < _CHAIN_MAX:
        each = pending.pop(0)
        if each is None or any(each is known for known in found):
            continue
        found.append(each)
        pending += [getattr(each, name, None) for name in ("sampler", "batch_sampler")]
    return found


def generators(sampler: Any) -> list[torch.Generator]:
    """The generators that the samplers draw from."""
    held = [getattr(each, "generator", None) for each in sampler_chain(sampler)]
    return [each for each in held if isinstance(each, torch.Generator)]


def stateful_sampler(sampler: Any) -> Any:
    """The outermost sampler that can save its own state, or None."""
    for each in sampler_chain(sampler):
        if hasattr(each, "state_dict") and hasattr(each, "load_state_dict"):
            return each
    return None


class Shuffle(RandomSampler):
    """RandomSampler, without all keys at once as Python's numbers: 8 bytes, not 40."""

    def __iter__(self) -> Iterator[int]:
        rows = len(self.data_source)
        for _ in range(self.num_samples // rows):
            yield from _one_by_one(torch.randperm(rows, generator=self.generator))
        last = torch.randperm(rows, generator=self.generator)
        yield from _one_by_one(last[: self.num_samples % rows])


def _one_by_one(keys: torch.Tensor) -> Iterator[int]:
    for begin in range(0, len(keys), _KEYS_AT_ONCE):
        yield from keys[begin : begin + _KEYS_AT_ONCE].tolist()


class Order:
    """Yields (number, index) for the batches of one pass that are still to be made.

    A sampler with state continues from it; any other is run again from the pass's seed
    and its first batches are dropped.
    """

    def __init__(
        self, sampler: Any, seeds: Seeds, start: Position, sampler_state: Any = None
    ) -> None:
        self._sampler = sampler
        self._seeds = seeds
        self._pure = all(map(_draws_from_generator_only, sampler_chain(sampler)))
        self._stateful = stateful_sampler(sampler)
        self._states: dict[int, Any] = {}
        self._ahead = set(start.ahead)
        self._next: Any = None  # Drawn, but not yet pulled.
        self._indices: Iterator[Any] | None = None
        self._count = 0
        self.pulled = start.batches
        for generator in generators(sampler):
            generator.manual_seed(seeds.order(0))
        self._go_to(start.prefix, sampler_state)

    def pull(self) -> tuple[int, Any] | None:
        """The next batch's number and index; None at the end."""
        if self._next is None:
            self._advance()
        if self._next is _END:
            return None
        found, self._next = self._next, None
        assert isinstance(found, tuple)
        self.pulled += 1
        return found

    def has_more(self) -> bool:
        """Whether any batch is still to be pulled. May run the sampler one ahead."""
        if self._next is None:
            self._advance()
        return self._next is not _END

    def sampler_state(self, prefix: int) -> Any:
        """The sampler's own state behind the first `prefix` batches, if it has one."""
        return self._states.get(prefix)

    def forget_states(self, before: int) -> None:
        """Drops states that nobody can ask for any more."""
        for number in [number for number in self._states if number < before]:
            del self._states[number]

    def _go_to(self, prefix: int, state: Any) -> None:
        if self._stateful is not None and state is not None:
            self._stateful.load_state_dict(state)
            self._count = prefix
            self._states[prefix] = state
            return
        if self._stateful is not None:
            self._states[0] = self._stateful.state_dict()
        while self._count < prefix and self._draw() is not _END:
            self._count += 1

    def _advance(self) -> None:
        while True:
            index = self._draw()
            number = self._count
            self._count += 1
            if index is _END:
                self._next = _END
                return
            if number not in self._ahead:
                self._next = (number, index)
                return

    def _draw(self) -> Any:
        if self._pure:
            index = self._run()
        else:
            with Seeded(self._seeds.order(self._count)):
                index = self._run()
        if self._stateful is not None:
            self._states[self._count + 1] = self._stateful.state_dict()
        return index

    def _run(self) -> Any:
        if self._indices is None:
            self._indices = iter(self._sampler)
        return next(self._indices, _END)


def _draws_from_generator_only(sampler: Any) -> bool:
    """Whether a sampler is known not to touch the global random states."""
    kind = type(sampler)
    if kind in (RandomSampler, Shuffle):
        return sampler.generator is not None
    known = (BatchSampler, SequentialSampler, DistributedSampler, range, list, tuple)
    return kind in known


class Progress:
    """What the training loop has taken of a pass. It outlives the pass itself."""

    def __init__(self, seeds: Seeds, start: Position, order: Order | None) -> None:
        self.seeds = seeds
        self.finished = False
        self.start = start
        self.position = start
        self._order = order
        self._history: deque[Position] = deque([start], maxlen=_HISTORY + 1)
        self._ahead = set(start.ahead)
        self._next = start.prefix

    def take_batch(self, number: int) -> None:
        """Counts a batch of a map-style dataset, in order or not."""
        self._ahead.add(number)
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1
        ahead = tuple(sorted(self._ahead))
        self._move(Position(self.position.batches + 1, ahead))
        if self._order is not None:
            self._order.forget_states(self._history[0].prefix)

    def take_from_streams(self, streams: list[int], turn: int) -> None:
        """Counts a batch of an iterable dataset."""
        self._move(Position(self.position.batches + 1, (), tuple(streams), turn))

    def is_untouched(self) -> bool:
        """Whether nothing was taken since the pass began."""
        return self.position == self.start

    def at(self, batches: int | None) -> Position:
        """The position now, or when `batches` had been taken."""
        if batches is None:
            return self.position
        for past in self._history:
            if past.batches == batches:
                return past
        raise ValueError(
            f"state_dict(batches={batches}): this pass remembers its positions from "
            f"{self._history[0].batches} to {self.position.batches} taken batches"
        )

    def has_more(self, position: Position) -> bool:
        """Whether batches are left behind a position, as far as can be known."""
        if position != self.position:
            return True
        if self.finished:
            return False
        order = self._order
        return order is None or position.batches < order.pulled or order.has_more()

    def sampler_state(self, position: Position) -> Any:
        """The state of a sampler that has one."""
        return self._order and self._order.sampler_state(position.prefix)

    def _move(self, position: Position) -> None:
        self.position = position
        self._history.append(position)
