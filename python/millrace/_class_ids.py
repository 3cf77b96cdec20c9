"""Pickles of functions that are the same in every process.

cloudpickle names each class that travels by value by a number it draws. What is written
would then be another function in every process, and a state of the one no state of the
other. Here they are named by what they are.
"""

from __future__ import annotations

import collections
import hashlib
from typing import Any

_seen: collections.Counter[str] = collections.Counter()  # Classes by name, so far.


def dumped(content: object) -> bytes:
    """Write an object as cloudpickle does, with lasting names for its classes."""
    import cloudpickle

    registry = cloudpickle.cloudpickle
    with registry._DYNAMIC_CLASS_TRACKER_LOCK:
        known = set(registry._DYNAMIC_CLASS_TRACKER_BY_CLASS)
    written = bytes(cloudpickle.dumps(content))
    with registry._DYNAMIC_CLASS_TRACKER_LOCK:
        by_class = registry._DYNAMIC_CLASS_TRACKER_BY_CLASS
        new = [kind for kind in by_class if kind not in known]
        for kind in new:
            drawn, lasting = by_class[kind], _lasting_name(kind)
            by_class[kind] = lasting
            registry._DYNAMIC_CLASS_TRACKER_BY_ID.pop(drawn, None)
            registry._DYNAMIC_CLASS_TRACKER_BY_ID[lasting] = kind
    return bytes(cloudpickle.dumps(content)) if new else written


def _lasting_name(kind: type) -> str:
    """Name a class by its place, its code, and how many of that place came before."""
    place = f"{kind.__module__}.{kind.__qualname__}"
    number = _seen[place]
    _seen[place] += 1
    code: list[Any] = [
        (name, getattr(getattr(value, "__code__", None), "co_code", None))
        for name, value in vars(kind).items()
    ]
    return hashlib.sha256(repr((place, number, code)).encode()).hexdigest()
