"""Writes the parts of the Python package that follow from the catalog.

Kernels become functions of millrace.kernels, operators become methods of Operators in
_operators.py, sources become functions of _sources.py: plain code with types and
docstrings. What only a hand can decide is in face_tables.py. A test compares what is
there with what would be written.

Run it with the built package on the path: python tools/python_faces.py
"""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import face_tables as tables
from millrace._catalog import Argument, Catalog, Kernel, Operator, catalog

PACKAGE = Path(__file__).parent.parent / "python" / "millrace"
COLUMNS = 88
CHOICES_COLUMNS = 56  # Longer lists of choices are only in the docs.
_WRITTEN = "Written by tools/python_faces.py from the catalog of the engine."
_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "text": "str",
    "ints": "Sequence[int]",
    "floats": "Sequence[float]",
    "texts": "str | Sequence[str]",
    "row_function": "Callable[..., Any]",
    "value_function": "Callable[..., Any]",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, and what becomes of it."""

    name: str
    type: str
    default: str | None  # As code; None where it must be given.
    doc: str
    positional: bool
    gives: tuple[tuple[str, str], ...]  # Arguments of the engine, and their code.

    @property
    def code(self) -> str:
        """As it stands in a signature."""
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.type}{default}"


# --- Parameters. ---


def default_code(argument: Argument) -> str | None:
    """Gives a default as code; lists as tuples, which nobody can change."""
    if argument.required:
        return None
    if isinstance(argument.default, list):
        items = ", ".join(repr(item) for item in argument.default)
        return f"({items},)" if argument.default else "()"
    if isinstance(argument.default, str) and '"' not in argument.default:
        return json.dumps(argument.default)
    return repr(argument.default)


def type_and_code(argument: Argument) -> tuple[str, str]:
    """Gives a parameter's type, and the code that makes the argument of it."""
    name = argument.name
    kind, code = _TYPES[argument.type], name
    if name == "dtype":
        kind, code = "DType", "dtype_name(dtype)"
    elif name == "root" or (name == "path" and argument.default != ""):
        kind = "str | PathLike[str]"
    elif name == "paths":
        kind, code = "Paths", "text_list(paths)"
    elif argument.choices:
        listed = ", ".join(f'"{choice}"' for choice in argument.choices)
        kind = f"Literal[{listed}]" if len(listed) < CHOICES_COLUMNS else "str"
    elif argument.type == "texts":
        code = f"text_list({name})"
    optional = argument.none_allowed or (
        not argument.required and argument.default is None
    )
    return (f"{kind} | None" if optional else kind), code


def parameter(argument: Argument) -> Parameter:
    """Makes the parameter of one argument."""
    kind, code = type_and_code(argument)
    return Parameter(
        name=argument.name,
        type=kind,
        default=default_code(argument),
        doc=argument.doc,
        positional=argument.required or argument.name in tables.POSITIONAL,
        gives=((argument.name, code),),
    )


def pair_parameter(name: str, first: Argument, second: Argument) -> Parameter:
    """Makes one parameter of two arguments."""
    each = _TYPES[first.type]
    default = None
    if not first.required:
        default = f"({default_code(first)}, {default_code(second)})"
    return Parameter(
        name=name,
        type=f"tuple[{each}, {each}]",
        default=default,
        doc=f"{first.doc} {second.doc}",
        positional=first.required,
        gives=((first.name, f"{name}[0]"), (second.name, f"{name}[1]")),
    )


def parameters(arguments: Sequence[Argument]) -> list[Parameter]:
    """Makes the parameters of all arguments: what must be given comes first."""
    by_name = {argument.name: argument for argument in arguments}
    found = []
    paired: set[str] = set()
    for argument in arguments:
        for name, (first, second) in tables.PAIRS.items():
            if argument.name == first and second in by_name:
                found.append(pair_parameter(name, by_name[first], by_name[second]))
                paired |= {first, second}
        if argument.name not in paired:
            found.append(parameter(argument))
    functions = [p for p in found if p.type.startswith("Callable")]
    rest = [p for p in found if p not in functions]
    return sorted(functions + rest, key=lambda p: p.default is not None)


# --- Code. ---


def bracketed(before: str, items: Sequence[str], after: str, indent: int) -> str:
    """Writes a bracket on one line, or else with a line for each item."""
    pad = " " * indent
    line = f"{pad}{before}{', '.join(items)}{after}"
    if len(line) <= COLUMNS:
        return line
    lines = "".join(f"{pad}    {item},\n" for item in items)
    return f"{pad}{before}\n{lines}{pad}{after}"


def signature(
    name: str, first: Sequence[str], given: Sequence[Parameter], result: str
) -> tuple[list[str], str]:
    """Gives the items of a signature and its end."""
    positional = [p.code for p in given if p.positional]
    named = [p.code for p in given if not p.positional]
    starred = any(item.startswith("*") for item in first)
    if starred:
        named, positional = positional + named, []
    star = [] if starred or not named else ["*"]
    return [*first, *positional, *star, *named], f") -> {result}:"


def wrapped(text: str, indent: int, hanging: int = 0) -> str:
    """Breaks a text into lines."""
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def docstring(
    doc: str, docs: Sequence[tuple[str, str]], example: Sequence[str], indent: int
) -> str:
    """Writes a docstring: what it does, its parameters, an example."""
    doc = doc.replace("\\", "\\\\")
    head, _, rest = doc.partition(". ")
    head = head if head.endswith(".") else f"{head}."
    pad = " " * indent
    parts = [wrapped(f'"""{head}', indent)]
    if rest:
        parts.append(wrapped(rest, indent))
    if docs:
        lines = [
            wrapped(f"{name}: {text}".replace("\\", "\\\\"), indent + 4, 4)
            for name, text in docs
        ]
        parts.append("\n".join([f"{pad}Args:", *lines]))
    if example:
        parts.append("\n".join(f"{pad}{line}" for line in ["Example:", *_in(example)]))
    text = "\n\n".join(parts)
    if len(parts) == 1 and len(text.splitlines()[-1]) <= COLUMNS - 3:
        return f'{text}"""'
    return f'{text}\n{pad}"""'


def _in(lines: Sequence[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def dict_code(given: Sequence[tuple[str, str]]) -> list[str]:
    """Gives the items of the dict of arguments."""
    return [f'"{name}": {code}' for name, code in given]


def arguments_line(arguments: Sequence[str], kind: str, indent: int) -> list[str]:
    """Writes the line that collects the arguments, where there are any."""
    if not arguments:
        return []
    return [bracketed(f"arguments: dict[str, {kind}] = {{", arguments, "}", indent)]


# --- Kernels. ---


def operands_code(kernel: Kernel) -> tuple[list[str], str]:
    """Gives the parameters for the operands, and the code of their list."""
    if kernel.variadic:
        return ["*values: Value"], "several(values)"
    names = [operand.name for operand in kernel.operands]
    return [f"{name}: Value" for name in names], f"[{', '.join(names)}]"


def kernel_function(kernel: Kernel) -> str:
    """Writes the function of one kernel."""
    name = tables.PLACES[kernel.name][1]
    given = parameters(kernel.arguments)
    first, operands = operands_code(kernel)
    docs = [(operand.name, operand.doc) for operand in kernel.operands]
    if kernel.variadic:
        docs = [("values", f"{kernel.operands[0].doc} Two or more, or a list of them.")]
    docs += [(p.name, p.doc) for p in given]
    if kernel.random:
        rng = Parameter("rng", "Rng", None, "What to draw from.", False, ())
        given = [*given, rng]
        docs.append((rng.name, rng.doc))
    items, end = signature(name, first, given, "Value")
    lines = [bracketed(f"def {name}(", items, end, 0)]
    lines.append(docstring(kernel.doc, docs, tables.EXAMPLES.get(kernel.name, ()), 4))
    for p in given:
        if len(p.gives) == 2:
            check = f'{p.name} = pair("{name}", "{p.name}", {p.name})'
            lines.append(f"    {check}")
    arguments = dict_code([gives for p in given for gives in p.gives])
    lines += arguments_line(arguments, "object", 4)
    called = "draw(" if kernel.random else "call("
    items = ["rng"] * kernel.random + [f'"{kernel.name}"', operands]
    items.append("arguments" if arguments else "{}")
    lines.append(bracketed(f"return {called}", items, ")", 4))
    return "\n".join(lines)


def imports(body: str, known: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Writes the imports that a text needs, of those that are known."""
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in body).split())
    lines = []
    for module, names in known:
        used = [name for name in names if name in words]
        if used:
            lines.append(bracketed(f"from {module} import ", used, "", 0))
    return "\n".join(lines)


_STANDARD = [
    ("__future__", ["annotations"]),
    ("abc", ["ABC", "abstractmethod"]),
    ("collections.abc", ["Callable", "Mapping", "Sequence"]),
    ("os", ["PathLike"]),
    ("typing", ["TYPE_CHECKING", "Any", "Literal"]),
]
_OURS = [
    ("millrace._kernel_call", ["Value", "call", "pair", "several"]),
    ("millrace._numpy_calls", ["DType", "dtype_name"]),
    ("millrace._plain", ["Paths", "text_list"]),
    ("millrace.dataset", ["Dataset", "_from_source"]),
    ("millrace.rng", ["Rng", "draw"]),
]
_GUARDED = "if TYPE_CHECKING:\n    from millrace.dataset import Dataset\n"


def module_text(doc: str, body: str, guarded: str = "", beside: str = "") -> str:
    """Puts a module together.

    `guarded` are imports for the types alone, `beside` of what it gives on.
    """
    code = "".join(body.split('"""')[::2])  # Docstrings may have any word.
    ours = _OURS
    if guarded:
        code += "annotations TYPE_CHECKING"
        ours = [known for known in _OURS if known[0] not in guarded]
    parts = [f'"""{doc}\n\n{_WRITTEN}\n"""']
    future = imports(code, _STANDARD[:1])
    ours_text = beside + imports(code, ours)
    for text in (future, imports(code, _STANDARD[1:]), ours_text, guarded):
        parts += [text] if text else []
    return "\n\n".join(parts).rstrip() + "\n\n\n" + body + "\n"


def given_on(module: str) -> str:
    """Writes the imports of what a module has besides kernels."""
    source, names = tables.BESIDE.get(module, ("", ()))
    return "".join(f"from {source} import {name} as {name}\n" for name in names)


def kernel_modules(all_: Catalog) -> Iterator[tuple[Path, str]]:
    """Writes the modules of kernels."""
    for module, doc in tables.MODULES.items():
        places = {
            place[1]: kernel
            for kernel, place in tables.PLACES.items()
            if place[0] == module
        }
        functions = [
            kernel_function(all_.kernels[places[name]]) for name in sorted(places)
        ]
        yield (
            PACKAGE / "kernels" / f"{module}.py",
            module_text(doc, "\n\n\n".join(functions), beside=given_on(module)),
        )


# --- Operators. ---


def operator_parts(
    operator: Operator,
) -> tuple[list[Parameter], list[str], list[tuple[str, str]], list[str]]:
    """Gives parameters, own parameters, docs and the arguments' code of an operator."""
    own = tables.OWN_PARAMETERS.get(operator.name)
    if own is not None:
        arguments = dict_code(list(tables.OWN_ARGUMENTS[operator.name].items()))
        return [], own, list(tables.OWN_DOCS[operator.name].items()), arguments
    given = parameters(operator.arguments)
    docs = [(p.name, p.doc) for p in given]
    arguments = dict_code([gives for p in given for gives in p.gives])
    return given, [], docs, arguments


def method(operator: Operator) -> str:
    """Writes the method of a transformation."""
    given, first, docs, arguments = operator_parts(operator)
    others = "[]"
    if operator.more_inputs:
        first, others = ["*others: Dataset"], "others"
        docs = [("others", "The other inputs, behind this one."), *docs]
    items, end = signature(operator.name, ["self", *first], given, "Dataset")
    last = "arguments" if arguments else "{}"
    return "\n".join(
        [
            bracketed(f"def {operator.name}(", items, end, 4),
            docstring(operator.doc, docs, (), 8),
            *arguments_line(arguments, "Any", 8),
            f'        return self._then("{operator.name}", {last}, {others})',
        ]
    )


_OPERATORS_HEAD = '''class Operators(ABC):
    """The methods of a dataset that put an operator behind it."""

    @abstractmethod
    def _then(
        self, operator: str, arguments: dict[str, Any], others: Sequence[Dataset]
    ) -> Dataset:
        """Puts an operator behind this dataset and others."""
'''


def operators_module(all_: Catalog) -> tuple[Path, str]:
    """Writes the methods of datasets."""
    chosen = [
        operator
        for name, operator in sorted(all_.operators.items())
        if not operator.source and name not in tables.BY_HAND
    ]
    body = "\n\n".join([_OPERATORS_HEAD.rstrip(), *(method(o) for o in chosen)])
    doc = "What can be done with a dataset: a method each."
    return PACKAGE / "_operators.py", module_text(doc, body, _GUARDED)


def source_function(operator: Operator) -> str:
    """Writes the function of a source."""
    given, first, docs, arguments = operator_parts(operator)
    items, end = signature(operator.name, first, given, "Dataset")
    return "\n".join(
        [
            bracketed(f"def {operator.name}(", items, end, 0),
            docstring(operator.doc, docs, (), 4),
            *arguments_line(arguments, "Any", 4),
            f'    return _from_source("{operator.name}", arguments)',
        ]
    )


def sources_module(all_: Catalog) -> tuple[Path, str]:
    """Writes the functions that make datasets."""
    chosen = [
        operator
        for name, operator in sorted(all_.operators.items())
        if operator.source and name not in tables.BY_HAND
    ]
    body = "\n\n\n".join(source_function(operator) for operator in chosen)
    doc = "What datasets begin with: a function for each source."
    return PACKAGE / "_sources.py", module_text(doc, body)


def faces(all_: Catalog) -> dict[Path, str]:
    """Gives every file that is made from a catalog, with its text."""
    return dict([*kernel_modules(all_), operators_module(all_), sources_module(all_)])


def main() -> int:
    """Writes the files that changed, and names them."""
    for path, text in faces(catalog()).items():
        if path.exists() and path.read_text() == text:
            continue
        path.write_text(text)
        print(path.relative_to(PACKAGE.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
