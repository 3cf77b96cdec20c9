"""What can go wrong, as exceptions: one class for each thing a caller would do."""

from __future__ import annotations


class Error(Exception):
    """The base of all errors of Millrace."""


class PipelineError(Error, ValueError):
    """A pipeline, argument or type is wrong; found when the pipeline is built."""


class DataError(Error, ValueError):
    """A row or file is corrupt; the message names file and offset."""


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
