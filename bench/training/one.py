"""One loader feeds the trainer, in this process; prints a line of JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main(words: Sequence[str]) -> None:
    """Run what is asked for."""
    given = _given(words)
    # Before anything counts cores; all that is started here inherits it.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    from harness.processes import adopt_orphans, cpu_seconds, end_descendants
    from training.loaders import LOADERS, Feed
    from training.trainer import Batch, Trainer

    adopt_orphans()
    looks: list[tuple[float, int, float]] = []

    def watched(feed: Feed) -> Iterator[Batch]:
        for batch in feed.batches:
            looks.append(
                (time.perf_counter(), feed.decoded(), cpu_seconds(os.getpid()))
            )
            yield batch

    with LOADERS[given.loader](given.data, given.device, given.workers) as feed:
        trainer = Trainer(given.device)
        measured = trainer.run(watched(feed), given.warm, given.seconds)
        first = next(look for look in looks if look[0] >= looks[-1][0] - given.seconds)
        seconds = looks[-1][0] - first[0] or given.seconds  # One step took all of it.
        told = {
            "images_per_s": measured.images_per_s,
            "idle": measured.idle,
            "decoded_per_s": (looks[-1][1] - first[1]) / seconds,
            "cores_used": (looks[-1][2] - first[2]) / seconds,
        }
    print(json.dumps(told), flush=True)
    end_descendants()
    os._exit(0)  # Threads that a loader left must not keep the result back.


def _given(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loader", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--warm", type=float, default=6.0)
    parser.add_argument("--seconds", type=float, default=12.0)
    return parser.parse_args(words)


if __name__ == "__main__":
    main(sys.argv[1:])
