"""Loaders by `to("tensorflow")`."""

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import millrace as mr  # noqa: E402
from framework_batches import (  # noqa: E402
    NUMBERS,
    Example,
    addresses,
    all_numbers,
    bfloat16s,
    check_held,
    large,
    lists,
)

pytestmark = pytest.mark.frameworks


def address(tensor: Any) -> int:
    return int(np.asarray(memoryview(tensor)).ctypes.data)


def test_every_type_comes_as_it_is() -> None:
    batch = next(iter(all_numbers().to("tensorflow")))
    assert {n: batch[n].dtype.name for n in NUMBERS} == {n: n for n in NUMBERS}
    assert batch["int16"].numpy().tolist() == [0, 1, 2, 3]
    assert batch["text"] == ["text 0", "text 1", "text 2", "text 3"]


def test_bfloat16_is_right() -> None:
    x = next(iter(bfloat16s().to("tensorflow")))["x"]
    assert x.dtype == tf.bfloat16
    assert tf.cast(x, tf.float32).numpy().tolist() == [i / 2 for i in range(8)]


def test_parts_that_differ_in_size_are_ragged() -> None:
    x = next(iter(lists().to("tensorflow")))["x"]
    assert isinstance(x, mr.Ragged)
    made = tf.RaggedTensor.from_row_splits(x.values, x.offsets)
    assert made.to_list() == [[1, 2], [3], [4, 5, 6]]


def test_memory_comes_back_when_a_tensor_dies() -> None:
    places = addresses(large().to("tensorflow"), address)
    assert len(set(places)) < len(places)


def test_memory_of_a_tensor_that_lives_is_not_reused() -> None:
    check_held(large().to("tensorflow"), address)


def test_tensors_are_not_copied() -> None:
    loader = large(4).to("tensorflow")
    assert [batch["x"][0].numpy() for batch in loader] == [0, 1, 2, 3]
    assert loader.stats()["bytes_copied"] == 0


def test_memory_that_is_not_aligned_is_copied_and_counted() -> None:
    ds = mr.from_arrays({"x": np.arange(15_000, dtype=np.float32).reshape(5000, 3)})
    loader = ds.map(lambda row: {"x": row["x"] + 1}).to("tensorflow")
    first = [row["x"].numpy().tolist()[0] for row in loader]
    assert first == [1.0 + 3 * i for i in range(5000)]
    assert loader.stats()["bytes_copied"] > 0


def test_scalars_of_single_rows_are_tensors() -> None:
    assert [int(row["value"]) for row in mr.range(3).to("tensorflow")] == [0, 1, 2]


def test_tensors_go_to_a_device() -> None:
    batch = next(iter(large(1).to("tensorflow", device="/CPU:0")))
    assert batch["x"].device.endswith("CPU:0")


def test_tensors_are_used_by_functions() -> None:
    total = tf.function(lambda x: tf.reduce_sum(x))
    batches = mr.range(10).batch(4).to("tensorflow")
    assert [int(total(batch["value"])) for batch in batches] == [6, 22, 17]


def test_structure_is_kept() -> None:
    ds = mr.range(4).map(lambda row: Example(row["value"] * 2, row["value"]))
    batch = next(iter(ds.batch(2).to("tensorflow")))
    assert isinstance(batch, Example)
    assert batch.image.numpy().tolist() == [0, 2]
