"""Arrow's own CSV reader: a file into a table."""

import sys

import peer

try:
    import pyarrow as pa
    from pyarrow import csv
except ImportError:
    peer.missing("pyarrow")

path, rows, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
pa.set_cpu_count(threads)
options = csv.ReadOptions(use_threads=threads > 1)
peer.serve(rows, lambda: csv.read_csv(path, read_options=options))
