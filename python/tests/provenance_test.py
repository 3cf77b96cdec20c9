"""Where rows come from: each is looked for in its file, at the place that was told."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace as mr
from millrace import _core
from millrace.errors import DataError, PipelineError

FILES = 3
ROWS = 40

Look = Callable[[mr.Origin], Any]


def words(file: int) -> list[str]:
    """Give the lines of a file, of many lengths."""
    return [f"{file}-{row}" + "." * (row * 7 % 23) for row in range(ROWS)]


def write(folder: Path, ending: str, content: Callable[[int], bytes]) -> str:
    for file in range(FILES):
        (folder / f"{file}{ending}").write_bytes(content(file))
    return str(folder / f"*{ending}")


def line_at(origin: mr.Origin) -> str:
    assert origin.file is not None
    unpacked = gzip.open if origin.file.endswith(".gz") else open
    with unpacked(origin.file, "rb") as file:
        file.seek(origin.offset)
        return str(file.readline().decode().rstrip("\r\n"))


def crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(content: bytes) -> bytes:
    crc = crc32c(content)
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return ((rotated + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def tfrecord(rows: list[bytes]) -> bytes:
    sizes = [len(row).to_bytes(8, "little") for row in rows]
    return b"".join(
        size + masked(size) + row + masked(row)
        for size, row in zip(sizes, rows, strict=True)
    )


def tar(file: int) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for row, word in enumerate(words(file)):
            for field, content in (("cls", str(row)), ("txt", word)):
                info = tarfile.TarInfo(f"sample{file}_{row}.{field}")
                info.size = len(content)
                archive.addfile(info, BytesIO(content.encode()))
    return out.getvalue()


# --- Sources: what gives rows with a field `w`, and how to find one in its file ---


def text(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(folder, ".txt", lambda f: "\n".join(words(f)).encode())
    return mr.read_text(pattern).rename({"text": "w"}), line_at


def packed_text(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(
        folder, ".txt.gz", lambda f: gzip.compress("\n".join(words(f)).encode())
    )
    return mr.read_text(pattern).rename({"text": "w"}), line_at


def indexed_text(folder: Path) -> tuple[mr.Dataset, Look]:
    dataset, look = text(folder)
    for file in sorted(folder.iterdir()):
        assert _core.run_command(["millrace", "data", "index", str(file)]) == 0
    assert len(dataset.loader().dataset.head(1)) == 1
    return dataset, look


def jsonl(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(
        folder,
        ".jsonl",
        lambda f: "\n".join(json.dumps({"w": w}) for w in words(f)).encode(),
    )
    return mr.read_jsonl(pattern), lambda origin: json.loads(line_at(origin))["w"]


def csv(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(
        folder,
        ".csv",
        lambda f: "\n".join(["n,w", *(f"1,{w}" for w in words(f))]).encode(),
    )
    return (
        mr.read_csv(pattern).select("w"),
        lambda origin: line_at(origin).split(",")[1],
    )


def records(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(
        folder, ".tfrecord", lambda f: tfrecord([w.encode() for w in words(f)])
    )

    def look(origin: mr.Origin) -> str:
        content = Path(str(origin.file)).read_bytes()[origin.offset :]
        size = int.from_bytes(content[:8], "little")
        return content[12 : 12 + size].decode()

    dataset = mr.read_tfrecord(pattern)
    return dataset.map(lambda row: {"w": mr.text.check_utf8(row["record"])}), look


def fixed(folder: Path) -> tuple[mr.Dataset, Look]:
    pattern = write(
        folder,
        ".bin",
        lambda f: b"head" + b"".join(w.encode().ljust(32)[:32] for w in words(f)),
    )

    def look(origin: mr.Origin) -> str:
        content = Path(str(origin.file)).read_bytes()
        return content[origin.offset : origin.offset + 32].decode()

    dataset = mr.read_fixed(pattern, 32, header_bytes=4)
    return dataset.map(lambda row: {"w": mr.text.check_utf8(row["record"])}), look


def samples(folder: Path) -> tuple[mr.Dataset, Look]:
    def look(origin: mr.Origin) -> str:
        assert origin.key is not None
        rest = BytesIO(Path(str(origin.file)).read_bytes()[origin.offset :])
        with tarfile.open(fileobj=rest) as archive:
            first = archive.next()
            assert first is not None and first.name == origin.key + ".cls"
            content = archive.extractfile(origin.key + ".txt")
            assert content is not None
            return content.read().decode()

    dataset = mr.read_tar(write(folder, ".tar", tar), ["txt", "cls"])
    return dataset.map(lambda row: {"w": row["txt"]}), look


def pictures(folder: Path) -> tuple[mr.Dataset, Look]:
    for file, row in itertools.product(range(FILES), range(ROWS)):
        path = folder / f"class{file}" / f"{row}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(words(file)[row].encode())

    def look(origin: mr.Origin) -> str:
        assert origin.offset == 0
        return Path(str(origin.file)).read_text()

    dataset = mr.read_images(str(folder))
    return dataset.map(lambda row: {"w": mr.text.check_utf8(row["image"])}), look


def in_memory(folder: Path) -> tuple[mr.Dataset, Look]:
    all_words = [word for file in range(FILES) for word in words(file)]

    def look(origin: mr.Origin) -> str:
        assert origin.file is None and origin.key is None
        return all_words[origin.offset]

    return mr.from_arrays({"w": all_words}), look


SOURCES = [
    text,
    packed_text,
    indexed_text,
    jsonl,
    csv,
    records,
    fixed,
    samples,
    pictures,
    in_memory,
]
Source = Callable[[Path], tuple[mr.Dataset, Look]]


def looked(loader: Any, look: Look, batches: int | None = None) -> int:
    """Take batches, and look for the rows of each; give how many there were."""
    count = 0
    for batch in itertools.islice(loader, batches):
        origins = loader.provenance()
        assert [look(origin) for origin in origins] == list(batch["w"])
        count += 1
    return count


@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_found_in_their_files(tmp_path: Path, source: Source) -> None:
    dataset, look = source(tmp_path)
    loader = mr.loader(dataset.batch(16), seed=1)
    assert looked(loader, look) == -(-FILES * ROWS // 16)


@pytest.mark.parametrize("source", [text, indexed_text, samples, in_memory])
def test_so_they_are_when_shuffled_filtered_and_mapped(
    tmp_path: Path, source: Source
) -> None:
    dataset, look = source(tmp_path)
    drawn = (
        dataset.shuffle(30)
        .map(lambda row, rng: {"w": row["w"], "u": rng.uniform()})
        .filter(lambda row: row["u"] < 0.6)
        .shuffle(8)
        .batch(9)
    )
    loader = mr.loader(drawn, seed=4)
    assert looked(loader, look) > 3  # One epoch ...
    assert looked(loader, look) > 3  # ... and another.


def test_so_they_are_behind_a_state(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    shuffled = dataset.shuffle(30).filter(lambda row: mr.text.byte_length(row["w"]) > 5)
    first = mr.loader(shuffled.batch(4), seed=2)
    for _ in itertools.islice(first, 5):
        pass
    second = mr.loader(shuffled.batch(4), seed=9)
    second.load_state_dict(first.state_dict())
    with pytest.raises(PipelineError, match="no pass runs"):
        second.provenance()
    stream = iter(second)
    with pytest.raises(PipelineError, match="take one first"):
        second.provenance()
    batch = next(stream)
    assert [look(o) for o in second.provenance() if o] == list(batch["w"])


def test_rows_without_batches_are_found_one_by_one(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    loader = mr.loader(dataset.shuffle(20), seed=3)
    for row in itertools.islice(loader, 30):
        (origin,) = loader.provenance()
        assert origin is not None and look(origin) == row["w"]


def test_an_earlier_batch_can_be_asked_for(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    loader = mr.loader(dataset.shuffle(20).batch(5), seed=3)
    batches = list(itertools.islice(loader, 12))
    for number in range(5, 13):
        origins = loader.provenance(number)
        assert [look(o) for o in origins if o] == list(batches[number - 1]["w"])


def test_python_functions_pass_it_on(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    python = (
        dataset.filter(lambda row: row["w"].endswith("."), python=True)
        .map(lambda row: {"w": row["w"]}, python=True)
        .map_batches(lambda rows: {"w": rows["w"]}, 8, python=True)
        .batch(10)
    )
    assert looked(mr.loader(python), look) > 5


STREAMS: dict[str, Callable[[mr.Dataset, mr.Dataset], mr.Dataset]] = {
    "repeat": lambda a, b: a.repeat(3).shuffle(20).batch(30),
    "concat": lambda a, b: a.concat(b).batch(30),
    "mix": lambda a, b: a.mix(b, weights=[1, 2]).batch(30),
    "mixed repeats": lambda a, b: a.mix(b.repeat(2)).repeat(2).shuffle(9).batch(30),
    "cache": lambda a, b: a.cache().shuffle(20).batch(30),
    "take": lambda a, b: a.skip(50).take(40).batch(15),
    "shard": lambda a, b: a.shard(3, 1).batch(7),
    "unique": lambda a, b: a.concat(a).unique(fields="w").batch(7),
    "scan": lambda a, b: a.scan(
        lambda row: {"w": row["w"], "state.n": row["state.n"] + 1}, "{n: int64}"
    ).batch(7),
    "rebatch": lambda a, b: a.batch(4).unbatch().batch(6).rebatch(10),
    "window": lambda a, b: a.window(5, shift=2).map(lambda row: {"w": row["w"]}),
    "resample": lambda a, b: a.resample(
        lambda row: mr.text.byte_length(row["w"]) % 2, [1, 3]
    ).batch(5),
    "padded": lambda a, b: a.padded_batch(12),
    "ragged": lambda a, b: a.ragged_batch(12),
    "group": lambda a, b: a.group_by(lambda row: mr.text.byte_length(row["w"]), size=4),
    "ignore": lambda a, b: (
        a.filter(lambda row: 1 // (mr.text.byte_length(row["w"]) % 5) >= 0)
        .ignore_errors()
        .batch(9)
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_operators_that_keep_rows_keep_their_origins(tmp_path: Path, name: str) -> None:
    dataset, look = text(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = jsonl(tmp_path / "other")

    def look_in_either(origin: mr.Origin) -> str:
        line = look(origin)
        in_json = str(origin.file).endswith("jsonl")
        return str(json.loads(line)["w"]) if in_json else line

    loader = mr.loader(STREAMS[name](dataset, other), seed=6)
    assert looked(loader, look_in_either) > 1


def test_a_cache_that_was_filled_is_no_hindrance(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    for cached in (dataset.cache(), dataset.cache(tmp_path / "kept")):
        loader = mr.loader(cached.batch(30))
        assert len(list(loader)) == 4
        assert looked(loader, look) == 4


def test_rows_made_of_several_name_all(tmp_path: Path) -> None:
    left, look = text(tmp_path)
    (tmp_path / "other").mkdir()
    right, look_right = jsonl(tmp_path / "other")
    zipped = left.zip(right.rename({"w": "v"}).shuffle(10)).batch(7)
    loader = mr.loader(zipped, seed=1)
    for batch in itertools.islice(loader, 5):
        for row, origin in enumerate(loader.provenance()):
            assert origin is not None
            (other,) = origin.others
            assert look(origin) == batch["w"][row]
            assert look_right(other) == batch["v"][row]


def test_packed_sequences_name_all_in_a_row() -> None:
    rows = [{"x": np.full(n % 5 + 1, n)} for n in range(60)]
    loader = mr.loader(mr.from_rows(rows).shuffle(9).pack(8).batch(3), seed=1)
    for batch in loader:
        for row, origin in enumerate(loader.provenance()):
            assert origin is not None
            parts = [origin.offset, *(other.offset for other in origin.others)]
            segments = batch["segment_ids"][row]
            firsts = [
                int(batch["x"][row][np.argmax(segments == i + 1)])
                for i in range(len(parts))
            ]
            assert parts == firsts
            assert len(parts) == segments.max()


def test_items_of_a_row_have_its_origin() -> None:
    rows = [{"x": np.full(n % 4 + 1, n)} for n in range(40)]
    items = mr.from_rows(rows).flat_map(lambda row: {"x": row["x"]}).shuffle(9)
    loader = mr.loader(items.batch(10), seed=1)
    for batch in loader:
        assert [o.offset for o in loader.provenance() if o] == batch["x"].tolist()


def test_parquet_rows_have_numbers() -> None:
    root = Path(__file__).parents[2]
    file = root / "millrace" / "adapters" / "arrow" / "testdata" / "pages.parquet"
    dataset = mr.read_parquet(str(file))
    name = next(n for n, spec in dataset.spec.items() if spec.shape == ())
    dataset = dataset.select(name)
    values = [row[name] for row in dataset]
    loader = mr.loader(dataset.shuffle(50).batch(20), seed=1)
    for batch in itertools.islice(loader, 5):
        origins = [o for o in loader.provenance() if o]
        assert {o.file for o in origins} == {str(file)}
        assert np.array_equal([values[o.offset] for o in origins], batch[name])


@pytest.mark.parametrize("remainder", ["keep", "drop", "pad"])
def test_ranks_know_their_own_rows(tmp_path: Path, remainder: str) -> None:
    dataset, look = text(tmp_path)
    stream = dataset.take(100).shuffle(20).batch(16)
    if remainder == "pad":
        stream = mr.range(101).shuffle(20).batch(16)
    for consumer in range(3):
        loader = stream.distribute(
            consumer=consumer, consumers=3, remainder=remainder, seed=5
        )
        if remainder != "pad":
            looked(loader, look)
            continue
        for batch in loader:
            found = [None if o is None else o.offset for o in loader.provenance()]
            assert [n is not None for n in found] == batch["valid"].tolist()
            assert [n or 0 for n in found] == batch["value"].tolist()


def test_loaders_of_frameworks_have_it_too(tmp_path: Path) -> None:
    dataset, look = text(tmp_path)
    loader = mr.loader(dataset.shuffle(20).batch(8), seed=1).to("numpy")
    assert looked(loader, look, 4) == 4


def test_what_cannot_be_told_is_said() -> None:
    total = mr.range(10).reduce(
        lambda row: {"state.n": row["state.n"] + 1}, "{n: int64}"
    )
    loader = mr.loader(total)
    next(iter(loader))
    with pytest.raises(PipelineError, match="does not pass `reduce`"):
        loader.provenance()
    loader = mr.loader(mr.range(10).batch(2), order="any")
    next(iter(loader))
    with pytest.raises(PipelineError, match='order="logical"'):
        loader.provenance()


@pytest.mark.parametrize("source", [text, samples, pictures])
def test_errors_of_functions_say_where_the_row_is(
    tmp_path: Path, source: Source
) -> None:
    def function(row: Any) -> dict[str, Any]:
        if row["w"].startswith("1-17"):
            raise ValueError("this one is wrong")
        return {"w": row["w"]}

    dataset, look = source(tmp_path)
    for rows in (dataset, dataset.skip(1).concat(dataset)):
        wrong = rows.shuffle(20).map(function, python=True, output="{w: string}")
        with pytest.raises(DataError, match="this one is wrong") as raised:
            list(mr.loader(wrong.batch(8), seed=1))
        told = re.search(
            r"(\S+?)(?: \(at byte (\d+)(?:, key (\S+))?\))?: \S*function:",
            str(raised.value),
        )
        assert told is not None
        origin = mr.Origin(told[1], int(told[2] or 0), told[3])
        assert look(origin).startswith("1-17")


def test_errors_behind_what_makes_rows_say_it_too(tmp_path: Path) -> None:
    def function(row: Any) -> dict[str, Any]:
        if row["w"].startswith("1-17"):
            raise ValueError("this one is wrong")
        return {"n": 1}

    dataset, look = text(tmp_path)
    count = sum(1 for _ in dataset)
    for rows in (
        dataset.zip(mr.range(count)),
        dataset.flat_map(lambda row: {"w": mr.text.split(row["w"], "#")}).shuffle(20),
        dataset.repeat(3).skip(count),
    ):
        wrong = rows.map(function, python=True, output="{n: int64}")
        with pytest.raises(DataError, match="this one is wrong") as raised:
            list(mr.loader(wrong, seed=1))
        told = re.search(r"row \d+ of (\S+) \(at byte (\d+)\)", str(raised.value))
        assert told is not None, str(raised.value)
        assert look(mr.Origin(told[1], int(told[2]), None)).startswith("1-17")


def test_errors_of_batches_say_where_these_begin(tmp_path: Path) -> None:
    def function(rows: Any) -> dict[str, Any]:
        if any(word.startswith("1-17") for word in rows["w"]):
            raise ValueError("one of these is wrong")
        return {"n": np.zeros(len(rows["w"]) // 2)}  # Others are left out.

    dataset, look = text(tmp_path)
    halves = dataset.map_batches(
        function, 4, python=True, output="{n: float64[?]}"
    ).map(lambda row: {"n": row["n"] + 1})
    with pytest.raises(DataError, match="one of these is wrong") as raised:
        list(mr.loader(halves, seed=1))
    told = re.search(
        r"batch of 4 rows from row \d+ of (\S+) \(at byte (\d+)\)", str(raised.value)
    )
    assert told is not None, str(raised.value)
    first = look(mr.Origin(told[1], int(told[2]), None))
    assert re.match("1-1[4567]", first)


def test_files_that_changed_are_an_error(tmp_path: Path) -> None:
    dataset, _ = text(tmp_path)
    loader = mr.loader(dataset.batch(8))
    next(iter(loader))
    (tmp_path / "0.txt").write_text("other\n")
    with pytest.raises(PipelineError, match=r"not known: .*manifest"):
        loader.provenance()


def test_nothing_moves_by_looking(tmp_path: Path) -> None:
    dataset, _ = text(tmp_path)
    drawn = dataset.shuffle(30).map(
        lambda row, rng: {"w": row["w"], "u": rng.uniform()}
    )

    def stream(look: bool) -> Iterator[Any]:
        loader = mr.loader(drawn.batch(8), seed=1)
        for batch in loader:
            if look:
                loader.provenance()
            yield batch, loader.state_dict()

    for (seen, state), (plain, plain_state) in zip(
        stream(True), stream(False), strict=True
    ):
        assert list(seen["w"]) == list(plain["w"])
        assert seen["u"].tolist() == plain["u"].tolist()
        assert state == plain_state
