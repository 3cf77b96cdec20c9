"""What cannot be done with a value that is known only when rows come.

Python asks for such values in many places: conditions, loops, numbers, texts, keys. An
answer would be frozen in the traced function, so each is an error with the remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from millrace.traced import Recording

LATER = "cannot be traced: its value is known only when rows come"

# What the methods of texts are called here.
_TEXT_METHODS = {
    **{name: name for name in ("join", "lower", "replace", "split", "strip", "upper")},
    "endswith": "ends_with",
    "startswith": "starts_with",
}


def _refuses(reason: str) -> Callable[..., Any]:
    def method(self: Refusals, *_: object, **__: object) -> NoReturn:
        raise self._recording.untraceable(reason)

    return method


class Refusals:
    """The part of a traced value that says no."""

    __slots__ = ()
    _recording: Recording

    __bool__ = _refuses(
        "a condition in `if`, `and`, `or`, `not`, `in`, min(), max() or a < b < c "
        f"{LATER}; use mr.math.where(condition, a, b), mr.math.maximum, `&`, `|`, "
        "`~`, or filter"
    )
    __float__ = __int__ = __index__ = __complex__ = __trunc__ = _refuses(
        f"a Python number made from a field {LATER}; use arithmetic, .astype and "
        "mr.math on the field"
    )
    __array__ = _refuses(
        f"a NumPy array made from a field {LATER}; use the field as it is: it has "
        "NumPy's arithmetic, and mr.math the rest"
    )
    __contains__ = _refuses(f"`in` {LATER}; use mr.text.contains or (x == item).any()")
    __hash__ = _refuses(
        f"a key of a dict or set {LATER}; mr.math.take looks up a table"
    )
    __str__ = __format__ = __bytes__ = _refuses(
        f"a text made from a field {LATER}; use mr.text.to_text and `+`"
    )
    __fspath__ = _refuses(
        f"a path made from a field {LATER}; use mr.io.read(path), and `+` for parts"
    )
    __setitem__ = __delitem__ = _refuses(
        "a traced value cannot be changed; make a new one, as with mr.math.where or "
        "mr.math.concat"
    )
    __matmul__ = __rmatmul__ = _refuses("there is no kernel for products of matrices")
    __reduce_ex__ = _refuses(f"a pickled field {LATER}")

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> NoReturn:
        ours = [arg for arg in args if isinstance(arg, cls)]
        reason = (
            f"torch's {getattr(function, '__name__', function)} takes tensors; use "
            "mr.math and mr.image, which also run on arrays"
        )
        raise ours[0]._recording.untraceable(reason) if ours else TypeError(reason)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Self]:
        # isinstance comes here when the real type is not what was asked for. Its
        # answer would choose a branch once and for all.
        if self._recording.is_open:
            raise self._recording.untraceable(
                "isinstance of a field, here or in a library, would be decided while "
                "tracing; ask for its .dtype and .shape, and use kernels such as "
                "those of mr.text and mr.json"
            )
        return type(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _TEXT_METHODS:
            remedy = f"use mr.text.{_TEXT_METHODS[name]}(field)"
        else:
            remedy = "see mr.math, mr.text and mr.image for what kernels do"
        raise self._recording.untraceable(
            f"a field has no attribute {name} while it is traced; {remedy}"
        )
