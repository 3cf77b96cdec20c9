"""Makes the sample files that the tests of millrace/adapters/arrow read.

pyarrow writes them, so that what we read is compared with what somebody else wrote.
What the rows are is in the tests: row i of `types` has i in every field.

    .venv/bin/python tools/arrow_samples.py
"""

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent.parent / "millrace/adapters/arrow/testdata"
ROWS = 300
DAY = datetime.date(1970, 1, 1)
MOMENT = datetime.datetime(1970, 1, 1)


def types() -> pa.Table:
    """Return a table with a field of every type that can be read."""
    numbers = list(range(ROWS))
    columns: dict[str, pa.Array] = {"bool": pa.array([i % 3 == 0 for i in numbers])}
    for kind in (pa.int8(), pa.uint8()):
        columns[str(kind)] = pa.array([i % 100 for i in numbers], kind)
    for kind in (pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()):
        columns[str(kind)] = pa.array(numbers, kind)
    columns["uint64"] = pa.array([i + 2**63 for i in numbers], pa.uint64())
    columns["float16"] = pa.array(numbers, pa.float16())
    columns["float32"] = pa.array([i / 4 for i in numbers], pa.float32())
    columns["float64"] = pa.array([i / 8 for i in numbers], pa.float64())
    columns.update(texts(numbers))
    columns.update(times(numbers))
    columns.update(nested(numbers))
    return pa.table(columns)


def texts(numbers: list[int]) -> dict[str, pa.Array]:
    """Return the fields of bytes and strings."""
    words = [f"text {i}" * (i % 4) for i in numbers]
    data = [word.encode() for word in words]
    return {
        "utf8": pa.array(words),
        "large_utf8": pa.array(words, pa.large_utf8()),
        "binary": pa.array(data, pa.binary()),
        "large_binary": pa.array(data, pa.large_binary()),
        "fixed_binary": pa.array([f"{i:04}".encode() for i in numbers], pa.binary(4)),
        "dictionary": pa.array([f"word {i % 7}" for i in numbers]).dictionary_encode(),
    }


def times(numbers: list[int]) -> dict[str, pa.Array]:
    """Return the fields of dates and times."""
    days = [DAY + datetime.timedelta(days=i) for i in numbers]
    moments = [MOMENT + datetime.timedelta(milliseconds=i) for i in numbers]
    spans = [datetime.timedelta(milliseconds=i) for i in numbers]
    return {
        "date32": pa.array(days, pa.date32()),
        "time32": pa.array(numbers, pa.int32()).cast(pa.time32("ms")),
        "timestamp": pa.array(moments, pa.timestamp("us", "UTC")),
        "duration": pa.array(spans, pa.duration("ms")),
    }


def nested(numbers: list[int]) -> dict[str, pa.Array]:
    """Return the fields of lists and structs."""
    lists = [[i] * (i % 4) for i in numbers]
    points = [{"x": i, "name": {"short": f"p{i}"}} for i in numbers]
    pairs = [[{"key": j, "text": f"{i}/{j}"} for j in range(i % 3)] for i in numbers]
    return {
        "list": pa.array(lists, pa.list_(pa.int32())),
        "large_list": pa.array(lists, pa.large_list(pa.float32())),
        "fixed_list": pa.array([[i, i + 1] for i in numbers], pa.list_(pa.int16(), 2)),
        "words": pa.array([[f"w{j}" for j in range(i % 3)] for i in numbers]),
        "lists": pa.array([[[i], [], [i, i]][: i % 4] for i in numbers]),
        "point": pa.array(points),
        "pairs": pa.array(pairs),
    }


def nulls() -> pa.Table:
    """Return a table in which every seventh row has nulls, in ways of its own."""

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(
            [None if i % 7 == 3 else value for i, value in enumerate(values)], kind
        )

    numbers = list(range(40))
    element = [[i, None if i % 7 == 3 else i] for i in numbers]
    inside = [{"x": None if i % 7 == 3 else i} for i in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "int": some(numbers, pa.int32()),
            "float": some([float(i) for i in numbers], pa.float32()),
            "bool": some([True] * 40, pa.bool_()),
            "text": some([f"t{i}" for i in numbers], pa.utf8()),
            "list": some([[i, i] for i in numbers], pa.list_(pa.int32())),
            "pair": some([[i, i] for i in numbers], pa.list_(pa.int32(), 2)),
            "element": pa.array(element, pa.list_(pa.int64())),
            "struct": some([{"x": i} for i in numbers], pa.struct({"x": pa.int32()})),
            "inside": pa.array(inside, pa.struct({"x": pa.int32()})),
            "word": some(["a", "b"] * 20, pa.utf8()).dictionary_encode(),
        }
    )


def write_messages(name: str, table: pa.Table, rows: int, **options: Any) -> None:
    """Write a table as an Arrow file, or as a stream where the name says so."""
    new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
    choice = pa.ipc.IpcWriteOptions(**options)
    with new(str(FOLDER / name), table.schema, options=choice) as writer:
        writer.write_table(table, max_chunksize=rows)


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    table = types()
    pq.write_table(table, FOLDER / "types.parquet", row_group_size=90)
    pages = FOLDER / "pages.parquet"
    pq.write_table(table, pages, data_page_size=64, data_page_version="2.0")
    write_messages("types.arrow", table, 70)
    write_messages("types.arrows", table, 70)
    write_messages("zstd.arrow", table, 120, compression="zstd")
    for ending in ("parquet", "arrow"):
        for name, rows in (("nulls", nulls()), ("empty", table.slice(0, 0))):
            if ending == "parquet":
                pq.write_table(rows, FOLDER / f"{name}.parquet", row_group_size=16)
            else:
                write_messages(f"{name}.arrow", rows, 16)
    price = pa.array([decimal.Decimal("1.50")] * 3, pa.decimal128(10, 2))
    refused = pa.table({"id": pa.array([1, 2, 3]), "price": price})
    pq.write_table(refused, FOLDER / "decimal.parquet")
    pq.write_table(pa.table({"id": pa.array([1.5])}), FOLDER / "other.parquet")


if __name__ == "__main__":
    main()
