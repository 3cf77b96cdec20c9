"""Trains a small network in JAX on digits that are drawn, as MNIST has them.

They come out of the pipeline as JAX's arrays, turned and moved anew in each epoch.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import millrace as mr

SIDE = 28
# Each digit in 5 lines of 3 dots: a figure is a line, in binary.
GLYPHS = (75557, 26227, 71747, 71717, 55711, 74717, 74757, 71122, 75757, 75717)
Parameters = list[tuple[jax.Array, jax.Array]]


def make_digits(count: int, seed: int) -> mr.Dataset:
    """Draw digits in grey on black, of several sizes, with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    images = np.zeros((count, SIDE, SIDE, 1), np.uint8)
    for image, label in zip(images, labels, strict=True):
        lines = [list(f"{int(line):03b}") for line in str(GLYPHS[label])]
        dot = np.ones(rng.integers(3, 5, 2), np.uint8)
        glyph = np.kron(np.array(lines, np.uint8), dot)
        top, left = (np.array([SIDE, SIDE]) - glyph.shape) // 2
        place = image[top : top + glyph.shape[0], left : left + glyph.shape[1], 0]
        place += glyph * np.uint8(rng.integers(120, 200))
    images += rng.integers(0, 55, images.shape, np.uint8)
    return mr.from_arrays({"image": images, "label": labels})


def finish(image: Any) -> Any:
    """Make a vector of numbers around 0."""
    return mr.image.normalize(image, (0.2,), (0.3,)).reshape(SIDE * SIDE)


def augment(row: Any, rng: mr.Rng) -> dict[str, Any]:
    """Move a digit by up to three pixels, turn it, and scale it."""
    moved = mr.image.affine(
        row["image"],
        angle=rng.uniform(-12, 12),
        translate_x=rng.integers(-3, 4),
        translate_y=rng.integers(-3, 4),
        scale=rng.uniform(0.9, 1.1),
        shear_x=0.0,
        shear_y=0.0,
        method="bilinear",
    )
    return {"image": finish(moved), "label": row["label"]}


def plain(row: Any) -> dict[str, Any]:
    """Make a row to evaluate with."""
    return {"image": finish(row["image"]), "label": row["label"]}


def initial(sizes: tuple[int, ...]) -> Parameters:
    """Draw weights for layers of these sizes."""
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    return [
        (jax.random.normal(key, (m, n)) * jnp.sqrt(2 / m), jnp.zeros(n))
        for key, m, n in zip(keys, sizes, sizes[1:], strict=False)
    ]


def logits(parameters: Parameters, x: jax.Array) -> jax.Array:
    """Run the network."""
    for weights, bias in parameters[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    return x @ parameters[-1][0] + parameters[-1][1]


def loss_of(parameters: Parameters, batch: Any) -> jax.Array:
    """Compute the mean cross entropy."""
    likely = jax.nn.log_softmax(logits(parameters, batch["image"]))
    return -jnp.take_along_axis(likely, batch["label"][:, None], axis=1).mean()


@jax.jit
def update(parameters: Parameters, batch: Any) -> tuple[Parameters, jax.Array]:
    """Take one step down the slope."""
    loss, slopes = jax.value_and_grad(loss_of)(parameters, batch)
    return jax.tree.map(lambda p, s: p - 0.05 * s, parameters, slopes), loss


def main() -> None:
    """Train for some epochs; test on digits that were drawn apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    digits = make_digits(args.digits, seed=0).shuffle(args.digits).map(augment)
    loader = digits.batch(32, drop_remainder=True).loader(seed=7).to("jax")
    test = make_digits(500, seed=1).map(plain).batch(100).to("jax")

    parameters = initial((SIDE * SIDE, 64, 10))
    for epoch in range(args.epochs):
        for batch in loader:
            parameters, loss = update(parameters, batch)
        rate = loader.stats()["rows_per_second"]
        print(f"epoch {epoch}: last loss {loss:.3f}, {rate:,.0f} digits/s")

    right = [logits(parameters, b["image"]).argmax(1) == b["label"] for b in test]
    share = float(jnp.concatenate(right).mean())
    print(f"right: {share:.1%} of 500 digits drawn apart")
    if share < 0.8:
        sys.exit("it has not learnt")


if __name__ == "__main__":
    main()
