"""What can go wrong, as exceptions: one class for each thing a caller would do.

    Error
    ├── PipelineError          when a pipeline is built: an argument or type is wrong
    │   └── TracingError       so is a function of rows; has the user's line
    │       └── UnknownFieldError
    ├── DataError              when rows come: a file or row is corrupt
    │   └── FunctionError      a function in Python failed on a row
    ├── NotFoundError, AccessError, UnavailableError, MemoryBudgetError
    ├── CancelledError
    └── InternalError

Each is also the exception of Python's own that is nearest to it: a PipelineError is a
ValueError, an UnknownFieldError a KeyError, a NotFoundError a FileNotFoundError.

Example:
    >>> import millrace as mr
    >>> try:
    ...     mr.range(3).map(lambda row: {"x": row["valeu"]})
    ... except mr.UnknownFieldError as error:
    ...     print(error.reason)
    map: there is no field 'valeu' (did you mean 'value'?); fields are: value
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace._places import Place


class Error(Exception):
    """The base of all errors of Millrace."""


class PipelineError(Error, ValueError):
    """A pipeline, argument or type is wrong; found when the pipeline is built."""


class Placed(Exception):  # noqa: N818 (errors are made of it)
    """What is about a line of the user's own code."""

    def __init__(self, reason: str, place: Place | None) -> None:
        """Say what is wrong, and where, as far as that is known."""
        super().__init__(reason, place)
        self.reason = reason
        self.place = place

    def __str__(self) -> str:
        """Say both."""
        return self.reason if self.place is None else f"{self.reason}\n  {self.place}"


class TracingError(Placed, PipelineError):
    """A function of rows is wrong, whether it is traced or run in Python.

    `reason` says what, `place` is the line (`file`, `line`, `source`), or None.
    """


class UnknownFieldError(TracingError, KeyError):
    """A function reads a field that its rows do not have."""


class DataError(Error, ValueError):
    """A row or file is corrupt; the message names file and offset."""


class FunctionError(DataError):
    """A function in Python failed on a row, or gave what cannot be a row.

    The message names the row, and has the traceback with the user's own lines. It is
    left out where errors are ignored, as other bad rows are.
    """


class NotFoundError(Error, FileNotFoundError):
    """A file or name is not there."""


class AccessError(Error, PermissionError):
    """A file or service does not let this process in."""


class MemoryBudgetError(Error, MemoryError):
    """The memory budget is too small for what the pipeline holds at once."""


class UnavailableError(Error, ConnectionError):
    """A disk or service does not answer; trying again may help."""


class EngineLostError(UnavailableError):
    """The process of an isolated engine has died; the next `iter` goes on.

    It starts another process, and begins where the pass was.
    """


class CancelledError(Error):
    """The pass was cancelled."""


class InternalError(Error, RuntimeError):
    """A mistake of Millrace itself; please report it."""


_CLASSES: dict[str, type[Error]] = {
    "INVALID_ARGUMENT": PipelineError,
    "FAILED_PRECONDITION": PipelineError,
    "UNIMPLEMENTED": PipelineError,
    "OUT_OF_RANGE": PipelineError,
    "ALREADY_EXISTS": PipelineError,
    "DATA_LOSS": DataError,
    "FUNCTION": FunctionError,  # Data loss too, to the engine.
    "NOT_FOUND": NotFoundError,
    "PERMISSION_DENIED": AccessError,
    "UNAUTHENTICATED": AccessError,
    "RESOURCE_EXHAUSTED": MemoryBudgetError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "ABORTED": CancelledError,
    "CANCELLED": CancelledError,
}


def make(code: str, message: str) -> Error:
    """Make the error that a code of the engine stands for."""
    return _CLASSES.get(code, InternalError)(message)
