"""Millrace beside other libraries with C++ of their own, imported in any order.

Each order runs in a process of its own: all are imported, then each is used.
"""

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.frameworks

USES = {
    "millrace": """
import millrace
rows = [int(row["x"]) for row in millrace.read_parquet(PATH)]
assert rows == [0, 1, 2, 3], rows
batch = next(iter(millrace.range(4).map(lambda r: {"x": r["value"] * 2}).batch(4)))
assert batch["x"].tolist() == [0, 2, 4, 6]
""",
    "torch": """
import torch
assert (torch.ones(64, 64) @ torch.ones(64, 64)).sum().item() == 64**3
""",
    "jax": """
import jax
assert jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((8, 8))).item() == 512
""",
    "tensorflow": """
import tensorflow
assert float(tensorflow.reduce_sum(tensorflow.ones((8, 8)))) == 64
batch = next(iter(tensorflow.data.Dataset.range(3).batch(3)))
assert batch.numpy().tolist() == [0, 1, 2]
""",
    "pyarrow": """
import pyarrow.parquet
assert pyarrow.parquet.read_table(PATH)["x"].to_pylist() == [0, 1, 2, 3]
""",
    "grpc": """
import grpc
with grpc.insecure_channel("localhost:1") as channel:
    call = channel.unary_unary("/no/Such")
    try:
        call(b"", timeout=0.2)
    except grpc.RpcError as error:
        assert error.code().name in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
""",
    "google.protobuf": """
import google.protobuf.struct_pb2
message = google.protobuf.struct_pb2.Struct()
message["x"] = 3
read = google.protobuf.struct_pb2.Struct.FromString(message.SerializeToString())
assert read["x"] == 3
""",
}
NAMES = list(USES)
TOGETHER = """
import millrace
if "torch" in ORDER:
    assert next(iter(millrace.range(4).batch(4).to("torch")))["value"].sum() == 6
if "jax" in ORDER:
    assert next(iter(millrace.range(4).batch(4).to("jax")))["value"].sum() == 6
if "tensorflow" in ORDER:
    batch = next(iter(millrace.range(4).batch(4).to("tensorflow")))
    assert int(tensorflow.reduce_sum(batch["value"])) == 6
"""


def is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def imports_of(name: str) -> str:
    return next(line for line in USES[name].splitlines() if line.startswith("import"))


def orders() -> list[tuple[str, ...]]:
    """Every two in both orders, all in one process; and each alone with Millrace."""
    whole = [tuple(NAMES), tuple(reversed(NAMES))]
    others = [name for name in NAMES if name != "millrace"]
    pairs = [(name, "millrace") for name in others]
    return [*whole, *pairs, ("millrace", "tensorflow"), ("millrace", "pyarrow")]


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Written in another process: this one stays as it was.
    path = tmp_path_factory.mktemp("data") / "rows.parquet"
    pytest.importorskip("pyarrow")
    script = (
        "import sys, pyarrow as pa, pyarrow.parquet as pq\n"
        "pq.write_table(pa.table({'x': [0, 1, 2, 3]}), sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    return path


@pytest.mark.parametrize("order", orders(), ids="-".join)
def test_each_works_after_all_are_imported(
    order: tuple[str, ...], parquet: Path
) -> None:
    names = [name for name in order if is_here(name)]
    if len(names) < 2:
        pytest.skip(f"{order} are not here")
    lines = [f"PATH = {str(parquet)!r}", f"ORDER = {names!r}"]
    lines += [imports_of(name) for name in names]
    lines += itertools.chain((USES[name] for name in names), [TOGETHER])
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"
