"""torchvision's transforms for the workloads, on Pillow's images or on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torchvision.transforms import v2

from drivers.interface import CannotError, Run

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def augmenting(run: Run, *, pillow: bool) -> Callable[[Any], Any]:
    """Give the transform: crop at random, flip, normalise where asked for."""
    size, antialias = run.pipeline["size"], run.pipeline["antialias"]
    if pillow and not antialias:
        raise CannotError("Pillow always antialiases")
    steps: list[Any] = [
        v2.RandomResizedCrop(size, antialias=antialias),
        v2.RandomHorizontalFlip(),
    ]
    if pillow:
        steps.append(v2.PILToTensor())
    if run.pipeline.get("normalise", False):
        steps.append(v2.ToDtype(torch.float32, scale=True))
        steps.append(v2.Normalize(_MEAN, _DEVIATION))
    return v2.Compose(steps)
