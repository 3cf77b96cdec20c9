"""What nothing passes, or the plainest loop one would write; not a system.

Images: libjpeg-turbo decoding alone, a thread for each core. Ready batches: bytes
through a TCP connection of this machine. Others: loops of NumPy, pyarrow and Python.
"""

from __future__ import annotations

import itertools
import multiprocessing
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from drivers.interface import Batch, Feed, Run, choose
from drivers.photo_rows import jpegs
from drivers.python_columns import features, lines_of, padded, tables_of, tokens_of
from drivers.python_function import FunctionRows
from drivers.servers import Server

_AHEAD = 4  # Batches in work at a time.
_kept: list[FunctionRows] = []


def decode(run: Run) -> Feed:
    """Decode whole images and throw them away."""
    from simplejpeg import decode_jpeg

    photos = jpegs(run)
    empty = {"image": np.empty((run.batch, 0), np.uint8)}

    def batches() -> Iterator[Batch]:
        with ThreadPoolExecutor(run.threads) as threads:
            done = threads.map(decode_jpeg, (content for content, _ in photos))
            for number, _ in enumerate(done, 1):
                if number % run.batch == 0:
                    yield empty

    told = "libjpeg-turbo decodes whole images, a thread for each core; nothing else"
    return Feed(batches, {"is": told})


def numbers(run: Run) -> Feed:
    """Compute over arrays that fit the cache, cut into batches."""
    wide = 64 * run.batch

    def batches() -> Iterator[Batch]:
        left = np.empty(0, np.int64)
        for begin in range(0, run.rows, wide):
            x = np.arange(begin, min(begin + wide, run.rows)) * 2 + 1
            x = np.concatenate([left, x[x % 3 != 0]])
            whole = len(x) // run.batch * run.batch
            for batch in x[:whole].reshape(-1, run.batch):
                yield {"x": batch}
            left = x[whole:]
        if len(left):
            yield {"x": left}

    return Feed(batches, {"is": "a loop over arrays of NumPy, one thread"})


def words(run: Run) -> Feed:
    """Split and hash line after line, in Python."""
    buckets = run.pipeline["buckets"]

    def batches() -> Iterator[Batch]:
        lines = lines_of(sorted(run.data.glob("*.txt")))
        while some := list(itertools.islice(lines, run.batch)):
            yield padded([tokens_of(line, buckets) for line in some])

    return Feed(batches, {"is": "a loop in Python, one thread"})


def table(run: Run) -> Feed:
    """Read columns with pyarrow, on all cores, and compute with NumPy."""

    def batches() -> Iterator[Batch]:
        files = sorted(run.data.glob("*.parquet"))
        for columns in tables_of(files, run.batch, threads=True):
            yield features(columns, run.pipeline["buckets"])

    return Feed(batches, {"is": "pyarrow reads on all cores, a loop of NumPy"})


def function(run: Run) -> Feed:
    """Run the function in a process for each core; the images stay there."""
    empty = {"image": np.empty((run.batch, 0), np.float32)}

    def batches() -> Iterator[Batch]:
        share = [run] * (run.rows // run.batch)
        with multiprocessing.get_context("fork").Pool(run.threads) as pool:
            for _ in pool.imap_unordered(_call_often, share):
                yield empty

    return Feed(batches, {"is": "the function alone, a process for each core"})


def _call_often(run: Run) -> None:
    rows = _rows_of_process(run)
    for row in range(run.batch):
        rows[row]


def _rows_of_process(run: Run) -> FunctionRows:
    """Give the images of this process, made once."""
    if not _kept:
        _kept.append(FunctionRows(run))
    return _kept[0]


def volumes(run: Run) -> Feed:
    """Read and scale files, a thread for each core."""
    shape = run.workload.source["shape"]

    def batches() -> Iterator[Batch]:
        files = sorted(run.data.glob("*.bin"))
        pairs = [files[i : i + run.batch] for i in range(0, len(files), run.batch)]
        with ThreadPoolExecutor(run.threads) as threads:
            for rows in threads.map(lambda some: _stacked(some, shape), pairs):
                yield {"volume": rows}

    return Feed(batches, {"is": "a loop of NumPy, a thread for each core"})


def _stacked(files: list[Path], shape: list[int]) -> Any:
    batch = np.empty((len(files), *shape), np.float32)
    for file, place in zip(files, batch, strict=True):
        raw = np.fromfile(file, np.int16).reshape(shape)
        np.multiply(raw, np.float32(0.001), out=place)
    return batch


def ready(run: Run) -> Feed:
    """Receive bytes from a process beside this one, into aligned memory."""
    size = run.pipeline["bytes"]
    server = Server([sys.executable, "-m", "drivers.limit", str(size), str(run.rows)])

    def batches() -> Iterator[Batch]:
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port))) as stream:
            buffers = [np.empty((1, size), np.uint8) for _ in range(_AHEAD)]
            for row in range(run.rows):
                buffer = buffers[row % _AHEAD]
                view = buffer.data.cast("B")
                while len(view):
                    view = view[stream.recv_into(view) :]
                yield {"x": buffer}

    told = "bytes through one TCP connection"
    return Feed(batches, {"is": told}, close=server.end)


def _send(size: int, count: int) -> None:
    content = np.random.default_rng(0).integers(0, 256, size, np.uint8).tobytes()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        print(f"listens on {host}:{port}", flush=True)
        stream, _ = listening.accept()
        with stream:
            for _ in range(count):
                stream.sendall(content)
            stream.recv(1)  # Until the other has all of it.


def open_feed(run: Run) -> Feed:
    """Open the feed of a workload."""
    ways = {
        "augment": decode,
        "simclr": decode,
        "variable": decode,
        "numbers": numbers,
        "ready": ready,
        "words": words,
        "table": table,
        "function": function,
        "volumes": volumes,
    }
    return choose(run, ways)


if __name__ == "__main__":
    _send(int(sys.argv[1]), int(sys.argv[2]))
