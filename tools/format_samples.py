"""Writes the sample files that the tests of sources read, with the real libraries.

    python tools/format_samples.py millrace/ops/testdata/samples

Needs tensorflow-cpu, webdataset and zstandard, which nothing else here does: run it in
an environment of its own. What the files hold is also stated, as plain numbers and
texts, in the tests that compare them.
"""

import gzip
import sys
from pathlib import Path

ROWS = 5
RECORD_BYTES = (0, 1, 100, 300, 17)


def record(row: int) -> bytes:
    """Return the content of a row: its bytes count up, from the row's own number."""
    return bytes((row + i) % 256 for i in range(RECORD_BYTES[row]))


def sample(row: int) -> dict[str, object]:
    """Return a row as WebDataset takes it."""
    return {
        "__key__": f"folder/sample{row:03d}",
        "cls": 10 * row - 10,
        "txt": f"text {row} é",
        "seg.png": record(row),
    }


def write_tfrecords(folder: Path) -> None:
    """Write TFRecord files, plain and compressed."""
    import tensorflow as tf

    for name, compression in (("plain.tfrecord", ""), ("zipped.tfrecord.gz", "GZIP")):
        options = tf.io.TFRecordOptions(compression_type=compression)
        with tf.io.TFRecordWriter(str(folder / name), options) as writer:
            for row in range(ROWS):
                writer.write(record(row))


def write_tars(folder: Path) -> None:
    """Write tar files: plain, compressed, and one with names too long for ustar."""
    import webdataset as wds
    import zstandard

    plain = folder / "plain.tar"
    with wds.TarWriter(str(plain)) as writer:
        for row in range(ROWS):
            writer.write(sample(row))
    with wds.TarWriter(str(folder / "zipped.tar.gz")) as writer:
        for row in range(ROWS):
            writer.write(sample(row))
    compressed = zstandard.ZstdCompressor().compress(plain.read_bytes())
    (folder / "zipped.tar.zst").write_bytes(compressed)
    with wds.TarWriter(str(folder / "long.tar.gz")) as writer:
        for row in range(2):
            long = {**sample(row), "__key__": "d" * 120 + f"/{'k' * 130}{row}"}
            writer.write(long)
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"one\ntwo\r\nthree", mtime=0))


def main() -> None:
    """Write all samples to the folder named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_tfrecords(folder)
    write_tars(folder)


if __name__ == "__main__":
    main()
