"""tf.data, tuned as its performance guide says.

AUTOTUNE for maps, batches and prefetching, a private pool of as many threads as there
are cores, no fixed order, and decoding of the crop alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

from drivers.folders import listed
from drivers.interface import Batch, Feed, Run, choose, need_layout
from drivers.python_function import FunctionRows

AUTOTUNE = tf.data.AUTOTUNE
_MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
_DEVIATION = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def read_photos(run: Run) -> Any:
    """Give pairs of a JPEG's bytes and a label."""
    layout = need_layout(
        run, "folders", "tfrecord", reason="tf.data has no reader of tar files"
    )
    if layout == "folders":
        paths, labels = listed(run.data)
        rows = tf.data.Dataset.from_tensor_slices((paths, np.array(labels)))
        return rows.map(
            lambda path, label: (tf.io.read_file(path), label),
            num_parallel_calls=AUTOTUNE,
        )
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parsed(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features)
        return found["image"], found["label"]

    files = tf.data.Dataset.list_files(str(run.data / "*.tfrecord"), shuffle=False)
    rows = files.interleave(
        tf.data.TFRecordDataset, num_parallel_calls=AUTOTUNE, deterministic=False
    )
    return rows.map(parsed, num_parallel_calls=AUTOTUNE)


def augment(run: Run) -> Any:
    """Decode what lies in a random box, resize it, flip."""
    size, antialias = run.pipeline["size"], run.pipeline["antialias"]
    normalised = run.pipeline.get("normalise", False)
    whole = tf.zeros([1, 0, 4], tf.float32)

    # Only draws without a state of their own can be left and gone on with.
    seeds = [{"seed": (7, draw)} for draw in range(2)]
    stateless = run.workload.metric.get("resume", False)
    sample = tf.image.sample_distorted_bounding_box
    flip = tf.image.random_flip_left_right
    if stateless:
        sample = tf.image.stateless_sample_distorted_bounding_box
        flip = tf.image.stateless_random_flip_left_right

    def augmented(jpeg: Any, label: Any) -> dict[str, Any]:
        box_seed, flip_seed = seeds if stateless else ({}, {})
        begin, extent, _ = sample(
            tf.image.extract_jpeg_shape(jpeg),
            whole,
            min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
            **box_seed,
        )
        window = tf.concat([begin[:2], extent[:2]], axis=0)
        image = tf.image.decode_and_crop_jpeg(jpeg, window, channels=3)
        image = tf.image.resize(image, [size, size], antialias=antialias)
        image = flip(image, **flip_seed)
        if normalised:
            image = tf.transpose((image - _MEAN) / _DEVIATION, [2, 0, 1])
            return {"image": image, "label": label}
        return {"image": tf.cast(image + 0.5, tf.uint8), "label": label}

    rows = read_photos(run).map(augmented, num_parallel_calls=AUTOTUNE)
    return _batched(rows, run)


def _batched(rows: Any, run: Run) -> Any:
    return rows.batch(run.batch, num_parallel_calls=AUTOTUNE, deterministic=False)


def numbers(run: Run) -> Any:
    """Row by row, or (option "vectorised") batch first, as the guide advises."""
    rows = tf.data.Dataset.range(run.rows)
    if run.option != "vectorised":
        rows = rows.map(lambda value: value * 2 + 1, num_parallel_calls=AUTOTUNE)
        rows = rows.filter(lambda x: x % 3 != 0)
        return rows.map(lambda x: {"x": x}).batch(run.batch)
    wide = rows.batch(16 * run.batch)
    wide = wide.map(lambda value: value * 2 + 1, num_parallel_calls=AUTOTUNE)
    wide = wide.map(lambda x: tf.boolean_mask(x, x % 3 != 0), AUTOTUNE)
    return wide.rebatch(run.batch).map(lambda x: {"x": x})


def words(run: Run) -> Any:
    """Row by row, or (option "vectorised") batch first, as the guide advises."""
    buckets = run.pipeline["buckets"]
    files = tf.data.Dataset.list_files(str(run.data / "*.txt"), shuffle=False)
    lines = files.interleave(
        tf.data.TextLineDataset, num_parallel_calls=AUTOTUNE, deterministic=False
    )

    def hashed(line: Any) -> dict[str, Any]:
        found = tf.strings.split(line, " ")
        tokens = tf.strings.to_hash_bucket_fast(found, buckets)
        return {"tokens": tokens, "length": tf.size(found, tf.int64)}

    def hashed_batch(batch: Any) -> dict[str, Any]:
        found = tf.strings.split(batch, " ")
        tokens = found.with_values(
            tf.strings.to_hash_bucket_fast(found.values, buckets)
        )
        return {"tokens": tokens.to_tensor(), "length": found.row_lengths()}

    if run.option == "vectorised":
        return lines.batch(run.batch).map(hashed_batch, AUTOTUNE)
    return lines.map(hashed, AUTOTUNE).padded_batch(run.batch)


def function(run: Run) -> Any:
    """Run a function of NumPy: under the interpreter's lock, in this process."""
    rows = FunctionRows(run)
    size = run.pipeline["size"]

    def made(row: Any) -> tuple[Any, Any]:
        found = rows[int(row)]
        return found["image"], found["index"]

    def row(number: Any) -> dict[str, Any]:
        image, index = tf.numpy_function(made, [number], (tf.float32, tf.int64))
        image.set_shape([3, size, size])
        index.set_shape([])
        return {"image": image, "index": index}

    return _batched(tf.data.Dataset.range(run.rows).map(row, AUTOTUNE), run)


def variable(run: Run) -> Any:
    """Decode images of many shapes, flip, pad to the largest of a batch."""

    def flipped(jpeg: Any, label: Any) -> dict[str, Any]:
        image = tf.io.decode_jpeg(jpeg, channels=3)
        return {"image": tf.image.random_flip_left_right(image), "label": label}

    rows = read_photos(run).map(flipped, num_parallel_calls=AUTOTUNE)
    return rows.padded_batch(run.batch)


def volumes(run: Run) -> Any:
    """Read whole files, and scale what is in them."""
    shape = run.workload.source["shape"]

    def scaled(path: Any) -> dict[str, Any]:
        raw = tf.reshape(tf.io.decode_raw(tf.io.read_file(path), tf.int16), shape)
        return {"volume": tf.cast(raw, tf.float32) * 0.001}

    files = tf.data.Dataset.list_files(str(run.data / "*.bin"), shuffle=False)
    return _batched(files.map(scaled, num_parallel_calls=AUTOTUNE), run)


DATASETS: dict[str, Callable[[Run], Any]] = {
    "augment": augment,
    "numbers": numbers,
    "words": words,
    "function": function,
    "variable": variable,
    "volumes": volumes,
}


def tuned(dataset: Any, threads: int) -> Any:
    """Set the options that the guide names."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.deterministic = False
    return dataset.prefetch(AUTOTUNE).with_options(options)


class Pass:
    """One pass, whose state can be saved as TensorFlow saves variables."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._iterator: Any = None
        self._state: str | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Give batches as arrays of NumPy over TensorFlow's own memory."""
        self._iterator = iter(self._dataset)
        if self._state:
            self._checkpoint().restore(self._state).assert_consumed()
        for batch in self._iterator:
            yield {name: column.numpy() for name, column in batch.items()}

    def save(self) -> str:
        """Write where the pass is; gives the path."""
        folder = tempfile.mkdtemp()
        return str(self._checkpoint().save(f"{folder}/state"))

    def load(self, state: str) -> None:
        """Go on there."""
        self._state = state

    def _checkpoint(self) -> Any:
        return tf.train.Checkpoint(iterator=self._iterator)


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""

    def opened(make: Callable[[Run], Any]) -> Callable[[Run], Feed]:
        return lambda run: _feed(run, tuned(make(run), run.threads))

    return choose(run, {k: opened(v) for k, v in DATASETS.items()})


def _feed(run: Run, dataset: Any) -> Feed:
    settings = {
        "private_threadpool_size": run.threads,
        "num_parallel_calls": "AUTOTUNE",
        "deterministic": False,
    }
    live = Pass(dataset)
    return Feed(lambda: live, settings, save=live.save, load=live.load)
