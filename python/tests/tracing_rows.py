"""Rows for the tests of tracing, and ways to see what a function became."""

from collections.abc import Callable
from typing import Any

from millrace import _core
from millrace.tracing import TracedFunction, trace

# One field of each kind: numbers, arrays of known and of unknown size, texts, images.
ROWS = _core.Pipeline.parse(
    """
    %0 = range(start=1, stop=4)
    %1 = map(%0, function={
      x: .value,
      f: cast(.value, dtype="float32") / 2.0,
      v: float32[1.0, 2.5, -3.0, 4.0] + cast(.value, dtype="float32"),
      n: range(.value),
      ok: .value > 1,
      t: text_join("row ", to_text(.value)),
      b: cast(to_text(.value * 1000), dtype="bytes"),
      img: decode_image(encode_image(
        cast(fill(.value * 10, shape=[4, 6, 3]), dtype="uint8"), format="png"))})
    """,
    [],
)


def traced(
    function: Callable[..., Any], operator: str = "map", argument: str = "function"
) -> TracedFunction:
    """Traces a function of these rows."""
    return trace(function, operator, argument, {}, [ROWS])


def text_of(function: Callable[..., Any]) -> str:
    """Gives a function of one value as the text form has it, without braces."""
    return traced(function, "filter", "predicate").function.text[1:-1]


def rows_of(pipeline: _core.Pipeline, *, seed: int = 0, epoch: int = 0) -> list[Any]:
    """Runs a pipeline, and gives its rows as dicts."""
    engine = _core.Engine(2, 64 << 20, 0)
    passing = engine.open(pipeline, seed=seed, epoch=epoch, any_order=False, state=None)
    names = [name for name, _, _ in pipeline.fields]
    rows: list[dict[str, Any]] = []
    while (block := passing.next()) is not None:
        count, columns, _ = block
        for i in range(count):
            values = [column[i] for column in columns]
            rows.append(dict(zip(names, values, strict=True)))
    return rows


def mapped(function: Callable[..., Any], *, seed: int = 0, epoch: int = 0) -> list[Any]:
    """Traces a function, and gives what it makes of the rows."""
    arguments = {"function": traced(function).function, "seed": None}
    pipeline = _core.Pipeline.make("map", arguments, [ROWS])
    return rows_of(pipeline, seed=seed, epoch=epoch)
