"""Millrace feeds accelerators: input pipelines for training, defined once.

Example:
    >>> import millrace as mr
    >>> ds = mr.range(6).map(lambda row: {"x": row["value"] * 2}).batch(3)
    >>> [batch["x"].tolist() for batch in ds]
    [[0, 2, 4], [6, 8, 10]]
"""

from millrace._sources import (
    random,
    range,
    read,
    read_arrow,
    read_csv,
    read_files,
    read_fixed,
    read_frames,
    read_images,
    read_jsonl,
    read_parquet,
    read_tar,
    read_text,
    read_tfrecord,
)
from millrace._states import join_states
from millrace.dataset import Dataset, FieldSpec
from millrace.engine import Budget, budget, configure
from millrace.errors import (
    DataError,
    Error,
    FunctionError,
    PipelineError,
    TracingError,
    UnknownFieldError,
)
from millrace.generators import from_generator, from_torch
from millrace.kernels import example, image, io, json, math, regex, text, time
from millrace.loader import Loader, loader
from millrace.memory import from_arrays, from_rows
from millrace.provenance import Origin
from millrace.rng import RowRng as Rng
from millrace.rows import Ragged
from millrace.saving import load
from millrace.service import Access
from millrace.worker import WorkerInfo, get_worker_info

__all__ = [
    "Access",
    "Budget",
    "DataError",
    "Dataset",
    "Error",
    "FieldSpec",
    "FunctionError",
    "Loader",
    "Origin",
    "PipelineError",
    "Ragged",
    "Rng",
    "TracingError",
    "UnknownFieldError",
    "WorkerInfo",
    "budget",
    "configure",
    "example",
    "from_arrays",
    "from_generator",
    "from_rows",
    "from_torch",
    "get_worker_info",
    "image",
    "io",
    "join_states",
    "json",
    "load",
    "loader",
    "math",
    "random",
    "range",
    "read",
    "read_arrow",
    "read_csv",
    "read_files",
    "read_fixed",
    "read_frames",
    "read_images",
    "read_jsonl",
    "read_parquet",
    "read_tar",
    "read_text",
    "read_tfrecord",
    "regex",
    "text",
    "time",
]
