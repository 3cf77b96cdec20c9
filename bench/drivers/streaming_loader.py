"""MosaicML Streaming: its own shards (MDS), read by a DataLoader's worker processes.

The images are kept as they are, as JPEGs, in shards that are written once.
"""

from __future__ import annotations

import os
from typing import Any

# It waits for other ranks otherwise.
os.environ.update(WORLD_SIZE="1", RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")

import torch
from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from torchvision.io import ImageReadMode, decode_jpeg

from drivers.interface import Feed, Run, choose, need_layout
from drivers.photo_rows import jpegs
from drivers.torch_transforms import augmenting

_PREFETCH = 2


class Photos(StreamingDataset):
    """Images of MDS shards."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            local=str(run.kept),
            shuffle=False,
            batch_size=run.batch,
            num_canonical_nodes=1,
        )
        self._transform = augmenting(run, pillow=False)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Load and augment one."""
        row = super().__getitem__(index)
        data = torch.frombuffer(bytearray(row["jpg"]), dtype=torch.uint8)
        image = decode_jpeg(data, mode=ImageReadMode.RGB)
        return {"image": self._transform(image), "label": row["label"]}


def _written(run: Run) -> None:
    """Write the shards, where they are not there yet."""
    if (run.kept / "index.json").exists():
        return
    columns = {"jpg": "bytes", "label": "int"}
    with MDSWriter(out=str(run.kept), columns=columns) as writer:
        for content, label in jpegs(run):
            writer.write({"jpg": content, "label": label})


def augment(run: Run) -> Feed:
    """Images, row by row in worker processes."""
    need_layout(run, "folders", reason="Streaming reads shards of its own (MDS) alone")
    _written(run)
    clean_stale_shared_memory()  # Of runs that were ended.
    loader = StreamingDataLoader(
        Photos(run),
        batch_size=run.batch,
        num_workers=run.threads,
        prefetch_factor=_PREFETCH,
        persistent_workers=True,
    )
    settings = {"num_workers": run.threads, "prefetch_factor": _PREFETCH}
    return Feed(
        lambda: loader,
        {**settings, "format": "MDS", "decoder": "torchvision"},
        save=loader.state_dict,
        load=loader.load_state_dict,
    )


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    return choose(run, {"augment": augment})
