"""Random numbers of a row: the same traced or in Python, and as they should be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from millrace import _core
from millrace.kernels import image, math
from millrace.rng import Rng, RowRng
from millrace.tracing import TracingError
from tracing_rows import ROWS, mapped, rows_of, traced

Function = Callable[[Any, Rng], Any]

# Rows of the source with number 0 have their place as identity, and the first draw
# behind it has number 1.
FIRST_CALL = 1

SAMPLE: list[Function] = [
    lambda row, rng: rng.uniform(),
    lambda row, rng: rng.uniform(-1, 1, shape=3),
    lambda row, rng: rng.uniform(0, row["x"] + 1),
    lambda row, rng: rng.integers(10),
    lambda row, rng: rng.integers(3, 10, shape=(2, 2)),
    lambda row, rng: rng.normal(),
    lambda row, rng: rng.normal(5.0, row["f"], shape=5),
    lambda row, rng: rng.truncated_normal(shape=7),
    lambda row, rng: rng.bernoulli(0.3, shape=9),
    lambda row, rng: rng.choice(7),
    lambda row, rng: rng.choice([1.5, 2.5, 3.5]),
    lambda row, rng: rng.choice(["a", "b", "c"]),
    lambda row, rng: rng.choice(np.arange(5), p=[0, 0, 1, 1, 0], shape=6),
    lambda row, rng: rng.choice(row["v"], p=row["v"] + 10.0),
    lambda row, rng: rng.permutation(6),
    lambda row, rng: rng.permutation(row["x"]),
    lambda row, rng: rng.permutation(row["v"]),
    lambda row, rng: rng.uniform() * 100 + rng.uniform(),
    lambda row, rng: image.random_flip(row["img"], p=0.5, rng=rng),
    lambda row, rng: image.random_resized_crop(row["img"], (3, 3), rng=rng),
    lambda row, rng: image.color_jitter(row["img"], brightness=0.5, rng=rng),
]


@pytest.mark.parametrize("function", SAMPLE)
def test_a_row_draws_the_same_traced_and_in_python(function: Function) -> None:
    given = mapped(lambda row, rng: {"y": function(row, rng)}, seed=7, epoch=3)
    for i, row in enumerate(rows_of(ROWS)):
        rng = RowRng(7, epoch=3, row=i, first_call=FIRST_CALL)
        np.testing.assert_array_equal(function(row, rng), given[i]["y"])


def test_every_call_seed_epoch_and_row_draws_anew() -> None:
    rng = RowRng(1)
    draws = [rng.uniform(), rng.uniform()]
    draws += [RowRng(2).uniform(), RowRng(1, epoch=1).uniform()]
    draws += [RowRng(1, row=1).uniform(), RowRng(1, row=1 << 64).uniform()]
    assert len(set(draws)) == len(draws)
    assert RowRng(1).uniform() == draws[0]


def test_rows_are_told_apart_by_all_128_bits() -> None:
    rng = RowRng(1, epoch=2, row=(3 << 64) + 4, first_call=5)
    key = (1, 2, 5, 3, 4)
    assert rng.uniform() == _core.evaluate("uniform", [0.0, 1.0], {"shape": []}, key)


def test_draws_lie_where_they_should() -> None:
    rng = RowRng(5)
    numbers = rng.uniform(2, 3, shape=1000)
    assert numbers.shape == (1000,)
    assert numbers.min() >= 2
    assert numbers.max() < 3
    assert set(rng.integers(2, 5, shape=200).tolist()) == {2, 3, 4}
    assert set(rng.integers(2, shape=200).tolist()) == {0, 1}
    assert sorted(rng.permutation(10).tolist()) == list(range(10))
    assert sorted(rng.permutation(["b", "a"])) == ["a", "b"]
    assert rng.choice(["a", "b"], p=[0, 1]) == "b"
    assert set(rng.choice([4, 5], shape=50).tolist()) == {4, 5}
    assert abs(rng.normal(3.0, 0.5, shape=4000).mean() - 3) < 0.1
    assert abs(rng.truncated_normal(shape=1000)).max() <= 2


def test_draws_are_numbered_in_the_order_of_the_calls() -> None:
    def two(row: Any, rng: Rng) -> Any:
        first, second = rng.uniform(), rng.uniform()
        return {"b": second, "a": first}

    given = mapped(two, seed=3)
    rng = RowRng(3, row=0, first_call=FIRST_CALL)
    assert given[0]["a"] == rng.uniform()
    assert given[0]["b"] == rng.uniform()


def test_only_a_rows_own_rng_will_do() -> None:
    outside = RowRng(1)
    numpys: Any = np.random.default_rng(0)
    for wrong in (outside, numpys, 5):
        with pytest.raises(TracingError, match="random_flip: rng must be"):
            traced(
                lambda row, rng, wrong=wrong: {
                    "y": image.random_flip(row["img"], rng=wrong)
                }
            )
    with pytest.raises(TypeError, match="rng must be"):
        image.random_flip(np.zeros((2, 2, 3), np.uint8), rng=numpys)
    with pytest.raises(TracingError, match=r"changes outside|something else"):
        traced(lambda row: {"y": row["x"] + outside.uniform()})


def test_a_chance_may_depend_on_the_row() -> None:
    given = mapped(lambda row, rng: {"y": rng.bernoulli(math.cast(row["ok"], float))})
    assert [bool(row["y"]) for row in given] == [False, True, True]
