"""Arrow's own scan of a Parquet file into a table.

The file, 20 columns of numbers, is made where it is not there yet.
"""

import sys
from pathlib import Path

import peer

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet
except ImportError:
    peer.missing("pyarrow")


def write(path: Path, rows: int) -> None:
    """Write integers and floats that compress as data does, not as zeros do."""
    numbers = pa.array(range(rows), pa.int64())
    columns = {}
    for column in range(20):
        factor = pa.scalar(2_654_435_761 + 2 * column, pa.int64())
        mixed = pc.shift_right(pc.multiply(numbers, factor), 7)
        values = pc.bit_wise_and(mixed, pa.scalar((1 << 20) - 1, pa.int64()))
        columns[f"c{column}"] = values if column % 2 else pc.cast(values, pa.float32())
    parquet.write_table(pa.table(columns), path, row_group_size=128 * 1024)


path, rows, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
if not path.exists():
    write(path, rows)
pa.set_cpu_count(threads)
peer.serve(rows, lambda: parquet.read_table(path, use_threads=threads > 1))
