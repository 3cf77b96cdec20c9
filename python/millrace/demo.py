"""`millrace demo`: makes images, has a service read them, trains, and is timed.

All of it is what users would write: a dispatcher and two workers on this machine, and a
training loop that reads what they make. The same rows are also made in this process,
and by a plain loop in Python, so that there is something to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import millrace as mr

CLASSES = ("clay", "grass", "sand", "water")
COLOURS = np.array([[150, 90, 70], [80, 140, 70], [170, 150, 100], [70, 100, 150]])
HEIGHT, WIDTH = 375, 500  # As a photograph of ImageNet has them.
SIZE = 224
BATCH = 32
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WORKERS = 2
WINDOW = 64  # Small beside so few images, so that there is work for several workers.
PATCHES = 8  # The softmax model sees the mean colours of so many patches a side.

# Where processes that this one starts find the package.
_PACKAGE = os.pathsep.join(
    filter(None, [str(Path(mr.__file__).parents[1]), os.environ.get("PYTHONPATH")])
)

Array = np.ndarray[Any, np.dtype[Any]]


# --- The pipeline ---


def make_images(folder: Path, count: int) -> None:
    """Write JPEGs into a folder for each class: slopes of its colour, with noise."""
    rng = np.random.default_rng(0)
    slopes = np.mgrid[0:HEIGHT, 0:WIDTH].transpose(1, 2, 0) / WIDTH - 0.5
    for name in CLASSES:
        (folder / name).mkdir()
    for number in range(count):
        label = number % len(CLASSES)
        pixels = COLOURS[label] + slopes @ rng.normal(0, 60, (2, 3)) + rng.normal(0, 30)
        pixels = pixels + rng.integers(-35, 36, (HEIGHT, WIDTH, 3), np.int8)
        jpeg = mr.image.encode(np.clip(pixels, 0, 255).astype(np.uint8), quality=87)
        (folder / CLASSES[label] / f"{number:05}.jpg").write_bytes(jpeg)


def augment(row: Any, rng: mr.Rng) -> dict[str, Any]:
    """Make a training row of a file, as it is done for ImageNet."""
    image = mr.image.decode(row["image"])
    image = mr.image.random_resized_crop(image, (SIZE, SIZE), antialias=True, rng=rng)
    image = mr.image.random_flip(image, rng=rng)
    image = mr.image.normalize(image, MEAN, DEVIATION, layout="chw")
    return {"image": image, "label": row["label"]}


def make_pipeline(folder: Path) -> mr.Dataset:
    """Read the folder's images in random order, augmented, in batches."""
    return mr.read_images(folder).shuffle(WINDOW).map(augment).batch(BATCH)


# --- The same rows, by a loop in Python ---


def files_of(folder: Path) -> Iterator[tuple[Path, int]]:
    """Give files and labels without end, in random order."""
    rng = np.random.default_rng(1)
    files = sorted(folder.glob("*/*.jpg"))
    while True:
        for index in rng.permutation(len(files)):
            yield files[index], CLASSES.index(files[index].parent.name)


def call_by_call(folder: Path) -> Iterator[Any]:
    """Call the pipeline's own function, row after row."""
    for number, (path, label) in enumerate(files_of(folder)):
        row = {"image": path.read_bytes(), "label": label}
        yield augment(row, mr.Rng(seed=number))["image"]


def with_pillow(folder: Path) -> Iterator[Any]:
    """Do the same with Pillow and NumPy."""
    from PIL import Image

    rng = np.random.default_rng(2)
    mean, deviation = np.array(MEAN, np.float32), np.array(DEVIATION, np.float32)
    for path, _ in files_of(folder):
        with Image.open(path) as file:
            image = file.convert("RGB")
        area = image.width * image.height * rng.uniform(0.08, 1.0)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        width = min(round(np.sqrt(area * ratio)), image.width)
        height = min(round(np.sqrt(area / ratio)), image.height)
        left = rng.integers(0, image.width - width + 1)
        top = rng.integers(0, image.height - height + 1)
        box = (left, top, left + width, top + height)
        image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box)
        pixels = np.asarray(image)
        if rng.uniform() < 0.5:
            pixels = pixels[:, ::-1]
        scaled = (pixels.astype(np.float32) / 255 - mean) / deviation
        yield np.ascontiguousarray(scaled.transpose(2, 0, 1))


def batched(rows: Iterator[Any]) -> Generator[Any, None, None]:
    """Make batches of rows."""
    while True:
        yield np.stack(list(itertools.islice(rows, BATCH)))


def from_engine(pipeline: mr.Dataset) -> Generator[Any, None, None]:
    """Give the pipeline's batches; it begins to work with the first."""
    for batch in pipeline.repeat():
        yield batch["image"]


def rows_per_second(batches: Iterator[Any], seconds: float) -> float:
    """Take batches for a while; tell how many rows came."""
    next(batches)  # The first is longer in coming, and not counted.
    begin = time.perf_counter()
    taken = 0
    while (passed := time.perf_counter() - begin) < seconds:
        taken += len(next(batches))
    return taken / passed


# --- The service ---


@contextlib.contextmanager
def local_service(workers: int) -> Iterator[str]:
    """Start a dispatcher and workers on this machine; give where they are.

    They end with the block, and with this process, however it ends.
    """
    words = ("local", "--listen", "127.0.0.1:0", "--workers", str(workers))
    with subprocess.Popen(
        [sys.executable, "-m", "millrace.command", *words, "--log-level", "warning"],
        env={**os.environ, "PYTHONPATH": _PACKAGE},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            line = process.stdout.readline()
            if " listens on " not in line:
                raise mr.Error(f"no service was started: {process.stderr.read()}")
            yield f"millrace://{line.split()[-1]}"
        finally:
            process.terminate()
            process.communicate()


def from_service(pipeline: mr.Dataset, service: str) -> Generator[Any, None, None]:
    """Give the pipeline's batches, made by the service's workers."""
    with pipeline.distribute(service, job="speed", seed=7) as loader:
        for batch in pass_after_pass(loader):
            yield batch["image"]


def pass_after_pass(loader: Iterable[Any]) -> Iterator[Any]:
    """Give the batches of a loader, again and again."""
    while True:
        yield from loader


# --- Training ---


def softmax_steps(batches: Iterator[Any]) -> Iterator[float]:
    """Train a softmax model in NumPy on mean colours; give the loss of each step."""
    weights = np.zeros((3 * PATCHES * PATCHES, len(CLASSES)))
    side = SIZE // PATCHES
    for batch in batches:
        image, label = batch["image"], batch["label"]
        patches = image.reshape(-1, 3, PATCHES, side, PATCHES, side).mean(axis=(3, 5))
        x = patches.reshape(len(image), -1)
        odds = np.exp(x @ weights)
        likely = odds / odds.sum(axis=1, keepdims=True)
        yield float(-np.log(likely[np.arange(len(label)), label]).mean())
        likely[np.arange(len(label)), label] -= 1
        weights -= 0.01 * x.T @ likely / len(label)


def torch_steps(batches: Iterator[Any]) -> Iterator[float]:
    """Train a small network in torch; give the loss of each step."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(3, 16, 8, stride=8), torch.nn.ReLU()),
        *(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten()),
        torch.nn.Linear(16 * 4 * 4, len(CLASSES)),
    )
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for batch in batches:
        loss = loss_of(model(batch["image"]), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


# --- The demo ---


def is_here(module: str) -> bool:
    """Tell whether a module could be imported."""
    return importlib.util.find_spec(module) is not None


def progress(step: int, steps: int, loss: float, begin: float) -> None:
    """Show how far training is: one line that changes, where somebody watches."""
    if not sys.stdout.isatty():
        return
    bar = "#" * (20 * step // steps)
    rate = step * BATCH / max(time.perf_counter() - begin, 1e-9)
    end = "\n" if step == steps else ""
    text = f"   [{bar:20}] step {step} of {steps}  loss {loss:.2f}  {rate:,.0f} rows/s"
    print(f"\r{text}\x1b[K", end=end, flush=True)


def show_training(pipeline: mr.Dataset, service: str, steps: int) -> bool:
    """Train a few steps on what the service makes; tell whether the loss fell."""
    framework = "torch" if is_here("torch") else "numpy"
    train: Callable[[Iterator[Any]], Iterator[float]]
    train = torch_steps if framework == "torch" else softmax_steps
    job = pipeline.distribute(service, job="demo", seed=7)
    with job.to(framework) as loader:
        losses = []
        begin = time.perf_counter()
        for loss in train(itertools.islice(pass_after_pass(loader), steps)):
            losses.append(loss)
            progress(len(losses), steps, loss, begin)
        waited = loader.stats()["wait_fraction"]
        show_service(service)
    print("   loss: " + "  ".join(f"{loss:.2f}" for loss in losses))
    print(f"   the training loop waited for {waited:.0%} of the time")
    return losses[-1] < losses[0]


def show_service(service: str) -> None:
    """Show what `millrace jobs` and `millrace workers` say meanwhile."""
    for verb in ("jobs", "workers"):
        print(f"   $ millrace {verb} --dispatcher {service}")
        told = subprocess.run(
            [sys.executable, "-m", "millrace.command", verb, "--dispatcher", service],
            env={**os.environ, "PYTHONPATH": _PACKAGE},
            capture_output=True,
            text=True,
            check=True,
        )
        print("".join(f"     {line}\n" for line in told.stdout.splitlines()), end="")


def show_speed(
    pipeline: mr.Dataset, folder: Path, service: str, seconds: float
) -> None:
    """Print a table of rows per second: a loop in Python, and the pipeline."""
    tools, rows = (
        ("Pillow and NumPy", with_pillow(folder))
        if is_here("PIL")
        else ("the same kernels, one by one", call_by_call(folder))
    )
    ways: dict[str, Generator[Any, None, None]] = {
        f"a loop in Python, with {tools}": batched(rows),
        f"the pipeline, on {mr.budget().threads} threads": from_engine(pipeline),
        f"the pipeline, by {WORKERS} workers": from_service(pipeline, service),
    }
    first = None
    print(f"   {'':56}{'rows/s':>8}{'ratio':>8}")
    for name, batches in ways.items():
        rate = rows_per_second(batches, seconds)
        batches.close()  # What it works ahead for would be taken from the next one.
        first = first or rate
        print(f"   {name:56}{rate:8,.0f}{rate / first:8.2f}")


def main(arguments: Sequence[str]) -> int:
    """Run the demo; give the exit status."""
    parser = argparse.ArgumentParser("millrace demo", description=__doc__)
    parser.add_argument("--images", type=int, default=400, help="400 by default")
    parser.add_argument("--steps", type=int, default=12, help="of training")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each speed")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="millrace-demo-") as name:
        folder = Path(name)
        print(f"1. {args.images} JPEGs of {WIDTH} x {HEIGHT} are made, in {name}")
        make_images(folder, args.images)
        pipeline = make_pipeline(folder)
        print(f"\n2. The pipeline, traced from Python and run in C++:\n{pipeline}")
        print(f"\n3. A dispatcher and {WORKERS} workers feed a model that is trained:")
        with local_service(WORKERS) as service:
            learnt = show_training(pipeline, service, args.steps)
            print("\n4. How fast the same rows are made:")
            show_speed(pipeline, folder, service, args.seconds)
        print("\n5. Where the time goes:")
        print(pipeline.profile(args.seconds))
    if not learnt:
        print("The loss did not fall.", file=sys.stderr)
    return 0 if learnt else 1
