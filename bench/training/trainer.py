"""The training: steps of a ResNet-50, and what the device did meanwhile."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterable
from typing import Any

import torch
import torchvision

_MEAN, _DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
_CLASSES = 1000
_AHEAD = 4  # Steps that the host may be ahead of the device, as with a loss logged.

Batch = tuple[Any, Any]  # Images, uint8 [N, 3, 224, 224] of any strides; labels.


@dataclasses.dataclass(frozen=True)
class Measured:
    """What came of some seconds of training.

    Attributes:
        images_per_s: How many images were trained on.
        idle: The part of the time in which the device waited for a batch.
    """

    images_per_s: float
    idle: float


class Trainer:
    """A ResNet-50 that is trained in bf16 from its first weights."""

    def __init__(self, device: str) -> None:
        torch.backends.cudnn.benchmark = True
        self._device = torch.device(device)
        self._model = torchvision.models.resnet50(num_classes=_CLASSES)
        self._model.to(self._device, memory_format=torch.channels_last)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=0.1, momentum=0.9, fused=device == "cuda"
        )
        numbers = {"device": self._device, "dtype": torch.bfloat16}
        self._mean = torch.tensor(_MEAN, **numbers).view(1, 3, 1, 1)
        self._scale = 1 / torch.tensor(_DEVIATION, **numbers).view(1, 3, 1, 1)

    def step(self, batch: Batch) -> None:
        """Train on one batch that is on the device."""
        images, labels = batch
        images = images.to(torch.bfloat16, memory_format=torch.channels_last)
        images = (images - self._mean) * self._scale
        with torch.autocast(self._device.type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self._model(images), labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()

    def run(self, batches: Iterable[Batch], warm: float, seconds: float) -> Measured:
        """Train until the time is over; what comes first is not counted.

        Args:
            batches: More than are needed.
            warm: So many seconds are not counted.
            seconds: So many are.
        """
        clock = time.perf_counter
        steps: list[tuple[Any, Any]] = []
        images, warm_until, begin = 0, clock() + warm, None
        for batch in batches:
            if begin is None and clock() >= warm_until:
                self._wait()
                steps, begin = [], clock()
            begun = self._mark()
            self.step(batch)
            steps.append((begun, self._mark()))
            if len(steps) > _AHEAD:
                steps[-_AHEAD][1].synchronize()
            if begin is not None:
                images += len(batch[0])
                if clock() >= begin + seconds:
                    break
        self._wait()
        assert begin is not None
        return Measured(images / (clock() - begin), _idle(steps))

    def _mark(self) -> Any:
        if self._device.type != "cuda":
            return HostMark()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()


class HostMark:
    """A moment, where the device is the host: as CUDA's events."""

    def __init__(self) -> None:
        self._at = time.perf_counter()

    def elapsed_time(self, later: HostMark) -> float:
        """Give the milliseconds until then."""
        return 1e3 * (later._at - self._at)

    def synchronize(self) -> None:
        """Wait for nothing: it has come."""


def _idle(steps: list[tuple[Any, Any]]) -> float:
    """Give the part of the time that is between the end of a step and the next one."""
    if len(steps) < 2:
        return 0.0
    pairs = itertools.pairwise(steps)
    gaps = sum(before[1].elapsed_time(after[0]) for before, after in pairs)
    whole = steps[0][0].elapsed_time(steps[-1][1])
    return float(gaps / whole)
