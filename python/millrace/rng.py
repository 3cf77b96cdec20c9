"""The random numbers of a row: a function's `rng`.

Every call draws for itself and for its row, by seed, epoch, the number of the call and
the identity of the row. So a row draws the same numbers wherever it is processed, and
whether its function is traced or runs in Python.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from millrace._kernel_call import Value, call, evaluate
from millrace.traced import Recording, recording_of


def _sizes(shape: int | Sequence[int] | None) -> list[int]:
    if shape is None:
        return []
    return list(shape) if isinstance(shape, Sequence) else [shape]


class Rng(ABC):
    """What a function draws from: `def f(row, rng): ...`."""

    @abstractmethod
    def draw(
        self, kernel: str, operands: Sequence[Value], arguments: Mapping[str, object]
    ) -> Value:
        """Calls a random kernel."""

    def uniform(
        self,
        low: Value = 0.0,
        high: Value = 1.0,
        shape: int | Sequence[int] | None = None,
    ) -> Value:
        """Draws floats between low and high, each equally likely."""
        return self.draw("uniform", [low, high], {"shape": _sizes(shape)})

    def integers(
        self,
        low: Value,
        high: Value = None,
        shape: int | Sequence[int] | None = None,
    ) -> Value:
        """Draws integers from low up to, not including, high; of one bound, from 0."""
        bounds = [0, low] if high is None else [low, high]
        return self.draw("integers", bounds, {"shape": _sizes(shape)})

    def normal(
        self,
        mean: Value = 0.0,
        deviation: Value = 1.0,
        shape: int | Sequence[int] | None = None,
    ) -> Value:
        """Draws floats from a normal distribution."""
        return self.draw("normal", [mean, deviation], {"shape": _sizes(shape)})

    def truncated_normal(
        self,
        mean: Value = 0.0,
        deviation: Value = 1.0,
        shape: int | Sequence[int] | None = None,
    ) -> Value:
        """Draws from a normal distribution, within two deviations of its mean."""
        arguments = {"shape": _sizes(shape)}
        return self.draw("truncated_normal", [mean, deviation], arguments)

    def bernoulli(
        self, chance: Value = 0.5, shape: int | Sequence[int] | None = None
    ) -> Value:
        """Draws bools that are true with a chance."""
        return self.draw("bernoulli", [chance], {"shape": _sizes(shape)})

    def choice(
        self,
        options: Value,
        p: Value = None,
        shape: int | Sequence[int] | None = None,
    ) -> Value:
        """Draws from options: an array or list, or the integers below a number.

        All are equally likely, or each as its weight in p says.
        """
        count = options if _is_number(options) else call("length", [options], {})
        arguments = {"shape": _sizes(shape)}
        if p is None:
            places = self.draw("integers", [0, count], arguments)
        else:
            places = self.draw("choice", [p], arguments)
        if _is_number(options):
            return places
        kernel = "at" if shape is None else "take"
        return call(kernel, [options, places], {})

    def permutation(self, of: Value) -> Value:
        """Draws an order of an array, or of the integers below a number."""
        if _is_number(of):
            return self.draw("permutation", [of], {})
        order = self.draw("permutation", [call("length", [of], {})], {})
        return call("take", [of, order], {})


def _is_number(value: Value) -> bool:
    return np.ndim(value) == 0


class TracedRng(Rng):
    """The rng of a function that is being traced: it records what will be drawn."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def draw(
        self, kernel: str, operands: Sequence[Value], arguments: Mapping[str, object]
    ) -> Value:
        """Records a random kernel."""
        return self._recording.call(kernel, operands, arguments)


class RowRng(Rng):
    """The rng of one row, for functions that run in Python and for trying things.

    Calls are numbered as a tracer numbers them: in the order in which they are made.
    """

    def __init__(
        self, seed: int = 0, *, epoch: int = 0, row: int = 0, first_call: int = 0
    ) -> None:
        self._seed = seed
        self._epoch = epoch
        self._row = row
        self._first_call = first_call
        self._next_call = first_call

    @property
    def calls(self) -> int:
        """How many random calls were made."""
        return self._next_call - self._first_call

    def draw(
        self, kernel: str, operands: Sequence[Value], arguments: Mapping[str, object]
    ) -> Value:
        """Runs a random kernel."""
        recording = recording_of(operands)
        if recording is not None:
            raise recording.wrong(_not_rng(kernel, self))
        high, low = divmod(self._row, 1 << 64)
        key = (self._seed, self._epoch, self._next_call, high, low)
        self._next_call += 1
        return evaluate(kernel, operands, arguments, key)


def draw(
    rng: Rng,
    kernel: str,
    operands: Sequence[Value],
    arguments: Mapping[str, object],
) -> Value:
    """Calls a random kernel with the rng that the user gave."""
    if isinstance(rng, Rng):
        return rng.draw(kernel, operands, arguments)
    recording = recording_of(operands)
    if recording is not None:
        raise recording.wrong(_not_rng(kernel, rng))
    raise TypeError(_not_rng(kernel, rng))


def _not_rng(kernel: str, given: object) -> str:
    return (
        f"{kernel}: rng must be what the function is given as its parameter rng, not "
        f"a {type(given).__name__}; write def f(row, rng), or rng=mr.Rng(seed) outside "
        "of functions of rows"
    )
