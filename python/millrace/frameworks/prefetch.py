"""A thread that takes things ahead of who consumes them."""

from __future__ import annotations

import atexit
import collections
import threading
import weakref
from collections.abc import Callable
from typing import Any

_JOIN_SECONDS = 5.0

_running: weakref.WeakSet[Prefetch] = weakref.WeakSet()


class Prefetch:
    """Takes things in a thread of its own, at most so many ahead.

    Errors of `take` come out of `get`, after what was taken before them.
    """

    def __init__(
        self, take: Callable[[], Any], ahead: int, cancel: Callable[[], None]
    ) -> None:
        """Start to take.

        Args:
            take: Gives the next thing; StopIteration at the end.
            ahead: How many may be waiting for `get`.
            cancel: Has a `take` that waits return soon, whatever it gives.
        """
        self._take = take
        self._ahead = ahead
        self._cancel = cancel
        self._changed = threading.Condition()
        self._taken: collections.deque[Any] = collections.deque()
        self._ending: BaseException | None = None
        self._stopped = False
        # A daemon, so that a training loop that fails is not waited for; at the
        # interpreter's exit it is ended in order, below.
        self._thread = threading.Thread(
            target=self._run, name="millrace-prefetch", daemon=True
        )
        _running.add(self)
        self._thread.start()

    def get(self) -> Any:
        """Give the next thing, or raise what `take` raised instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._taken or self._ending is not None)
            if not self._taken:
                assert self._ending is not None
                raise self._ending
            thing = self._taken.popleft()
            self._changed.notify_all()
            return thing

    def stop(self) -> None:
        """Take no more; what is being taken is dropped when it comes."""
        with self._changed:
            self._stopped = True
            self._taken.clear()
            self._changed.notify_all()

    def join(self) -> None:
        """Stop, and wait for the thread to end."""
        self.stop()
        self._cancel()
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while self._has_room():
            try:
                thing = self._take()
            except BaseException as error:
                self._end(error)
                return
            with self._changed:
                if not self._stopped:
                    self._taken.append(thing)
                self._changed.notify_all()

    def _has_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopped or len(self._taken) < self._ahead
            )
            return not self._stopped

    def _end(self, error: BaseException) -> None:
        with self._changed:
            self._ending = error
            self._changed.notify_all()


def _end_all() -> None:
    # A thread that comes back from C++ into an interpreter that is gone would end the
    # process with an error.
    for prefetch in list(_running):
        prefetch.join()


atexit.register(_end_all)
