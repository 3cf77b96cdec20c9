"""Texts: strings and bytes.

Written by tools/python_faces.py from the catalog of the engine.
"""

from typing import Literal

from millrace._kernel_call import Value, call, several
from millrace._numpy_calls import DType, dtype_name


def byte_length(x: Value) -> Value:
    """Counts the bytes of texts.

    Args:
        x: Texts of any shape.

    Example:
        >>> int(mr.text.byte_length("häuser"))
        7
    """
    return call("byte_length", [x], {})


def character_length(x: Value) -> Value:
    """Counts the characters (code points) of strings.

    Args:
        x: Strings of any shape.
    """
    return call("character_length", [x], {})


def check_utf8(x: Value) -> Value:
    """Makes strings of bytes; those that are not valid UTF-8 are an error of the row,
    which tells the first wrong byte.

    Args:
        x: Texts of any shape.
    """
    return call("check_utf8", [x], {})


def concat(*values: Value) -> Value:
    """Joins texts end to end: a string if all are, else bytes.

    Args:
        values: Texts. Two or more, or a list of them.

    Example:
        >>> mr.text.concat("a", "b")
        'ab'
    """
    return call("text_join", several(values), {})


def contains(x: Value, part: Value) -> Value:
    """Tells whether part is somewhere in texts.

    Args:
        x: The texts.
        part: What to look for; broadcast against x.
    """
    return call("contains", [x, part], {})


def ends_with(x: Value, part: Value) -> Value:
    """Tells whether texts end with part.

    Args:
        x: The texts.
        part: What to look for; broadcast against x.
    """
    return call("ends_with", [x, part], {})


def is_utf8(x: Value) -> Value:
    """Tells whether texts are valid UTF-8.

    Args:
        x: Texts of any shape.
    """
    return call("is_utf8", [x], {})


def join(x: Value, separator: str = "") -> Value:
    """Joins the texts along the last axis to one, which goes away.

    Args:
        x: Texts with at least one axis.
        separator: What to put between them.
    """
    arguments: dict[str, object] = {"separator": separator}
    return call("join", [x], arguments)


def lower(x: Value) -> Value:
    """Turns the letters A to Z into a to z; all others stay.

    Args:
        x: Texts of any shape.
    """
    return call("lower", [x], {})


def replace(x: Value, old: str, new: str) -> Value:
    """Replaces a part of texts wherever it is, from left to right.

    Args:
        x: Texts of any shape.
        old: The part to replace; not empty.
        new: What to put in its place.
    """
    arguments: dict[str, object] = {"old": old, "new": new}
    return call("replace", [x], arguments)


def slice(x: Value, *, start: int | None = None, stop: int | None = None) -> Value:
    """Takes the bytes from start up to, not including, stop; to cut through a character
    of a string is an error of the row.

    Args:
        x: Texts of any shape.
        start: The first byte, counted from the end when negative; none is the
            beginning.
        stop: The byte after the last, counted from the end when negative; none is the
            end.
    """
    arguments: dict[str, object] = {"start": start, "stop": stop}
    return call("text_slice", [x], arguments)


def split(x: Value, separator: str | None = None) -> Value:
    """Splits a text into its parts, as Python does.

    Args:
        x: One text per row.
        separator: What stands between parts; none is white space, of which any length
            is one separator and the ends are none.

    Example:
        >>> mr.text.split("a b c")
        ['a', 'b', 'c']
    """
    arguments: dict[str, object] = {"separator": separator}
    return call("split", [x], arguments)


def starts_with(x: Value, part: Value) -> Value:
    """Tells whether texts begin with part.

    Args:
        x: The texts.
        part: What to look for; broadcast against x.
    """
    return call("starts_with", [x, part], {})


def strip(
    x: Value,
    *,
    characters: str | None = None,
    side: Literal["both", "left", "right"] = "both",
) -> Value:
    """Takes white space, or other characters, off the ends of texts.

    Args:
        x: Texts of any shape.
        characters: The characters to take off, of ASCII; none is white space.
        side: The end from which to take them.
    """
    arguments: dict[str, object] = {"characters": characters, "side": side}
    return call("strip", [x], arguments)


def to_number(x: Value, dtype: DType = "float32") -> Value:
    """Reads texts as decimal numbers, with white space around them; a text that is
    none, or out of range, is an error of the row.

    Args:
        x: Texts of any shape.
        dtype: The type of the numbers.
    """
    arguments: dict[str, object] = {"dtype": dtype_name(dtype)}
    return call("to_number", [x], arguments)


def to_text(x: Value) -> Value:
    """Prints numbers and bools as the text form does, without a suffix: the shortest
    digits that read back as the same value.

    Args:
        x: Numbers or bools of any shape.
    """
    return call("to_text", [x], {})


def upper(x: Value) -> Value:
    """Turns the letters a to z into A to Z; all others stay.

    Args:
        x: Texts of any shape.

    Example:
        >>> mr.text.upper("abc")
        'ABC'
    """
    return call("upper", [x], {})
