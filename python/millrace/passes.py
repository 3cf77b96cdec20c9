"""One pass over a dataset: the engine's iterator, and how far the user has come."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace import _core
from millrace.debugging import Here
from millrace.engine import debug_engine, engine
from millrace.errors import CancelledError, EngineLostError, PipelineError
from millrace.notices import Waits
from millrace.rows import RowMaker

if TYPE_CHECKING:
    from typing import TypeAlias

    from millrace.dataset import Dataset
    from millrace.isolated import IsolatedEngine, IsolatedIterator, IsolatedMark
    from millrace.service_reader import ServicePass, ServiceReader

    Elsewhere: TypeAlias = IsolatedEngine | ServiceReader
    AnyIterator: TypeAlias = _core.Iterator | IsolatedIterator | ServicePass

# So far back the state can be asked for, at least: 8 batches that the user took, and
# two that a framework's own prefetch has taken before.
_STATES_KEPT = 10


@dataclasses.dataclass(frozen=True)
class _Place:
    """The engine's state after so many rows of the pass were taken."""

    taken: int
    mark: _core.Mark | IsolatedMark


class Pass:
    """One pass: the engine's iterator, and how far the user has come in it."""

    def __init__(
        self,
        dataset: Dataset,
        seed: int,
        epoch: int,
        order: str,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.dataset = dataset
        self._elsewhere = elsewhere
        self._seed = seed
        self._epoch = epoch
        self.any_order = order == "any"
        self.rows = RowMaker(dataset._pipeline.fields, dataset._structure)
        self._places: collections.deque[_Place] = collections.deque()
        self.iterator: AnyIterator | None = None
        self.taken = 0  # By the user, rows or batches.
        self.begun = 0  # As many of them before the pass was opened.
        self.passed = 0  # By now: of those that the engine gives again.
        self._left = 0  # Of the block that was given last.
        self._skip = 0  # That the user took before, and the engine gives again.
        self.is_shared = False  # Whether a thread other than the user's takes.
        self.is_abandoned = False  # A later pass has begun.
        self.is_lost = False  # The engine's process has died.
        self.copied_bytes = 0
        self.ended = False

    def open(
        self,
        state: str | None = None,
        taken: int = 0,
        skip: int = 0,
        cut_as: str | None = None,
    ) -> None:
        """Begin it, or go on from a state; `Engine.open` has the words."""
        self.iterator = self._opened(
            seed=self._seed,
            epoch=self._epoch,
            any_order=self.any_order,
            state=state,
            cut_as=cut_as,
        )
        self.taken = self.begun = taken
        self._skip = skip
        self._places = collections.deque([_Place(taken - skip, self.iterator.mark())])

    def _opened(self, **settings: Any) -> AnyIterator:
        pipeline = self.dataset._pipeline
        if self._elsewhere is not None:
            return self._elsewhere.open(pipeline, **settings)
        if self.dataset._debug:
            return debug_engine().open(pipeline, **settings, here=Here())
        return engine().open(pipeline, **settings, waiting=Waits())

    def values(self) -> Iterator[Any]:
        """Give each row's values, counting those that are taken."""
        iterator = self.iterator
        assert iterator is not None
        while True:
            try:
                block = iterator.next()
            except CancelledError:
                if self.is_abandoned:
                    return
                raise
            except EngineLostError:
                self.is_lost = True
                raise
            if block is None:
                self.ended = True
                return
            count, columns, copied = block
            self.copied_bytes += copied
            self._left = count
            for values in self.rows.values(count, columns):
                self._left -= 1
                if self._skip > 0:
                    self._skip -= 1
                    self.passed += 1
                    continue
                self.taken += 1
                if self._left == 0:
                    self._remember(iterator)
                yield values
                if self.is_abandoned:
                    return

    def _remember(self, iterator: AnyIterator) -> None:
        """Keep a state now and then: others are one of these and a few rows more."""
        # In a thread of its own nobody waits for it: then each batch has its state, and
        # going on from one computes nothing again.
        spacing = 1 if self.is_shared else _STATES_KEPT
        if self.taken - self._places[-1].taken < spacing:
            return
        self._places.append(_Place(self.taken, iterator.mark()))
        while (
            len(self._places) > 2 and self._places[1].taken <= self.taken - _STATES_KEPT
        ):
            self._places.popleft()

    def _is_between_blocks(self) -> bool:
        """Tell whether the engine's state is that of what was taken, and stays so."""
        return self._left == 0 and self._skip == 0 and not self.is_shared

    def place(self, taken: int) -> tuple[str, int]:
        """Give a state, and how many rows further so many taken rows are."""
        assert self.iterator is not None
        if taken == self.taken and self._is_between_blocks():
            return self.iterator.state(), 0
        places = tuple(self._places)  # Another thread may go on taking.
        if not places[0].taken <= taken <= self.taken:
            raise PipelineError(
                f"a state of {taken} taken rows is not known: "
                f"{places[0].taken} to {self.taken} are"
            )
        known = max((p for p in places if p.taken <= taken), key=lambda p: p.taken)
        return known.mark.json(), taken - known.taken

    def reopened(self, taken: int) -> tuple[_core.Iterator, int]:
        """Open it again where so many rows were taken, with origins.

        Gives the pass, and how many rows further that is.
        """
        state, skip = self.place(taken)
        iterator = engine().open(
            self.dataset._pipeline,
            seed=self._seed,
            epoch=self._epoch,
            any_order=False,
            state=state,
            origins=True,
        )
        return iterator, skip
