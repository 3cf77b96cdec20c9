"""For JAX on several processes: one array out of what each of them loads.

Example:
    >>> import jax, millrace as mr, millrace.jax
    >>> mesh = jax.make_mesh((jax.device_count(),), ("data",))
    >>> spec = jax.sharding.PartitionSpec("data")
    >>> sharding = jax.sharding.NamedSharding(mesh, spec)
    >>> batch = next(iter(mr.range(8).batch(8)))
    >>> millrace.jax.make_global(batch, sharding)["value"].shape
    (8,)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.errors import PipelineError
from millrace.frameworks.arrays import imported
from millrace.rows import Ragged

__all__ = ["make_global"]


def make_global(batch: Any, sharding: Any) -> Any:
    """Make global arrays of the batches that the processes have, each its own part.

    All processes call it, each with its batch of the same step. The first axis of the
    global arrays is as long as those of all batches together, as the sharding lays
    them out. Texts stay as they are: those of this process.

    Args:
        batch: A dict, tuple or dataclass of arrays, of NumPy or JAX, as loaders give
            it.
        sharding: A `jax.sharding.Sharding` for all arrays, or a dict of them by the
            names of the fields (by number, of a tuple).
    """
    if isinstance(batch, Mapping):
        return {name: _global(v, name, sharding) for name, v in batch.items()}
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        names = [field.name for field in dataclasses.fields(batch)]
        parts = {n: _global(getattr(batch, n), n, sharding) for n in names}
        return dataclasses.replace(batch, **parts)
    if isinstance(batch, tuple):
        keys = getattr(batch, "_fields", range(len(batch)))
        values = [_global(v, k, sharding) for k, v in zip(keys, batch, strict=True)]
        return type(batch)(*values) if hasattr(batch, "_fields") else tuple(values)
    raise PipelineError(
        f"a batch is a dict, tuple or dataclass of arrays, not {type(batch).__name__}"
    )


def _global(value: Any, key: str | int, sharding: Any) -> Any:
    if isinstance(value, list | str | bytes):
        return value
    if isinstance(value, Ragged):
        raise PipelineError(
            f"field {key}: parts that differ in size make no global array; use "
            "padded_batch or pack"
        )
    if isinstance(sharding, Mapping):
        if key not in sharding:
            raise PipelineError(f"field {key} has no sharding among those given")
        sharding = sharding[key]
    return imported("jax").make_array_from_process_local_data(
        sharding, np.asarray(value)
    )
