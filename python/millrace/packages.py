"""Which packages Python functions need, and which there are.

A service compares them before it runs anything: a function that was made with one
version of a library may do something else with another, or not be read at all.
"""

from __future__ import annotations

import importlib.metadata
import pickletools
import platform
import re
import sys

from millrace import _core
from millrace.functions import modules_in, pickle_in

Packages = list[tuple[str, str]]  # Name and version.


def _canonical(name: str) -> str:
    """Write a package's name as all its spellings are written."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _python() -> tuple[str, str]:
    return "python", platform.python_version()


def installed() -> Packages:
    """List all packages that functions find in this process, and Python itself."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:  # The first of a name is the one that is imported.
            found.setdefault(_canonical(name), distribution.version)
    return [_python(), *sorted(found.items())]


def needed(pipeline: _core.Pipeline) -> Packages:
    """List the packages that a pipeline's Python functions refer to.

    Python itself stands first. Without functions there are none.
    """
    contents = [attachment.content for attachment in pipeline.attachments]
    functions = [content for content in contents if pickle_in(content) is not None]
    if not functions:
        return []
    by_module = importlib.metadata.packages_distributions()
    found = {
        _canonical(package): importlib.metadata.version(package)
        for content in functions
        for module in _modules(content)
        for package in by_module.get(module, [])
    }
    return [_python(), *sorted(found.items())]


def _modules(content: bytes) -> set[str]:
    """Name the modules that a function refers to; its pickle is read and not run.

    Those that it imports when it runs stand there too, as names in its code. The user's
    own go along with it, and need not be there.
    """
    own = {name.partition(".")[0] for name in modules_in(content)[1]}
    names = set()
    for _, argument, _ in pickletools.genops(pickle_in(content) or b"."):
        name = argument.split(" ")[0] if isinstance(argument, str) else ""
        if name in sys.modules:
            names.add(name.partition(".")[0])
    return names - own
