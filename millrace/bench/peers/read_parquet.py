"""Arrow's own scan of a Parquet file into a table.

With one more argument, `write`, it makes the file: 20 columns of numbers.
"""

import sys

import peer

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError:
    peer.missing("pyarrow")

COLUMNS = 20


def write(path: str, rows: int) -> None:
    """Write columns of integers and floats that compress as data does, not as zeros."""
    import random

    draw = random.Random(0)
    base = [draw.random() for _ in range(10_007)]
    columns = {}
    for column in range(COLUMNS):
        values = [base[(row * (column + 1)) % len(base)] for row in range(rows)]
        if column % 2 == 0:
            columns[f"c{column}"] = pa.array([int(v * 1e6) for v in values], pa.int64())
        else:
            columns[f"c{column}"] = pa.array(values, pa.float32())
    parquet.write_table(pa.table(columns), path, row_group_size=128 * 1024)


path, rows, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if len(sys.argv) > 4:
    write(path, rows)
pa.set_cpu_count(threads)
peer.serve(rows, lambda: parquet.read_table(path, use_threads=threads > 1))
