"""A dispatcher or worker of tf.data service; says where it listens, and serves on."""

from __future__ import annotations

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf


def main() -> None:
    """Serve: `dispatcher`, or `worker ADDRESS`."""
    service = tf.data.experimental.service
    if sys.argv[1] == "dispatcher":
        server = service.DispatchServer(service.DispatcherConfig(port=0))
        address = server.target.removeprefix("grpc://")
    else:
        config = service.WorkerConfig(
            dispatcher_address=sys.argv[2], heartbeat_interval_ms=1000
        )
        server = service.WorkerServer(config)
        address = server._address  # It has no other name for it.
    print(f"listens on {address}", flush=True)
    server.join()


if __name__ == "__main__":
    main()
