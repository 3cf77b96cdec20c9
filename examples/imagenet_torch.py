"""Trains a small CNN on folders of JPEGs, as ImageNet has them: one folder a class.

The images are drawn first, so that it runs anywhere; --data takes a folder of your own.
Stopped training goes on from its --checkpoint with the very next batch.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

import millrace as mr

CLASSES = ("checks", "columns", "rings", "rows")
SIZE = 64
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def draw(kind: str, rng: np.random.Generator) -> bytes:
    """Draw a pattern of its class in random colours, with noise, as a JPEG."""
    y, x = np.mgrid[0 : rng.integers(90, 130), 0 : rng.integers(90, 130)]
    turns = 2 * np.pi / rng.uniform(9, 16)
    waves = {"rows": np.sin(y * turns), "columns": np.sin(x * turns)}
    waves["checks"] = waves["rows"] * waves["columns"]
    waves["rings"] = np.sin(np.hypot(x - x.mean(), y - y.mean()) * turns)
    pixels = 128 + waves[kind][..., None] * rng.uniform(-70, 70, 3)
    pixels = np.clip(pixels + rng.normal(0, 25, pixels.shape), 0, 255)
    return bytes(mr.image.encode(pixels.astype(np.uint8)))


def make_images(per_class: int) -> Path:
    """Draw images in a folder for each class: always the same, at the same place."""
    data = Path(tempfile.gettempdir()) / f"millrace-images-{per_class}"
    for number, kind in enumerate(CLASSES * per_class):
        path = data / kind / f"{number:05}.jpg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(draw(kind, np.random.default_rng(number)))
    return data


def augment(row: Any, rng: mr.Rng) -> dict[str, Any]:
    """Crop, mirror and normalise an image; traced once, then run in C++."""
    image = mr.image.decode(row["image"])
    image = mr.image.random_resized_crop(image, (SIZE, SIZE), scale=(0.3, 1), rng=rng)
    image = mr.image.random_flip(image, rng=rng)
    image = mr.image.normalize(image, MEAN, DEVIATION, layout="chw")
    return {"image": image, "label": row["label"]}


def make_model(classes: int) -> torch.nn.Sequential:
    """Make three convolutions, the mean over all places, and a linear layer."""
    layers: list[torch.nn.Module] = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
        layers.append(torch.nn.Conv2d(inputs, outputs, 5, stride=2, padding=2))
        layers += [torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
    ends = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    return torch.nn.Sequential(*layers, *ends, torch.nn.Linear(64, classes))


def train(parts: dict[str, Any], epochs: int, stop: int | None) -> list[float]:
    """Train, to the end or up to a step; give the losses."""
    loader, model, optimizer = parts["loader"], parts["model"], parts["optimizer"]
    loss_of = torch.nn.CrossEntropyLoss()
    losses: list[float] = []
    for epoch in range(loader.epoch, epochs):
        for step, batch in enumerate(loader, loader.state_dict()["taken"] + 1):
            loss = loss_of(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            print(f"epoch {epoch}  step {step:2}  loss {losses[-1]:.3f}")
            if len(losses) == stop:
                return losses
        seen = loader.stats()
        print(f"epoch {epoch}: {seen['rows_per_second']:,.0f} rows/s, ", end="")
        print(f"waited {seen['wait_fraction']:.0%} of the time")
    return losses


def main() -> None:
    """Make the images, then train, from the checkpoint on if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of folders; else drawn")
    parser.add_argument("--images", type=int, default=100, help="to draw of each class")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--stop", type=int, help="stop after so many steps")
    parser.add_argument("--checkpoint", type=Path, help="to go on from, and to write")
    args = parser.parse_args()
    data = args.data or make_images(args.images)
    torch.manual_seed(0)
    rows = mr.read_images(data).shuffle(1000).map(augment)
    model = make_model(classes := len(list(data.iterdir())))
    parts: dict[str, Any] = {
        "model": model,
        "optimizer": torch.optim.AdamW(model.parameters(), 3e-3),
        "loader": rows.batch(32, drop_remainder=True).loader(seed=7).to("torch"),
    }
    if args.checkpoint and args.checkpoint.exists():
        for name, state in torch.load(args.checkpoint).items():
            parts[name].load_state_dict(state)
    losses = train(parts, args.epochs, args.stop)
    if args.checkpoint:
        states = {name: part.state_dict() for name, part in parts.items()}
        torch.save(states, args.checkpoint)
    if losses and not args.stop and np.mean(losses[-9:]) > 0.5 * math.log(classes):
        sys.exit("it has not learnt: the loss is near that of guessing")


if __name__ == "__main__":
    main()
