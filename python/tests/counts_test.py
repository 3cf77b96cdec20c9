"""How many rows there are, as files tell without being read."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace._core import run_command
from millrace.errors import NotFoundError, PipelineError


def write_tar(path: Path, first: int, rows: int) -> Path:
    with tarfile.open(path, "w") as tar:
        for i in range(first, first + rows):
            text = str(i).encode()
            member = tarfile.TarInfo(f"{i:05d}.cls")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return path


def index(*paths: Path) -> None:
    assert run_command(["millrace", "data", "index", *map(str, paths)]) == 0


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Three tars with an index each: 20, 15 and 8 rows."""
    made = [
        write_tar(tmp_path / f"{name}.tar", first, rows)
        for name, first, rows in (("a", 0, 20), ("b", 20, 15), ("c", 35, 8))
    ]
    index(*made)
    return made


def test_an_index_tells(shards: list[Path]) -> None:
    ds = mr.read(shards)
    assert len(ds) == 43
    assert len(ds.map(lambda row: {"x": row["cls"]}).shuffle(10).batch(8)) == 6
    assert len(ds.batch(8, drop_remainder=True)) == 5
    assert len(ds.take(10).repeat(3).skip(1)) == 29
    assert len(ds.shard(3, 0)) == 15
    assert len(mr.loader(ds.batch(10))) == 5
    assert len(ds.batch(10).to("numpy")) == 5
    assert len(list(ds.batch(8))) == 6
    with pytest.raises(TypeError, match="never ends"):
        len(ds.repeat())


def test_what_is_not_known_names_who_does_not_tell(shards: list[Path]) -> None:
    bare = write_tar(shards[0].parent / "d.tar", 50, 3)
    with pytest.raises(TypeError, match=f"1 of 4 files .*`millrace data index {bare}`"):
        len(mr.read([*shards, bare]).batch(2))
    with pytest.raises(TypeError, match=r"how many rows filter \(%1\) gives"):
        len(mr.read(shards).filter(lambda row: row["cls"] > 3).batch(2))
    with pytest.raises(NotFoundError, match=r"none\.tar"):
        len(mr.read_text(shards[0].parent / "none.tar"))


def test_what_is_known_is_shown(shards: list[Path]) -> None:
    ds = mr.read(shards)
    assert "43 rows" in repr(ds)
    assert "6 batches" in repr(ds.batch(8))
    assert "6 batches" in ds.batch(8)._repr_html_()
    assert "rows\n  43\n" in ds.explain()
    some = ds.filter(lambda row: row["cls"] > 3)
    assert "rows not counted before they are read" in repr(some)
    assert "unknown: how many rows filter (%1) gives" in some.explain()
    none = mr.read_text(shards[0].parent / "none.txt")
    assert "rows not counted before they are read" in repr(none)


def test_it_is_known_once_the_index_is_made(tmp_path: Path) -> None:
    bare = write_tar(tmp_path / "rows.tar", 0, 9)
    ds = mr.read(bare).batch(4)
    with pytest.raises(TypeError, match="index"):
        len(ds)
    index(bare)
    assert len(ds) == 3
    bare.unlink()
    assert len(ds) == 3  # Looked at once.


def write_lines(folder: Path) -> mr.Dataset:
    path = folder / "rows.jsonl"
    path.write_text("".join(f'{{"x": {i}}}\n' for i in range(7)))
    index(path)
    return mr.read_jsonl(path)


def write_fixed(folder: Path) -> mr.Dataset:
    (folder / "rows.bin").write_bytes(bytes(7 * 12))
    return mr.read_fixed(folder / "rows.bin", record_bytes=12)


def write_files(folder: Path) -> mr.Dataset:
    for i in range(7):
        (folder / f"{i}.txt").write_text("text")
    return mr.read_files(str(folder / "*.txt"))


def write_images(folder: Path) -> mr.Dataset:
    for name in ("cat", "dog"):
        (folder / name).mkdir()
        for i in range(3 + (name == "dog")):
            (folder / name / f"{i}.jpg").write_bytes(b"never decoded")
    return mr.read_images(folder)


def write_parquet(folder: Path) -> mr.Dataset:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, rows in (("a", 3), ("b", 4)):
        table = arrow.table({"x": list(range(rows))})
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=2)
    return mr.read_parquet(str(folder / "*.parquet"))


def write_arrow(folder: Path) -> mr.Dataset:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"x": list(range(7))})
    with arrow.ipc.new_file(str(folder / "rows.arrow"), table.schema) as writer:
        writer.write_table(table)
    return mr.read_arrow(folder / "rows.arrow")


@pytest.mark.parametrize(
    "write",
    [write_lines, write_fixed, write_files, write_images, write_parquet, write_arrow],
)
def test_formats_that_tell(write: Callable[[Path], mr.Dataset], tmp_path: Path) -> None:
    ds = write(tmp_path)
    assert len(ds) == 7
    assert len(ds.batch(2)) == 4


def ranks(ds: mr.Dataset, consumers: int, remainder: str) -> list[Any]:
    return [
        ds.distribute(consumer=i, consumers=consumers, remainder=remainder, seed=5)
        for i in range(consumers)
    ]


@pytest.mark.parametrize("consumers", [2, 3, 8])
def test_ranks_pad_over_files(shards: list[Path], consumers: int) -> None:
    ds = mr.read(shards).shuffle(6).map(lambda row: {"x": row["cls"]}).batch(4)
    loaders = ranks(ds, consumers, "pad")
    given = [list(loader) for loader in loaders]
    rounds = -(-43 // (4 * consumers))
    assert [len(each) for each in given] == [rounds] * consumers
    assert [len(loader) for loader in loaders] == [rounds] * consumers
    batches = list(itertools.chain(*given))
    assert {batch["x"].shape for batch in batches} == {(4,)}
    rows = np.concatenate([batch["x"][batch["valid"]] for batch in batches])
    assert sorted(rows.tolist()) == list(range(43))


def test_padded_ranks_go_on_from_a_state(shards: list[Path]) -> None:
    ds = mr.read(shards).map(lambda row: {"x": row["cls"]}).batch(4)
    loaders = ranks(ds, 2, "pad")
    rows = []
    for loader in loaders:
        for batch in itertools.islice(loader, 2):
            rows += batch["x"][batch["valid"]].tolist()
    state = loaders[1].state_dict()
    for loader in ranks(ds, 3, "pad"):
        loader.load_state_dict(state)
        rest = list(loader)
        assert len(rest) == 3
        for batch in rest:
            rows += batch["x"][batch["valid"]].tolist()
    assert sorted(rows) == list(range(43))


def test_ranks_drop_over_files_in_many_lanes(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "rows.tar", 0, 2000)
    index(path)
    ds = mr.read(path).shuffle(20).map(lambda row: {"x": row["cls"]}).batch(4)
    loaders = ranks(ds, 3, "drop")
    assert [len(loader) for loader in loaders] == [166] * 3
    rows = [batch["x"].tolist() for loader in loaders for batch in loader]
    assert len(rows) == 3 * 166
    assert len(set(itertools.chain(*rows))) == 3 * 166 * 4
    assert loaders[0]._pass.iterator.lanes > 1


def test_padding_says_which_files_do_not_tell(tmp_path: Path) -> None:
    bare = write_tar(tmp_path / "rows.tar", 0, 9)
    ds = mr.read(bare).batch(2)
    with pytest.raises(PipelineError, match=f"`millrace data index {bare}`"):
        ranks(ds, 2, "pad")
    assert len(list(ranks(ds, 2, "keep")[0])) == 3  # Which needs none.
    with pytest.raises(TypeError, match="millrace data index"):
        len(ranks(ds, 2, "keep")[0])
