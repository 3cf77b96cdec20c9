"""NumPy's functions on traced values: the kernel that does the same, or an error."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from millrace.traced import Recording, Traced

# A type of values: NumPy's, Python's, or a name such as "bfloat16" or "string".
DType: TypeAlias = Any

_UFUNCS = {
    "absolute": "absolute",
    "add": "add",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "ceil": "ceil",
    "divide": "divide",
    "equal": "equal",
    "exp": "exp",
    "fabs": "absolute",
    "floor": "floor",
    "floor_divide": "floor_divide",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "invert": "not",
    "isfinite": "is_finite",
    "isnan": "is_nan",
    "less": "less",
    "less_equal": "less_equal",
    "log": "log",
    "log1p": "log1p",
    "logical_and": "and",
    "logical_not": "not",
    "logical_or": "or",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "multiply",
    "negative": "negate",
    "not_equal": "not_equal",
    "power": "power",
    "remainder": "modulo",
    "rint": "round",
    "sqrt": "sqrt",
    "subtract": "subtract",
    "tanh": "tanh",
}


def dtype_name(dtype: DType) -> str:
    """Gives the engine's name of a type: of NumPy's, of Python's, or a name."""
    if dtype is str:
        return "string"
    if dtype is bytes:
        return "bytes"
    if dtype in ("string", "bytes", "bfloat16"):
        return str(dtype)
    return str(np.dtype(dtype).name)


def numpy_type(name: str) -> Any:
    """Gives what np.dtype takes for the engine's name of a type of numbers."""
    if name != "bfloat16":
        return name
    return importlib.import_module("ml_dtypes").bfloat16  # Only where it is needed.


def ufunc(
    recording: Recording,
    called: np.ufunc,
    method: str,
    inputs: Sequence[object],
    options: Mapping[str, object],
) -> Traced:
    """Records a function of single elements, as in np.add(array, field)."""
    kernel = _UFUNCS.get(called.__name__)
    if method == "__call__" and not options:
        if kernel is not None:
            return recording.call(kernel, inputs, {})
        if called.__name__ == "square":
            return recording.call("multiply", [inputs[0], inputs[0]], {})
    shown = called.__name__ + ("" if method == "__call__" else f".{method}")
    given = f" with {', '.join(options)}" if kernel and options else ""
    raise recording.untraceable(
        f"there is no kernel for numpy.{shown}{given}; see mr.math for those there are"
    )


class _Call:
    """One call of a function of NumPy, with the recording it goes to."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __call__(self, kernel: str, *operands: object, **arguments: object) -> Traced:
        return self._recording.call(kernel, operands, arguments)

    def value(self, x: object) -> Traced:
        """Gives the operand as a traced value, where it may be a list of them."""
        return self._recording.value(x)


def _reduced(kernel: str) -> Callable[..., Traced]:
    def record(
        call: _Call, a: Any, axis: int | None = None, keepdims: bool = False
    ) -> Traced:
        return call(kernel, a, axis=axis, keep_axis=keepdims)

    return record


def _clip(call: _Call, a: Any, a_min: Any, a_max: Any) -> Traced:
    return call("clip", a, a_min, a_max)


def _where(call: _Call, condition: Any, x: Any, y: Any) -> Traced:
    return call("where", condition, x, y)


def _argmax(call: _Call, a: Any, axis: int | None = None) -> Traced:
    return call.value(a).argmax(axis)


def _argsort(call: _Call, a: Any, axis: int = -1) -> Traced:
    return call("argsort", a, axis=axis)


def _sort(call: _Call, a: Any, axis: int = -1) -> Traced:
    return call("sort", a, axis=axis)


def _cumsum(call: _Call, a: Any, axis: int | None = None) -> Traced:
    return call.value(a).cumsum(axis)


def _concatenate(call: _Call, arrays: Sequence[Any], axis: int = 0) -> Traced:
    if len(arrays) == 1:
        return call.value(arrays[0])
    return call("concat", *arrays, axis=axis)


def _stack(call: _Call, arrays: Sequence[Any], axis: int = 0) -> Traced:
    if len(arrays) == 1:
        return call("expand_dims", arrays[0], axis=axis)
    return call("stack", *arrays, axis=axis)


def _reshape(call: _Call, a: Any, shape: Any) -> Traced:
    return call.value(a).reshape(shape)


def _ravel(call: _Call, a: Any) -> Traced:
    return call.value(a).flatten()


def _transpose(call: _Call, a: Any, axes: Sequence[int] | None = None) -> Traced:
    return call("transpose", a, axes=axes)


def _expand_dims(call: _Call, a: Any, axis: int) -> Traced:
    return call("expand_dims", a, axis=axis)


def _squeeze(call: _Call, a: Any, axis: int) -> Traced:
    return call("squeeze", a, axis=axis)


def _take(call: _Call, a: Any, indices: Any, axis: int = 0) -> Traced:
    if axis == 0:
        return call("take", a, indices)
    raise TypeError("np.take along another axis than the first")


def _round(call: _Call, a: Any) -> Traced:
    return call("round", a)


def _flip(call: _Call, m: Any, axis: int) -> Traced:
    return call("slice", m, axis=axis, step=-1)


def _flipud(call: _Call, m: Any) -> Traced:
    return _flip(call, m, 0)


def _fliplr(call: _Call, m: Any) -> Traced:
    return _flip(call, m, 1)


def _shape(call: _Call, a: Any) -> tuple[Any, ...]:
    return call.value(a).shape


def _ndim(call: _Call, a: Any) -> int:
    return call.value(a).ndim


def _size(call: _Call, a: Any) -> Any:
    return call.value(a).size


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": _reduced("all"),
    "amax": _reduced("max"),
    "amin": _reduced("min"),
    "any": _reduced("any"),
    "argmax": _argmax,
    "argsort": _argsort,
    "around": _round,
    "clip": _clip,
    "concatenate": _concatenate,
    "cumsum": _cumsum,
    "expand_dims": _expand_dims,
    "flip": _flip,
    "fliplr": _fliplr,
    "flipud": _flipud,
    "max": _reduced("max"),
    "mean": _reduced("mean"),
    "min": _reduced("min"),
    "ndim": _ndim,
    "ravel": _ravel,
    "reshape": _reshape,
    "round": _round,
    "shape": _shape,
    "size": _size,
    "sort": _sort,
    "squeeze": _squeeze,
    "stack": _stack,
    "sum": _reduced("sum"),
    "take": _take,
    "transpose": _transpose,
    "where": _where,
}


def function(
    recording: Recording, called: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Records a function of whole arrays, as in np.where(condition, a, b)."""
    name = f"{called.__module__}.{called.__name__}"
    record = _FUNCTIONS.get(called.__name__) if called.__module__ == "numpy" else None
    if record is None:
        raise recording.untraceable(
            f"there is no kernel for {name}; see mr.math for those there are"
        )
    try:
        return record(_Call(recording), *args, **kwargs)
    except TypeError as error:  # Arguments that the kernel has nothing for.
        if recording.failure is not None:
            raise
        raise recording.untraceable(
            f"{name} is traced only with its usual arguments ({error})"
        ) from None
