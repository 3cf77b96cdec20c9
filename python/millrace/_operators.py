"""What can be done with a dataset: a method each.

Written by tools/python_faces.py from the catalog of the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from millrace._plain import text_list

if TYPE_CHECKING:
    from millrace.dataset import Dataset


class Operators(ABC):
    """The methods of a dataset that put an operator behind it."""

    @abstractmethod
    def _then(
        self, operator: str, arguments: dict[str, Any], others: Sequence[Dataset]
    ) -> Dataset:
        """Puts an operator behind this dataset and others."""

    def batch(self, size: int, *, drop_remainder: bool = False) -> Dataset:
        """Groups consecutive rows into one, along a new leading axis.

        Args:
            size: Rows per batch.
            drop_remainder: Leave out a last batch that is not full.
        """
        arguments: dict[str, Any] = {"size": size, "drop_remainder": drop_remainder}
        return self._then("batch", arguments, [])

    def bucket(
        self,
        length: Callable[..., Any],
        up_to: Sequence[int],
        sizes: Sequence[int],
        *,
        group: int = 1,
        drop_remainder: bool = False,
        pad_value: float = 0.0,
        pad_to_bucket: bool = False,
        ragged: bool = False,
        per_lane: bool = False,
    ) -> Dataset:
        """Makes batches of rows of about the same length, so that little is padded.

        Rows wait in the bucket of their length until it is full.

        Args:
            length: From the row to its length, an int64.
            up_to: The longest length of each bucket, rising; longer rows have one more
                bucket for themselves.
            sizes: Rows per batch: one number for all buckets, or one for each.
            group: Batches of one bucket that come one after the other, so that as many
                consumers get batches of like length in each round.
            drop_remainder: Leave out batches at the end that are not full.
            pad_value: What to fill up with; every padded field must be able to hold it.
            pad_to_bucket: Pad the first axis to the longest length of the bucket, not
                of the batch, so that there are few shapes.
            ragged: Do not pad: rows keep their lengths.
            per_lane: Begin anew with every lane, so that there can be many; each ends
                with batches that are not full.
        """
        arguments: dict[str, Any] = {
            "length": length,
            "up_to": up_to,
            "sizes": sizes,
            "group": group,
            "drop_remainder": drop_remainder,
            "pad_value": pad_value,
            "pad_to_bucket": pad_to_bucket,
            "ragged": ragged,
            "per_lane": per_lane,
        }
        return self._then("bucket", arguments, [])

    def cache(self, path: str | PathLike[str] | None = None) -> Dataset:
        """Keeps the rows that come to it, so that later passes need not compute them
        again: in memory, or in files.

        What stands before it gives the same rows, in the same order and with the same
        draws, in every pass; so put random augmentation and shuffles behind it. Rows
        are kept by chunks where all that stands before it works row by row, and as far
        as there is room: what finds none is computed again. Files of changed data or of
        another pipeline are never taken. It may be shared by pipelines that begin
        alike.

        Args:
            path: The folder to keep rows in, made where it is missing; by default they
                are kept in memory, for as long as the process lives.
        """
        arguments: dict[str, Any] = {"path": path}
        return self._then("cache", arguments, [])

    def choose(
        self,
        *others: Dataset,
        stop: Literal["first", "all"] = "first",
    ) -> Dataset:
        """Gives rows of its inputs in the order that the first input tells: each of its
        rows is a number, 0 for the next row of the second input, 1 for that of the
        third, and so on.

        Args:
            others: The other inputs, behind this one.
            stop: When to end: with the first choice of an input that has ended, or with
                all, such choices being passed over.
        """
        arguments: dict[str, Any] = {"stop": stop}
        return self._then("choose", arguments, others)

    def concat(self, *others: Dataset) -> Dataset:
        """Gives the rows of the first input, then those of the next.

        All must have the same fields, of the same types.

        Args:
            others: The other inputs, behind this one.
        """
        return self._then("concat", {}, others)

    def drop(self, fields: str | Sequence[str]) -> Dataset:
        """Leaves these fields out.

        Args:
            fields: Their names.
        """
        arguments: dict[str, Any] = {"fields": text_list(fields)}
        return self._then("drop", arguments, [])

    def enumerate(self, *, field: str = "index", start: int = 0) -> Dataset:
        """Gives every row its number in the pass, as a field.

        Args:
            field: The name of the field.
            start: The first number.
        """
        arguments: dict[str, Any] = {"field": field, "start": start}
        return self._then("enumerate", arguments, [])

    def filter(
        self,
        predicate: Callable[..., Any],
        *,
        seed: int | None = None,
    ) -> Dataset:
        """Keeps the rows for which a condition holds.

        Args:
            predicate: From the row to a bool.
            seed: For random numbers; by default the job's.
        """
        arguments: dict[str, Any] = {"predicate": predicate, "seed": seed}
        return self._then("filter", arguments, [])

    def flat_map(
        self,
        function: Callable[..., Any],
        *,
        seed: int | None = None,
    ) -> Dataset:
        """Makes several rows of each: a function gives lists of one length, and every
        item becomes a row.

        Fields without an axis go into each of these rows.

        Args:
            function: From the row to a row of lists.
            seed: For random numbers; by default the job's.
        """
        arguments: dict[str, Any] = {"function": function, "seed": seed}
        return self._then("flat_map", arguments, [])

    def global_shuffle(self, *, seed: int | None = None) -> Dataset:
        """Puts all rows of the pass in random order, not only those of a window, and
        holds none of them in memory.

        Files must have an index (`millrace data index`); only maps, filters and choices
        of fields may stand before it.

        Args:
            seed: By default the job's.
        """
        arguments: dict[str, Any] = {"seed": seed}
        return self._then("global_shuffle", arguments, [])

    def group_by(
        self,
        key: Callable[..., Any],
        *,
        size: int | None = None,
        drop_remainder: bool = False,
        per_lane: bool = False,
    ) -> Dataset:
        """Makes one row of several rows with the same key: every field is the list of
        theirs.

        A group is given when it is full; those that are not, at the end, in the order
        in which they began.

        Args:
            key: From the row to an integer, bool or text.
            size: Rows in a full group; by default a group takes all rows of its key,
                and comes at the end.
            drop_remainder: Leave out groups at the end that are not full.
            per_lane: Group the rows of every lane for themselves, so that there can be
                many.
        """
        arguments: dict[str, Any] = {
            "key": key,
            "size": size,
            "drop_remainder": drop_remainder,
            "per_lane": per_lane,
        }
        return self._then("group_by", arguments, [])

    def ignore_errors(self, *, budget: int | None = None, report: int = 10) -> Dataset:
        """Leaves out rows that are corrupt or that a function before it fails on, and
        counts them.

        Files that cannot be read are errors as ever.

        Args:
            budget: How many rows may be left out in a pass before it fails; any number
                by default.
            report: How many of the errors are kept to be shown, the first ones.
        """
        arguments: dict[str, Any] = {"budget": budget, "report": report}
        return self._then("ignore_errors", arguments, [])

    def map(self, function: Callable[..., Any], *, seed: int | None = None) -> Dataset:
        """Replaces every row by what a function makes of it.

        Args:
            function: From the row to the new row.
            seed: For random numbers; by default the job's.
        """
        arguments: dict[str, Any] = {"function": function, "seed": seed}
        return self._then("map", arguments, [])

    def mix(
        self,
        *others: Dataset,
        weights: Sequence[float] = (),
        stop: Literal["all", "first"] = "all",
        seed: int | None = None,
    ) -> Dataset:
        """Gives the rows of its inputs in random turn, by weight; the rows of each stay
        in their order.

        Args:
            others: The other inputs, behind this one.
            weights: How often each input's turn comes, relative to the others; by
                default equally often.
            stop: When to end: with the first input that ends, or with all of them, the
                others going on.
            seed: By default the job's.
        """
        arguments: dict[str, Any] = {"weights": weights, "stop": stop, "seed": seed}
        return self._then("mix", arguments, others)

    def pack(
        self,
        size: int,
        *,
        method: Literal["best_fit", "first_fit", "split"] = "best_fit",
        open: int = 256,
        pad_value: float = 0.0,
        segments: str = "segment_ids",
        positions: str = "positions",
        drop_remainder: bool = False,
        per_lane: bool = False,
    ) -> Dataset:
        """Packs sequences into rows of one length, so that little is padded, with two
        more fields: which sequence of its row an item is of, from 1 on, and its place
        in that.

        Both are 0 where padded.

        Args:
            size: Items in a row.
            method: best_fit and first_fit keep sequences whole: each goes into the open
                row with the least room that suffices, or into the first with room.
                split joins all of them and cuts at every `size` items.
            open: Rows that are open at once; more of them leave less room unused.
            pad_value: What to fill up with.
            segments: The field of the sequences' numbers.
            positions: The field of the items' places.
            drop_remainder: Leave out rows at the end that are not full.
            per_lane: Begin anew with every lane, so that there can be many.
        """
        arguments: dict[str, Any] = {
            "size": size,
            "method": method,
            "open": open,
            "pad_value": pad_value,
            "segments": segments,
            "positions": positions,
            "drop_remainder": drop_remainder,
            "per_lane": per_lane,
        }
        return self._then("pack", arguments, [])

    def padded_batch(
        self,
        size: int,
        *,
        drop_remainder: bool = False,
        pad_value: float = 0.0,
        to_multiple_of: int | None = None,
    ) -> Dataset:
        """Groups consecutive rows into one, along a new leading axis.

        Rows of differing shape are padded at the end of each axis, to the largest of
        the batch; texts are not.

        Args:
            size: Rows per batch.
            drop_remainder: Leave out a last batch that is not full.
            pad_value: What to fill up with; every padded field must be able to hold it.
            to_multiple_of: Round the size of padded axes up to a multiple of this; by
                default not.
        """
        arguments: dict[str, Any] = {
            "size": size,
            "drop_remainder": drop_remainder,
            "pad_value": pad_value,
            "to_multiple_of": to_multiple_of,
        }
        return self._then("padded_batch", arguments, [])

    def prefetch(self, count: int | None = None) -> Dataset:
        """Changes nothing: the engine works ahead of the consumer by itself, as far as
        its memory budget allows.

        Args:
            count: How much to prefetch, as other systems ask; any value is taken, and
                none has an effect.
        """
        arguments: dict[str, Any] = {"count": count}
        return self._then("prefetch", arguments, [])

    def ragged_batch(self, size: int, *, drop_remainder: bool = False) -> Dataset:
        """Groups consecutive rows into one, along a new leading axis.

        Rows of differing shape stay as they are: values, and where each row begins.

        Args:
            size: Rows per batch.
            drop_remainder: Leave out a last batch that is not full.
        """
        arguments: dict[str, Any] = {"size": size, "drop_remainder": drop_remainder}
        return self._then("ragged_batch", arguments, [])

    def rebatch(self, size: int, *, drop_remainder: bool = False) -> Dataset:
        """Makes batches of another size, with the rows in the same order: as unbatch
        and batch do.

        Args:
            size: Rows per batch.
            drop_remainder: Leave out a last batch that is not full.
        """
        arguments: dict[str, Any] = {"size": size, "drop_remainder": drop_remainder}
        return self._then("rebatch", arguments, [])

    def reduce(
        self,
        function: Callable[..., Any],
        state: str,
        *,
        initial: Sequence[float] = (),
    ) -> Dataset:
        """Gives one row: the state that is left when a function has seen every row with
        the state before it.

        Args:
            function: From the row, with the state in fields such as state.sum, to the
                next state, in fields of these names. What it does not give stays.
            state: The fields of the state: "{sum: int64}".
            initial: What its fields begin with, a number for each; by default 0. Texts
                are empty.
        """
        arguments: dict[str, Any] = {
            "function": function,
            "state": state,
            "initial": initial,
        }
        return self._then("reduce", arguments, [])

    def rename(self, names: Mapping[str, str]) -> Dataset:
        """Calls fields by other names.

        Args:
            names: The new name of each field, by the old one.
        """
        arguments: dict[str, Any] = {"from": list(names), "to": list(names.values())}
        return self._then("rename", arguments, [])

    def repeat(self, count: int | None = None) -> Dataset:
        """Gives all rows again and again, each time reshuffled.

        Before a batch, batches go on from one turn into the next; behind it, each turn
        ends with its own last batch.

        Args:
            count: How often; by default without end.
        """
        arguments: dict[str, Any] = {"count": count}
        return self._then("repeat", arguments, [])

    def resample(
        self,
        label: Callable[..., Any],
        target: Sequence[float],
        *,
        initial: Sequence[float] = (),
        seed: int | None = None,
    ) -> Dataset:
        """Leaves out rows at random, so that classes come as often as is wanted.

        The class that is rarest beside what is wanted is kept whole.

        Args:
            label: From the row to its class: 0, 1, ... as an int64.
            target: How often each class is wanted, relative to the others.
            initial: How often each comes by itself, relative to the others; by default
                it is counted on the way, and the first rows are kept by guess.
            seed: By default the job's.
        """
        arguments: dict[str, Any] = {
            "label": label,
            "target": target,
            "initial": initial,
            "seed": seed,
        }
        return self._then("resample", arguments, [])

    def scan(
        self,
        function: Callable[..., Any],
        state: str,
        *,
        initial: Sequence[float] = (),
    ) -> Dataset:
        """Replaces every row by what a function makes of it and of a state, which it
        hands on to the next row.

        One row at a time.

        Args:
            function: From the row, with the state in fields such as state.sum, to the
                next state, in fields of these names. What it does not give stays.
            state: The fields of the state: "{sum: int64}".
            initial: What its fields begin with, a number for each; by default 0. Texts
                are empty.
        """
        arguments: dict[str, Any] = {
            "function": function,
            "state": state,
            "initial": initial,
        }
        return self._then("scan", arguments, [])

    def select(self, fields: str | Sequence[str]) -> Dataset:
        """Keeps these fields, in this order, and no others.

        Args:
            fields: Their names.
        """
        arguments: dict[str, Any] = {"fields": text_list(fields)}
        return self._then("select", arguments, [])

    def shard(
        self,
        shards: int,
        index: int,
        *,
        run: int = 1,
        whole_rounds: bool = False,
    ) -> Dataset:
        """Gives every n-th row of the pass, or run of rows.

        Args:
            shards: How many shards there are.
            index: Which of them; the first is 0.
            run: Rows that go to one shard before the next's turn.
            whole_rounds: Leave out the last rows where they are not enough for all
                shards; the pass is then one lane.
        """
        arguments: dict[str, Any] = {
            "shards": shards,
            "index": index,
            "run": run,
            "whole_rounds": whole_rounds,
        }
        return self._then("shard", arguments, [])

    def shuffle(self, window: int, *, seed: int | None = None) -> Dataset:
        """Puts rows in random order: the chunks of the whole data are permuted, and
        rows are mixed within a moving window.

        Behind operators that go by the order of rows, such as take, chunks stay in
        theirs.

        Args:
            window: Rows to choose the next one from.
            seed: By default the job's.
        """
        arguments: dict[str, Any] = {"window": window, "seed": seed}
        return self._then("shuffle", arguments, [])

    def skip(self, count: int) -> Dataset:
        """Leaves out the first rows of the pass.

        Args:
            count: How many.
        """
        arguments: dict[str, Any] = {"count": count}
        return self._then("skip", arguments, [])

    def take(self, count: int) -> Dataset:
        """Gives the first rows of the pass and no others.

        Args:
            count: How many.
        """
        arguments: dict[str, Any] = {"count": count}
        return self._then("take", arguments, [])

    def take_while(
        self,
        predicate: Callable[..., Any],
        *,
        seed: int | None = None,
    ) -> Dataset:
        """Gives the rows up to the first for which a condition does not hold.

        Args:
            predicate: From the row to a bool.
            seed: For random numbers; by default the job's.
        """
        arguments: dict[str, Any] = {"predicate": predicate, "seed": seed}
        return self._then("take_while", arguments, [])

    def unbatch(self) -> Dataset:
        """Takes batches apart: one row for each part along the leading axis."""
        return self._then("unbatch", {}, [])

    def unique(
        self,
        *,
        fields: str | Sequence[str] = (),
        per_lane: bool = False,
    ) -> Dataset:
        """Gives each row once: rows that came before, with the same fields, are left
        out.

        Remembers 16 bytes of every row that it gives.

        Args:
            fields: What must differ; by default any field will do.
            per_lane: Compare only with rows of the same lane, so that there can be
                many.
        """
        arguments: dict[str, Any] = {"fields": text_list(fields), "per_lane": per_lane}
        return self._then("unique", arguments, [])

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        per_lane: bool = False,
    ) -> Dataset:
        """Gives rows of several consecutive rows each, which may overlap: every field
        is the list of theirs.

        What stands in such a list is up to a map behind.

        Args:
            size: Rows in a window.
            shift: Rows from the beginning of a window to that of the next; by default
                its size, so that none overlap.
            stride: Rows from one in a window to the next.
            drop_remainder: Leave out windows at the end that are not full.
            per_lane: Begin anew with every lane, so that there can be many.
        """
        arguments: dict[str, Any] = {
            "size": size,
            "shift": shift,
            "stride": stride,
            "drop_remainder": drop_remainder,
            "per_lane": per_lane,
        }
        return self._then("window", arguments, [])

    def zip(self, *others: Dataset) -> Dataset:
        """Puts the rows of its inputs side by side: the first with the first, and so
        on, until one input ends.

        Args:
            others: The other inputs, behind this one.
        """
        return self._then("zip", {}, others)
