"""What datasets begin with: a function for each source.

Written by tools/python_faces.py from the catalog of the engine.
"""

from collections.abc import Sequence
from typing import Any

from millrace._plain import Paths, text_list
from millrace.dataset import Dataset, _from_source


def random(count: int | None = None, *, seed: int | None = None) -> Dataset:
    """Gives whole numbers drawn from all that int64 has, as the field `value`: others
    in every epoch.

    Args:
        seed: What the numbers are drawn from. Left out, the job's seed.
        count: How many there are. Left out, 1,073,741,824.
    """
    arguments: dict[str, Any] = {"seed": seed, "count": count}
    return _from_source("random", arguments)


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset:
    """Gives the whole numbers from start up to stop, as the field `value`.

    Args:
        start: The first number; with one bound alone, where to stop.
        stop: Where to stop; not given itself.
        step: From one number to the next; may be negative.
    """
    arguments: dict[str, Any] = {
        "start": 0 if stop is None else start,
        "stop": start if stop is None else stop,
        "step": step,
    }
    return _from_source("range", arguments)


def read(
    paths: Paths,
    *,
    fields: str | None = None,
    columns: str | Sequence[str] = (),
) -> Dataset:
    """Reads files as the endings of their names say: .jsonl, .ndjson and .json (an
    object on every line), .csv, .tfrecord, .txt, .tar, .parquet, .arrow and .feather,
    and images as files; lines, records and tar files also compressed, as in .csv.gz.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        fields: Of files that have several, the fields to read and their types, as in
            "{id: int64, name: string}". Left out, it is told by the data: of JSON and
            CSV by the first 1,000 rows, of tar files by the first.
        columns: Of CSV, the names of all columns, in order. Left out, it is told by the
            header of the first file.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "fields": fields,
        "columns": text_list(columns),
    }
    return _from_source("read", arguments)


def read_arrow(
    paths: Paths,
    *,
    select: str | Sequence[str] | None = None,
    fields: str | None = None,
    missing: str = "error",
    unread: str | Sequence[str] = (),
) -> Dataset:
    """Reads Arrow IPC files (Feather 2) and saved streams.

    A struct's fields are named `outer.inner`, lists have an axis more; dates and times
    are int64, in the unit of the file.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        select: The columns to read, as in ["label", "image.bytes"]; a struct's name
            stands for all that is in it. By default all are read.
        fields: The fields of the rows and their types, as in "{label: int64}", in any
            order. By default the first file says; others must say the same.
        missing: What becomes of nulls. "error": a row that has one is wrong. "default":
            they are read as 0, NaN, an empty text or an empty list.
        unread: Fields that rows need not have: a rewrite names those that nobody reads.
            They are read only where they may have nulls that make a row wrong.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "select": text_list(select),
        "fields": fields,
        "missing": missing,
        "unread": text_list(unread),
    }
    return _from_source("read_arrow", arguments)


def read_csv(
    paths: Paths,
    separator: str = ",",
    *,
    fields: str | None = None,
    columns: str | Sequence[str] = (),
    select: str | Sequence[str] = (),
    header: bool = True,
    quote: str = '"',
    missing: str = "error",
) -> Dataset:
    """Reads the rows of CSV files, as RFC 4180 has them; cells become fields by the
    names of their columns.

    A cell that is empty, not quoted and no text is missing. Empty lines are no rows.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        fields: The columns to read and their types, as in "{id: int64, name: string}".
            Left out, it is told by the first 1,000 rows.
        columns: The names of all columns, in order. Left out, it is told by the header
            of the first file; without a header they are column0, column1, ...
        select: Of the fields, those to read. Left out, all.
        header: Files begin with the names of their columns.
        separator: What stands between cells.
        quote: What stands around cells that hold separators or ends of lines; empty
            where nothing does.
        missing: What becomes of a value that is not there: "error", its row is wrong,
            or "default", it is 0, of floats NaN, of texts empty, of arrays without
            items.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "fields": fields,
        "columns": text_list(columns),
        "select": text_list(select),
        "header": header,
        "separator": separator,
        "quote": quote,
        "missing": missing,
    }
    return _from_source("read_csv", arguments)


def read_files(paths: Paths) -> Dataset:
    """Reads whole files, a row each, as the fields `path` and `bytes`.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths)}
    return _from_source("read_files", arguments)


def read_fixed(
    paths: Paths,
    record_bytes: int,
    *,
    header_bytes: int = 0,
    footer_bytes: int = 0,
) -> Dataset:
    """Reads files whose rows all have the same length, as the field `record`.

    How many there are is told by a file's size, unless it is compressed.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        record_bytes: The bytes of a row.
        header_bytes: Bytes at the beginning of each file that are no row.
        footer_bytes: Bytes at the end of each file that are no row.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "record_bytes": record_bytes,
        "header_bytes": header_bytes,
        "footer_bytes": footer_bytes,
    }
    return _from_source("read_fixed", arguments)


def read_frames(paths: Paths, *, fields: str | None = None) -> Dataset:
    """Reads files of frames, as `millrace save` writes them: rows of any type, as they
    were in memory.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        fields: The fields of the rows and their types. By default the first file says;
            all must say the same.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths), "fields": fields}
    return _from_source("read_frames", arguments)


def read_images(paths: Paths) -> Dataset:
    """Reads images that are sorted into folders, one folder a class, as the fields
    `image` (the file's bytes), `label` (the number of the class, by the sorted names of
    all) and `path`.

    Args:
        paths: Folders that hold a folder for each class, or patterns such as
            train/*/*.jpg.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths)}
    return _from_source("read_images", arguments)


def read_jsonl(
    paths: Paths,
    *,
    fields: str | None = None,
    missing: str = "error",
) -> Dataset:
    """Reads files with a JSON object on every line.

    Members become fields; those of an object in an object are named by their path, as
    in `a.b`. A field of strings takes strings, and of anything else its JSON.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        fields: The fields to read and their types, as in "{id: int64, tags:
            string[?]}"; others are passed over. Left out, it is told by the first 1,000
            rows.
        missing: What becomes of a value that is not there: "error", its row is wrong,
            or "default", it is 0, of floats NaN, of texts empty, of arrays without
            items.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "fields": fields,
        "missing": missing,
    }
    return _from_source("read_jsonl", arguments)


def read_parquet(
    paths: Paths,
    *,
    select: str | Sequence[str] | None = None,
    fields: str | None = None,
    missing: str = "error",
    unread: str | Sequence[str] = (),
) -> Dataset:
    """Reads Parquet files.

    A struct's fields are named `outer.inner`, lists have an axis more; dates and times
    are int64, in the unit of the file.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        select: The columns to read, as in ["label", "image.bytes"]; a struct's name
            stands for all that is in it. By default all are read.
        fields: The fields of the rows and their types, as in "{label: int64}", in any
            order. By default the first file says; others must say the same.
        missing: What becomes of nulls. "error": a row that has one is wrong. "default":
            they are read as 0, NaN, an empty text or an empty list.
        unread: Fields that rows need not have: a rewrite names those that nobody reads.
            They are read only where they may have nulls that make a row wrong.
    """
    arguments: dict[str, Any] = {
        "paths": text_list(paths),
        "select": text_list(select),
        "fields": fields,
        "missing": missing,
        "unread": text_list(unread),
    }
    return _from_source("read_parquet", arguments)


def read_tar(paths: Paths, fields: str | Sequence[str]) -> Dataset:
    """Reads tar files in WebDataset's layout: neighbours that share a name up to its
    first dot are one row, what follows the dot is the field.

    Fields `cls` and `index` are int64, `txt` is a string, others are bytes; the shared
    name is the field `__key__`.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
        fields: The fields to read, as in ["jpg", "cls"]; others are passed over.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths), "fields": text_list(fields)}
    return _from_source("read_tar", arguments)


def read_text(paths: Paths) -> Dataset:
    """Reads the lines of text files, as the field `text`, without their ends.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths)}
    return _from_source("read_text", arguments)


def read_tfrecord(paths: Paths) -> Dataset:
    """Reads the rows of TFRecord files, as the field `record`.

    Checksums are checked.

    Args:
        paths: The files: paths or patterns such as train-{000..127}.tar, *.tar,
            data/**/*.txt. They are read sorted by name.
    """
    arguments: dict[str, Any] = {"paths": text_list(paths)}
    return _from_source("read_tfrecord", arguments)
