"""Files that rows name.

Written by tools/python_faces.py from the catalog of the engine.
"""

from os import PathLike

from millrace._kernel_call import Value, call


def read(path: Value, *, root: str | PathLike[str] = "") -> Value:
    """Reads the file that a row names.

    A file that is not there is an error of the row. A cache behind it does not notice
    when such a file changes.

    Args:
        path: The file's path: one text.
        root: The folder that paths begin in, but for those that begin with a slash.
    """
    arguments: dict[str, object] = {"root": root}
    return call("read_file", [path], arguments)
