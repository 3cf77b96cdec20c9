"""Loaders by `to("jax")`, and the helpers of `millrace.jax`."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Before JAX starts: two devices, for shardings.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

jax = pytest.importorskip("jax")

import millrace as mr  # noqa: E402
import millrace.jax  # noqa: E402
from framework_batches import (  # noqa: E402
    NUMBERS,
    Example,
    addresses,
    all_numbers,
    bfloat16s,
    check_held,
    large,
    lists,
)
from millrace.errors import DataError, PipelineError  # noqa: E402
from millrace.frameworks.jax_arrays import JaxArrays  # noqa: E402

pytestmark = pytest.mark.frameworks

NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


def address(array: Any) -> int:
    return int(array.unsafe_buffer_pointer())


def sharding(*names: str | None) -> Any:
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names))


def test_every_type_comes_as_jax_has_it() -> None:
    batch = next(iter(all_numbers().to("jax")))
    found = {n: batch[n].dtype.name for n in NUMBERS}
    assert found == {n: NARROW.get(n, n) for n in NUMBERS}
    assert all(isinstance(batch[n], jax.Array) for n in NUMBERS)
    assert batch["int64"].tolist() == [0, 1, 2, 3]
    assert batch["text"] == ["text 0", "text 1", "text 2", "text 3"]


def test_numbers_of_64_bits_stay_where_x64_is_on() -> None:
    jax.config.update("jax_enable_x64", True)
    try:
        batch = next(iter(all_numbers().to("jax")))
    finally:
        jax.config.update("jax_enable_x64", False)
    assert {n: batch[n].dtype.name for n in NUMBERS} == {n: n for n in NUMBERS}


def test_an_integer_that_does_not_fit_is_an_error() -> None:
    ds = mr.from_arrays({"x": np.array([1, 1 << 40])}).batch(2)
    with pytest.raises(DataError, match="jax_enable_x64"):
        next(iter(ds.to("jax")))


def test_narrowing_is_counted_as_a_copy() -> None:
    loader = mr.range(10).map(lambda row: {"x": row["value"] * 2}).batch(10).to("jax")
    assert sum(batch["x"].sum().item() for batch in loader) == 90
    assert loader.stats()["bytes_copied"] == 10 * 4


def test_bfloat16_is_right() -> None:
    x = next(iter(bfloat16s().to("jax")))["x"]
    assert x.dtype == jax.numpy.bfloat16
    assert x.astype("float32").tolist() == [i / 2 for i in range(8)]


def test_parts_that_differ_in_size_are_a_ragged_that_jit_takes() -> None:
    x = next(iter(lists().to("jax")))["x"]
    assert isinstance(x, mr.Ragged)
    assert [part.tolist() for part in x] == [[1, 2], [3], [4, 5, 6]]
    doubled = jax.jit(lambda ragged: jax.tree.map(lambda leaf: leaf * 2, ragged))(x)
    assert doubled.values.tolist() == [2, 4, 6, 8, 10, 12]
    assert doubled.axes[0] == 3


def test_memory_comes_back_when_an_array_dies() -> None:
    places = addresses(large().to("jax"), address)
    assert len(set(places)) < len(places)


def test_memory_of_an_array_that_lives_is_not_reused() -> None:
    check_held(large().to("jax"), address)


def test_arrays_lie_in_the_engine_s_memory_and_are_read_only() -> None:
    loader = mr.loader(large(8))
    arrays = JaxArrays(loader.dataset._pipeline.fields)
    for values in loader._begin()[1]:
        place = values[0].ctypes.data
        x = arrays.convert(values)[0]
        assert address(x) == place
        assert not np.asarray(x).flags.writeable
        assert not values[0].flags.writeable
    assert arrays.copied_bytes == 0


def test_memory_that_is_not_aligned_is_copied_and_counted() -> None:
    ds = mr.from_arrays({"x": np.arange(15_000, dtype=np.float32).reshape(5000, 3)})
    loader = ds.map(lambda row: {"x": row["x"] + 1}).to("jax")
    assert [row["x"].tolist()[0] for row in loader] == [
        1.0 + 3 * i for i in range(5000)
    ]
    assert loader.stats()["bytes_copied"] > 0


def test_arrays_go_to_a_device_or_sharding() -> None:
    second = jax.devices()[1]
    for device in (second, "cpu:1"):
        batch = next(iter(large(1).to("jax", device=device)))
        assert batch["x"].devices() == {second}
    batch = next(iter(large(1).to("jax", device=sharding("data"))))
    assert len(batch["x"].addressable_shards) == 2


def test_structure_is_kept() -> None:
    ds = mr.range(4).map(lambda row: Example(row["value"] * 2, row["value"]))
    batch = next(iter(ds.batch(2).to("jax")))
    assert isinstance(batch, Example)
    assert batch.image.tolist() == [0, 2]


def test_goes_on_from_a_state_as_bytes() -> None:
    first = mr.range(10).batch(2).to("jax")
    next(iter(first))
    second = mr.range(10).batch(2).to("jax")
    second.set_state(first.get_state())
    assert next(iter(second))["value"].tolist() == [2, 3]


# --- Global arrays ---


def test_global_arrays_of_dicts_tuples_and_dataclasses() -> None:
    batch = {"x": np.arange(8.0, dtype=np.float32), "t": ["a"] * 8}
    made = millrace.jax.make_global(batch, sharding("data"))
    assert made["t"] == batch["t"]
    assert made["x"].tolist() == list(range(8))
    assert len(made["x"].addressable_shards) == 2
    pair = millrace.jax.make_global((batch["x"], batch["x"]), sharding("data"))
    assert isinstance(pair, tuple)
    example = millrace.jax.make_global(
        Example(batch["x"], batch["x"]),
        {"image": sharding("data"), "label": sharding()},
    )
    assert isinstance(example, Example)
    assert example.label.is_fully_replicated
    assert not example.image.is_fully_replicated


def test_global_arrays_refuse_what_cannot_be_one() -> None:
    ragged = next(iter(lists()))
    with pytest.raises(PipelineError, match="field x: parts that differ"):
        millrace.jax.make_global(ragged, sharding("data"))
    with pytest.raises(PipelineError, match="field x has no sharding"):
        millrace.jax.make_global({"x": np.zeros(2)}, {"y": sharding("data")})
    with pytest.raises(PipelineError, match="not ndarray"):
        millrace.jax.make_global(np.zeros(2), sharding("data"))


PROCESS = """
import sys
import jax
rank = int(sys.argv[1])
jax.distributed.initialize(sys.argv[2], num_processes=2, process_id=rank)
import millrace as mr, millrace.jax
mesh = jax.make_mesh((jax.device_count(),), ("data",))
spec = jax.sharding.PartitionSpec("data")
sharding = jax.sharding.NamedSharding(mesh, spec)
ds = mr.range(8).skip(4 * rank).take(4).batch(4)
for batch in ds.to("jax"):
    x = millrace.jax.make_global(batch, sharding)["value"]
    parts = [shard.data.tolist() for shard in x.addressable_shards]
    print(x.shape, parts, flush=True)
"""


def test_two_processes_make_one_array(tmp_path: Path, free_port: int) -> None:
    script = tmp_path / "process.py"
    script.write_text(PROCESS)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=1"
    arguments = [sys.executable, str(script)]
    running = [
        subprocess.Popen(
            [*arguments, str(rank), f"127.0.0.1:{free_port}"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert outputs == ["(8,) [[0, 1, 2, 3]]\n", "(8,) [[4, 5, 6, 7]]\n"]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
