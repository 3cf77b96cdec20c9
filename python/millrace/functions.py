"""Functions that run in Python, in processes beside the engine.

A function travels as cloudpickle writes it. What it refers to in modules outside of
site-packages goes along by value, so that the processes need not find the user's files.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import os
import pickle
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from millrace import _core
from millrace._structure import Structure, taken_apart
from millrace.engine import budget, engine
from millrace.errors import DataError, PipelineError


class FunctionError(DataError):
    """A Python function failed on a row, or gave what cannot be a row."""


@dataclasses.dataclass
class PickledFunction:
    """A function as it is in a process: ready to be called on rows."""

    function: Callable[..., Any]
    name: str
    takes_rng: bool
    structure: Structure | None  # Of the rows that it is given.


def _library_folders() -> list[Path]:
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    folders.append(str(Path(__file__).parent))
    return [Path(folder).resolve() for folder in folders]


def _is_users(module: types.ModuleType) -> bool:
    """Tell whether a module is the user's own: not installed, not built in."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ == "__main__":
        return False
    path = Path(file).resolve()
    return not any(path.is_relative_to(folder) for folder in _library_folders())


def carried_modules(function: Callable[..., Any]) -> list[str]:
    """Name the user's own modules that go along with a function, by value."""
    names = {
        getattr(value, "__module__", None) for value in [function, *_referred(function)]
    }
    names |= {v.__name__ for v in _referred(function) if inspect.ismodule(v)}
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return sorted(m.__name__ for m in modules if _is_users(m))


def _referred(function: Callable[..., Any]) -> list[Any]:
    code = getattr(function, "__code__", None)
    scope = getattr(function, "__globals__", {})
    if code is None:
        return []
    cells = getattr(function, "__closure__", None) or ()
    found = [scope[name] for name in code.co_names if name in scope]
    for cell in cells:
        try:
            found.append(cell.cell_contents)
        except ValueError:  # Not yet set.
            continue
    return found


def pickled(
    function: Callable[..., Any],
    structure: Structure | None,
    init: Callable[[], Any] | None,
) -> bytes:
    """Write a function as it travels."""
    import cloudpickle

    modules = [sys.modules[name] for name in carried_modules(function)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        content = {
            "function": function,
            "init": init,
            "name": function_name(function),
            "takes_rng": takes_rng(function),
            "structure": structure,
        }
        return bytes(cloudpickle.dumps(content))
    except (pickle.PicklingError, TypeError) as error:
        raise PipelineError(
            f"{function_name(function)} cannot go to another process: {error}; open "
            "files, connections and locks in init= or in the function itself"
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def unpickle(content: bytes) -> PickledFunction:
    """Read a function, in the process that will run it, and call its init."""
    read = pickle.load(io.BytesIO(content))
    if read["init"] is not None:
        read["init"]()
    return PickledFunction(
        read["function"], read["name"], read["takes_rng"], read["structure"]
    )


def function_name(function: Callable[..., Any]) -> str:
    """Name a function as people know it."""
    if isinstance(function, Marking):
        return function_name(function.predicate)
    name = getattr(function, "__qualname__", None)
    return str(name or type(function).__qualname__)


def takes_rng(function: Callable[..., Any]) -> bool:
    """Tell whether a function has a parameter rng."""
    if isinstance(function, Marking):
        return function.takes_rng
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


@dataclasses.dataclass(frozen=True)
class Marking:
    """Gives a row as it is, with a mark: what a predicate says of it."""

    predicate: Callable[..., Any]
    mark: str

    @property
    def takes_rng(self) -> bool:
        """Whether the predicate does."""
        return takes_rng(self.predicate)

    def __call__(self, row: Any, **given: Any) -> dict[str, Any]:
        """Mark a row."""
        apart = taken_apart(row)
        assert apart is not None
        structure, values = apart
        marked = dict(zip(structure.names, values, strict=True))
        return {**marked, self.mark: bool(self.predicate(row, **given))}


def process_environment() -> dict[str, str]:
    """Give the environment of processes that this one starts.

    The package is found; numeric libraries get one thread each; and memory that a
    function lets go of stays with its process, up to a bound: to get it from the system
    again, page by page, can take as long as all that the function does with it.
    """
    memory = {
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    }
    one_thread = (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
        *("NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    )
    environment = {**memory, **os.environ, **dict.fromkeys(one_thread, "1")}
    package = str(Path(__file__).parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(
        [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    return environment


def configure_runners() -> None:
    """Have processes started as this one is: same interpreter, same modules."""
    _core.configure_runners(
        [sys.executable, "-m", "millrace.runner"],
        [f"{name}={value}" for name, value in process_environment().items()],
        json.dumps({"path": [path or str(Path.cwd()) for path in sys.path]}),
        budget().threads,
    )


@dataclasses.dataclass(frozen=True)
class PythonFunction:
    """A function that is to run in Python, and how."""

    function: Callable[..., Any]
    output: Mapping[str, str] | str | None = None
    init: Callable[[], Any] | None = None
    timeout: float | None = 600.0

    def arguments(
        self, pipeline: _core.Pipeline, structure: Structure | None
    ) -> tuple[dict[str, Any], int]:
        """Give the arguments of map_python, and how many random calls it makes."""
        content = pickled(self.function, structure, self.init)
        attachment = _core.Attachment(content)
        configure_runners()
        fields, draws = self._declared(), 1 if takes_rng(self.function) else 0
        if fields is None:
            fields, sampled = _core.sample_function(
                engine(), pipeline, attachment, self.timeout or 1e9
            )
            draws = max(draws, sampled)
        if not fields:
            raise PipelineError(
                f"{function_name(self.function)}: there is no row to learn from what "
                'it gives; declare it with output={"x": "float32[?]"}'
            )
        given = {
            "function": [attachment],
            "fields": fields,
            "name": function_name(self.function),
            "draws": draws,
            "timeout": self.timeout,
        }
        return given, draws

    def _declared(self) -> str | None:
        if self.output is None or isinstance(self.output, str):
            return self.output
        quoted = {n.replace("'", "''"): kind for n, kind in self.output.items()}
        fields = ", ".join(f"'{name}': {kind}" for name, kind in quoted.items())
        return "{" + fields + "}"
