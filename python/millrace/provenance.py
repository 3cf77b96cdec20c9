"""Where the rows of a batch come from, found by running that batch once more.

The engine gives every row an identity that tells its source and its number there. A
pass computes them only where something needs them, so that looking costs nothing until
somebody looks: then the last batch is run again, with identities, from the state before
it, and the files say where those rows stand.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from millrace import _core
from millrace.errors import Error, PipelineError

if TYPE_CHECKING:
    from millrace.passes import Pass

# What makes one row of so many that it comes from nowhere in particular.
_IMPASSABLE = ("reduce",)


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a row comes from.

    Attributes:
        file: The path of its file; None for rows that come out of no file.
        offset: The byte where the row begins in the file, in a compressed one of what
            is unpacked; the row's number where rows begin at no byte of their own, as
            in Parquet, or come out of no file. As errors name it.
        key: The row's own name, `__key__` of a tar file; None where it has none.
        others: Of a row that was made of several, by `zip` or `pack`, the others.
    """

    file: str | None
    offset: int
    key: str | None = None
    others: tuple[Origin, ...] = ()


def origins_of(run: Pass, taken: int) -> list[Origin]:
    """Find the rows of the last of so many taken batches of a pass."""
    if taken <= run.begun:
        raise PipelineError(
            "provenance tells of the last batch that was taken, and none was since the "
            "pass began: take one first"
        )
    if run.any_order:
        raise PipelineError(
            'with order="any" a batch cannot be given again, nor its provenance: use '
            'order="logical"'
        )
    _check_passes(run.dataset._pipeline)
    try:
        return _found(*run.reopened(taken - 1))
    except Error as error:
        raise type(error)(f"provenance is not known: {error}") from None


def _found(again: _core.Iterator, skip: int) -> list[Origin]:
    """Find the rows of one batch behind others; none where there is none."""
    try:
        while (block := again.next()) is not None:
            rows = block[0]
            if skip < rows:
                return [_origin(places) for places in again.origins(skip)]
            skip -= rows
        return []
    finally:
        again.cancel()


def _origin(places: list[tuple[str | None, int, str | None]]) -> Origin:
    first, *others = (Origin(*place) for place in places)
    return dataclasses.replace(first, others=tuple(others))


def _check_passes(pipeline: _core.Pipeline) -> None:
    if pipeline.operator in _IMPASSABLE:
        raise PipelineError(
            f"provenance does not pass `{pipeline.operator}`: its row is made of all "
            "that came before"
        )
    for before in pipeline.inputs:
        _check_passes(before)
