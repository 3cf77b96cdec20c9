"""Turns row functions into expressions, by calling them on traced values.

A function is called twice. What differs between the calls, or draws from a generator of
its own, would be frozen in the expression; that is an error, and `rng` the remedy.
"""

import collections
import functools
import inspect
import itertools
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from millrace import _core
from millrace._catalog import catalog
from millrace._places import (
    Place,
    Untraceable,
    place_of_code,
    place_of_traceback,
)
from millrace._structure import Structure, taken_apart
from millrace.errors import TracingError
from millrace.rng import TracedRng
from millrace.traced import Recording, Traced

__all__ = ["Structure", "TracedFunction", "TracingError", "Untraceable", "trace"]

_WRONG_CALL = re.compile(
    r"\(\) (got an unexpected keyword argument|got multiple values for|missing \d+ "
    r"required|takes .*positional arguments? but)"
)
_USE_RNG = (
    "draw random numbers from the function's parameter rng, as in "
    "def f(row, rng): ... rng.uniform()"
)


@dataclass(frozen=True)
class TracedFunction:
    """A function as data, and what its rows look like to the user."""

    function: _core.Function
    structure: Structure | None  # None where it gives one value, and no row.


def trace(
    function: Callable[..., Any],
    operator: str,
    argument_name: str,
    arguments: Mapping[str, Any],
    inputs: Sequence[_core.Pipeline],
    *,
    row: Structure | None = None,
) -> TracedFunction:
    """Records what a function does, for an argument of an operator.

    `row` is how the function sees its rows; by default as dicts. Raises Untraceable
    where Python would have to run the function, TracingError where it is wrong.
    """
    argument = catalog().operators[operator].argument(argument_name)
    call = _Call(
        function,
        operator,
        gives_row=argument.type == "row_function",
        new_recording=lambda: Recording(
            _core.Tracer(operator, dict(arguments), list(inputs))
        ),
        row=row,
    )
    first = call.once()
    # What the first call prepared for all that follow is no change with every row.
    before = {name: _seen(value) for name, value in _captured(function)}
    second = call.once()
    call.check_unchanged(before)
    same = first.function.text == second.function.text
    if same and first.structure == second.structure:
        return first
    raise call.wrong(
        "the function did something else when it was called again; it may depend only "
        f"on its row, and not on random numbers, the time or a counter: {_USE_RNG}"
    )


@dataclass(frozen=True)
class _Call:
    """One function and how it is called."""

    function: Callable[..., Any]
    operator: str
    gives_row: bool
    new_recording: Callable[[], Recording]
    row: Structure | None

    def wrong(self, reason: str) -> TracingError:
        """An error about the function as a whole."""
        return TracingError(f"{self.operator}: {reason}", _place_of(self.function))

    def once(self) -> TracedFunction:
        """Calls it, and sees to it that no global generator moves."""
        generators = _moving_generators()
        outcome: TracedFunction | Untraceable
        try:
            outcome = self._recorded()
        except Untraceable as error:
            outcome = error
        finally:
            moved = [name for name, restore in generators if restore()]
        if moved:
            raise self.wrong(
                f"the function draws from {moved[0]}, which is not reproducible by "
                f"row: {_USE_RNG}"
            )
        if isinstance(outcome, Untraceable):
            raise outcome
        return outcome

    def check_unchanged(self, before: Mapping[str, Any]) -> None:
        """Compares what the function uses from outside with what it was."""
        after = dict(_captured(self.function))
        for name, seen in before.items():
            if name not in after or _seen(after[name]) != seen:
                raise self.wrong(
                    f"the function changes {name}, which lives outside of it and "
                    "would change only now, not with every row; return it as a field, "
                    "keep it in the state of scan, or use python=True"
                )

    def _recorded(self) -> TracedFunction:
        recording = self.new_recording()
        try:
            result = self._called(recording)
            if recording.failure is not None:
                raise recording.failure
            return self._built(recording, result)
        except (Untraceable, TracingError) as error:
            kept = recording.failure or error
            place = kept.place or _place_of(self.function)
            named = type(kept)(f"{self.operator}: {kept.reason}", place)
            raise named from kept.__cause__
        finally:
            recording.close()

    def _called(self, recording: Recording) -> Any:
        row: Any = recording.row()
        known = self.row  # Beside a state, its fields are not all there are.
        if known is not None and known.kind is not dict and known.names == tuple(row):
            row = known.rebuilt(list(row.values()))
        given = {"rng": TracedRng(recording)} if _takes_rng(self.function) else {}
        _check_signature(self.function, given)
        try:
            return self.function(row, **given)
        except (Untraceable, TracingError):
            raise
        except Exception as error:
            place = place_of_traceback(error.__traceback__)
            shown = f"{type(error).__name__}: {error}"
            kind = TracingError if _is_wrong_call(error) else Untraceable
            raise kind(f"the function raised {shown}", place) from error

    def _built(self, recording: Recording, result: Any) -> TracedFunction:
        traced = isinstance(result, Traced)
        if not traced and (inspect.isgenerator(result) or inspect.iscoroutine(result)):
            result.close()
            raise Untraceable(
                "a generator or coroutine cannot be traced; return the row", None
            )
        apart = None if traced else taken_apart(result)
        if self.gives_row != (apart is not None) or result is None:
            raise _wrong_result(result, gives_row=self.gives_row)
        if apart is None:
            results = [("", recording.term(result))]
            return TracedFunction(_function(recording, results), None)
        structure, values = apart
        terms = [recording.term(value) for value in values]
        results = list(zip(structure.names, terms, strict=True))
        return TracedFunction(_function(recording, results), structure)


def _function(recording: Recording, results: list[tuple[str, int]]) -> _core.Function:
    try:
        return recording.build(results)
    except Exception as error:
        raise TracingError(str(error), None) from error


def _wrong_result(result: Any, *, gives_row: bool) -> TracingError:
    if result is None:
        shown = "nothing"
    elif isinstance(result, Traced):
        shown = "one value"
    else:
        shown = f"a {type(result).__name__}"
    if not gives_row:
        reason = f"the function must return one value, and returned {shown}"
        return TracingError(reason, None)
    return TracingError(
        f"the function must return a row, and returned {shown}; "
        'return a dict, as in {"x": value}, a tuple or a dataclass',
        None,
    )


def _is_wrong_call(error: Exception) -> bool:
    """Tell whether a function was called with arguments that it does not take.

    Python would say the same of every row.
    """
    return isinstance(error, TypeError) and _WRONG_CALL.search(str(error)) is not None


def _check_signature(function: Any, given: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(None, **given)
    except ValueError:  # Some functions written in C do not say what they take.
        return
    except TypeError as error:
        raise TracingError(
            f"the function is called with a row, and with rng if it has such a "
            f"parameter; that does not fit: {error}",
            None,
        ) from None


def _underlying(function: Any) -> Any:
    """Gives the Python function inside partials, methods and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    function = getattr(function, "__func__", function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    return function


def _place_of(function: Any) -> Place | None:
    code = getattr(_underlying(function), "__code__", None)
    return place_of_code(code) if isinstance(code, CodeType) else None


def _takes_rng(function: Any) -> bool:
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # Some functions written in C do not say.
        return False


# --- What a function must not touch. ---


def _moving_generators() -> list[tuple[str, Callable[[], bool]]]:
    """Gives, by name, what puts a global generator back, and tells whether it moved."""
    found = [
        ("random", _keeper(random.getstate, random.setstate, lambda state: state)),
        ("numpy.random", _keeper(np.random.get_state, np.random.set_state, _numpy_key)),
    ]
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "random"):
        get, put = torch.random.get_rng_state, torch.random.set_rng_state
        found.append(
            ("torch", _keeper(get, put, lambda state: state.numpy().tobytes()))
        )
    return found


def _keeper(
    get: Callable[[], Any], put: Callable[[Any], Any], key: Callable[[Any], Any]
) -> Callable[[], bool]:
    state = get()

    def restore() -> bool:
        if key(get()) == key(state):
            return False
        put(state)
        return True

    return restore


def _numpy_key(state: Any) -> Any:
    name, words, *rest = state
    return name, words.tobytes(), *rest


def _captured(function: Any) -> Iterator[tuple[str, Any]]:
    """Gives what a function uses from outside: its object, globals, closure."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", None)
    if owner is None and not inspect.isroutine(function):
        owner = function
    for name, value in getattr(owner, "__dict__", {}).items():
        yield f"self.{name}", value
    inner = _underlying(function)
    if not inspect.isfunction(inner):
        return
    for name in _names_in(inner.__code__):
        if name in inner.__globals__:
            yield name, inner.__globals__[name]
    yield from _defaults(inner)
    cells = zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # Not assigned yet.
            continue


def _defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    values = function.__defaults__ or ()
    count = function.__code__.co_argcount
    names = function.__code__.co_varnames[count - len(values) : count]
    yield from zip(names, values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:  # Functions and comprehensions inside.
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


# More than this is not compared: a change is seen then by what it becomes.
_ARRAY_BYTES_MAX = 1 << 20
_ITEMS_MAX = 10_000


def _seen(value: Any) -> tuple[Any, ...]:
    """Gives what tells whether a captured value was changed, as far as is cheap."""
    if isinstance(value, np.ndarray):
        small = value.nbytes <= _ARRAY_BYTES_MAX and value.dtype != object
        return id(value), value.tobytes() if small else None
    if isinstance(value, dict):
        pairs = itertools.islice(value.items(), _ITEMS_MAX)
        return id(value), len(value), [(id(key), id(item)) for key, item in pairs]
    if isinstance(value, list | set | bytearray | collections.deque):
        items = itertools.islice(value, _ITEMS_MAX)
        return id(value), len(value), [id(item) for item in items]
    if isinstance(value, bool | int | float | complex | str | bytes):
        return (value,)  # In a tuple, NaN equals itself.
    if isinstance(value, type | ModuleType) or inspect.isroutine(value):
        return (id(value),)
    own = getattr(value, "__dict__", {})
    return id(value), [(name, id(item)) for name, item in own.items()]
