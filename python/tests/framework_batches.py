"""Datasets that the tests of frameworks iterate, and how they watch memory."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import millrace as mr

NUMBERS = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@dataclasses.dataclass
class Example:
    """A batch with fields of its own class."""

    image: Any
    label: Any


def all_numbers() -> mr.Dataset:
    """Batches with a field of every type of NumPy, and texts."""
    fields: dict[str, Any] = {n: np.arange(6).astype(n) for n in NUMBERS}
    texts = [f"text {i}" for i in range(6)]
    return mr.from_arrays({**fields, "text": texts}).batch(4)


def bfloat16s() -> mr.Dataset:
    """Batches of 0, 0.5, 1, … as bfloat16."""
    return (
        mr.range(8)
        .map(lambda row: {"x": (row["value"] / 2).astype("bfloat16")})
        .batch(8)
    )


def lists() -> mr.Dataset:
    """One ragged batch: [1, 2], [3], [4, 5, 6]."""
    rows = [{"x": [1, 2]}, {"x": [3]}, {"x": [4, 5, 6]}]
    return mr.from_rows(rows).ragged_batch(3)


def large(batches: int = 64) -> mr.Dataset:
    """Batches of 64 KiB that the engine makes: batch i is i, i, …."""
    size = 16 * 1024
    return (
        mr.range(batches * size)
        .map(lambda row: {"x": (row["value"] // size).astype("float32")})
        .batch(size)
    )


def addresses(batches: Iterable[Any], address: Callable[[Any], int]) -> list[int]:
    """Where each batch lies; each is dropped before the next is taken."""
    return [address(batch["x"]) for batch in batches]


def check_held(batches: Iterable[Any], address: Callable[[Any], int]) -> None:
    """A batch that is held stays as it is, and its memory is given to no other."""
    iterator = iter(batches)
    held = [next(iterator)["x"] for _ in range(3)]
    places = {address(array) for array in held}
    assert len(places) == 3
    assert places.isdisjoint(addresses(iterator, address))
    for i, array in enumerate(held):
        assert (np.asarray(array) == i).all()
