"""Which rank this process is, and whether the sampler knows of the others."""

import os
import warnings
from typing import Any

import torch.distributed

from millrace.torch.plan import sampler_chain

# How DistributedSampler, and Accelerate's samplers, say that they take a share.
_SHARE_ATTRIBUTES = (("num_replicas", "rank"), ("num_processes", "process_index"))


def world_size() -> int:
    """The number of ranks of this run."""
    if _is_initialised():
        return torch.distributed.get_world_size()
    return int(os.environ.get("WORLD_SIZE") or 1)


def rank_of(sampler: Any) -> int:
    """The rank whose share the sampler gives, else that of this process."""
    for each in sampler_chain(sampler):
        for _, name in _SHARE_ATTRIBUTES:
            if isinstance(rank := getattr(each, name, None), int):
                return rank
    if _is_initialised():
        return torch.distributed.get_rank()
    return int(os.environ.get("RANK") or 0)


def check_share(sampler: Any, shuffled: bool) -> None:
    """Raises where every rank would read the same rows."""
    ranks = world_size()
    if ranks <= 1 or any(map(_knows_ranks, sampler_chain(sampler))):
        return
    place = "shuffle=True" if shuffled else "the sampler, if there is one"
    raise ValueError(
        f"DataLoader: all {ranks} ranks would read the same rows. In place of {place}, "
        "add this line:\n"
        "    sampler=torch.utils.data.DistributedSampler(dataset, "
        f"shuffle={shuffled}),\n"
        "and call loader.set_epoch(epoch) before each epoch. Where every rank is meant "
        "to read all rows, add num_replicas=1, rank=0 to that sampler."
    )


def warn_of_iterable() -> None:
    """Says once that an iterable dataset must take its share by itself."""
    ranks = world_size()
    if ranks > 1:
        warnings.warn(
            f"DataLoader: {ranks} ranks read an iterable dataset; it must give each "
            "rank its own share, as a sampler cannot",
            stacklevel=3,
        )


def _knows_ranks(sampler: Any) -> bool:
    return any(
        all(hasattr(sampler, name) for name in names) for names in _SHARE_ATTRIBUTES
    )


def _is_initialised() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
