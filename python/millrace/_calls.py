"""Calls of Python functions on rows, wherever they run.

The same in a process beside the engine (`runner`) and in the calling thread
(`debugging`): functions are loaded once, called on rows, or asked as generators for
more of them. What comes of it is an answer as api/python_calls.h has it, and a frame.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from millrace import _core, worker
from millrace._structure import Structure, taken_apart
from millrace.errors import FunctionError
from millrace.functions import (
    PickledFunction,
    has_parameter,
    unpickle,
    written_structure,
)
from millrace.rng import RowRng
from millrace.rows import RowMaker

_TRACEBACK_MAX = 32 << 10
# So far a generator may be ahead of those who ask for its rows.
_AHEAD_ROWS = 1024
_AHEAD_BYTES = 1 << 20
# Frames that stand between the engine and the user's function.
_BETWEEN = (__file__, str(Path(__file__).with_name("generators.py")))
_NO_ROW = (1 << 64) - 1  # No row has this number: a generator draws with it.

Answer: TypeAlias = tuple[dict[str, Any], _core.ResultFrame | None]


class Answerer:
    """Loads functions, and answers for them, one call at a time."""

    def __init__(self, *, ahead: bool) -> None:
        """Begin without any function; generators may run ahead, in threads, or not."""
        self._stream = _StreamAhead if ahead else _Stream
        self._functions: dict[str, PickledFunction] = {}
        self._copied: set[str] = set()  # Functions that use their arrays again.
        self._streams: dict[int, _Stream] = {}

    def load(self, call: dict[str, Any], content: bytes) -> Answer:
        """Load a function, and call its init."""
        _set_worker(call)
        try:
            self._functions[call["function"]] = unpickle(content)
        except Exception as error:
            return {"error": _told(error, "loading the function")}, None
        return {}, None

    def map(
        self,
        call: dict[str, Any],
        frame: tuple[np.ndarray[Any, Any], int],
        at: Callable[[int], None],
    ) -> Answer:
        """Call a function on the rows of a frame, telling the number of each before."""
        _set_worker(call)
        name = call["function"]
        memory, offset = frame
        rows = _core.read_frame(memory, offset, call["bytes"])
        try:
            return self._mapped(call, rows, at)
        except _UsedAgainError:
            # What it gave for the rows before is lost, so it is asked for them again.
            self._copied.add(name)
            return self._mapped(call, rows, at)

    def _mapped(
        self, call: dict[str, Any], given: tuple[Any, ...], at: Callable[[int], None]
    ) -> Answer:
        count, names, columns, ids = given
        function = self._functions[call["function"]]
        rows = RowMaker([(name, "", None) for name in names], function.structure)
        calls = _Calls(function, call, copies=call["function"] in self._copied)
        error = ""
        for number, row in enumerate(rows.rows(count, _read_only(columns))):
            at(number)
            try:
                calls.run(row, ids[number] if ids else (0, number))
            except _UsedAgainError:
                raise
            except Exception as raised:
                error = _told(raised, function.name)
                break
        return calls.results.answer(draws=calls.draws, error=error)

    def generate(self, call: dict[str, Any]) -> Answer:
        """Ask a generator for more rows; a number that is new begins one."""
        _set_worker(call)
        number = call["stream"]
        if number not in self._streams:
            function = self._functions[call["function"]]
            self._streams[number] = self._stream(function, call)
        answer, frame = self._streams[number].more()
        if answer["ended"]:
            del self._streams[number]
        return answer, frame


def _set_worker(call: dict[str, Any]) -> None:
    number = call["process"]
    worker.enter(worker.WorkerInfo(number, call["processes"], call["seed"] + number))


class _UsedAgainError(Exception):
    """An array of an earlier row was given for another: it was written over."""


class _Results:
    """Collects the rows that a function gives, by field.

    Arrays are copied once, when all rows are there, into the memory that they travel
    in. A function that writes each row into the same array would change rows that it
    gave before: that is noticed, unless every array is copied at once.
    """

    def __init__(self, fields: str, *, copies: bool = False) -> None:
        self._wanted = _fields(fields)
        self._copies = copies  # Arrays may be changed before they travel.
        self._results: dict[str, list[Any]] = {name: [] for name in self._wanted}
        self._structure: Structure | None = None  # Of the last row.
        self._places: set[int] = set()  # In memory, of arrays of the user's.
        self.done = 0
        self.bytes = 0

    def add(self, row: Any) -> None:
        apart = taken_apart(row)
        if apart is None:
            raise FunctionError(
                f"the function gave {type(row).__name__}: return a dict, tuple or "
                "dataclass of values"
            )
        structure, values = apart
        self._check_names(structure)
        converted = [
            self._own(value, _converted(name, value, self._wanted.get(name)))
            for name, value in zip(structure.names, values, strict=True)
        ]
        self._check_places(converted)
        for name, value in zip(structure.names, converted, strict=True):
            self._results[name].append(value)
            self.bytes += getattr(value, "nbytes", 0) or len(value)
        self._structure = structure
        self.done += 1

    def _check_places(self, values: list[Any]) -> None:
        """See that no array lies where one of an earlier row does."""
        if self._copies:
            return
        places = {
            value.__array_interface__["data"][0]
            for value in values
            if isinstance(value, np.ndarray) and value.size and value.flags.writeable
        }
        if not places.isdisjoint(self._places):
            raise _UsedAgainError
        self._places |= places

    def _own(self, value: Any, converted: Any) -> Any:
        """Copy an array that the user may still change, where that matters."""
        if not self._copies or not isinstance(converted, np.ndarray):
            return converted
        is_users = converted is value or not converted.flags.owndata
        return converted.copy() if is_users else converted

    def join(self, other: _Results) -> None:
        """Take over the rows of another, which have the same fields."""
        if not self._results:
            self._results = {name: [] for name in other._results}
        for name, values in other._results.items():
            self._results[name] += values
        self.done += other.done
        self.bytes += other.bytes

    def _check_names(self, structure: Structure) -> None:
        if not self._results:
            self._results = {name: [] for name in structure.names}
        if tuple(self._results) != structure.names:
            raise FunctionError(
                f"the function gave the fields {', '.join(structure.names)}, and "
                f"{', '.join(self._results)} before: give the same for every row"
            )

    def answer(self, *, error: str, **more: Any) -> Answer:
        answer: dict[str, Any] = {"rows": self.done, **more}
        if error:
            answer["error"] = error
        if self.done == 0:
            return answer, None
        if not self._wanted:
            answer["structure"] = written_structure(self._structure)
        columns = {name: _column(values) for name, values in self._results.items()}
        frame = _core.ResultFrame(self.done, columns)
        return {**answer, "fields": frame.fields, "bytes": frame.bytes}, frame


class _Calls:
    """Calls a function row by row."""

    def __init__(
        self, function: PickledFunction, call: dict[str, Any], *, copies: bool
    ) -> None:
        self._function = function
        self._call = call
        self.results = _Results(call["fields"], copies=copies)
        self.draws = 0

    def run(self, row: Any, identity: tuple[int, int]) -> None:
        self.results.add(self._call_with(row, identity))

    def _call_with(self, row: Any, identity: tuple[int, int]) -> Any:
        if not self._function.takes_rng:
            return self._function.function(row)
        rng = _rng(self._call, identity)
        result = self._function.function(row, rng=rng)
        self.draws = max(self.draws, rng.calls)
        return result


class _Stream:
    """A generator at work, one row an answer: who asks is who runs it."""

    def __init__(self, function: PickledFunction, call: dict[str, Any]) -> None:
        self._name = function.name
        self._fields = call["fields"]
        self._rows = _begun(function, call)

    def more(self) -> Answer:
        results = _Results(self._fields, copies=True)
        error, ended = self._next(results)
        return results.answer(error=error, ended=ended)

    def _next(self, results: _Results) -> tuple[str, bool]:
        """Take a row; tell what is wrong with it, and whether it was the last."""
        try:
            row = next(self._rows)
        except StopIteration:
            return "", True
        except Exception as raised:
            return _told(raised, self._name), True
        try:
            results.add(row)
        except Exception as raised:
            return _told(raised, self._name), False
        return "", False


class _StreamAhead(_Stream):
    """The same in a thread of its own, a little ahead of those who ask.

    They get what there is: no row waits for the next, however long that takes.
    """

    def __init__(self, function: PickledFunction, call: dict[str, Any]) -> None:
        super().__init__(function, call)
        self._changed = threading.Condition()
        self._results = _Results(self._fields)
        self._error, self._ended = "", False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._ended:
            one = _Results(self._fields, copies=True)
            error, ended = self._next(one)
            with self._changed:
                self._results.join(one)
                self._error, self._ended = error, ended
                self._changed.notify_all()
                self._changed.wait_for(self._has_room)

    def _has_room(self) -> bool:
        is_full = (
            self._results.done >= _AHEAD_ROWS or self._results.bytes > _AHEAD_BYTES
        )
        return self._ended or not (is_full or self._error)

    def more(self) -> Answer:
        with self._changed:
            self._changed.wait_for(
                lambda: self._results.done or self._error or self._ended
            )
            results, self._results = self._results, _Results(self._fields)
            error, self._error = self._error, ""
            self._changed.notify_all()
            return results.answer(error=error, ended=self._ended)


def _begun(function: PickledFunction, call: dict[str, Any]) -> Iterator[Any]:
    given: dict[str, Any] = {}
    if has_parameter(function.function, "epoch"):
        given["epoch"] = call["epoch"]
    if function.takes_rng:
        given["rng"] = _rng(call, (call["first_call"] << 48, _NO_ROW))
    rows = function.function(**given)
    yield from itertools.islice(rows, call["skip"], None)


def _rng(call: dict[str, Any], identity: tuple[int, int]) -> RowRng:
    return RowRng(
        call["seed"],
        epoch=call["epoch"],
        row=(identity[0] << 64) | identity[1],
        first_call=call["first_call"],
    )


@functools.lru_cache(maxsize=64)
def _fields(text: str) -> Mapping[str, str | None]:
    """Read the types that are wanted; None for texts."""
    fields = _core.parse_fields(text) if text else []
    return {
        name: None if dtype in ("string", "bytes") else dtype
        for name, dtype, _ in fields
    }


def _column(values: list[Any]) -> Any:
    if all(isinstance(value, np.generic) for value in values):
        return np.stack(values)
    return [np.asarray(v) if isinstance(v, np.generic) else v for v in values]


def _converted(name: str, value: Any, wanted: str | None) -> Any:
    """Bring a value to what the engine takes, of the type that is wanted."""
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, list) and value and isinstance(value[0], str | bytes):
        return value
    array = np.ascontiguousarray(value)
    if array.dtype.kind not in "biuf" or array.dtype == object:
        raise FunctionError(
            f"field {name} is {type(value).__name__}: give numbers, texts or arrays"
        )
    if isinstance(value, bool | int | float) and wanted is not None:
        array = array.astype(wanted)  # Plain numbers give way.
    if wanted is not None and array.dtype.name != wanted:
        raise FunctionError(
            f"field {name} is {array.dtype.name}, and was {wanted} for the first row: "
            "give one type for all rows, or declare it with output="
        )
    if np.ndim(value) == 0:
        return array.reshape(())[()]
    return array


def _read_only(columns: list[Any]) -> list[Any]:
    """Guard rows that others may read too: functions make new values."""
    for column in columns:
        for array in [column] if isinstance(column, np.ndarray) else column:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
    return columns


def _told(error: BaseException, name: str) -> str:
    """Tell what was raised, with the user's frames."""
    linecache.checkcache()
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename not in _BETWEEN] or list(frames)
    lines = ["", "Traceback of the function (most recent call last):"]
    lines += traceback.format_list(own)
    lines += traceback.format_exception_only(error)
    text = "\n".join(line.rstrip("\n") for line in lines)
    return f"{name}: {type(error).__name__}: {error}{text[-_TRACEBACK_MAX:]}"
