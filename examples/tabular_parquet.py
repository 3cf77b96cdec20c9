"""Trains a logistic regression in NumPy on some columns of a Parquet file.

The file is made up first (that needs pyarrow; reading it does not): flights with their
delays. Only the columns that are used are read; numbers are brought to one scale and
categories hashed in the pipeline.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import millrace as mr

NUMBERS = ("distance", "hour", "wind")
BUCKETS = 32  # For the airports: each has a weight of its own, but for collisions.
Array = np.ndarray[Any, np.dtype[Any]]


def make_flights(count: int) -> Path:
    """Write flights; wind, late hours and some airports make delays likely."""
    rng = np.random.default_rng(0)
    hour, wind = rng.integers(5, 24, count), rng.gamma(2.0, 8.0, count)
    airport = rng.integers(0, 12, count)
    odds = 0.25 * (hour - 15) + 0.12 * (wind - 16) + 1.5 * (airport % 3 - 1)
    columns = {
        "distance": rng.uniform(100, 3000, count),
        "hour": hour,
        "wind": wind,
        "airport": [f"airport-{number}" for number in airport],
        "remark": ["nobody reads this column"] * count,
        "is_late": rng.uniform(size=count) < 1 / (1 + np.exp(-odds)),
    }
    path = Path(tempfile.gettempdir()) / "millrace-flights.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=5000)
    return path


def moments(flights: mr.Dataset) -> tuple[Array, Array]:
    """Compute mean and deviation of the numbers, in one pass."""
    count, total, squares = 0, np.zeros(len(NUMBERS)), np.zeros(len(NUMBERS))
    for batch in flights.select(NUMBERS).batch(1000):
        values = np.stack([batch[name] for name in NUMBERS], axis=1)
        count += len(values)
        total += values.sum(axis=0)
        squares += (values**2).sum(axis=0)
    mean = total / count
    return mean, np.sqrt(squares / count - mean**2)


def features_of(flights: mr.Dataset) -> mr.Dataset:
    """Make rows to train with: a vector of features, and what to predict."""
    mean, deviation = moments(flights)

    def features(row: Any) -> dict[str, Any]:
        values = mr.math.stack([row[name] * 1.0 for name in NUMBERS])
        airport = mr.math.one_hot(mr.math.hash_bucket(row["airport"], BUCKETS), BUCKETS)
        scaled = mr.math.cast((values - mean) / deviation, "float32")
        return {"x": mr.math.concat(scaled, airport), "y": row["is_late"]}

    return flights.map(features)


def predicted(weights: Array, x: Array) -> Array:
    """Give the probability of a delay; the first weight is the constant."""
    return np.asarray(1 / (1 + np.exp(-(x @ weights[1:] + weights[0]))))


def main() -> None:
    """Make the file, train for some epochs, test on rows that were kept apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    path = make_flights(args.rows)
    flights = mr.read_parquet(path, select=[*NUMBERS, "airport", "is_late"])
    rows = features_of(flights)
    test, train = rows.take(args.rows // 5), rows.skip(args.rows // 5)

    weights = np.zeros(1 + len(NUMBERS) + BUCKETS)
    batches = train.shuffle(5000, seed=7).batch(64)
    for epoch in range(args.epochs):
        losses = []
        for batch in batches:  # Each time the next epoch, in another order.
            x, y = batch["x"], batch["y"]
            p = predicted(weights, x)
            losses.append(-np.mean(np.log(np.where(y, p, 1 - p))))
            slope = np.concatenate([[np.sum(p - y)], (p - y) @ x]) / len(y)
            weights -= 0.3 * slope
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}")

    right = [(predicted(weights, b["x"]) > 0.5) == b["y"] for b in test.batch(500)]
    share = np.concatenate(right).mean()
    print(f"right: {share:.1%} of the {args.rows // 5:,} flights kept apart")
    if share < 0.7:
        sys.exit("it has not learnt")


if __name__ == "__main__":
    main()
