"""Millrace in the process that trains: the whole pipeline is traced and runs in C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace as mr
from drivers import python_function
from drivers.interface import Feed, Run, choose, need_layout

SEED = 7
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def read_photos(run: Run) -> mr.Dataset:
    """Give rows of `jpg` and `label`."""
    layout = need_layout(run, "folders", "tar", "tfrecord", reason="unknown layout")
    if layout == "folders":
        rows = mr.read_images(str(run.data))
        return rows.map(lambda row: {"jpg": row["image"], "label": row["label"]})
    if layout == "tar":
        rows = mr.read_tar(str(run.data / "*.tar"), ["jpg", "cls"])
        return rows.map(lambda row: {"jpg": row["jpg"], "label": row["cls"]})
    rows = mr.read_tfrecord(str(run.data / "*.tfrecord"))
    features = {"image": bytes, "label": int}

    def parsed(row: Any) -> dict[str, Any]:
        found = mr.example.parse(row["record"], features)
        return {"jpg": found["image"], "label": found["label"]}

    return rows.map(parsed)


def augment(run: Run) -> mr.Dataset:
    """Decode, crop at random, flip; normalise where that is asked for."""
    size = (run.pipeline["size"], run.pipeline["size"])
    antialias = run.pipeline["antialias"]
    normalised = run.pipeline.get("normalise", False)

    def augmented(row: Any, rng: Any) -> dict[str, Any]:
        image = mr.image.decode(row["jpg"])
        image = mr.image.random_resized_crop(image, size, antialias=antialias, rng=rng)
        image = mr.image.random_flip(image, rng=rng)
        if normalised:
            image = mr.image.normalize(image, MEAN, DEVIATION, layout="chw")
        return {"image": image, "label": row["label"]}

    return read_photos(run).map(augmented, python=False).batch(run.batch)


def numbers(run: Run) -> mr.Dataset:
    """Multiply, leave a third of the rows out, batch."""
    return (
        mr.range(run.rows)
        .map(lambda row: {"x": row["value"] * 2 + 1}, python=False)
        .filter(lambda row: row["x"] % 3 != 0)
        .batch(run.batch)
    )


def simclr(run: Run) -> mr.Dataset:
    """Crop, flip, and change colours and sharpness at random."""
    size = (run.pipeline["size"], run.pipeline["size"])

    def augmented(row: Any, rng: Any) -> dict[str, Any]:
        image = mr.image.decode(row["jpg"])
        image = mr.image.random_resized_crop(image, size, antialias=True, rng=rng)
        image = mr.image.random_flip(image, rng=rng)
        image = mr.image.color_jitter(
            image, brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, p=0.8, rng=rng
        )
        image = mr.image.random_grayscale(image, p=0.2, rng=rng)
        image = mr.image.random_gaussian_blur(image, kernel_size=23, p=0.5, rng=rng)
        return {"image": image, "label": row["label"]}

    return read_photos(run).map(augmented, python=False).batch(run.batch)


def variable(run: Run) -> mr.Dataset:
    """Decode images of many shapes, flip, pad to the largest of a batch."""

    def flipped(row: Any, rng: Any) -> dict[str, Any]:
        image = mr.image.random_flip(mr.image.decode(row["jpg"]), rng=rng)
        return {"image": image, "label": row["label"]}

    return read_photos(run).map(flipped, python=False).padded_batch(run.batch)


def words(run: Run) -> mr.Dataset:
    """Split lines, hash words, pad."""
    buckets = run.pipeline["buckets"]

    def hashed(row: Any) -> dict[str, Any]:
        found = mr.text.split(row["text"], " ")
        tokens = mr.math.hash_bucket(found, buckets)
        return {"tokens": tokens, "length": mr.math.length(found)}

    lines = mr.read_text(str(run.data / "*.txt"))
    return lines.map(hashed, python=False).padded_batch(run.batch)


def table(run: Run) -> mr.Dataset:
    """Take logarithms of numbers, and buckets of categories."""
    buckets = run.pipeline["buckets"]

    def features(row: Any) -> dict[str, Any]:
        dense = mr.math.stack(*(row[f"dense_{i}"] for i in range(13)))
        ids = mr.math.stack(*(row[f"category_{i}"] for i in range(26)))
        return {
            "dense": mr.math.log1p(dense),
            "category": ids % buckets,
            "label": row["label"],
        }

    rows = mr.read_parquet(str(run.data / "*.parquet"))
    return rows.map(features, python=False).batch(run.batch)


def function(run: Run) -> mr.Dataset:
    """Run a function of NumPy in Python processes."""
    images, size = python_function.images_of(run), run.pipeline["size"]
    rows = mr.from_arrays({"image": images, "index": np.arange(len(images))})

    def row(given: Any) -> dict[str, Any]:
        image = python_function.augmented(given["image"], size)
        return {"image": image, "index": given["index"]}

    output = {"image": f"float32[3, {size}, {size}]", "index": "int64"}
    repeated = rows.repeat(run.rows // len(images))
    return repeated.map(row, python=True, output=output).batch(run.batch)


def volumes(run: Run) -> mr.Dataset:
    """Scale large rows, which are kept as `save` keeps them."""
    if not (run.kept / "saved.json").exists():  # Also where a save was cut off.
        shape = run.workload.source["shape"]

        def raw(row: Any) -> dict[str, Any]:
            return {"volume": np.frombuffer(row["bytes"], np.int16).reshape(shape)}

        mr.read_files(str(run.data / "*.bin")).map(raw, python=True).save(
            run.kept, replace=True
        )
    rows = mr.load(run.kept)
    scaled = rows.map(
        lambda row: {"volume": row["volume"].astype("float32") * np.float32(0.001)},
        python=False,
    )
    return scaled.batch(run.batch)


DATASETS: dict[str, Callable[[Run], mr.Dataset]] = {
    "augment": augment,
    "numbers": numbers,
    "simclr": simclr,
    "variable": variable,
    "words": words,
    "table": table,
    "function": function,
    "volumes": volumes,
}


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""

    def opened(dataset: Callable[[Run], mr.Dataset]) -> Callable[[Run], Feed]:
        return lambda run: _feed(run, dataset(run))

    return choose(run, {k: opened(v) for k, v in DATASETS.items()})


def _feed(run: Run, dataset: mr.Dataset) -> Feed:
    budget = mr.configure(threads=run.threads)
    loader = dataset.loader(seed=SEED)
    settings = {"threads": budget.threads, "order": "logical"}
    return Feed(
        lambda: loader,
        settings,
        close=loader.close if hasattr(loader, "close") else lambda: None,
        save=loader.state_dict,
        load=loader.load_state_dict,
    )
