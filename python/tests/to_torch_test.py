"""Loaders by `to("torch")`, on the CPU, and torch's own DataLoader over a dataset."""

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

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
from millrace.errors import DataError, PipelineError  # noqa: E402
from millrace.frameworks.device_loader import DeviceLoader  # noqa: E402

pytestmark = pytest.mark.frameworks

CPU = torch.device("cpu")


def address(tensor: Any) -> int:
    return int(tensor.data_ptr())


def test_every_type_comes_as_it_is() -> None:
    batch = next(iter(all_numbers().to("torch")))
    assert {n: batch[n].dtype for n in NUMBERS} == {
        n: getattr(torch, n) for n in NUMBERS
    }
    assert batch["int16"].tolist() == [0, 1, 2, 3]
    assert batch["text"] == ["text 0", "text 1", "text 2", "text 3"]


def test_bfloat16_is_torch_s_own() -> None:
    x = next(iter(bfloat16s().to("torch")))["x"]
    assert x.dtype == torch.bfloat16
    assert x.float().tolist() == [i / 2 for i in range(8)]


def test_parts_that_differ_in_size_are_nested() -> None:
    x = next(iter(lists().to("torch")))["x"]
    assert x.is_nested
    assert x.layout == torch.jagged
    assert [part.tolist() for part in x.unbind()] == [[1, 2], [3], [4, 5, 6]]


def test_parts_with_a_known_inner_size_are_nested() -> None:
    rows = [{"x": np.ones((n, 2), np.float32) * n} for n in (1, 3)]
    x = next(iter(mr.from_rows(rows).ragged_batch(2).to("torch")))["x"]
    assert [tuple(part.shape) for part in x.unbind()] == [(1, 2), (3, 2)]


def test_texts_that_differ_in_number_stay_texts() -> None:
    rows = [{"x": ["a", "b"]}, {"x": ["c"]}]
    x = next(iter(mr.from_rows(rows).ragged_batch(2).to("torch")))["x"]
    assert isinstance(x, mr.Ragged)
    assert list(x) == [["a", "b"], ["c"]]


def test_memory_comes_back_when_a_tensor_dies() -> None:
    places = addresses(large().to("torch"), address)
    assert len(set(places)) < len(places)


def test_memory_of_a_tensor_that_lives_is_not_reused() -> None:
    check_held(large().to("torch"), address)


def test_a_view_of_a_tensor_keeps_its_memory() -> None:
    iterator = iter(large().to("torch"))
    view = next(iterator)["x"][5:10]
    addresses(iterator, address)
    assert view.tolist() == [0.0] * 5


def test_tensors_are_not_copied() -> None:
    loader = large(4).to("torch")
    assert all(address(batch["x"]) % 64 == 0 for batch in loader)
    assert loader.stats()["bytes_copied"] == 0


def test_scalars_of_single_rows_are_tensors_and_counted() -> None:
    loader = mr.range(3).to("torch")
    assert [row["value"].item() for row in loader] == [0, 1, 2]
    assert loader.stats()["bytes_copied"] == 3 * 8


def test_structure_is_kept() -> None:
    ds = mr.range(4).map(lambda row: Example(row["value"] * 2, row["value"]))
    batch = next(iter(ds.batch(2).to("torch")))
    assert isinstance(batch, Example)
    assert torch.equal(batch.image, torch.tensor([0, 2]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
@pytest.mark.parametrize("options", [{"pin": True}, {"device": "cuda"}, {"device": 0}])
def test_says_that_there_is_no_cuda(options: dict[str, Any]) -> None:
    with pytest.raises(PipelineError, match="torch finds none here"):
        mr.range(3).to("torch", **options)


def test_refuses_devices_it_does_not_know() -> None:
    with pytest.raises(PipelineError, match='"cpu" and "cuda"'):
        mr.range(3).to("torch", device="meta")


# --- The way to a device, gone on the CPU ---


def sent(ds: mr.Dataset, blocks: int = 1) -> DeviceLoader:
    return DeviceLoader(mr.loader(ds, seed=1), CPU, blocks)


def shown(value: Any) -> str:
    nested = isinstance(value, torch.Tensor) and value.is_nested
    return repr(value.unbind() if nested else value)


def prefetch_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "millrace-prefetch"]


@pytest.fixture(autouse=True)
def _threads_end() -> Iterator[None]:
    yield
    for thread in prefetch_threads():
        thread.join(10)
        assert not thread.is_alive()


def test_one_block_carries_every_batch_intact() -> None:
    loader = sent(large(200), blocks=1)
    held = [batch["x"] for batch in loader]
    assert [x[0].item() for x in held] == list(range(200))
    assert all((x == x[0]).all() for x in held)
    assert loader.stats()["bytes_copied"] == 200 * 64 * 1024


def test_batches_of_all_kinds_go_over() -> None:
    for ds in (all_numbers(), bfloat16s(), lists(), mr.range(3)):
        for batch, there in zip(ds.to("torch"), sent(ds), strict=True):
            assert batch.keys() == there.keys()
            assert all(shown(batch[n]) == shown(there[n]) for n in batch)


def test_ranks_that_pad_mark_what_is_real() -> None:
    ds = mr.range(10).batch(3)
    rank = ds.distribute(consumer=1, consumers=2, remainder="pad", seed=1)
    batches = list(rank.to("torch"))
    assert [batch["value"].tolist() for batch in batches] == [[3, 4, 5], [9, 0, 0]]
    assert batches[1]["valid"].tolist() == [True, False, False]
    assert batches[1]["valid"].dtype == torch.bool


def test_state_is_of_what_was_taken_not_of_what_was_prefetched() -> None:
    ds = mr.range(400).shuffle(50, seed=3).batch(2)
    whole = [batch["value"].tolist() for batch in ds.to("torch")]
    for count in (0, 1, 5, 23, 199, 200):
        loader = sent(ds)
        iterator = iter(loader)
        taken = [next(iterator)["value"].tolist() for _ in range(count)]
        assert taken == whole[:count]
        state = loader.state_dict()
        assert loader.stats()["batches"] == count
        rest = sent(ds)
        rest.load_state_dict(state)
        if state["epoch"] == 0:
            again = [batch["value"].tolist() for batch in rest]
            assert taken + again == whole
        else:
            assert (count, state["taken"]) == (200, 0)


def test_states_of_the_last_8_batches_are_known() -> None:
    ds = mr.range(200).batch(2)
    loader = sent(ds)
    iterator = iter(loader)
    for _ in range(30):
        next(iterator)
    for back in range(9):
        other = mr.loader(ds)
        state = loader.state_dict(30 - back)
        assert state["skip"] == 0  # Nothing is computed again.
        other.load_state_dict(state)
        assert next(iter(other))["value"].tolist()[0] == 2 * (30 - back)


def test_resumed_state_is_right_before_the_first_batch() -> None:
    ds = mr.range(200).batch(2)
    loader = sent(ds)
    iterator = iter(loader)
    for _ in range(13):
        next(iterator)
    state = loader.state_dict()
    loader.load_state_dict(state)
    resumed = iter(loader)
    assert loader.state_dict()["taken"] == 13
    assert next(resumed)["value"].tolist() == [26, 27]
    assert loader.state_dict()["taken"] == 14


def test_a_pass_left_early_ends_its_thread_and_the_next_begins() -> None:
    loader = sent(mr.range(1000).batch(2))
    for epoch in range(5):
        for batch in loader:
            assert batch["value"].tolist() == [0, 1]
            break
        assert loader.epoch == epoch


def test_close_in_the_middle_ends_the_pass() -> None:
    loader = sent(mr.range(100_000).batch(2))
    iterator = iter(loader)
    next(iterator)
    loader.close()
    assert sum(1 for _ in iterator) <= 3


def test_errors_come_after_the_batches_before_them() -> None:
    ds = mr.from_arrays({"t": ["1", "2", "x"]}).map(
        lambda row: {"n": mr.text.to_number(row["t"], "int64")}
    )
    taken = []
    with pytest.raises(DataError):
        for row in sent(ds):
            taken.append(row["n"].item())
    assert taken == [1, 2]


def test_stats_can_be_asked_at_any_time() -> None:
    loader = sent(mr.range(500).batch(2))
    assert loader.stats()["batches"] == 0
    for count, _ in enumerate(loader, 1):
        assert loader.stats()["batches"] == count
    assert loader.stats()["rows"] == 500


LEFT_AMID_A_PASS = """
import torch
import millrace as mr
from millrace.frameworks.device_loader import DeviceLoader

loader = DeviceLoader(mr.loader(mr.range(10**9).batch(4)), torch.device("cpu"))
iterator = iter(loader)
print(next(iterator)["value"].tolist())
"""


def test_a_process_ends_amid_a_pass() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT_AMID_A_PASS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2, 3]\n"), done.stderr


# --- In torch's DataLoader ---


def test_iterable_in_a_data_loader_gives_the_pipeline_s_batches() -> None:
    ds = mr.range(8).batch(3).to_torch_iterable()
    assert isinstance(ds, torch.utils.data.IterableDataset)
    batches = list(torch.utils.data.DataLoader(ds, batch_size=None))
    assert [batch["value"].tolist() for batch in batches] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7],
    ]
    assert len(ds) == 3


def test_iterable_of_rows_is_collated_by_the_data_loader() -> None:
    rows = mr.from_arrays({"x": np.arange(4), "t": ["a", "b", "c", "d"]})
    loader = torch.utils.data.DataLoader(rows.to_torch_iterable(), batch_size=2)
    batches = list(loader)
    assert torch.equal(batches[1]["x"], torch.tensor([2, 3]))
    assert batches[1]["t"] == ["c", "d"]


def test_iterable_goes_on_from_a_state_and_shuffles_each_epoch_anew() -> None:
    ds = mr.range(64).shuffle(64).batch(4)
    first = ds.to_torch_iterable(seed=5)
    loader = torch.utils.data.DataLoader(first, batch_size=None)
    epochs = [[b["value"].tolist() for b in loader] for _ in range(2)]
    assert epochs[0] != epochs[1]
    second = ds.to_torch_iterable(seed=5)
    iterator = iter(second)
    taken = [next(iterator)["value"].tolist() for _ in range(6)]
    third = pickle.loads(pickle.dumps(second))
    assert taken + [b["value"].tolist() for b in third] == epochs[0]
    assert [b["value"].tolist() for b in third] == epochs[1]


def test_iterable_refuses_workers() -> None:
    loader = torch.utils.data.DataLoader(
        mr.range(8).to_torch_iterable(),
        batch_size=2,
        num_workers=1,
        multiprocessing_context="spawn",
    )
    with pytest.raises(PipelineError, match="num_workers=0"):
        next(iter(loader))
