"""The process that runs Python functions for the engine: `python -m millrace.runner`.

It is started by exec, so user programs need no main guard. It reads requests from a
socket, rows from shared memory, and writes results to shared memory of its own. When
the socket closes it ends, whatever it is doing: nothing outlives the trainer. Ctrl-C is
the trainer's business, and ignored here.
"""

from __future__ import annotations

import gc
import json
import linecache
import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from typing import Any

import numpy as np

from millrace import _core
from millrace._structure import Structure, taken_apart
from millrace.functions import FunctionError, PickledFunction, unpickle
from millrace.rng import RowRng
from millrace.rows import RowMaker

_SOCKET = 3
_HEAD = 64  # Bytes before a request's own, as api/python_calls.h has them.
_MESSAGE_MAX = 128 << 10
_TRACEBACK_MAX = 32 << 10


def main() -> None:
    """Serve until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=_SOCKET)
    hello = json.loads(channel.recv(_MESSAGE_MAX) or "{}")
    sys.path[:] = hello.get("path", sys.path)
    threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    server = _Server(channel)
    gc.freeze()
    while server.serve():
        pass


def _end_with(channel: socket.socket) -> None:
    """End this process when the other side is gone, also amid a function."""
    poller = select.poll()
    poller.register(channel, select.POLLRDHUP | select.POLLHUP)
    poller.poll()
    os._exit(0)


class _Server:
    """Answers requests, one at a time."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._functions: dict[str, PickledFunction] = {}
        self._input: np.ndarray[Any, Any] = np.empty(0, np.uint8)
        self._answers = _Answers()

    def serve(self) -> bool:
        """Answer the next request; False when there is none any more."""
        text, descriptors, _, _ = socket.recv_fds(self._channel, _MESSAGE_MAX, 1)
        if not text:
            return False
        if descriptors:
            self._input = _mapped(descriptors[0])
        call = json.loads(text)
        for number in call["released"]:
            self._answers.release(number)
        answer, descriptor = (self._load if call["kind"] == "load" else self._map)(call)
        data = json.dumps(answer).encode()
        if descriptor is None:
            self._channel.send(data)
        else:
            socket.send_fds(self._channel, [data], [descriptor])
        return True

    def _load(self, call: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        content = self._input[_HEAD : _HEAD + call["bytes"]].tobytes()
        try:
            self._functions[call["function"]] = unpickle(content)
        except Exception as error:
            return {"error": _told(error, "loading the function")}, None
        return {}, None

    def _map(self, call: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        function = self._functions[call["function"]]
        count, names, columns, ids = _core.read_frame(self._input, _HEAD, call["bytes"])
        calls = _Calls(function, call)
        rows = RowMaker([(name, "", None) for name in names], function.structure)
        error = ""
        for number, row in enumerate(rows.rows(count, _read_only(columns))):
            struct.pack_into("<q", self._input.data, 0, number)
            try:
                calls.run(row, ids[number] if ids else (0, number))
            except Exception as raised:
                error = _told(raised, function.name)
                break
        return self._written(calls, error)

    def _written(self, calls: _Calls, error: str) -> tuple[dict[str, Any], int | None]:
        answer: dict[str, Any] = {"rows": calls.done, "draws": calls.draws}
        if error:
            answer["error"] = error
        if calls.done == 0:
            return answer, None
        frame = _core.ResultFrame(calls.done, calls.columns())
        answer["fields"] = frame.fields
        answer["bytes"] = frame.bytes
        number, memory, descriptor = self._answers.take(frame.bytes)
        answer["region"] = number
        answer["region_bytes"] = len(memory)
        frame.copy_to(memory)
        return answer, descriptor


class _Calls:
    """Calls a function row by row, and collects what it gives."""

    def __init__(self, function: PickledFunction, call: dict[str, Any]) -> None:
        self._function = function
        self._call = call
        self._wanted = _fields(call["fields"])
        self._results: dict[str, list[Any]] = {name: [] for name in self._wanted}
        self.done = 0
        self.draws = 0

    def run(self, row: Any, identity: tuple[int, int]) -> None:
        result = self._call_with(row, identity)
        apart = taken_apart(result)
        if apart is None:
            raise FunctionError(
                f"the function gave {type(result).__name__}: return a dict, tuple or "
                "dataclass of values"
            )
        structure, values = apart
        self._check_names(structure)
        converted = [
            _converted(name, value, self._wanted.get(name))
            for name, value in zip(structure.names, values, strict=True)
        ]
        for name, value in zip(structure.names, converted, strict=True):
            self._results[name].append(value)
        self.done += 1

    def _call_with(self, row: Any, identity: tuple[int, int]) -> Any:
        if not self._function.takes_rng:
            return self._function.function(row)
        rng = RowRng(
            self._call["seed"],
            epoch=self._call["epoch"],
            row=(identity[0] << 64) | identity[1],
            first_call=self._call["first_call"],
        )
        result = self._function.function(row, rng=rng)
        self.draws = max(self.draws, rng.calls)
        return result

    def _check_names(self, structure: Structure) -> None:
        if not self._results:
            self._results = {name: [] for name in structure.names}
        if tuple(self._results) != structure.names:
            raise FunctionError(
                f"the function gave the fields {', '.join(structure.names)}, and "
                f"{', '.join(self._results)} before: give the same for every row"
            )

    def columns(self) -> dict[str, Any]:
        """Give the results by field: numbers without axes as one array."""
        return {name: _column(values) for name, values in self._results.items()}


def _fields(text: str) -> dict[str, str | None]:
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


class _Answers:
    """The memory that results are written to, used again once nobody reads it."""

    def __init__(self) -> None:
        self._all: list[np.ndarray[Any, Any]] = []
        self._free: list[int] = []

    def release(self, number: int) -> None:
        self._free.append(number)

    def take(self, size: int) -> tuple[int, np.ndarray[Any, Any], int | None]:
        """Give a number, memory, and its descriptor where it is new."""
        for place, number in enumerate(self._free):
            if len(self._all[number]) >= size:
                del self._free[place]
                return number, self._all[number], None
        descriptor = os.memfd_create("millrace", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, max(size, 1 << 16))
        self._all.append(_mapped(descriptor, close=False))
        return len(self._all) - 1, self._all[-1], descriptor


def _mapped(descriptor: int, *, close: bool = True) -> np.ndarray[Any, Any]:
    memory = mmap.mmap(descriptor, 0)
    if close:
        os.close(descriptor)
    return np.frombuffer(memory, np.uint8)


def _told(error: BaseException, name: str) -> str:
    """Tell what was raised, with the user's frames."""
    linecache.checkcache()
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename != __file__] or list(frames)
    lines = ["", "Traceback of the function (most recent call last):"]
    lines += traceback.format_list(own)
    lines += traceback.format_exception_only(error)
    text = "\n".join(line.rstrip("\n") for line in lines)
    return f"{name}: {type(error).__name__}: {error}{text[-_TRACEBACK_MAX:]}"


if __name__ == "__main__":
    main()
