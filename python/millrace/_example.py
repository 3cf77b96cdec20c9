"""Reads whole records of tf.train.Example: mr.example.parse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from millrace._kernel_call import Value, call

_KERNELS = {
    int: "example_ints",
    float: "example_floats",
    bytes: "example_texts",
    str: "example_texts",
}


@dataclass(frozen=True)
class Feature:
    """What a feature holds, where its type alone does not say it.

    Args:
        type: int, float, bytes or str.
        shape: The shape that every row's values have; () is one value. None is one axis
            of any length.
        default: The values where a row has no such feature; None is that the row is
            wrong.
    """

    type: type
    shape: Sequence[int] | None = ()
    default: Any = None


# int is one value, [int] a list of any length, Feature says more.
FeatureType: TypeAlias = type | list[type] | Feature


def parse(record: Value, features: Mapping[str, FeatureType]) -> dict[str, Value]:
    """Reads features of a tf.train.Example: int64, float32, bytes or strings.

    Args:
        record: The bytes of one record per row.
        features: What each feature holds: a type (int, float, bytes or str) for one
            value, a list of a type for any number of them, or a Feature.

    Example:
        >>> ds = mr.read_tfrecord("train-*.tfrecord").map(
        ...     lambda row: mr.example.parse(
        ...         row["record"], {"image": bytes, "label": int, "boxes": [float]}
        ...     )
        ... )  # doctest: +SKIP
    """
    names = list(features)
    entries = call("example_features", [record], {"names": names})
    return {
        name: _value(record, entries, index, (name, _feature(name, features[name])))
        for index, name in enumerate(names)
    }


def _feature(name: str, given: FeatureType) -> Feature:
    feature = given
    if isinstance(given, list) and len(given) == 1:
        feature = Feature(given[0], shape=None)
    elif isinstance(given, type):
        feature = Feature(given)
    if not isinstance(feature, Feature) or feature.type not in _KERNELS:
        raise TypeError(
            f"feature {name}: its type is int, float, bytes or str, a list of one of "
            f"these, or a Feature, not {given!r}"
        )
    return feature


def _value(
    record: Value, entries: Value, index: int, named: tuple[str, Feature]
) -> Value:
    name, feature = named
    default = feature.default
    if isinstance(default, int | float | str | bytes):
        default = [default]
    arguments = {
        "index": index,
        "name": name,
        "shape": None if feature.shape is None else list(feature.shape),
        "default": default,
    }
    value = call(_KERNELS[feature.type], [record, entries], arguments)
    return call("check_utf8", [value], {}) if feature.type is str else value
