"""Regular expressions, in RE2's syntax.

Written by tools/python_faces.py from the catalog of the engine.
"""

from millrace._kernel_call import Value, call


def extract(x: Value, pattern: str, *, group: int = 0) -> Value:
    """Gives the first match of a regular expression, or a group of it; an empty text
    where nothing matches.

    Args:
        x: Texts of any shape.
        pattern: The regular expression, in the syntax of RE2. On strings it is about
            characters, on bytes about bytes.
        group: The number of the group; 0 is all of the match.

    Example:
        >>> mr.regex.extract("id-42", "[0-9]+")
        '42'
    """
    arguments: dict[str, object] = {"pattern": pattern, "group": group}
    return call("regex_extract", [x], arguments)


def match(x: Value, pattern: str, *, whole: bool = False) -> Value:
    """Tells whether texts match a regular expression.

    Args:
        x: Texts of any shape.
        pattern: The regular expression, in the syntax of RE2. On strings it is about
            characters, on bytes about bytes.
        whole: Whether the whole text must match; else a part will do.
    """
    arguments: dict[str, object] = {"pattern": pattern, "whole": whole}
    return call("regex_match", [x], arguments)


def replace(x: Value, pattern: str, new: str) -> Value:
    """Replaces every match of a regular expression, from left to right.

    Args:
        x: Texts of any shape.
        pattern: The regular expression, in the syntax of RE2. On strings it is about
            characters, on bytes about bytes.
        new: What to put in its place; \\1 to \\9 are the pattern's groups, \\0 is all
            of the match.
    """
    arguments: dict[str, object] = {"pattern": pattern, "new": new}
    return call("regex_replace", [x], arguments)


def split(x: Value, pattern: str) -> Value:
    """Splits a text at the matches of a regular expression; a match of nothing does not
    split.

    Args:
        x: One text per row.
        pattern: The regular expression, in the syntax of RE2. On strings it is about
            characters, on bytes about bytes.
    """
    arguments: dict[str, object] = {"pattern": pattern}
    return call("regex_split", [x], arguments)
