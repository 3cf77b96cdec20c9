"""Values in JSON texts.

Written by tools/python_faces.py from the catalog of the engine.
"""

from collections.abc import Sequence

from millrace._kernel_call import Value, call
from millrace._plain import text_list


def bool_(x: Value, path: str = "", *, missing: bool | None = None) -> Value:
    """Reads true or false in a JSON text.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: JSON texts of any shape.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_bool", [x], arguments)


def float_(x: Value, path: str = "", *, missing: float | None = None) -> Value:
    """Reads a number in a JSON text, as float64.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: JSON texts of any shape.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_float", [x], arguments)


def floats(
    x: Value,
    path: str = "",
    *,
    missing: Sequence[float] | None = None,
) -> Value:
    """Reads an array of numbers in a JSON text, as float64.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: One JSON text per row.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_floats", [x], arguments)


def has(x: Value, path: str = "") -> Value:
    """Tells whether a JSON text has a value other than null at a path.

    A text that is no JSON is an error of the row.

    Args:
        x: JSON texts of any shape.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
    """
    arguments: dict[str, object] = {"path": path}
    return call("json_has", [x], arguments)


def int_(x: Value, path: str = "", *, missing: int | None = None) -> Value:
    """Reads a whole number in a JSON text.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: JSON texts of any shape.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.

    Example:
        >>> int(mr.json.int_('{"a": [5, 7]}', "a[1]"))
        7
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_int", [x], arguments)


def ints(x: Value, path: str = "", *, missing: Sequence[int] | None = None) -> Value:
    """Reads an array of whole numbers in a JSON text.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: One JSON text per row.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_ints", [x], arguments)


def text(x: Value, path: str = "", *, missing: str | None = None) -> Value:
    """Reads a string in a JSON text; of any other value, gives its JSON as it stands.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: JSON texts of any shape.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.
    """
    arguments: dict[str, object] = {"path": path, "missing": missing}
    return call("json_text", [x], arguments)


def texts(
    x: Value,
    path: str = "",
    *,
    missing: str | Sequence[str] | None = None,
) -> Value:
    """Reads an array of strings in a JSON text; of items that are none, gives their
    JSON as it stands.

    A text that is no JSON, or has something else there, is an error of the row.

    Args:
        x: One JSON text per row.
        path: The way to the value: a.b[0] is the first item of the member b of the
            member a; a["b.c"] is for keys with dots. The empty path is the whole text.
        missing: What to give where nothing or null is there; none is that the row is
            wrong.

    Example:
        >>> mr.json.texts('{"names": ["x", "y"]}', "names")
        ['x', 'y']
    """
    arguments: dict[str, object] = {"path": path, "missing": text_list(missing)}
    return call("json_texts", [x], arguments)
