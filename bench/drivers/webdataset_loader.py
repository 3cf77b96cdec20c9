"""WebDataset: shards split among worker processes, which batch, as its README shows it.

Images are decoded with torchvision's own decoder, the quicker one; its `decode("pil")`
is as fast as PyTorch with Pillow is.
"""

from __future__ import annotations

from typing import Any

import torch
import webdataset as wds
from torchvision.io import ImageReadMode, decode_jpeg

from drivers.interface import Feed, Run, choose, need_layout
from drivers.torch_transforms import augmenting

_PREFETCH = 2


def augment(run: Run) -> Feed:
    """Images of tar files."""
    need_layout(run, "tar", reason="WebDataset reads tar files")
    transform = augmenting(run, pillow=False)

    def augmented(row: dict[str, Any]) -> tuple[Any, int]:
        data = torch.frombuffer(bytearray(row["jpg"]), dtype=torch.uint8)
        image = decode_jpeg(data, mode=ImageReadMode.RGB)
        return transform(image), int(row["cls"])

    shards = sorted(str(path) for path in run.data.glob("*.tar"))
    rows = wds.WebDataset(shards, shardshuffle=False).map(augmented)
    loader = wds.WebLoader(
        rows.batched(run.batch, collation_fn=_stack),
        batch_size=None,
        num_workers=run.threads,
        prefetch_factor=_PREFETCH,
        persistent_workers=True,
    )
    settings = {"num_workers": run.threads, "prefetch_factor": _PREFETCH}
    return Feed(lambda: loader, {**settings, "decoder": "torchvision"})


def _stack(rows: list[tuple[Any, int]]) -> dict[str, Any]:
    images, labels = zip(*rows, strict=True)
    return {"image": torch.stack(images), "label": torch.tensor(labels)}


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    return choose(run, {"augment": augment})
