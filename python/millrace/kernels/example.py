"""Records of tf.train.Example and tf.train.SequenceExample.

Written by tools/python_faces.py from the catalog of the engine.
"""

from collections.abc import Sequence

from millrace._example import Feature as Feature
from millrace._example import parse as parse
from millrace._kernel_call import Value, call
from millrace._plain import text_list


def features(record: Value, names: str | Sequence[str]) -> Value:
    """Finds features of a tf.train.Example, or in the context of a
    tf.train.SequenceExample: where each begins and ends in the record, -1 where it is
    missing.

    Args:
        record: The bytes of one record per row.
        names: The names of the features, each once.
    """
    arguments: dict[str, object] = {"names": text_list(names)}
    return call("example_features", [record], arguments)


def floats(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    default: Sequence[float] | None = None,
) -> Value:
    """Reads a feature of a tf.train.Example that has floats, as float32.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that a row's values have, else the row is wrong; none is one
            axis of any length.
        default: The values where the feature is missing: one for all, or as many as the
            shape has; none is that the row is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "default": default,
    }
    return call("example_floats", [record, entries], arguments)


def ints(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    default: Sequence[int] | None = None,
) -> Value:
    """Reads a feature of a tf.train.Example that has integers, as int64.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that a row's values have, else the row is wrong; none is one
            axis of any length.
        default: The values where the feature is missing: one for all, or as many as the
            shape has; none is that the row is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "default": default,
    }
    return call("example_ints", [record, entries], arguments)


def sequence_features(record: Value, names: str | Sequence[str]) -> Value:
    """Finds feature lists of a tf.train.SequenceExample: where each begins and ends in
    the record, -1 where it is missing.

    Args:
        record: The bytes of one record per row.
        names: The names of the features, each once.
    """
    arguments: dict[str, object] = {"names": text_list(names)}
    return call("sequence_features", [record], arguments)


def sequence_floats(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    optional: bool = False,
) -> Value:
    """Reads a feature list of a tf.train.SequenceExample that has floats, as float32:
    steps along the first axis.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that the values of each step have, else the row is wrong; none
            is one axis of any length.
        optional: Whether a row without the list has no steps; else it is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "optional": optional,
    }
    return call("sequence_floats", [record, entries], arguments)


def sequence_ints(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    optional: bool = False,
) -> Value:
    """Reads a feature list of a tf.train.SequenceExample that has integers, as int64:
    steps along the first axis.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that the values of each step have, else the row is wrong; none
            is one axis of any length.
        optional: Whether a row without the list has no steps; else it is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "optional": optional,
    }
    return call("sequence_ints", [record, entries], arguments)


def sequence_texts(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    optional: bool = False,
) -> Value:
    """Reads a feature list of a tf.train.SequenceExample that has texts, as bytes:
    steps along the first axis.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that the values of each step have, else the row is wrong; none
            is one axis of any length.
        optional: Whether a row without the list has no steps; else it is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "optional": optional,
    }
    return call("sequence_texts", [record, entries], arguments)


def texts(
    record: Value,
    entries: Value,
    index: int,
    name: str,
    *,
    shape: Sequence[int] | None = None,
    default: str | Sequence[str] | None = None,
) -> Value:
    """Reads a feature of a tf.train.Example that has texts, as bytes.

    Args:
        record: The bytes of one record per row.
        entries: Where its features are, as example_features or sequence_features found
            them.
        index: Which of the names that were looked for: its place in the list.
        name: The name itself; checked, and told in errors.
        shape: The shape that a row's values have, else the row is wrong; none is one
            axis of any length.
        default: The values where the feature is missing: one for all, or as many as the
            shape has; none is that the row is wrong.
    """
    arguments: dict[str, object] = {
        "index": index,
        "name": name,
        "shape": shape,
        "default": text_list(default),
    }
    return call("example_texts", [record, entries], arguments)
