"""Memory that two processes share: both sides of it, in one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace import _core
from millrace.segments import Borrower, Lender, Packing, Restoring

LARGE = 1 << 20


class Channel:
    """Hands blocks over as the processes do."""

    def __init__(self) -> None:
        self.lender = Lender()
        self.borrower = Borrower()
        self.copied = 0
        self.shared = 0

    def handed_over(self, columns: list[Any]) -> list[Any]:
        self.lender.take_back(self.borrower.released())
        packing = Packing(columns, self.lender)
        for (number, size), descriptor in zip(
            packing.created, packing.descriptors, strict=True
        ):
            self.borrower.add(number, descriptor, size)
        segment, new = self.lender.segment(packing.size)
        if new is not None:
            self.borrower.add(segment.number, new, segment.size)
            os.close(new)
        packing.copy_to(segment.memory())
        self.borrower.drop(self.lender.dropped())
        self.copied += packing.size
        self.shared += packing.shared_size
        own = self.borrower.borrow(segment.number)
        return [Restoring(self.borrower, own).value(c) for c in packing.columns]


@pytest.fixture(scope="module")
def sharing() -> _core.Engine:
    return _core.Engine(1, 64 << 20, 0, shares_memory=True)


def blocks(engine: _core.Engine, floats: int, count: int) -> Iterator[list[Any]]:
    """Give columns of the engine's: block i is i, i, …."""
    dataset = (
        mr.range(floats * count)
        .map(lambda row: {"x": (row["value"] // floats).astype("float32")})
        .batch(floats)
    )
    iterator = engine.open(
        dataset._pipeline, seed=0, epoch=0, any_order=False, state=None
    )
    while (block := iterator.next()) is not None:
        yield block[1]


def test_columns_of_all_kinds_come_back() -> None:
    columns: list[Any] = [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        [np.float32(1.5).reshape(()), np.zeros((0, 3), np.uint8)],
        (np.arange(3.0), [2, np.array([0, 1, 3])]),
        ["ä", ""],
        [[b"a", b"b"], [b"c"]],
        [],
    ]
    found = Channel().handed_over(columns)
    np.testing.assert_equal(found, columns)
    assert found[0].dtype == np.int16
    assert found[1][1].shape == (0, 3)


def test_segments_come_again_only_when_no_array_is_over_them() -> None:
    channel = Channel()
    kept = channel.handed_over([np.full(9, 1)])[0][3:5]
    for number in range(20):
        array = channel.handed_over([np.full(9, number)])[0]
        assert array.ctypes.data % 64 == 0
        assert array.tolist() == [number] * 9
    assert kept.tolist() == [1, 1]
    assert len(channel.borrower.sizes) == 3  # Kept, the last, and the one before.


def test_nobody_can_shrink_a_segment() -> None:
    segment, descriptor = Lender().segment(1000)
    assert descriptor is not None and segment.size >= 1000
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, 0)
    os.close(descriptor)


def test_segments_of_the_wrong_size_are_dropped() -> None:
    channel = Channel()
    for step in range(30):
        channel.handed_over([np.zeros((step % 10) * 3 * LARGE + 1, np.uint8)])
    assert len(channel.borrower.sizes) <= 6


def test_large_arrays_of_the_engine_stay_where_they_are(sharing: _core.Engine) -> None:
    channel = Channel()
    for number, columns in enumerate(blocks(sharing, LARGE, 12)):
        ((array,),) = channel.handed_over(columns)
        assert array.shape == (LARGE,)
        assert (array == number).all()
        ((there,),) = columns
        there[5] = -1  # Both look at the same memory.
        assert array[5] == -1
        assert array.ctypes.data != there.ctypes.data
    assert channel.shared == 12 * 4 * LARGE
    assert channel.copied == 0


def test_the_engine_does_not_write_to_what_is_lent(sharing: _core.Engine) -> None:
    channel = Channel()
    kept = [channel.handed_over(columns)[0][0] for columns in blocks(sharing, LARGE, 8)]
    assert [float(array.mean()) for array in kept] == list(range(8))


def test_small_arrays_and_those_of_other_engines_are_copied(
    sharing: _core.Engine,
) -> None:
    plain = _core.Engine(1, 64 << 20, 0)
    for engine, floats in ((sharing, 1000), (plain, LARGE)):
        channel = Channel()
        for number, columns in enumerate(blocks(engine, floats, 3)):
            assert columns[0][0].base.shared is None
            assert (channel.handed_over(columns)[0][0] == number).all()
        assert channel.shared == 0
        assert channel.copied >= 3 * 4 * floats
