"""tf.io.parse_example over the rows of a TFRecord file, in batches of 1,024.

The rows are in memory already: only the parsing counts.
"""

import os
import sys

import peer

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    import tensorflow as tf
except ImportError:
    peer.missing("tensorflow-cpu")

path, threads = sys.argv[1], int(sys.argv[2])
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(threads)
features = {f"int{i}": tf.io.FixedLenFeature([], tf.int64) for i in range(6)}
features |= {f"float{i}": tf.io.FixedLenFeature([16], tf.float32) for i in range(2)}
features |= {f"text{i}": tf.io.FixedLenFeature([], tf.string) for i in range(2)}
whole = list(tf.data.TFRecordDataset(path).batch(1024, drop_remainder=True))
options = tf.data.Options()
options.threading.private_threadpool_size = threads
options.threading.max_intra_op_parallelism = threads
parsed = (
    tf.data.Dataset.from_tensor_slices(tf.stack(whole))
    .map(
        lambda batch: tf.io.parse_example(batch, features),
        num_parallel_calls=threads if threads > 1 else None,
    )
    .with_options(options)
)


def work() -> None:
    """Parse all rows."""
    for _ in parsed:
        pass


peer.serve(1024 * len(whole), work)
