"""TFRecord files of TensorFlow's examples, written without TensorFlow."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import google_crc32c


def example(image: bytes, label: int) -> bytes:
    """Write an example with the features `image` and `label`."""
    bytes_list = _field(1, _field(1, image))
    int64_list = _field(3, _field(1, _varint(label)))
    features = [
        _field(1, _field(1, name) + _field(2, value))
        for name, value in ((b"image", bytes_list), (b"label", int64_list))
    ]
    return _field(1, b"".join(features))


def write_records(path: Path, rows: Iterable[bytes]) -> None:
    """Write a TFRecord file."""
    with path.open("wb") as file:
        for row in rows:
            length = struct.pack("<Q", len(row))
            file.write(length + _masked(length) + row + _masked(row))


def _masked(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
