"""PyTorch's DataLoader, tuned as its documentation and tuning guide say.

As many worker processes as there are cores, kept for all epochs; each computes in one
thread. Option "pillow" decodes with Pillow and transforms its images, "torchvision"
decodes with torchvision's own decoder and transforms tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchdata.stateful_dataloader import StatefulDataLoader
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

from drivers.folders import listed
from drivers.interface import Feed, Run, choose, need_layout
from drivers.python_arrays import Volumes
from drivers.python_columns import (
    features,
    lines_of,
    padded,
    share,
    tables_of,
    tokens_of,
)
from drivers.python_function import FunctionRows
from drivers.python_objects import ObjectRows
from drivers.torch_transforms import augmenting

_PREFETCH = 2


class Photos(torch.utils.data.Dataset):
    """Images in class folders."""

    def __init__(self, run: Run, transform: Callable[[Any], Any]) -> None:
        need_layout(
            run, "folders", reason="PyTorch reads files; for tar see WebDataset"
        )
        self._paths, self._labels = listed(run.data)
        self._load = _LOADS[run.option]
        self._transform = transform

    def __len__(self) -> int:
        """Count the images."""
        return len(self._paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Load and transform one."""
        image = self._transform(self._load(self._paths[index]))
        return {"image": image, "label": self._labels[index]}


def _with_pillow(path: str) -> Any:
    with Path(path).open("rb") as file:
        return Image.open(file).convert("RGB")


def _with_torchvision(path: str) -> Any:
    return decode_jpeg(read_file(path), mode=ImageReadMode.RGB)


_LOADS = {"pillow": _with_pillow, "torchvision": _with_torchvision}


def augment(run: Run) -> Feed:
    """Images, row by row in worker processes."""
    return feed(run, Photos(run, augmenting(run, pillow=run.option == "pillow")))


class Numbers(torch.utils.data.IterableDataset):
    """Rows of one number, each worker's share of them."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Give the rows of this worker."""
        info = torch.utils.data.get_worker_info()
        for value in range(info.id, self._rows, info.num_workers):
            x = value * 2 + 1
            if x % 3:
                yield {"x": x}


def numbers(run: Run) -> Feed:
    """Rows of one number, row by row."""
    return feed(run, Numbers(run.rows))


class Lines(torch.utils.data.IterableDataset):
    """Lines of text as rows of tokens, each worker's share of the files."""

    def __init__(self, run: Run) -> None:
        self._files = list(run.data.glob("*.txt"))
        self._buckets = run.pipeline["buckets"]

    def __iter__(self) -> Iterator[Any]:
        """Give the rows of this worker."""
        info = torch.utils.data.get_worker_info()
        for line in lines_of(share(self._files, info.id, info.num_workers)):
            yield tokens_of(line, self._buckets)


def words(run: Run) -> Feed:
    """Text, row by row in worker processes."""
    return feed(run, Lines(run), collate_fn=_padded)


def _padded(rows: list[Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(array) for name, array in padded(rows).items()}


class Tables(torch.utils.data.IterableDataset):
    """Parquet files in whole batches, each worker's share of the files."""

    def __init__(self, run: Run) -> None:
        self._files = list(run.data.glob("*.parquet"))
        self._batch, self._buckets = run.batch, run.pipeline["buckets"]

    def __iter__(self) -> Iterator[Any]:
        """Give the batches of this worker."""
        info = torch.utils.data.get_worker_info()
        files = share(self._files, info.id, info.num_workers)
        for columns in tables_of(files, self._batch, threads=False):
            made = features(columns, self._buckets)
            yield {name: torch.from_numpy(array) for name, array in made.items()}


def table(run: Run) -> Feed:
    """Columns by pyarrow, in whole batches."""
    return feed(run, Tables(run), batch_size=None)


def function(run: Run) -> Feed:
    """A function of NumPy, row by row in worker processes."""
    return feed(run, FunctionRows(run))


def variable(run: Run) -> Feed:
    """Images of many shapes, padded to the largest of a batch."""
    steps: list[Any] = [v2.RandomHorizontalFlip()]
    if run.option == "pillow":
        steps.append(v2.PILToTensor())
    return feed(run, Photos(run, v2.Compose(steps)), collate_fn=_padded_images)


def _padded_images(rows: list[Any]) -> dict[str, Any]:
    images = [row["image"] for row in rows]
    height = max(image.shape[1] for image in images)
    width = max(image.shape[2] for image in images)
    batch = torch.zeros((len(rows), 3, height, width), dtype=torch.uint8)
    for image, place in zip(images, batch, strict=True):
        place[:, : image.shape[1], : image.shape[2]] = image
    return {"image": batch, "label": torch.tensor([row["label"] for row in rows])}


def simclr(run: Run) -> Feed:
    """Crop, flip, and change colours and sharpness at random."""
    steps = [
        v2.RandomResizedCrop(run.pipeline["size"], antialias=True),
        v2.RandomHorizontalFlip(),
        v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
        v2.RandomGrayscale(0.2),
        v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], p=0.5),
    ]
    if run.option == "pillow":
        steps.append(v2.PILToTensor())
    return feed(run, Photos(run, v2.Compose(steps)))


def objects(run: Run) -> Feed:
    """Rows of small objects, in worker processes."""
    return feed(run, ObjectRows(run.rows), shuffle=True)


class TensorVolumes(Volumes):
    """The same as tensors."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read and scale one."""
        return {"volume": torch.from_numpy(super().__getitem__(index)["volume"])}


def volumes(run: Run) -> Feed:
    """Large rows, row by row in worker processes."""
    return feed(run, TensorVolumes(run))


def feed(run: Run, dataset: Any, **more: Any) -> Feed:
    """Give a feed of a DataLoader."""
    # Of PyTorch's own loaders this one can go on in the middle, at some cost.
    stateful = run.workload.metric.get("resume", False)
    kind = StatefulDataLoader if stateful else torch.utils.data.DataLoader
    loader = kind(
        dataset,
        num_workers=run.threads,
        prefetch_factor=_PREFETCH,
        persistent_workers=True,
        **{"batch_size": run.batch, **more},
    )
    settings = {
        "num_workers": run.threads,
        "prefetch_factor": _PREFETCH,
        "persistent_workers": True,
        "start": torch.multiprocessing.get_start_method(),
        "loader": f"{kind.__module__.split('.')[0]}'s {kind.__name__}",
    }
    if not stateful:
        return Feed(lambda: loader, settings)
    state = {"save": loader.state_dict, "load": loader.load_state_dict}
    return Feed(lambda: loader, settings, **state)


_WAYS = {
    "augment": augment,
    "numbers": numbers,
    "words": words,
    "table": table,
    "function": function,
    "variable": variable,
    "simclr": simclr,
    "volumes": volumes,
    "objects": objects,
}


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    np.random.seed(0)
    return choose(run, _WAYS)
