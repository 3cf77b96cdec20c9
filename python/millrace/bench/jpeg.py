"""JPEGs to batches: decoded, cropped at random, resized as Pillow does, flipped.

The peers are torch's DataLoader over the same bytes, with Pillow and torchvision's
transforms, and with torchvision's own decoder; as many processes as we have threads.
Their bytes lie in memory, ours in tar files.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from millrace import _sources
from millrace.bench.lines import Line, medians
from millrace.dataset import Dataset
from millrace.engine import budget
from millrace.kernels import image as images

_SHARDS = 4
_ROWS = 4096
_SIZE = (224, 224)
_BATCH = 64


def lines(repeats: int) -> list[Line]:
    """Measure beside each decoder that is here."""
    with tempfile.TemporaryDirectory() as folder:
        _make_images(folder)
        ds = _dataset(folder)
        rows = _jpegs(folder)
        return [
            _line(ds, repeats, "torch and Pillow", 2.5, _peer("pillow", rows)),
            _line(ds, repeats, "torch, torchvision's decoder", 1.7, _peer("own", rows)),
        ]


def _line(
    ds: Dataset,
    repeats: int,
    limit_is: str,
    bar: float,
    peer: Callable[[], float] | None,
) -> Line:
    def ours() -> float:
        return _rate(ds)

    name = f"JPEG to batches, antialiased, {budget().threads} thread(s)"
    if peer is None:
        rate = medians(repeats, ours)[0]
        return Line(name, "images/s", rate, None, limit_is, bar)
    rate, theirs = medians(repeats, ours, peer)
    return Line(name, "images/s", rate, theirs, limit_is, bar)


def _make_images(folder: str) -> None:
    words = ["data", "make-images", folder, "--files", str(_SHARDS)]
    words += ["--count", str(_ROWS)]
    # In a process of its own: it tells what it made, and our output is the result.
    subprocess.run(
        [sys.executable, "-m", "millrace.command", *words],
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _dataset(folder: str) -> Dataset:
    def augment(row: Any, rng: Any) -> dict[str, Any]:
        image = images.decode(row["jpg"])
        image = images.random_resized_crop(image, _SIZE, antialias=True, rng=rng)
        return {"image": images.random_flip(image, rng=rng), "label": row["cls"]}

    source = _sources.read_tar(str(Path(folder) / "*.tar"), ["jpg", "cls"])
    return source.map(augment, python=False).batch(_BATCH)


def _jpegs(folder: str) -> list[bytes]:
    found = []
    for path in sorted(Path(folder).glob("*.tar")):
        with tarfile.open(path) as shard:
            for member in shard:
                content = shard.extractfile(member)
                if member.name.endswith(".jpg") and content is not None:
                    found.append(content.read())
    return found


class Jpegs:
    """A dataset of torch: bytes in memory, decoded and augmented one by one."""

    def __init__(self, rows: list[bytes], decoder: str) -> None:
        transforms: Any = importlib.import_module("torchvision.transforms.v2")
        self._rows = rows
        self._decode = _with_pillow if decoder == "pillow" else _with_torchvision
        steps = [
            transforms.RandomResizedCrop(_SIZE, antialias=True),
            transforms.RandomHorizontalFlip(),
        ]
        if decoder == "pillow":
            steps.append(transforms.PILToTensor())
        self._transform = transforms.Compose(steps)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        """Decode and augment one."""
        return self._transform(self._decode(self._rows[index]))


def _with_pillow(content: bytes) -> Any:
    pillow: Any = importlib.import_module("PIL.Image")
    return pillow.open(io.BytesIO(content)).convert("RGB")


def _with_torchvision(content: bytes) -> Any:
    torch: Any = importlib.import_module("torch")
    vision: Any = importlib.import_module("torchvision.io")
    data = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    return vision.decode_jpeg(data, mode=vision.ImageReadMode.RGB)


def _peer(decoder: str, rows: list[bytes]) -> Callable[[], float] | None:
    needs = ["torch", "torchvision"] + (["PIL"] if decoder == "pillow" else [])
    if any(importlib.util.find_spec(name) is None for name in needs):
        return None
    data: Any = importlib.import_module("torch.utils.data")

    def rate() -> float:
        return _rate(
            data.DataLoader(
                Jpegs(rows, decoder),
                batch_size=_BATCH,
                shuffle=True,
                num_workers=budget().threads,
            )
        )

    return rate


def _rate(batches: Iterable[Any]) -> float:
    """Measure images a second, from the first batch on."""
    iterator = iter(batches)
    next(iterator)
    start = time.perf_counter()
    count = sum(1 for _ in iterator)
    return count * _BATCH / (time.perf_counter() - start)
