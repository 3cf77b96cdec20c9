"""`millrace.torch.DataLoader` gives what PyTorch's gives, and resumes exactly."""

import inspect
import json
import multiprocessing
import pickle
import random
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import (
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

import millrace as mr
from millrace.torch import DataLoader

Pair = namedtuple("Pair", "left right")


TORCH_ATTRIBUTES = (
    "batch_size",
    "num_workers",
    "pin_memory",
    "drop_last",
    "timeout",
    "collate_fn",
    "generator",
    "worker_init_fn",
    "prefetch_factor",
    "persistent_workers",
    "in_order",
    "multiprocessing_context",
    "pin_memory_device",
    "_auto_collation",
)


class Numbers(Dataset[Any]):
    """Row i is i, with nothing random."""

    def __init__(self, count: int = 23) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.count:
            raise IndexError(index)
        return index


class Draws(Numbers):
    """Each row draws from all three libraries."""

    def __getitem__(self, index: int) -> Any:
        return index, random.random(), np.random.normal(), torch.rand(2)


class Waits(Numbers):
    """Row 0 comes only when the test says so."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.may_go = multiprocessing.get_context("fork").Event()

    def __getitem__(self, index: int) -> Any:
        if index == 0:
            assert self.may_go.wait(60)
        return (index,)


class Kinds(Numbers):
    """Each row holds every kind of value that the default collation knows."""

    def __getitem__(self, index: int) -> Any:
        return {
            "int": index,
            "float": index / 2,
            "text": f"row {index}",
            "bytes": b"row",
            "tensor": torch.full((3, 4), index, dtype=torch.int16),
            "large": torch.full((128, 256), float(index)),
            "array": np.full((2, 2), index, np.float32),
            "scalar": np.float64(index),
            "pair": Pair(index, [torch.tensor(index), index]),
            "half": torch.tensor([index], dtype=torch.bfloat16),
            "flag": torch.tensor(index % 2 == 0),
            "empty": torch.empty(0, 3),
        }


class Many(Numbers):
    """Answers for a whole batch at once."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [index * 100 for index in indices]


class Shares(IterableDataset[Any]):
    """Each worker yields every n-th row, with a random number."""

    def __init__(self, count: int = 23) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for row in range(first, self.count, step):
            yield row, random.random()


class Uneven(IterableDataset[int]):
    """Worker 1 yields three times as many rows as worker 0."""

    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        worker = info.id if info else 0
        yield from range(worker * 100, worker * 100 + 5 + 10 * worker)


class Counting(torch.utils.data.Sampler[int]):
    """A sampler with state, which draws from torch's global generator."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.done = 0

    def __iter__(self) -> Iterator[int]:
        while self.done < self.count:
            self.done += 1
            yield int(torch.randint(self.count, ()))
        self.done = 0

    def __len__(self) -> int:
        return self.count

    def state_dict(self) -> dict[str, int]:
        return {"done": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.done = state["done"]


def same(left: Any, right: Any) -> bool:
    """Whether two batches are equal in values, types and dtypes."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            same(left[key], right[key]) for key in left
        )
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def channels_last(rows: list[Any]) -> Any:
    images = torch.rand(len(rows), 3, 64, 64)
    return images.to(memory_format=torch.channels_last), np.arange(6)[::2]


def as_text(rows: list[Any]) -> str:
    return "x" * 300_000 + str(rows)


def identity(rows: list[Any]) -> list[Any]:
    return rows


def test_signature_is_that_of_torch_and_seed() -> None:
    ours = inspect.signature(DataLoader.__init__).parameters
    theirs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    assert list(ours) == [*theirs, "seed"]
    for name in theirs:
        assert ours[name].default == theirs[name].default, name
        assert ours[name].kind == theirs[name].kind, name


def test_attributes_are_those_of_torch() -> None:
    for options in ({}, {"batch_size": None}, {"num_workers": 2, "timeout": 3}):
        ours = DataLoader(Numbers(), **options)
        theirs: Any = torch.utils.data.DataLoader(Numbers(), **options)
        for name in TORCH_ATTRIBUTES:
            assert getattr(ours, name) == getattr(theirs, name), name
        assert type(ours.sampler) is type(theirs.sampler)
        assert type(ours.batch_sampler) is type(theirs.batch_sampler)
    assert not isinstance(ours, torch.utils.data.DataLoader)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 3, "sampler": [5, 1, 1, 22, 0, 7, 9]},
        {"batch_sampler": [[1, 2], [3], [4, 5, 6]]},
        {"batch_size": 6, "sampler": DistributedSampler(Numbers(), 3, 1, seed=4)},
        {"batch_size": 5, "collate_fn": identity},
    ],
)
def test_map_style_equals_torch(workers: int, options: dict[str, Any]) -> None:
    ours = DataLoader(Numbers(), num_workers=workers, **options)
    theirs: Any = torch.utils.data.DataLoader(Numbers(), **options)
    assert len(ours) == len(theirs)
    for _ in range(2):
        assert same(list(ours), list(theirs))


@pytest.mark.parametrize("workers", [0, 2])
def test_every_kind_is_collated_as_torch_does(workers: int) -> None:
    ours = list(DataLoader(Kinds(), batch_size=8, num_workers=workers))
    theirs = list(torch.utils.data.DataLoader(Kinds(), batch_size=8))
    assert same(ours, theirs)
    ours[0]["large"] += 1  # What a loop gets, it may write to.
    ours[0]["tensor"] += 1


def test_batches_stay_as_they_are_while_later_ones_are_made() -> None:
    loader = DataLoader(Kinds(60), batch_size=4, num_workers=2)
    kept = list(loader)
    for number, batch in enumerate(kept):
        assert batch["large"][:, 0, 0].tolist() == [4 * number + k for k in range(4)]


def growing(rows: list[Any]) -> list[torch.Tensor]:
    return [torch.full((30_000 * (1 + k % 7),), k) for k in rows]


def test_batches_of_changing_sizes_cross() -> None:
    rows = DataLoader(Numbers(120), 2, collate_fn=growing, num_workers=2)
    for number, batch in enumerate(rows):
        for place, tensor in enumerate(batch):
            row = 2 * number + place
            assert len(tensor) == 30_000 * (1 + row % 7)
            assert torch.all(tensor == row)


@pytest.mark.parametrize("collate", [channels_last, as_text])
def test_custom_collations_cross_unchanged(collate: Any) -> None:
    ours = list(DataLoader(Numbers(), 4, collate_fn=collate, num_workers=1, seed=1))
    here = list(DataLoader(Numbers(), 4, collate_fn=collate, seed=1))
    assert same(ours, here)
    if collate is channels_last:
        assert ours[0][0].is_contiguous(memory_format=torch.channels_last)


def test_getitems_is_used() -> None:
    for workers in (0, 1):
        first = next(iter(DataLoader(Many(), batch_size=3, num_workers=workers)))
        assert first.tolist() == [0, 100, 200]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_iterable_equals_torch(workers: int) -> None:
    ours = DataLoader(Shares(), batch_size=2, num_workers=workers)
    theirs: Any = torch.utils.data.DataLoader(
        Shares(), batch_size=2, num_workers=workers
    )
    assert len(ours) == len(theirs)
    assert same([b[0] for b in ours], [b[0] for b in theirs])
    short = DataLoader(Shares(), batch_size=5, drop_last=True, num_workers=workers)
    assert all(len(batch[0]) == 5 for batch in short)
    single = DataLoader(Shares(4), batch_size=None, num_workers=workers)
    assert sorted(row[0] for row in single) == [0, 1, 2, 3]


def test_batches_do_not_depend_on_the_number_of_workers() -> None:
    runs = [
        [list(loader), list(loader)]
        for loader in (
            DataLoader(Draws(), 4, shuffle=True, num_workers=workers, seed=5)
            for workers in (0, 1, 3)
        )
    ]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert not same(runs[0][0], runs[0][1])
    assert len({float(batch[1][0]) for batch in runs[0][0]}) == len(runs[0][0])


def test_seed_and_generator_decide() -> None:
    def order(**options: Any) -> Any:
        return list(DataLoader(Draws(), 4, shuffle=True, **options))

    assert same(order(seed=1), order(seed=1))
    assert not same(order(seed=1), order(seed=2))
    torch.manual_seed(3)
    first = order()
    assert not same(first, order())
    torch.manual_seed(3)
    assert same(first, order())
    drawn = [order(generator=torch.Generator().manual_seed(4)) for _ in range(2)]
    assert same(drawn[0], drawn[1])


def test_the_trainers_own_randomness_is_left_alone() -> None:
    def draws() -> Any:
        return random.random(), np.random.normal(), torch.rand(1).item()

    def seed() -> None:
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        np.random.normal()  # NumPy keeps the second value of a pair.

    seed()
    expected = [draws() for _ in range(12)]
    seed()
    sampler = SubsetRandomSampler(range(23))
    found = [draws() for _ in DataLoader(Draws(), 2, sampler=sampler, seed=1)]
    assert found == expected


def make_samplers() -> dict[str, Any]:
    own = torch.Generator().manual_seed(8)
    return {
        "sequential": {},
        "shuffle": {"shuffle": True},
        "generator": {"sampler": RandomSampler(Numbers(), generator=own)},
        "both": {
            "sampler": WeightedRandomSampler([1.0] * 23, 23, generator=own),
            "generator": own,
        },
        "global": {"sampler": SubsetRandomSampler(range(23))},
        "stateful": {"sampler": Counting(23)},
        "distributed": {"sampler": DistributedSampler(Numbers(46), 2, 1)},
    }


@pytest.mark.parametrize("kind", list(make_samplers()))
@pytest.mark.parametrize("workers", [0, 2])
def test_resumes_exactly_at_every_batch(kind: str, workers: int) -> None:
    def make(seed: int | None, count: int) -> Any:
        options = make_samplers()[kind]
        rows = Draws(46 if kind == "distributed" else 23)
        return DataLoader(rows, 4, num_workers=count, seed=seed, **options)

    whole = make(6, 0)
    epochs = [list(whole) for _ in range(3)]
    for taken in range(len(epochs[1]) + 1) if workers == 0 else (0, 1, 5, 6):
        loader = make(6, workers)
        list(loader)
        batches = iter(loader)
        for _ in range(taken):
            next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        resumed = make(None, 2 - workers)
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state
        rest = list(resumed)
        if taken == len(epochs[1]):  # A state at a pass's end starts the next one.
            assert same(rest, epochs[2])
        else:
            assert same(rest, epochs[1][taken:])
            assert same(list(resumed), epochs[2])


@pytest.mark.parametrize("dataset", [Shares(), Uneven()])
@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_resumes_exactly(dataset: Any, workers: int) -> None:
    def make() -> Any:
        return DataLoader(dataset, 3, num_workers=workers, seed=2)

    whole = list(make())
    for taken in range(0, len(whole) + 1, 1 if workers == 0 else 3):
        loader = make()
        batches = iter(loader)
        for _ in range(taken):
            next(batches)
        resumed = make()
        resumed.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert same(list(resumed), whole[taken:])


def test_iterable_state_names_the_workers_it_needs() -> None:
    loader = DataLoader(Shares(), 3, num_workers=2)
    next(iter(loader))
    with pytest.raises(ValueError, match="num_workers=2"):
        DataLoader(Shares(), 3).load_state_dict(loader.state_dict())


def test_loaders_pickle_with_their_position() -> None:
    loader = DataLoader(Draws(), 4, shuffle=True, num_workers=2, seed=3)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))
    assert again.state_dict() == loader.state_dict()
    assert same(list(again), list(batches))


def test_state_counts_what_was_taken_and_reaches_back() -> None:
    loader = DataLoader(Draws(80), 4, shuffle=True, num_workers=2, seed=3)
    batches = iter(loader)
    kept = [next(batches) for _ in range(12)]
    assert loader.state_dict()["batches"] == 12
    for count in range(4, 13):
        resumed = DataLoader(Draws(80), 4, shuffle=True)
        resumed.load_state_dict(loader.state_dict(batches=count))
        first = next(iter(resumed))
        assert same(first, kept[count] if count < 12 else next(batches))
    with pytest.raises(ValueError, match="remembers"):
        loader.state_dict(batches=99)


def ids_of(batches: Any) -> list[int]:
    return [int(row) for batch in batches for row in batch[0]]


def test_out_of_order_delivers_and_resumes_every_batch_once() -> None:
    def make(workers: int) -> Any:
        options: dict[str, Any] = {"in_order": False, "seed": 3}
        return DataLoader(Draws(200), 4, shuffle=True, num_workers=workers, **options)

    assert sorted(ids_of(make(3))) == list(range(200))
    loader = make(3)
    batches = iter(loader)
    taken = [next(batches) for _ in range(17)]
    state = json.loads(json.dumps(loader.state_dict()))
    for workers in (0, 2):
        resumed = make(workers)
        resumed.load_state_dict(state)
        assert sorted(ids_of([*taken, *resumed])) == list(range(200))


def test_out_of_order_does_not_wait_for_a_slow_batch() -> None:
    rows = Waits(8)
    loader = DataLoader(
        rows, 2, num_workers=2, in_order=False, multiprocessing_context="fork"
    )
    batches = iter(loader)
    early = [next(batches)]
    assert ids_of(early)[0] > 0
    state = loader.state_dict()
    assert state["batches"] == 1
    assert state["ahead"] == [ids_of(early)[0] // 2]
    rows.may_go.set()
    assert sorted(ids_of([*early, *batches])) == list(range(8))
    for workers in (0, 2):
        resumed = DataLoader(rows, 2, num_workers=workers)
        resumed.load_state_dict(state)
        assert sorted(ids_of([*early, *resumed])) == list(range(8))


def test_a_pass_of_which_nothing_was_taken_is_repeated() -> None:
    loader = DataLoader(Draws(), 4, shuffle=True, seed=1)
    iter(loader)
    assert same(list(loader), list(DataLoader(Draws(), 4, shuffle=True, seed=1)))
    assert loader.state_dict()["epoch"] == 1


def test_set_epoch_reaches_the_sampler_and_keeps_a_loaded_position() -> None:
    def make() -> Any:
        sampler: Any = DistributedSampler(Numbers(), 2, 0, shuffle=True)
        return DataLoader(Numbers(), 2, sampler=sampler, seed=1)

    loader = make()
    loader.set_epoch(3)
    assert loader.sampler.epoch == 3
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = list(batches)
    resumed = make()
    resumed.load_state_dict(state)
    assert resumed.sampler.epoch == 3
    resumed.set_epoch(3)
    assert same(list(resumed), rest)
    resumed.load_state_dict(state)
    resumed.set_epoch(4)
    assert len(list(resumed)) == len(rest) + 1


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_size": None, "drop_last": True},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "threads"},
    ],
)
def test_refuses_what_torch_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        torch.utils.data.DataLoader(Numbers(), **options)
    with pytest.raises(ValueError, match="DataLoader"):
        DataLoader(Numbers(), **options)


def test_iterable_refuses_an_order_and_loaders_stay_as_made() -> None:
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="its own order"):
            DataLoader(Shares(), **options)
    with pytest.raises(ValueError, match="cannot be changed"):
        DataLoader(Numbers()).batch_size = 3
    with pytest.raises(ValueError, match="not a state"):
        DataLoader(Numbers()).load_state_dict({"_num_yielded": 3})
    with pytest.raises(ValueError, match="of another loader"):
        DataLoader(Numbers()).load_state_dict(mr.range(3).loader().state_dict())


def test_ranks_need_a_distributed_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    loader = DataLoader(Numbers(), shuffle=True)
    with pytest.raises(ValueError, match=r"sampler=.*DistributedSampler\(dataset, shu"):
        iter(loader)
    share = DataLoader(Numbers(), sampler=DistributedSampler(Numbers(), 2, 1))
    assert len(list(share)) == 12
    with pytest.warns(UserWarning, match="its own share"):
        iter(DataLoader(Shares()))


def test_ranks_agree_on_a_seed_but_draw_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "29500")
    seeds, draws = [], []
    for rank in (0, 1):
        sampler: Any = DistributedSampler(Draws(), 2, rank)
        loader = DataLoader(Draws(), 4, sampler=sampler)
        draws.append(next(iter(loader))[1])
        seeds.append(loader.state_dict()["seed"])
    assert seeds[0] == seeds[1]
    assert not torch.equal(*draws)
    monkeypatch.delenv("MASTER_PORT")
    with pytest.raises(ValueError, match="seed=0"):
        iter(DataLoader(Draws(), sampler=DistributedSampler(Draws(), 2, 0)))
