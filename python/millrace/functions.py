"""Functions that run in Python, in processes beside the engine.

A function travels as cloudpickle writes it. What it refers to in modules outside of
site-packages goes along by value, so that the processes need not find the user's files.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
import os
import pickle
import site
import struct
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from millrace import _core
from millrace._class_ids import dumped
from millrace._structure import Structure, taken_apart
from millrace.engine import budget, engine
from millrace.errors import PipelineError

# A function is written as this mark, a length, a head as JSON for those who only want
# to know about it, and the pickle.
_MARK = b"millrace function 1\n"
_LENGTH = struct.Struct("<q")


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
    folders.append(str(Path(__file__).resolve().parent))
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
    names: set[str] = set()
    waiting, seen = [function], {id(function)}
    while waiting:
        value = waiting.pop()
        module = value if inspect.ismodule(value) else _module_of(value)
        is_own = module is not None and _is_users(module)
        if is_own:
            names.add(module.__name__)
        if inspect.ismodule(value) or not (is_own or _travels(value, function)):
            continue
        new = [each for each in _referred(value) if id(each) not in seen]
        seen |= {id(each) for each in new}
        waiting += new
    return sorted(names)


def _module_of(value: Any) -> Any:
    return sys.modules.get(getattr(value, "__module__", None) or "")


def _travels(value: Any, function: Any) -> bool:
    """Tell whether a value is the function's own: itself, or of the main program."""
    return value is function or getattr(value, "__module__", None) == "__main__"


def _referred(function: Any) -> list[Any]:
    """List what a function, or an object that is called as one, refers to."""
    code = getattr(function, "__code__", None)
    scope = getattr(function, "__globals__", {})
    if code is None:
        held = list(getattr(function, "__dict__", {}).values())
        bound = getattr(function, "__self__", None), getattr(function, "func", None)
        return [type(function), *filter(callable, bound), *map(type, held), *held]
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
        names = [module.__name__ for module in modules]
        head = json.dumps({"name": content["name"], "modules": names}).encode()
        body = dumped(content)
        return _MARK + _LENGTH.pack(len(head)) + head + body
    except (pickle.PicklingError, TypeError) as error:
        raise PipelineError(
            f"{function_name(function)} cannot go to another process: {error}; open "
            "files, connections and locks in init= or in the function itself"
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def python_structure(pipeline: _core.Pipeline) -> Structure | None:
    """Tell the form of rows that Python gave: those of a tuple are named by number."""
    names = tuple(name for name, _, _ in pipeline.fields)
    is_tuple = names == tuple(str(i) for i in range(len(names)))
    return Structure(tuple, names) if is_tuple else None


def travelling(pipeline: _core.Pipeline) -> str:
    """Say which modules of the user's travel with a pipeline's Python functions."""
    found: dict[str, list[str]] = {}
    for attachment in pipeline.attachments:
        name, modules = modules_in(attachment.content)
        if modules:
            found[name] = modules
    if not found:
        return ""
    lines = [f"  {name}: {', '.join(modules)}" for name, modules in found.items()]
    return "\n".join(["", "modules that travel with Python functions:", *lines, ""])


def modules_in(content: bytes) -> tuple[str, list[str]]:
    """Read the name and the modules that a function has in front; none of others."""
    if not content.startswith(_MARK):
        return "", []
    (length,) = _LENGTH.unpack_from(content, len(_MARK))
    begin = len(_MARK) + _LENGTH.size
    head = json.loads(content[begin : begin + length])
    return head["name"], head["modules"]


def pickle_in(content: bytes) -> bytes | None:
    """Give the pickle of what is a function, to be looked at; None of others."""
    if not content.startswith(_MARK):
        return None
    (length,) = _LENGTH.unpack_from(content, len(_MARK))
    return content[len(_MARK) + _LENGTH.size + length :]


def unpickle(content: bytes) -> PickledFunction:
    """Read a function, in the process that will run it, and call its init."""
    read = pickle.loads(pickle_in(content) or b"")
    if read["init"] is not None:
        read["init"]()
    return PickledFunction(
        read["function"], read["name"], read["takes_rng"], read["structure"]
    )


def written_structure(structure: Structure | None) -> str:
    """Write the form of a function's rows, for the process that asked; "" for dicts."""
    import cloudpickle

    if structure is None or structure.kind is dict:
        return ""
    return base64.b64encode(cloudpickle.dumps(structure)).decode()


def read_structure(text: str) -> Structure | None:
    """Read what `written_structure` wrote.

    A class that went there by value comes back as the one it was: cloudpickle tracks
    them.
    """
    if not text:
        return None
    read = pickle.loads(base64.b64decode(text))
    assert isinstance(read, Structure)
    return read


def function_name(function: Callable[..., Any]) -> str:
    """Name a function as people know it."""
    if isinstance(function, Marking):
        return function_name(function.predicate)
    name = getattr(function, "__qualname__", None) or getattr(function, "title", None)
    return str(name or type(function).__qualname__)


def takes_rng(function: Callable[..., Any]) -> bool:
    """Tell whether a function has a parameter rng."""
    if isinstance(function, Marking):
        return function.takes_rng
    return has_parameter(function, "rng")


def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has a parameter of that name."""
    try:
        return name in inspect.signature(function).parameters
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


def declared_fields(output: Mapping[str, str] | str | None) -> str | None:
    """Write declared fields as a spec; None where none are."""
    if output is None or isinstance(output, str):
        return output
    quoted = {name.replace("'", "''"): kind for name, kind in output.items()}
    fields = ", ".join(f"'{name}': {kind}" for name, kind in quoted.items())
    return "{" + fields + "}"


@dataclasses.dataclass(frozen=True)
class PythonFunction:
    """A function that is to run in Python, and how."""

    function: Callable[..., Any]
    output: Mapping[str, str] | str | None = None
    init: Callable[[], Any] | None = None
    timeout: float | None = 600.0

    def arguments(
        self, pipeline: _core.Pipeline, structure: Structure | None
    ) -> tuple[dict[str, Any], int, Structure | None]:
        """Give the arguments of map_python, its random calls, the form of its rows."""
        content = pickled(self.function, structure, self.init)
        attachment = _core.Attachment(content)
        configure_runners()
        fields, draws = (
            declared_fields(self.output),
            1 if takes_rng(self.function) else 0,
        )
        made = ""
        if fields is None:
            fields, sampled, made = _core.sample_function(
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
        return given, draws, read_structure(made)
