"""Loaders by `to("numpy")`, and what is the same for all frameworks."""

import ctypes
import sys
from typing import Any

import numpy as np
import pytest

import millrace as mr
from framework_batches import (
    NUMBERS,
    Example,
    addresses,
    all_numbers,
    bfloat16s,
    check_held,
    large,
    lists,
)
from millrace.errors import PipelineError


def address(array: Any) -> int:
    return int(array.ctypes.data)


def test_every_type_comes_as_it_is() -> None:
    batch = next(iter(all_numbers().to("numpy")))
    assert {n: batch[n].dtype.name for n in NUMBERS} == {n: n for n in NUMBERS}
    assert batch["int16"].tolist() == [0, 1, 2, 3]
    assert batch["text"] == ["text 0", "text 1", "text 2", "text 3"]


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    x = next(iter(bfloat16s().to("numpy")))["x"]
    assert x.dtype.name == "bfloat16"
    assert x.astype(np.float32).tolist() == [i / 2 for i in range(8)]


def test_parts_that_differ_in_size_are_ragged() -> None:
    x = next(iter(lists().to("numpy")))["x"]
    assert isinstance(x, mr.Ragged)
    assert [part.tolist() for part in x] == [[1, 2], [3], [4, 5, 6]]


def test_memory_comes_back_when_an_array_dies() -> None:
    places = addresses(large().to("numpy"), address)
    assert len(set(places)) < len(places)


def test_memory_of_an_array_that_lives_is_not_reused() -> None:
    check_held(large().to("numpy"), address)


def test_arrays_are_writable_aligned_and_not_copied() -> None:
    loader = large(4).to("numpy")
    for batch in loader:
        assert batch["x"].flags.writeable
        assert address(batch["x"]) % 64 == 0
    assert loader.stats()["bytes_copied"] == 0


@pytest.mark.parametrize(
    ("version", "name"), [(None, b"dltensor"), ((1, 0), b"dltensor_versioned")]
)
def test_arrays_give_both_kinds_of_capsules(version: Any, name: bytes) -> None:
    x = next(iter(large(1).to("numpy")))["x"]
    capsule = x.__dlpack__() if version is None else x.__dlpack__(max_version=version)
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name_of(capsule) == name


def test_structure_is_kept() -> None:
    ds = mr.range(4).map(lambda row: Example(row["value"] * 2, row["value"]))
    batch = next(iter(ds.batch(2).to("numpy")))
    assert isinstance(batch, Example)
    assert batch.image.tolist() == [0, 2]


def test_has_the_interface_of_a_loader() -> None:
    with mr.loader(mr.range(10).batch(2), seed=3).to("numpy") as loader:
        assert len(loader) == 5
        assert loader.seed == 3
        loader.set_epoch(2)
        next(iter(loader))
        assert loader.epoch == 2
        assert loader.stats()["batches"] == 1


def test_goes_on_from_a_state() -> None:
    ds = mr.range(40).shuffle(20, seed=1).batch(2)
    whole = [batch["value"].tolist() for batch in ds.to("numpy")]
    first = ds.to("numpy")
    iterator = iter(first)
    taken = [next(iterator)["value"].tolist() for _ in range(7)]
    second = ds.to("numpy")
    second.load_state_dict(first.state_dict())
    rest = [batch["value"].tolist() for batch in second]
    assert taken + rest == whole


def test_state_as_bytes_goes_on_where_it_was_taken() -> None:
    first = mr.loader(mr.range(10).batch(2))
    next(iter(first))
    state = first.get_state()
    assert isinstance(state, bytes)
    second = mr.range(10).batch(2).to("numpy")
    second.set_state(state)
    assert second.get_state() == state
    assert next(iter(second))["value"].tolist() == [2, 3]


def test_state_of_a_resumed_pass_is_right_before_its_first_batch() -> None:
    loader = mr.loader(mr.range(20).batch(2))
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    loader.load_state_dict(state)
    resumed = iter(loader)
    assert loader.state_dict()["taken"] == 3
    other = mr.loader(mr.range(20).batch(2))
    other.load_state_dict(loader.state_dict())
    assert next(iter(other))["value"].tolist() == next(resumed)["value"].tolist()


def test_bytes_that_are_no_state_are_refused() -> None:
    with pytest.raises(PipelineError, match="get_state"):
        mr.loader(mr.range(3)).set_state(b"what is this")


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
def test_says_which_framework_is_not_there(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # As where it is not installed.
    with pytest.raises(mr.Error, match=f"{name} is needed here"):
        mr.range(3).to(name)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mxnet", {}, "numpy, torch, jax, tensorflow"),
        ("numpy", {"pin": True}, 'for to\\("torch"\\)'),
        ("numpy", {"device": "cuda"}, "on the CPU"),
    ],
)
def test_refuses_what_it_does_not_know(
    name: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(PipelineError, match=words):
        mr.range(3).to(name, **options)
