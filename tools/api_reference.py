"""Writes the reference of the Python package, docs/python, from its own source.

Signatures and docstrings are read as text (with `ast`), so that neither the built
package nor PyTorch is needed. A test compares what is there with what would be written.

Run it from anywhere: python tools/api_reference.py
"""

import ast
import collections
import functools
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "python"
COLUMNS = 88
_SPECIAL = {"__iter__": "iter", "__len__": "len"}
_HIDDEN = ("_", "draw")  # Rng.draw is how kernels draw.
_LISTS = ("Args:", "Attributes:")
_EXAMPLE = "Example:"

Definition = ast.FunctionDef | ast.ClassDef


# --- The package, as source. ---


@dataclass(frozen=True)
class Module:
    """A module: what it defines, and where it has the rest from."""

    lines: list[bytes]
    doc: str
    names: list[str]  # Its `__all__`.
    defined: dict[str, Definition]
    imported: dict[str, tuple[str, str]]  # By name: module, and name there.


@functools.cache
def module(name: str) -> Module:
    """Reads a module of the package."""
    path = ROOT / "python" / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    source = file.read_text()
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    defined = {n.name: n for n in tree.body if isinstance(n, Definition)}
    listed = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    doc, names = ast.get_docstring(tree) or "", sorted(*listed or [[]])
    return Module(source.encode().splitlines(), doc, names, defined, imported)


def find(place: str, name: str) -> tuple[str, Definition]:
    """Finds the definition of a name, and the module that has it."""
    found = module(place)
    if name in found.defined:
        return place, found.defined[name]
    return find(*found.imported[name])


def kernel_modules() -> list[str]:
    """Gives the names of the modules of kernels."""
    package = module("millrace")
    return [n for n in package.names if package.imported[n][0] == "millrace.kernels"]


def source_functions() -> list[str]:
    """Gives the names of the functions that datasets begin with."""
    chosen = [n for n in module("millrace").names if n not in kernel_modules()]
    found = {name: find("millrace", name)[1] for name in chosen}
    return [name for name, node in found.items() if returns(node) == "Dataset"]


def returns(node: ast.stmt) -> str | None:
    """Gives what a function says that it returns."""
    if not isinstance(node, ast.FunctionDef) or node.returns is None:
        return None
    return ast.unparse(node.returns).strip("'\"")


# --- Signatures. ---


def _text(place: str, node: ast.expr) -> str:
    """Gives an expression as the source has it, on one line."""
    lines = module(place).lines[node.lineno - 1 : node.end_lineno]
    lines = [*lines[:-1], lines[-1][: node.end_col_offset]]
    lines[0] = lines[0][node.col_offset :]
    text = b" ".join(lines).decode()
    return " ".join(text.split()).replace("[ ", "[").replace(", ]", "]")


def _parameter(place: str, argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg
    if argument.annotation is not None:
        text += f": {_text(place, argument.annotation)}"
    return text if default is None else f"{text} = {_text(place, default)}"


def parameters(place: str, node: ast.FunctionDef) -> list[str]:
    """Gives the parameters of a function, without self."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    missing = [None] * (len(positional) - len(given.defaults))
    pairs = zip(positional, [*missing, *given.defaults], strict=True)
    found = [_parameter(place, a, d) for a, d in pairs if a.arg != "self"]
    if given.vararg is not None:
        found.append(f"*{_parameter(place, given.vararg, None)}")
    elif given.kwonlyargs:
        found.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    found += [_parameter(place, a, d) for a, d in named]
    if given.kwarg is not None:
        found.append(f"**{_parameter(place, given.kwarg, None)}")
    return found


def function_code(place: str, node: ast.FunctionDef, name: str, indent: int = 0) -> str:
    """Writes a signature: on one line, or else a line for each parameter."""
    pad = " " * indent
    given = parameters(place, node)
    if indent:  # In a class.
        given = ["self", *given]
    result = "" if node.returns is None else f" -> {_text(place, node.returns)}"
    line = f"{pad}def {name}({', '.join(given)}){result}: ..."
    if len(line) <= COLUMNS:
        return line
    lines = "".join(f"{pad}    {item},\n" for item in given)
    return f"{pad}def {name}(\n{lines}{pad}){result}: ..."


def class_code(place: str, node: ast.ClassDef, name: str) -> str:
    """Writes how a class is made, by its fields or `__init__`; else its bases."""
    lines = [f"class {name}:"]
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            default = "" if part.value is None else f" = {_text(place, part.value)}"
            target = ast.unparse(part.target)
            lines.append(f"    {target}: {_text(place, part.annotation)}{default}")
        elif isinstance(part, ast.FunctionDef) and part.name == "__init__":
            lines.append(function_code(place, part, "__init__", 4))
    if len(lines) == 1:
        bases = ", ".join(_text(place, base) for base in node.bases)
        return f"class {name}({bases}): ..."
    return "\n".join(lines)


# --- Docstrings. ---


def escaped(text: str) -> str:
    """Writes prose so that Markdown leaves it alone; code in backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"(\*|__|<(?=\w))", r"\\\1", parts[index])
    return "".join(parts)


def _listed(lines: Sequence[str]) -> Iterator[str]:
    """Writes `name: what it is` as a list; further lines are indented deeper."""
    for line in lines:
        name, _, rest = line.partition(": ")
        if line.startswith(" ") or not rest:
            yield f"  {escaped(line.strip())}"
        else:
            yield f"- `{name}`: {escaped(rest)}"


def doc_text(doc: str) -> str:
    """Writes a docstring as Markdown: prose, parameters, examples."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", doc):
        head, _, rest = paragraph.partition("\n")
        lines = textwrap.dedent(rest).splitlines()
        if head in _LISTS:
            parts.append("\n".join(_listed(lines)))
        elif head == _EXAMPLE:
            parts.append("\n".join(["```pycon", *lines, "```"]))
        elif not paragraph.startswith("Written by "):
            parts.append(escaped(paragraph))
    return "\n\n".join(parts)


# --- Entries. ---


@dataclass(frozen=True)
class Entry:
    """What a page has of one function, method or class.

    The index lists it where it has a name.
    """

    name: str
    heading: str
    code: str
    doc: str

    @property
    def text(self) -> str:
        """As Markdown."""
        code = [f"```python\n{self.code}\n```"] if self.code else []
        return "\n\n".join([self.heading, *code, doc_text(self.doc)])


def function_entry(place: str, name: str, level: str = "##") -> Entry:
    """Makes the entry of a function."""
    home, node = find(place, name)
    assert isinstance(node, ast.FunctionDef), name
    doc = ast.get_docstring(node) or ""
    return Entry(name, f"{level} {name}", function_code(home, node, name), doc)


def methods(*classes: tuple[str, str]) -> dict[str, tuple[str, ast.FunctionDef]]:
    """Gives the public methods of a class and its bases; the first to have one wins."""
    found: dict[str, tuple[str, ast.FunctionDef]] = {}
    for place, name in classes:
        home, node = find(place, name)
        assert isinstance(node, ast.ClassDef), name
        for part in node.body:
            if not isinstance(part, ast.FunctionDef) or part.name in found:
                continue
            if part.name in _SPECIAL or not part.name.startswith(_HIDDEN):
                found[part.name] = home, part
    return {name: method for name, method in found.items() if not _is_set(method[1])}


def _is_set(node: ast.FunctionDef) -> bool:
    return any("setter" in ast.unparse(each) for each in node.decorator_list)


def method_entry(place: str, node: ast.FunctionDef, of: str = "") -> Entry:
    """Makes the entry of a method, or of a property."""
    shown = _SPECIAL.get(node.name, node.name)
    name = f"{shown}({of.lower() or 'ds'})" if node.name in _SPECIAL else shown
    heading = f"### {name}" if not of or node.name in _SPECIAL else f"### {of}.{name}"
    code = function_code(place, node, node.name)
    if any(ast.unparse(each) == "property" for each in node.decorator_list):
        assert node.returns is not None
        code = f"{node.name}: {_text(place, node.returns)}"
    elif node.name in _SPECIAL:
        code = ""
    listed = "" if of or not code else name
    return Entry(listed, heading, code, ast.get_docstring(node) or "")


def class_entries(
    name: str, *classes: tuple[str, str], made: bool = True
) -> Iterator[Entry]:
    """Makes the entries of a class and its methods.

    `classes` are it and its bases; `made` tells whether users make it themselves.
    """
    home, node = find(*classes[0])
    assert isinstance(node, ast.ClassDef)
    code = class_code(home, node, name) if made else ""
    yield Entry(name, f"## {name}", code, ast.get_docstring(node) or "")
    for place, method in methods(*classes).values():
        yield method_entry(place, method, name)


# --- Pages. ---


@dataclass(frozen=True)
class Page:
    """A page of the reference."""

    file: str
    title: str
    about: str
    entries: tuple[Entry, ...]

    @property
    def text(self) -> str:
        """As Markdown."""
        parts = [f"# {self.title}", self.about, *(e.text for e in self.entries)]
        return "\n\n".join(part for part in parts if part) + "\n"


def sources_page() -> Page:
    """Describes the functions that datasets begin with."""
    entries = tuple(function_entry("millrace", name) for name in source_functions())
    about = "What datasets begin with: `mr.read(...)`, with `import millrace as mr`."
    return Page("sources.md", "Sources", about, entries)


def dataset_page() -> Page:
    """Describes datasets: operators first, then all that is not one."""
    _, node = find("millrace", "Dataset")
    both = methods(("millrace", "Dataset"), ("millrace._operators", "Operators"))
    ordered = sorted(both.items())
    operators = [m for _, m in ordered if returns(m[1]) == "Dataset"]
    others = [m for _, m in ordered if returns(m[1]) != "Dataset"]
    entries = [
        Entry("Dataset", "## Dataset", "", ast.get_docstring(node) or ""),
        Entry("", "## Operators", "", "Each gives a new dataset."),
        *(method_entry(*method) for method in operators),
        Entry("", "## Seeing, iterating", "", ""),
        *(method_entry(*method) for method in others),
        *class_entries("FieldSpec", ("millrace", "FieldSpec")),
        *class_entries("Ragged", ("millrace", "Ragged")),
    ]
    about = "A pipeline as users build and iterate it, and what its rows are made of."
    return Page("dataset.md", "Datasets", about, tuple(entries))


_LOADER = ("millrace", "Loader")
_DISTRIBUTED = ("millrace.distributed", "DistributedLoader")
_SERVICE = ("millrace.service", "ServiceLoader")
_FRAMEWORK = ("millrace.frameworks.delivery", "FrameworkLoader")
_ITERABLE = ("millrace.frameworks.torch_iterable", "TorchIterable")


def loaders_page() -> Page:
    """Describes what iterates datasets."""
    entries = [
        function_entry("millrace", "loader"),
        *class_entries("Loader", _LOADER, made=False),
        *class_entries("DistributedLoader", _DISTRIBUTED, made=False),
        *class_entries("ServiceLoader", _SERVICE, made=False),
        function_entry("millrace", "join_states"),
        *class_entries("Access", ("millrace", "Access")),
        *class_entries("FrameworkLoader", _FRAMEWORK, made=False),
        *class_entries("TorchIterable", _ITERABLE, made=False),
        *class_entries("Origin", ("millrace", "Origin")),
    ]
    about = doc_text(module("millrace.loader").doc)
    return Page("loaders.md", "Loaders", about, tuple(entries))


def kernel_page(name: str) -> Page:
    """Describes a module of kernels."""
    place = f"millrace.kernels.{name}"
    beside = {n for n, (home, _) in module(place).imported.items() if home == _BESIDE}
    entries: list[Entry] = []
    for each in sorted(set(module(place).defined) | beside):
        home, node = find(place, each)
        if isinstance(node, ast.ClassDef):
            entries += class_entries(each, (home, each))
        else:
            entries.append(function_entry(place, each))
    about = f"{doc_text(module(place).doc)}\n\n{_KERNELS}"
    return Page(f"{name}.md", f"mr.{name}", about, tuple(entries))


_BESIDE = "millrace._example"  # What is a function of kernels, not a kernel.
_KERNELS = (
    "In the function of a `map` these record what is to be done; on NumPy arrays and "
    "plain\nvalues they run at once."
)


def module_page(file: str, title: str, place: str, entries: Iterable[Entry]) -> Page:
    """Describes a module, in its own words."""
    return Page(file, title, doc_text(module(place).doc), tuple(entries))


def pages() -> list[Page]:
    """Describes the package."""
    rng = [("millrace", "Rng"), ("millrace.rng", "Rng")]
    random = class_entries("Rng", *rng)
    machine = [
        function_entry("millrace", "configure"),
        function_entry("millrace", "budget"),
        *class_entries("Budget", ("millrace", "Budget")),
        function_entry("millrace", "get_worker_info"),
        *class_entries("WorkerInfo", ("millrace", "WorkerInfo")),
    ]
    errors = [
        entry
        for name, node in module("millrace.errors").defined.items()
        if isinstance(node, ast.ClassDef)
        for entry in class_entries(name, ("millrace.errors", name))
    ]
    loader = ("millrace.torch", "DataLoader")
    torch = class_entries("DataLoader", loader)
    jax = [function_entry("millrace.jax", "make_global")]
    return [
        sources_page(),
        dataset_page(),
        loaders_page(),
        module_page("torch.md", "millrace.torch", "millrace.torch", torch),
        module_page("jax.md", "millrace.jax", "millrace.jax", jax),
        *map(kernel_page, kernel_modules()),
        module_page("rng.md", "Random numbers", "millrace.rng", random),
        module_page("engine.md", "The engine", "millrace.engine", machine),
        module_page("errors.md", "Errors", "millrace.errors", errors),
    ]


_INDEX = """# Reference of the Python package

Written by `tools/api_reference.py` from the package's own signatures and docstrings;
`make golden` writes it anew. The examples in it are run by the tests. `mr` is the
package, `import millrace as mr`.

Words in signatures: `Paths` is a path or pattern, or a list of them; `Value` is a field
or what was computed from fields, or a NumPy array, number or text; `DType` is a type of
NumPy, or its name.
"""


def anchors(page: Page) -> list[str]:
    """Gives the place of each entry in its page, as links name it."""
    texts = "\n".join([f"# {page.title}", *(e.heading for e in page.entries)])
    before: collections.Counter[str] = collections.Counter()
    found = []
    for heading in texts.splitlines():
        words = re.sub(r"[^\w\s-]", "", heading.lower()).split()
        slug = "-".join(words)
        found.append(f"{slug}-{before[slug]}" if before[slug] else slug)
        before[slug] += 1
    return found[1:]


def index(all_: Sequence[Page]) -> str:
    """Writes the page that lists the others."""
    lines = [_INDEX]
    for page in all_:
        places = zip(page.entries, anchors(page), strict=True)
        links = [f"[{e.name}]({page.file}#{place})" for e, place in places if e.name]
        lines.append(f"- **[{page.title}]({page.file})**: {', '.join(links)}")
    return "\n".join(lines) + "\n"


def reference() -> dict[Path, str]:
    """Gives every file of the reference, with its text."""
    all_ = pages()
    texts = {FOLDER / page.file: page.text for page in all_}
    return {FOLDER / "README.md": index(all_), **texts}


def main() -> int:
    """Writes the files that changed, removes those of the past, and names them."""
    FOLDER.mkdir(exist_ok=True)
    texts = reference()
    for path in set(FOLDER.glob("*.md")) - set(texts):
        path.unlink()
        print(f"{path.relative_to(ROOT)} (removed)")
    for path, text in texts.items():
        if path.exists() and path.read_text() == text:
            continue
        path.write_text(text)
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
