"""Whole records of tf.train.Example, in Python and in the engine."""

import struct
from typing import Any

import numpy as np
import pytest

from millrace import _core
from millrace.errors import Error
from millrace.kernels import example
from millrace.tracing import trace
from tracing_rows import rows_of


def field(number: int, content: bytes) -> bytes:
    """Writes a field of a protocol buffer that is shorter than 128 bytes."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def feature(name: str, kind: int, content: bytes) -> bytes:
    value = field(2, field(kind, content))
    return field(1, field(1, name.encode()) + value)


RECORD = field(
    1,
    feature("text", 1, field(1, "grün".encode()))
    + feature("scores", 2, field(1, struct.pack("<2f", 0.5, 1.5)))
    + feature("label", 3, field(1, bytes([7])))
    + feature("sizes", 3, field(1, bytes([1, 2, 3]))),
)
FEATURES: dict[str, Any] = {
    "label": int,
    "text": str,
    "sizes": [int],
    "scores": example.Feature(float, shape=(2,)),
    "weight": example.Feature(float, default=1.0),
    "name": example.Feature(bytes, default=b"none"),
}


def check(row: dict[str, Any]) -> None:
    assert list(row) == list(FEATURES)
    assert row["label"] == 7
    assert row["text"] == "grün"
    assert row["sizes"].tolist() == [1, 2, 3]
    assert row["scores"].tolist() == [0.5, 1.5]
    assert row["scores"].dtype == np.float32
    assert row["weight"] == 1.0
    assert row["name"] == b"none"


def test_features_are_read_by_name_and_type() -> None:
    check(example.parse(RECORD, FEATURES))


def test_features_are_read_in_traced_functions() -> None:
    escaped = "".join(f"\\x{byte:02x}" for byte in RECORD)
    records = _core.Pipeline.parse(
        f'%0 = range(stop=1)\n%1 = map(%0, function={{record: b"{escaped}"}})', []
    )
    function = trace(
        lambda row: example.parse(row["record"], FEATURES),
        "map",
        "function",
        {},
        [records],
    ).function
    rows = rows_of(_core.Pipeline.make("map", {"function": function}, [records]))
    assert len(rows) == 1
    check(rows[0])


def test_what_is_missing_or_of_another_type_is_an_error() -> None:
    with pytest.raises(Error, match="weight"):
        example.parse(RECORD, {"weight": float})
    with pytest.raises(Error, match="label"):
        example.parse(RECORD, {"label": float})
    for wrong in (complex, [int, int], "int", [complex]):
        with pytest.raises(TypeError, match="feature label: its type is int"):
            example.parse(RECORD, {"label": wrong})  # type: ignore[dict-item]
