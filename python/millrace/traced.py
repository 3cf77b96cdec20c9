"""The values that a row function sees while it is traced, and the record of its doings.

A traced value stands for what a field will hold in every row. What is done with it is
recorded as calls of kernels, or is an error that says what to write instead: nothing is
frozen to what it happened to be while tracing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

import numpy as np

from millrace import _core, _numpy_calls
from millrace._places import Untraceable, current_place
from millrace._plain import plain_argument, plain_value
from millrace._refusals import LATER, Refusals
from millrace.errors import TracingError, UnknownFieldError

# Longer values are not taken apart item by item: each would be a term of its own.
ITEMS_MAX = 256
_TEXTS = {"string": str, "bytes": bytes}


class Recording:
    """The terms of one call of a row function.

    Keeps the first reason why the function cannot be recorded: a function that catches
    our error must not pass as if nothing had happened.
    """

    def __init__(self, tracer: _core.Tracer) -> None:
        self._tracer = tracer
        self._open = True
        self.failure: Untraceable | TracingError | None = None

    @property
    def is_open(self) -> bool:
        """Whether the function is still running."""
        return self._open

    def close(self) -> None:
        """Ends it: its values are of no use any more."""
        self._open = False

    def untraceable(self, reason: str) -> Untraceable:
        """Notes that the function cannot be recorded; the caller raises the error."""
        if not self._open:
            reason = (
                "a traced value is used outside the function that it came from; "
                "return it from the function instead"
            )
        error = Untraceable(reason, current_place())
        self.failure = self.failure or error
        return error

    def wrong(self, reason: str) -> TracingError:
        """Notes that the function is wrong; the caller raises the error."""
        error = TracingError(reason, current_place())
        self.failure = self.failure or error
        return error

    def row(self) -> "RowView":
        """Gives the row that the function is called with."""
        names = [name for name, _, _ in self._tracer.fields()]
        return RowView({name: self._field(name) for name in names})

    def call(
        self, kernel: str, operands: Sequence[object], arguments: Mapping[str, object]
    ) -> "Traced":
        """Calls a kernel on traced values and constants."""
        terms = [self.term(operand) for operand in operands]
        plain = {
            name: self._argument(kernel, name, value)
            for name, value in arguments.items()
        }
        try:
            return Traced(self, self._tracer.call(kernel, terms, plain))
        except Exception as error:
            raise self.wrong(str(error)) from error

    def type(self, term: int) -> tuple[str, list[int] | None, bool]:
        """Gives the type, shape and weakness of a term."""
        return self._tracer.type(term)

    def term(self, value: object) -> int:
        """Gives the term of a traced value, or of a constant made from a plain one."""
        if not self._open:
            raise self.untraceable("")
        if isinstance(value, Traced):
            if value._recording is not self:
                raise self.untraceable(
                    "a traced value of another function is used here; each function "
                    "sees only its own row"
                )
            return value._term
        if isinstance(value, list | tuple) and recording_of(value) is not None:
            items = [self.term(item) for item in value]
            traced = [Traced(self, item) for item in items]
            if len(traced) == 1:
                return self.call("expand_dims", traced, {"axis": 0})._term
            return self.call("stack", traced, {})._term
        return self._constant(value)

    def value(self, value: object) -> "Traced":
        """Gives a traced value or a constant as a traced value."""
        return Traced(self, self.term(value))

    def build(self, results: Sequence[tuple[str, int]]) -> _core.Function:
        """Gives the function that was recorded."""
        return self._tracer.build(list(results))

    def _field(self, name: str) -> "Traced":
        return Traced(self, self._tracer.field(name))

    def _constant(self, value: object) -> int:
        plain = plain_value(value)
        if plain is None:
            raise self.untraceable(
                f"a value of type {type(value).__name__} cannot be part of a traced "
                "function; use numbers, texts and arrays"
            )
        weak = isinstance(plain, int | float) and not isinstance(plain, bool)
        try:
            return self._tracer.literal(plain, weak)
        except Exception as error:
            raise self.wrong(f"this constant cannot be used: {error}") from error

    def _argument(self, kernel: str, name: str, value: object) -> object:
        if recording_of([value]) is not None:
            raise self.untraceable(
                f"{kernel}: argument {name} must be the same for all rows, and cannot "
                "come from a field"
            )
        return plain_argument(value)


def recording_of(values: Sequence[object]) -> Recording | None:
    """Finds the recording that values belong to; None where all of them are plain."""
    for value in values:
        if isinstance(value, Traced):
            return value._recording
        if isinstance(value, list | tuple):
            found = recording_of(value)
            if found is not None:
                return found
    return None


_Binary: TypeAlias = Callable[["Traced", object], "Traced"]


def _binary(kernel: str) -> _Binary:
    def method(self: "Traced", other: object) -> "Traced":
        return self._recording.call(kernel, [self, other], {})

    return method


def _reflected(kernel: str) -> _Binary:
    def method(self: "Traced", other: object) -> "Traced":
        return self._recording.call(kernel, [other, self], {})

    return method


def _reduction(kernel: str) -> Callable[..., "Traced"]:
    def method(
        self: "Traced", axis: int | None = None, *, keepdims: bool = False
    ) -> "Traced":
        arguments = {"axis": axis, "keep_axis": keepdims}
        return self._recording.call(kernel, [self], arguments)

    method.__doc__ = f"Calls the kernel {kernel}, along an axis or over all values."
    return method


class Traced(Refusals):
    """A value of the function that is being traced."""

    __slots__ = ("_recording", "_term")

    def __init__(self, recording: Recording, term: int) -> None:
        self._recording = recording
        self._term = term

    # --- What is known without rows. ---

    @property
    def dtype(self) -> Any:
        """The type: one of NumPy's, or str or bytes."""
        name = self._recording.type(self._term)[0]
        return _TEXTS.get(name) or np.dtype(_numpy_calls.numpy_type(name))

    @property
    def shape(self) -> tuple[Any, ...]:
        """The size of each axis: an int where all rows agree, else a traced value."""
        sizes = self._sizes()
        if sizes is None:
            raise self._recording.untraceable(
                "the number of axes is not known before rows come; "
                "mr.math.shape(x) gives the sizes as an array"
            )
        return tuple(
            self._size(axis) if size < 0 else size for axis, size in enumerate(sizes)
        )

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of values."""
        return math.prod(self.shape)

    @property
    def T(self) -> "Traced":  # noqa: N802 (NumPy's name)
        """The value with its axes in reverse order."""
        return self.transpose()

    def _sizes(self) -> list[int] | None:
        return self._recording.type(self._term)[1]

    def _size(self, axis: int) -> "Traced":
        return self._recording.call(
            "at", [self._recording.call("shape", [self], {}), axis], {}
        )

    def _known_length(self, *what: str) -> int:
        sizes = self._sizes()
        if sizes and sizes[0] >= 0:
            return sizes[0]
        raise self._recording.untraceable(f"{what[0]} {LATER}; {what[1]}")

    # --- Arithmetic, comparison, logic. ---

    def __add__(self, other: object) -> "Traced":
        return self._joined_or_added(self, other)

    def __radd__(self, other: object) -> "Traced":
        return self._joined_or_added(other, self)

    def _joined_or_added(self, a: object, b: object) -> "Traced":
        texts = self.dtype in (str, bytes)
        return self._recording.call("text_join" if texts else "add", [a, b], {})

    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("modulo"), _reflected("modulo")
    __pow__, __rpow__ = _binary("power"), _reflected("power")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__ = _binary("equal")  # type: ignore[assignment]
    __ne__ = _binary("not_equal")  # type: ignore[assignment]
    __and__, __rand__ = _binary("and"), _reflected("and")
    __or__, __ror__ = _binary("or"), _reflected("or")

    def __divmod__(self, other: object) -> "tuple[Traced, Traced]":
        return self // other, self % other

    def __rdivmod__(self, other: object) -> "tuple[Traced, Traced]":
        return other // self, other % self

    def __xor__(self, other: object) -> "Traced":
        call = self._recording.call  # Of bools: one is true, and the other is not.
        either = call("or", [self, other], {})
        return call("and", [either, ~call("and", [self, other], {})], {})

    __rxor__ = __xor__

    def __neg__(self) -> "Traced":
        return self._recording.call("negate", [self], {})

    def __pos__(self) -> "Traced":
        return self

    def __abs__(self) -> "Traced":
        return self._recording.call("absolute", [self], {})

    def __invert__(self) -> "Traced":
        return self._recording.call("not", [self], {})

    def __round__(self, ndigits: int | None = None) -> "Traced":
        return self._whole("round", ndigits)

    def __floor__(self) -> "Traced":
        return self._whole("floor", None)

    def __ceil__(self) -> "Traced":
        return self._whole("ceil", None)

    def _whole(self, kernel: str, digits: int | None) -> "Traced":
        if digits is not None or self._sizes() != []:
            raise self._recording.untraceable(
                f"Python's {kernel} takes one number and no digits; "
                f"mr.math.{kernel} rounds arrays to whole numbers"
            )
        return self._recording.call(kernel, [self], {}).astype("int64")

    # --- Parts and shapes. ---

    def __getitem__(self, index: object) -> "Traced":
        items = list(index) if type(index) is tuple else [index]
        sizes = self._sizes()
        if self.dtype in (str, bytes) and sizes == []:
            return self._part_of_text(items)
        value, axis = self, 0
        for i, item in enumerate(items):
            if item is Ellipsis:
                after = [other for other in items[i + 1 :] if other is not None]
                axis = value.ndim - len(after)
            else:
                value, axis = value._picked(item, axis, alone=len(items) == 1)
        return value

    def _part_of_text(self, items: list[object]) -> "Traced":
        item = items[0]
        if self.dtype is bytes and type(item) is slice and item.step is None:
            arguments = {"start": item.start, "stop": item.stop}
            return self._recording.call("text_slice", [self], arguments)
        raise self._recording.untraceable(
            "characters of a string are not counted by kernels; "
            "mr.text.slice takes bytes from one place to another"
        )

    def _picked(self, item: Any, axis: int, *, alone: bool) -> "tuple[Traced, int]":
        """Applies one item of an index; gives the axis that the next is about."""
        call = self._recording.call
        if item is None:
            return call("expand_dims", [self], {"axis": axis}), axis + 1
        if type(item) is slice:
            bounds = (item.start, item.stop, item.step)
            if all(bound is None for bound in bounds):
                return self, axis + 1
            arguments = {"start": item.start, "stop": item.stop}
            arguments["step"] = 1 if item.step is None else item.step
            return call("slice", [self], {"axis": axis, **arguments}), axis + 1
        kind, rank = self._kind_of_index(item)
        if kind in "iu" and rank == 0:
            return call("at", [self, item], {"axis": axis}), axis
        if kind in "iu" and alone:
            return call("take", [self, item], {}), rank or 1
        raise self._recording.untraceable(
            "an index is made of integers, slices, None and ...; one array of "
            "integers may stand alone; mr.math.where chooses by a condition"
        )

    def _kind_of_index(self, item: object) -> tuple[str, int | None]:
        if isinstance(item, Traced):
            sizes = item._sizes()
            dtype = item.dtype
            kind = dtype.kind if isinstance(dtype, np.dtype) else "U"
            return kind, None if sizes is None else len(sizes)
        array = np.asarray(plain_value(item))
        return array.dtype.kind, array.ndim

    def astype(self, dtype: Any) -> "Traced":
        """Brings the values to another type, by NumPy's name or class."""
        name = _numpy_calls.dtype_name(dtype)
        return self._recording.call("cast", [self], {"dtype": name})

    def reshape(self, *shape: Any) -> "Traced":
        """Gives the values another shape; one size may be -1."""
        listed = len(shape) == 1 and type(shape[0]) in (list, tuple)
        sizes = list(shape[0] if listed else shape)
        return self._recording.call("reshape", [self], {"shape": sizes})

    def flatten(self) -> "Traced":
        """Gives the values along one axis."""
        return self.reshape(-1)

    ravel = flatten

    def copy(self) -> "Traced":
        """Gives the value itself, which nobody can change."""
        return self

    def transpose(self, *axes: Any) -> "Traced":
        """Puts the axes in another order; without one, in reverse."""
        order = axes[0] if len(axes) == 1 else axes
        arguments = {"axes": list(order) if order else None}
        return self._recording.call("transpose", [self], arguments)

    def squeeze(self, axis: int) -> "Traced":
        """Takes away an axis of size 1."""
        return self._recording.call("squeeze", [self], {"axis": axis})

    def clip(self, low: object, high: object) -> "Traced":
        """Raises values to low, then lowers them to high."""
        return self._recording.call("clip", [self, low, high], {})

    def argmax(self, axis: int | None = None) -> "Traced":
        """Gives the place of the largest value, along an axis or of all."""
        value = self.flatten() if axis is None else self
        arguments = {"axis": 0 if axis is None else axis}
        return self._recording.call("argmax", [value], arguments)

    def argsort(self, axis: int = -1) -> "Traced":
        """Gives the places of the values in their order."""
        return self._recording.call("argsort", [self], {"axis": axis})

    def cumsum(self, axis: int | None = None) -> "Traced":
        """Gives the sum of the values up to each, along an axis or of all."""
        value = self.flatten() if axis is None else self
        arguments = {"axis": 0 if axis is None else axis}
        return self._recording.call("cumsum", [value], arguments)

    sum, mean = _reduction("sum"), _reduction("mean")
    min, max = _reduction("min"), _reduction("max")
    any, all = _reduction("any"), _reduction("all")

    # --- Items one by one, where all rows have as many. ---

    def __len__(self) -> int:
        return self._known_length("len()", "mr.math.length gives it in every row")

    def __iter__(self) -> "Iterator[Traced]":
        length = self._known_length(
            "a loop over a field", "use .sum(), .max() and mr.math on all of it"
        )
        if length > ITEMS_MAX:
            raise self._recording.untraceable(
                f"a loop over {length} items would be recorded {length} times; "
                ".sum(), .max() and mr.math work on all of them"
            )
        return iter([self[i] for i in range(length)])

    # --- NumPy's functions. ---

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> "Traced":
        return _numpy_calls.ufunc(self._recording, ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        return _numpy_calls.function(self._recording, function, args, kwargs)

    # A class that compares loses its hash, and we want our error.
    __hash__ = Refusals.__hash__

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> "Traced":
        return self

    def __repr__(self) -> str:
        if not self._recording.is_open:
            return "<a traced value of a function that has ended>"
        name, sizes, _ = self._recording.type(self._term)
        if sizes is None:
            return f"<traced {name}[...]>"
        shape = ", ".join("?" if size < 0 else str(size) for size in sizes)
        return f"<traced {name}[{shape}]>" if sizes else f"<traced {name}>"


class RowView(dict[str, Traced]):
    """The row that a function is called with: a dict of its own, by field name."""

    def __missing__(self, name: object) -> NoReturn:
        near = get_close_matches(str(name), self, n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        names = ", ".join(self) or "none"
        # Not noted: a function may ask and go on, as with any dict.
        reason = f"there is no field {name!r}{meant}; fields are: {names}"
        raise UnknownFieldError(reason, current_place())
