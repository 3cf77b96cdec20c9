"""One pass over the dataset: makes or collects batches, and knows how far it is."""

import concurrent.futures
import pickle
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data._utils import pin_memory as torch_pin

from millrace.torch.fetch import Recipe, Stream, fetch
from millrace.torch.gather import Gather, Routing, RowsPart
from millrace.torch.messages import (
    CollateRows,
    MakeBatch,
    NextBatch,
    OpenStream,
    ReadRows,
    Request,
)
from millrace.torch.plan import Order, Progress
from millrace.torch.seeding import Seeded
from millrace.torch.workers import Answer, Pool


@dataclass(frozen=True)
class Delivery:
    """How the pass hands over batches."""

    in_order: bool
    prefetch: int  # Requests per worker.
    timeout: float
    keeps_pool: bool  # The workers outlive the pass.
    routing: Routing


class Pass(ABC):
    """An iterator over the batches of one pass."""

    def __init__(self, progress: Progress, pin: "Pinner | None") -> None:
        self.progress = progress
        self._seeds = progress.seeds
        self._pin = pin
        self._closed = False

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        try:
            return self._take()
        except StopIteration:
            self.progress.finished = True
            self.close()
            raise

    def _hand_over(self, make: Callable[[], Any], count: Callable[[], None]) -> Any:
        """Counts a batch as taken once it is made, or the user's code has failed.

        An interrupt in between leaves it to be made after a resume.
        """
        try:
            batch = make()
        except Exception:
            count()
            raise
        count()
        return batch

    @abstractmethod
    def _take(self) -> Any:
        """The next batch; raises StopIteration at the end."""

    def close(self) -> None:
        """Gives up what the pass holds."""
        self._closed = True
        if self._pin is not None:
            self._pin.close()


class Pinner:
    """Copies batches to pinned memory in a thread, while the trainer computes."""

    def __init__(self) -> None:
        device = torch.accelerator.current_device_index()
        self._thread = concurrent.futures.ThreadPoolExecutor(
            1, "millrace-pin", torch.accelerator.set_device_index, (device,)
        )

    def submit(self, batch: Any) -> Any:
        """Begins to pin a batch."""
        return self._thread.submit(torch_pin.pin_memory, batch)

    def close(self) -> None:
        """Ends the thread; a batch in work is finished."""
        self._thread.shutdown(wait=False)


def make_pinner(pin_memory: bool) -> Pinner | None:
    """The pinner, if pinned memory is wanted and there is a device that has it."""
    if not pin_memory:
        return None
    if not torch.accelerator.is_available():
        warnings.warn(
            "DataLoader: pin_memory=True has no effect, as no accelerator was found",
            stacklevel=3,
        )
        return None
    return Pinner()


def _pinned(pin: Pinner | None, batch: Any) -> Any:
    return batch if pin is None else pin.submit(batch)


def _result(pin: Pinner | None, held: Any) -> Any:
    return held if pin is None else held.result()


class SerialMapPass(Pass):
    """A map-style dataset in the calling thread."""

    def __init__(
        self, recipe: Recipe, order: Order, progress: Progress, pin: Pinner | None
    ) -> None:
        super().__init__(progress, pin)
        self._recipe = recipe
        self._order = order

    def _take(self) -> Any:
        pulled = self._order.pull()
        if pulled is None:
            raise StopIteration
        number, index = pulled
        return self._hand_over(
            lambda: self._make(number, index),
            lambda: self.progress.take_batch(number),
        )

    def _make(self, number: int, index: Any) -> Any:
        with Seeded(self._seeds.batch(number)):
            batch = _fetch_here(self._recipe, index)
        return _result(self._pin, _pinned(self._pin, batch))


class SerialStreamPass(Pass):
    """An iterable dataset in the calling thread: one stream."""

    def __init__(self, recipe: Recipe, progress: Progress, pin: Pinner | None) -> None:
        super().__init__(progress, pin)
        with Seeded(0):
            self._stream = Stream(recipe, self._seeds, 0, 1)
            self._stream.skip(progress.position.batches)

    def _take(self) -> Any:
        with Seeded(0):
            batch = self._stream.take()
        batch = _result(self._pin, _pinned(self._pin, batch))
        self.progress.take_from_streams([self.progress.position.batches + 1], 0)
        return batch


class _PooledPass(Pass):
    """What passes over a pool of workers share."""

    def __init__(
        self,
        pool: Pool,
        delivery: Delivery,
        progress: Progress,
        pin: Pinner | None,
    ) -> None:
        super().__init__(progress, pin)
        self._pool = pool
        self._generation = pool.next_generation()
        self._delivery = delivery
        self._user_error = False

    def close(self) -> None:
        super().close()
        if not self._delivery.keeps_pool:
            self._pool.close()

    def __next__(self) -> Any:
        if self._pool.generation != self._generation:
            raise RuntimeError(
                "this iterator has ended: with persistent_workers=True the workers "
                "serve one iterator at a time, and iter() was called again"
            )
        try:
            return super().__next__()
        except BaseException as error:
            # What is half read or lost cannot be continued; the user's error can.
            if not isinstance(error, StopIteration) and not self._user_error:
                self._pool.close()
                self.close()
            raise
        finally:
            self._user_error = False

    def _wait(self, is_there: Callable[[], bool]) -> None:
        """Takes in answers until the wanted one is there."""
        timeout = self._delivery.timeout
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while not is_there():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise RuntimeError(
                    f"DataLoader timed out after {timeout} seconds: no worker finished "
                    "its batch; a larger timeout= waits longer, 0 for ever"
                )
            self._collect(left)

    def _collect(self, seconds: float | None) -> None:
        for answer in self._pool.answers(seconds):
            if answer.number < 0:
                self._deliver(answer)
            if answer.generation == self._generation:
                self._keep(answer)

    def _deliver_counted(self, answer: Answer, count: Callable[[], None]) -> Any:
        return self._hand_over(lambda: self._deliver(answer), count)

    def _deliver(self, answer: Answer) -> Any:
        """The batch, or the error that the user's code raised in the worker."""
        if answer.failure is None:
            return _result(self._pin, answer.batch)
        self._user_error = answer.number >= 0
        error = pickle.loads(answer.failure.error)
        error.add_note(
            f"Raised in DataLoader worker {answer.worker}, where it happened:\n"
            f"{answer.failure.trace}"
        )
        raise error

    def _pinned_answer(self, answer: Answer) -> Answer:
        if answer.failure is None and not answer.ended:
            answer.batch = _pinned(self._pin, answer.batch)
        return answer

    @abstractmethod
    def _keep(self, answer: Answer) -> None:
        """Stores an answer of this pass until its turn."""


class PooledMapPass(_PooledPass):
    """A map-style dataset on workers: any worker makes any batch."""

    def __init__(
        self,
        pool: Pool,
        delivery: Delivery,
        order: Order,
        progress: Progress,
        pin: Pinner | None,
    ) -> None:
        super().__init__(pool, delivery, progress, pin)
        self._order = order
        self._assigned: dict[int, Gather | None] = {}
        self._ready: dict[int, Answer] = {}
        self._held: tuple[int, Any] | None = None  # Pulled, but nobody's yet.
        self._recipe: Recipe | None = None
        self._fill()

    def serve_first(self, recipe: Recipe) -> None:
        """Lets the trainer make batches until the first worker is ready."""
        self._recipe = recipe

    def _take(self) -> Any:
        self._collect(0)
        self._fill()
        if not self._assigned and not self._ready:
            if not self._pull_held():
                raise StopIteration
            if self._recipe is not None:
                return self._serve(self._recipe)
        self._wait(self._is_next_there)
        number = self._next_number()
        answer = self._ready.pop(number)
        self._fill()
        return self._deliver_counted(answer, lambda: self.progress.take_batch(number))

    def _serve(self, recipe: Recipe) -> Any:
        """Makes the next batch here; if that fails, leaves it to a worker.

        A dataset may need what only a worker has.
        """
        assert self._held is not None
        number, index = self._held
        try:
            with Seeded(self._seeds.batch(number)):
                batch = _fetch_here(recipe, index)
        except Exception:
            self._recipe = None
            return self._take()
        self._held = None
        batch = _result(self._pin, _pinned(self._pin, batch))
        self.progress.take_batch(number)
        return batch

    def _is_next_there(self) -> bool:
        self._fill()
        return bool(self._ready) and self._next_number() in self._ready

    def _next_number(self) -> int:
        """The batch to deliver: the oldest one, or the first that came."""
        if not self._delivery.in_order:
            return next(iter(self._ready))
        return min(min(self._ready), min(self._assigned, default=sys.maxsize))

    def _pull_held(self) -> bool:
        if self._held is None:
            self._held = self._order.pull()
        return self._held is not None

    def _fill(self) -> None:
        """Hands out batches while a worker is free and the window is open."""
        prefetch = self._delivery.prefetch
        window = prefetch * self._pool.size
        while len(self._assigned) + len(self._ready) < window:
            worker = self._pool.idlest(prefetch)
            if worker is None or not self._pull_held():
                return
            assert self._held is not None
            number, index = self._held
            self._held = None
            self._assign(number, index, worker)

    def _assign(self, number: int, index: Any, worker: int) -> None:
        """Has a batch made by one worker, or its rows read by their owners."""
        gather = self._delivery.routing.split(index)
        self._assigned[number] = gather
        if gather is None:
            seed = self._seeds.batch(number)
            request = MakeBatch(self._generation, number, seed, index)
            self._pool.request(worker, request)
            return
        for owner, keys in enumerate(gather.keys):
            if keys:
                self._pool.request(owner, ReadRows(self._generation, number, keys))

    def _keep(self, answer: Answer) -> None:
        if answer.copies:
            self._delivery.routing.start()
        gather = self._assigned[answer.number]
        if gather is not None and isinstance(answer.batch, RowsPart):
            if gather.add(answer.worker, answer.batch):
                self._finish_gather(answer.number, gather)
            return
        del self._assigned[answer.number]
        self._ready[answer.number] = self._pinned_answer(answer)

    def _finish_gather(self, number: int, gather: Gather) -> None:
        """All rows are read: has them collated, or the batch made again whole."""
        worker = self._pool.idlest()
        assert worker is not None, "a worker has just answered"
        seed = self._seeds.batch(number)
        self._delivery.routing.learn(gather.suits)
        request: Request
        if gather.suits:
            request = CollateRows(
                self._generation, number, seed, gather.parts, gather.owners
            )
        else:
            request = MakeBatch(self._generation, number, seed, gather.index)
        self._pool.request(worker, request)


class PooledStreamPass(_PooledPass):
    """An iterable dataset on workers: each reads its own stream.

    Batches are taken in turn, one of each stream that has not ended. So their order
    does not depend on which worker is faster.
    """

    def __init__(
        self, pool: Pool, delivery: Delivery, progress: Progress, pin: Pinner | None
    ) -> None:
        super().__init__(pool, delivery, progress, pin)
        streams = progress.position.streams or (0,) * pool.size
        self._taken = list(streams)
        self._requested = list(streams)
        self._ready: list[deque[Answer]] = [deque() for _ in streams]
        self._live = [True] * len(streams)
        self._turn = progress.position.turn
        for worker, taken in enumerate(streams):
            self._pool.request(worker, OpenStream(self._seeds, taken))
            self._fill(worker)

    def _take(self) -> Any:
        while any(self._live):
            worker = self._choose()
            answer = self._ready[worker].popleft()
            if answer.ended:
                self._live[worker] = False
                self._turn = self._after(worker)
                continue
            self._taken[worker] += 1
            self._turn = self._after(worker)
            self._fill(worker)
            return self._deliver_counted(
                answer,
                lambda: self.progress.take_from_streams(self._taken, self._turn),
            )
        raise StopIteration

    def _choose(self) -> int:
        """The worker whose batch is next, once that batch is there."""
        if self._delivery.in_order:
            while not self._live[self._turn]:
                self._turn = self._after(self._turn)
            turn = self._turn
            self._wait(lambda: bool(self._ready[turn]))
            return turn
        self._wait(lambda: any(self._ready))
        return next(worker for worker, held in enumerate(self._ready) if held)

    def _after(self, worker: int) -> int:
        return (worker + 1) % len(self._live)

    def _fill(self, worker: int) -> None:
        while self._requested[worker] - self._taken[worker] < self._delivery.prefetch:
            number = self._requested[worker]
            self._requested[worker] += 1
            self._pool.request(worker, NextBatch(self._generation, number))

    def _keep(self, answer: Answer) -> None:
        self._ready[answer.worker].append(self._pinned_answer(answer))


def _fetch_here(recipe: Recipe, index: Any) -> Any:
    try:
        return fetch(recipe, index)
    except StopIteration as stop:
        # It would look like the end of the pass.
        raise RuntimeError("the dataset raised StopIteration for a row") from stop
