"""How kernels are called from Python: recorded on traced values, else run at once."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from millrace import _core
from millrace._plain import plain_argument, plain_value
from millrace.traced import recording_of

# What kernels take and give: a traced value in a function that is being traced, else
# a NumPy array, a number, a text or a list of texts.
Value: TypeAlias = Any


def call(
    kernel: str, operands: Sequence[object], arguments: Mapping[str, object]
) -> Value:
    """Calls a kernel that draws no random numbers."""
    recording = recording_of(operands) or recording_of(list(arguments.values()))
    if recording is not None:
        return recording.call(kernel, operands, arguments)
    return evaluate(kernel, operands, arguments, None)


def evaluate(
    kernel: str,
    operands: Sequence[object],
    arguments: Mapping[str, object],
    draw: tuple[int, int, int, int, int] | None,
) -> Value:
    """Runs a kernel on plain values; `draw` is what a random one draws by."""
    values = [_operand(kernel, operand) for operand in operands]
    plain = {name: plain_argument(value) for name, value in arguments.items()}
    return _as_usual(_core.evaluate(kernel, values, plain, draw))


def _as_usual(result: object) -> Value:
    """Gives an array as NumPy's own functions do: int64 by that name, and numbers."""
    if not isinstance(result, np.ndarray):
        return result
    array = result.view(np.dtype(result.dtype.name))
    return array[()] if array.ndim == 0 else array


def _operand(kernel: str, operand: object) -> Any:
    value = plain_value(operand)
    if value is None:
        raise TypeError(
            f"{kernel}: takes numbers, texts and arrays, not a value of type "
            f"{type(operand).__name__}"
        )
    return value


def pair(kernel: str, name: str, value: Sequence[Any]) -> tuple[Any, Any]:
    """Takes apart an argument that is two numbers."""
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 2:
        raise TypeError(f"{kernel}: {name} takes two numbers, as in {name}=(1, 2)")
    first, second = value
    return first, second


def several(values: tuple[Value, ...]) -> Sequence[Value]:
    """Gives the operands of a call: as they stand, or from the one list given."""
    if len(values) == 1 and type(values[0]) in (list, tuple):
        given: Sequence[Value] = values[0]
        return given
    return values
