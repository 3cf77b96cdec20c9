"""Batches for the trainer, from each loader as its documentation says.

A loader is a context that gives a feed: batches without end, on the device.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

from drivers.folders import listed
from training.trainer import Batch

BATCH = 256
SIZE = 224
_SEED = 7
_PREFETCH = 4


@dataclasses.dataclass(frozen=True)
class Feed:
    """What the trainer takes.

    Attributes:
        batches: On the device.
        decoded: How many images were decoded beside it so far.
    """

    batches: Iterator[Batch]
    decoded: Callable[[], int] = lambda: 0


Loader = Callable[[Path, str, int], contextlib.AbstractContextManager[Feed]]


@contextlib.contextmanager
def ready(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """One batch in pinned memory, again and again."""
    images = torch.randint(0, 256, (BATCH, SIZE, SIZE, 3), dtype=torch.uint8)
    labels = torch.randint(0, 1000, (BATCH,))
    if device == "cuda":
        images, labels = images.pin_memory(), labels.pin_memory()

    def batches() -> Iterator[Batch]:
        while True:
            on_device = images.to(device, non_blocking=True)
            yield on_device.permute(0, 3, 1, 2), labels.to(device, non_blocking=True)

    yield Feed(batches())


def _pipeline(data: Path) -> Any:
    import millrace as mr

    def augmented(row: Any, rng: Any) -> dict[str, Any]:
        image = mr.image.decode(row["image"])
        image = mr.image.random_resized_crop(
            image, (SIZE, SIZE), antialias=True, rng=rng
        )
        image = mr.image.random_flip(image, rng=rng)
        return {"image": image, "label": row["label"]}

    rows = mr.read_images(str(data)).shuffle(2048, seed=_SEED)
    return rows.map(augmented, python=False).repeat().batch(BATCH)


def _channels_first(batches: Any) -> Iterator[Batch]:
    for batch in batches:
        yield batch["image"].permute(0, 3, 1, 2), batch["label"]


@contextlib.contextmanager
def millrace(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """Millrace in the process that trains."""
    loader = _pipeline(data).loader().to("torch", device=device)
    yield Feed(_channels_first(loader))


@contextlib.contextmanager
def millrace_isolated(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """Millrace in a process beside the one that trains."""
    loader = _pipeline(data).loader(isolate=True).to("torch", device=device)
    yield Feed(_channels_first(loader))


@contextlib.contextmanager
def millrace_service(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """A dispatcher and one worker of a service on this machine."""
    from drivers.millrace_service import running

    with running(workers=1, threads=len(os.sched_getaffinity(0))) as address:
        loader = _pipeline(data).distribute(address, seed=_SEED)
        yield Feed(_channels_first(loader.to("torch", device=device)))
        loader.close()


class Photos(torch.utils.data.Dataset[Any]):
    """Images in class folders, decoded by torchvision's decoder; without an end."""

    def __init__(self, data: Path) -> None:
        self._paths, self._labels = listed(data)
        self._transform = v2.Compose(
            [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()]
        )

    def __len__(self) -> int:
        """Count the images."""
        return len(self._paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Load and transform one."""
        image = decode_jpeg(read_file(self._paths[index]), mode=ImageReadMode.RGB)
        return self._transform(image), self._labels[index]


class Endless(torch.utils.data.Sampler[int]):
    """All rows in a new random order, again and again."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[int]:
        """Give the indexes."""
        while True:
            yield from torch.randperm(self._rows).tolist()


@contextlib.contextmanager
def pytorch(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """PyTorch's DataLoader, with pinned memory and worker processes that stay."""
    photos = Photos(data)
    loader = torch.utils.data.DataLoader(
        photos,
        batch_size=BATCH,
        sampler=Endless(len(photos)),
        num_workers=workers,
        prefetch_factor=_PREFETCH,
        pin_memory=device == "cuda",
        persistent_workers=True,
    )

    def batches() -> Iterator[Batch]:
        for images, labels in loader:
            yield images.to(device, non_blocking=True), labels.to(device)

    yield Feed(batches())


@contextlib.contextmanager
def decode(data: Path, device: str, workers: int) -> Iterator[Feed]:
    """Ready batches, beside processes that decode JPEGs and do nothing else."""
    context = multiprocessing.get_context("fork")
    counts = [context.Value("q", 0, lock=False) for _ in range(workers)]
    paths, _ = listed(data)
    loops = [
        context.Process(target=_decode_all, args=(paths[i::workers], count))
        for i, count in enumerate(counts)
    ]
    for loop in loops:
        loop.start()
    with ready(data, device, workers) as feed:
        yield Feed(feed.batches, lambda: sum(count.value for count in counts))
    for loop in loops:
        loop.kill()


def _decode_all(paths: list[str], count: Any) -> None:
    torch.set_num_threads(1)
    for path in itertools.cycle(paths):
        decode_jpeg(read_file(path), mode=ImageReadMode.RGB)
        count.value += 1


LOADERS: dict[str, Loader] = {
    "ready": ready,
    "decode": decode,
    "millrace": millrace,
    "millrace_isolated": millrace_isolated,
    "millrace_service": millrace_service,
    "torch": pytorch,
}
