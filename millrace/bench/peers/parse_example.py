"""tf.io.parse_example over the rows of a TFRecord file, in batches of 1,024."""

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
records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
batches = [tf.constant(records[i : i + 1024]) for i in range(0, len(records), 1024)]


@tf.function
def parse(batch: object) -> object:
    """Parse one batch."""
    return tf.io.parse_example(batch, features)


def work() -> None:
    """Parse all rows."""
    for batch in batches:
        parse(batch)


peer.serve(len(records), work)
