"""Datasets of torch as sources of pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, TensorDataset

import millrace as mr


def test_tensors_become_arrays() -> None:
    images = torch.arange(24, dtype=torch.float32).reshape(6, 4)
    labels = torch.arange(6)
    dataset = mr.from_torch(TensorDataset(images, labels)).shuffle(seed=2).batch(3)
    rows = list(dataset)
    assert len(rows) == 2
    order = np.concatenate([label for _, label in rows])
    assert sorted(order.tolist()) == list(range(6))
    found = np.concatenate([image for image, _ in rows])
    assert found.dtype == np.float32
    assert np.array_equal(found, images.numpy()[order])


def test_a_tensor_may_be_used_again_for_the_next_row() -> None:
    def filled() -> Iterator[dict[str, Any]]:
        tensor = torch.empty(3)
        for n in range(20):
            yield {"x": tensor.fill_(n)}

    rows = list(mr.from_generator(filled))
    assert [row["x"].tolist() for row in rows] == [[n] * 3 for n in range(20)]


def test_the_users_own_class_travels() -> None:
    class Words(Dataset[dict[str, Any]]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> dict[str, Any]:
            return {"word": "ab" * index, "size": torch.tensor(2 * index)}

    rows = list(mr.from_torch(Words()))
    assert [row["word"] for row in rows] == ["", "ab", "abab"]
    assert [int(row["size"]) for row in rows] == [0, 2, 4]
