"""Checks the house rules that no other tool knows; run by `make style`.

Each rule is one function from the tree to what it found; RULES lists them. To add one,
write the function, add it there, and show it a bad example in tidy_test.py.

Prints every breach as path:line: message, then the numbers we watch. Exits with 1 when
there was a breach.
"""

import ast
import dataclasses
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import cxx

FUNCTION_LINES_MAX = 70
FUNCTION_LINES_P99_MAX = 60
NESTING_MAX = 3
SOURCE_LINES_MAX = 500
TEST_LINES_MAX = 800
COLUMNS_MAX = 88
TESTS_PER_SOURCE_MIN = 0.82

# Every outside library is included in one folder only, named here. Abseil and the
# test libraries are everywhere, and so are the C++ and POSIX headers.
LIBRARIES = {
    "CLI/": "cli",
    "arrow/": "adapters/arrow_module",
    "boost/asio/": "adapters/http",
    "boost/beast/": "adapters/http",
    "boost/": "api",
    "dlfcn.h": "base",
    "hwy/": "kernels/image",
    "immintrin.h": "codec",  # The instructions of x86 processors.
    "jerror.h": "kernels/image",  # libjpeg-turbo
    "jpeglib.h": "kernels/image",  # libjpeg-turbo
    "lz4.h": "codec",
    "lz4frame.h": "codec",
    "openssl/": "adapters/http",
    "parquet/": "adapters/arrow_module",
    "png.h": "kernels/image",
    "re2/": "kernels/regex",
    "spdlog/": "base",
    "sha2.h": "base",  # libmd
    "webp/": "kernels/image",
    "simdjson.h": "codec",
    "snappy.h": "codec",
    "spawn.h": "adapters/python",
    "sqlite3.h": "metadata",
    "stdint.h": "plugin",  # Of C, as the header for plug-ins is.
    "zconf.h": "codec",
    "zlib.h": "codec",
    "zstd.h": "codec",
}
EVERYWHERE = re.compile(
    r"absl/|gtest/|gmock/|benchmark/benchmark\.h$|"
    r"[a-z_0-9]+$|"  # <vector>: the C++ library has no endings.
    r"(sys|netinet|arpa|linux)/|"
    r"(unistd|fcntl|poll|pthread|sched|signal|errno|stdio|stdlib|termios|time)\.h$"
)

# What a layer without threads, sockets, files and clocks cannot need.
THREADS = (
    *("thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore"),
    *("barrier", "latch", "stop_token", "pthread.h", "sched.h"),
    *("absl/synchronization/", "millrace/base/bounded_queue.h"),
    *("millrace/base/mutex.h", "millrace/base/thread_cells.h"),
)
OUTSIDE_WORLD = (
    *("fstream", "filesystem", "cstdio", "stdio.h", "unistd.h", "fcntl.h"),
    "poll.h",
    "millrace/base/golden_file.h",
    *("sys/", "netinet/", "arpa/", "linux/"),
    *("chrono", "ctime", "time.h", "absl/time/clock.h", "millrace/base/clock.h"),
)
FORBIDDEN_INCLUDES = {
    **dict.fromkeys(
        ("ir", "rewrite", "policy", "control", "delivery"), THREADS + OUTSIDE_WORLD
    ),
    **dict.fromkeys(("ops", "kernels"), THREADS),
}

CLOCK_READ = re.compile(
    r"absl::Now\(|absl::GetCurrentTimeNanos|\b\w+_clock::now\(|\bclock_gettime\(|"
    r"\bgettimeofday\(|\btime\((?:nullptr|NULL|0)\)|\brdtscp?\("
)
CLOCK_FILES = ("millrace/base/clock.h", "millrace/base/clock.cc")

CHECK_CALL = re.compile(r"\bD?CHECK(?:_[A-Z]+)?\(")
# Names that are not ours to choose: of the libraries, and GoogleTest's matchers.
FOREIGN_NAME = re.compile(r"\b(?:std|absl|testing)::[\w:]+|\b\w*ElementsAre\w*")
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:home|root|work|Users)/")
CXX_ENDINGS = (".h", ".cc", ".inc")
TEST_ENDINGS = ("_test.cc", "_test.h", ".golden")
GENERATED = (
    "millrace/ops/dataset.h",
    "python/millrace/_operators.py",
    "python/millrace/_sources.py",
    *(
        f"python/millrace/kernels/{name}.py"
        for name in ("example", "image", "io", "json", "math", "regex", "text", "time")
    ),
)
PACKAGE = ("python/millrace/", "python/binding/")  # The Python package's source.
RULED_ENDINGS = (*CXX_ENDINGS, ".py", ".cmake", ".txt", ".toml", ".json", "")


@dataclasses.dataclass(frozen=True)
class Breach:
    """One place where a rule is broken."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


# The files of the project by path, nothing generated; of those that are no text, only
# first inputs of fuzz targets, as empty ones.
Tree = dict[str, str]
Rule = Callable[[Tree], Iterator[Breach]]


def read_tree(root: Path) -> Tree:
    """Return the files git tracks or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    tree = {}
    for path in sorted(set(listing.stdout.split("\0")) - {""}):
        try:
            tree[path] = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            if "/testdata/fuzz/" in path:
                tree[path] = ""
        except (FileNotFoundError, IsADirectoryError):
            continue  # Removed and not yet committed, or a link.
    return tree


def is_test(path: str) -> bool:
    """Tell whether a file is there for tests, benchmarks or fuzzing only."""
    stem = PurePosixPath(path).stem
    return stem.endswith(("_test", "_bench", "_fuzz")) or "/testdata/" in path


def cxx_files(tree: Tree, *, tests: bool = True) -> Iterator[tuple[str, str]]:
    """Yield our C++ files, with or without those that are there for tests."""
    for path, text in tree.items():
        ours = path.startswith("millrace/") and "/testdata/" not in path
        if ours and path.endswith(CXX_ENDINGS) and (tests or not is_test(path)):
            yield path, text


def layer_of(path: str) -> str:
    """Return the layer of a file under millrace/: its first folder."""
    return PurePosixPath(path).parts[1]


def functions_of(path: str, text: str) -> Iterator[cxx.Function]:
    """Yield the functions of a C++ or Python file."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield cxx.Function(node.lineno, lines, node.name)
    elif path.endswith(CXX_ENDINGS):
        yield from cxx.functions(text)


def percentile(values: list[int], percent: int) -> int:
    """Return the smallest value that `percent` of all values do not exceed."""
    ordered = sorted(values) or [0]
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def source_function_lines(tree: Tree) -> list[int]:
    """Return the lengths of all C++ functions outside tests."""
    return [
        function.lines
        for path, text in cxx_files(tree, tests=False)
        for function in functions_of(path, text)
    ]


def test_and_source_lines(tree: Tree) -> tuple[int, int]:
    """Return the lines of tests (with their support and golden cases), and of source.

    What is generated is tested where it is made; workloads are measurements themselves.
    """
    test = source = 0
    for path, text in tree.items():
        lines = text.count("\n")
        tests_engine = path.startswith("millrace/") and path.endswith(TEST_ENDINGS)
        if tests_engine or path.startswith("python/tests/"):
            test += lines
        elif path.startswith(PACKAGE) and path not in GENERATED:
            source += lines
    for path, text in cxx_files(tree, tests=False):
        if path not in GENERATED and layer_of(path) != "bench":
            source += text.count("\n")
    return test, source


# --- The rules ---


def functions_are_short(tree: Tree) -> Iterator[Breach]:
    """No function has over 70 lines, and 99 of 100 have at most 60."""
    for path, text in tree.items():
        for function in functions_of(path, text):
            if function.lines > FUNCTION_LINES_MAX:
                message = f"{function.name} has {function.lines} lines"
                yield Breach(
                    path, function.line, f"{message}, over {FUNCTION_LINES_MAX}"
                )
    p99 = percentile(source_function_lines(tree), 99)
    if p99 > FUNCTION_LINES_P99_MAX:
        message = f"the 99th percentile of function lines is {p99}"
        yield Breach("millrace", 0, f"{message}, over {FUNCTION_LINES_P99_MAX}")


def blocks_are_shallow(tree: Tree) -> Iterator[Breach]:
    """No function nests blocks more than three deep."""
    for path, text in cxx_files(tree, tests=False):
        for function in functions_of(path, text):
            if function.nesting > NESTING_MAX:
                message = f"{function.name} nests {function.nesting} blocks"
                yield Breach(path, function.line, f"{message}, over {NESTING_MAX}")


def files_are_short(tree: Tree) -> Iterator[Breach]:
    """A source file has at most 500 lines, a test at most 800, unless generated."""
    for path, text in tree.items():
        if not path.endswith((*CXX_ENDINGS, ".py")) or path in GENERATED:
            continue
        limit = TEST_LINES_MAX if is_test(path) else SOURCE_LINES_MAX
        lines = text.count("\n")
        if lines > limit:
            yield Breach(path, limit + 1, f"the file has {lines} lines, over {limit}")


def lines_are_narrow(tree: Tree) -> Iterator[Breach]:
    """No line of code is wider than 88 columns."""
    for path, text in tree.items():
        if PurePosixPath(path).suffix not in RULED_ENDINGS or "/testdata/" in path:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS_MAX and not line.startswith("#include"):
                yield Breach(path, number, f"{len(line)} columns, over {COLUMNS_MAX}")


def headers_open_with_a_comment(tree: Tree) -> Iterator[Breach]:
    """A header says first what it is, and is included once."""
    for path, text in cxx_files(tree):
        if not path.endswith(".h"):
            continue
        if not text.startswith("// "):
            yield Breach(
                path, 1, "a header opens with a comment: what it is, who uses it"
            )
        if "\n#pragma once\n" not in text:
            yield Breach(path, 1, "a header has #pragma once")


def folders_have_a_readme(tree: Tree) -> Iterator[Breach]:
    """Each folder with code opens with a README.md."""
    folders = {str(PurePosixPath(path).parent) for path, _ in cxx_files(tree)}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in tree:
            yield Breach(folder, 0, "the folder has no README.md")


def files_are_reached(tree: Tree) -> Iterator[Breach]:
    """Each header and list is included, each golden file is used."""
    code = "\n".join(text for _, text in cxx_files(tree))
    included = {
        include.target for _, text in cxx_files(tree) for include in cxx.includes(text)
    }
    for path in tree:
        file = PurePosixPath(path)
        if not path.startswith("millrace/"):
            continue
        if file.suffix in (".h", ".inc") and path not in included:
            yield Breach(path, 1, "nothing includes this file")
        if file.suffix == ".golden":
            owner = f"{file.parent.parent}/{file.stem}"
            used = any(f"{owner}{end}" in tree for end in (".cc", "_test.cc"))
            if not used and f"{file.name}" not in code:
                yield Breach(path, 1, "no test reads this file")


def fuzz_targets_have_a_corpus(tree: Tree) -> Iterator[Breach]:
    """Each fuzz target has first inputs, and the other way round."""
    target = re.compile(r"(.*)/testdata/fuzz/([^/]+)/")
    of_inputs = {f"{m[1]}/{m[2]}_fuzz.cc" for path in tree if (m := target.match(path))}
    targets = {path for path in tree if path.endswith("_fuzz.cc")}
    for path in targets - of_inputs:
        yield Breach(path, 1, "this fuzz target has no corpus")
    for path in of_inputs - targets:
        yield Breach(path, 1, "this corpus has no fuzz target")


def libraries_stay_in_their_folder(tree: Tree) -> Iterator[Breach]:
    """An outside library is included in one folder only; none goes up by dots."""
    for path, text in cxx_files(tree):
        for include in cxx.includes(text):
            target = include.target
            if target.startswith("millrace/"):
                continue
            if ".." in target:
                yield Breach(path, include.line, f"{target}: start from millrace/")
            elif not EVERYWHERE.match(target):
                folders = [
                    folder
                    for prefix, folder in LIBRARIES.items()
                    if target.startswith(prefix)
                ]
                if not folders:
                    message = (
                        f"{target}: not ours; list it in LIBRARIES (tools/tidy.py)"
                    )
                    yield Breach(path, include.line, message)
                elif not path.startswith(f"millrace/{folders[0]}/"):
                    message = f"{target} may be included in {folders[0]} only"
                    yield Breach(path, include.line, message)


def layers_stay_pure(tree: Tree) -> Iterator[Breach]:
    """Layers of pure logic have no thread, socket, file or clock; operators no lock."""
    for path, text in cxx_files(tree, tests=False):
        layer = layer_of(path)
        for include in cxx.includes(text):
            for name in FORBIDDEN_INCLUDES.get(layer, ()):
                folder = name.endswith("/")
                inside = folder and include.target.startswith(name)
                if inside or include.target == name:
                    message = f"{layer} may not include {include.target}"
                    yield Breach(path, include.line, f"{message}: it is kept pure")


def clocks_are_read_in_one_place(tree: Tree) -> Iterator[Breach]:
    """Time comes from base::Clock; only its implementation asks the machine."""
    for path, text in cxx_files(tree):
        if path in CLOCK_FILES:
            continue
        code = cxx.code_only(text)
        for match in CLOCK_READ.finditer(code):
            line = cxx.line_of(code, match.start())
            yield Breach(path, line, f"{match.group()}: ask base::Clock for the time")


def names_say_what_is_inside(tree: Tree) -> Iterator[Breach]:
    """A file is named by the one thing in it."""
    for path in tree:
        name = PurePosixPath(path).name
        if re.search(r"(?:^|_)utils?(?:_|\.|$)|common|helper", name, re.IGNORECASE):
            yield Breach(
                path, 1, "name the file by what is in it, not util/common/helper"
            )


def tests_hold_their_suite(tree: Tree) -> Iterator[Breach]:
    """x_test.cc holds the suite XTest, and no other."""
    pattern = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,", re.MULTILINE)
    for path, text in cxx_files(tree):
        if not path.endswith("_test.cc"):
            continue
        stem = PurePosixPath(path).stem
        wanted = "".join(word[:1].upper() + word[1:] for word in stem.split("_"))
        suites = {match.group(1): match.start(1) for match in pattern.finditer(text)}
        if wanted not in suites:
            yield Breach(path, 1, f"the file has no test of the suite {wanted}")
        for suite in suites.keys() - {wanted}:
            line = cxx.line_of(text, suites[suite])
            yield Breach(path, line, f"{suite}: the suite of this file is {wanted}")


def tests_outweigh_source(tree: Tree) -> Iterator[Breach]:
    """There are nearly as many lines of tests as of source.

    Not quite: most of a kernel's lines describe it, and a table of examples tests all
    of them.
    """
    test, source = test_and_source_lines(tree)
    if test < TESTS_PER_SOURCE_MIN * source:
        yield Breach("millrace", 0, f"{test} lines of tests for {source} of source")


def paths_are_of_no_machine(tree: Tree) -> Iterator[Breach]:
    """Nothing names a place on the machine it was written on."""
    for path, text in tree.items():
        for match in MACHINE_PATH.finditer(text):
            line = cxx.line_of(text, match.start())
            yield Breach(path, line, f"a path of one machine: {match.group()}")


def glossary_synonyms(glossary: str) -> dict[str, str]:
    """Return each word to avoid with the word to use.

    They are in the tables that have a column "Not": its words, separated by commas, are
    what the first column's word is not called.
    """
    synonyms = {}
    column = None
    for line in glossary.splitlines():
        cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            headings = [cell.lower() for cell in cells]
            column = headings.index("not") if "not" in headings else len(cells)
        elif column < len(cells):
            for word in cells[column].lower().split(","):
                synonyms[word.strip(" *`")] = cells[0]
    return synonyms


def words_are_of_the_glossary(tree: Tree) -> Iterator[Breach]:
    """One word per idea: names in the code avoid the synonyms the glossary lists."""
    synonyms = glossary_synonyms(tree.get("docs/glossary.md", ""))
    if not synonyms:
        return
    for path, text in cxx_files(tree):
        code = FOREIGN_NAME.sub("", cxx.code_only(text))
        for match in re.finditer(r"\b[A-Za-z_]\w*", code):
            for part in re.findall(r"[A-Z]?[a-z]+", match.group()):
                word = part.lower()
                use = synonyms.get(word) or synonyms.get(word.removesuffix("s"))
                if use:
                    line = cxx.line_of(code, match.start())
                    message = f"{match.group()}: the glossary's word is {use}"
                    yield Breach(path, line, message)


RULES: tuple[Rule, ...] = (
    functions_are_short,
    blocks_are_shallow,
    files_are_short,
    lines_are_narrow,
    headers_open_with_a_comment,
    folders_have_a_readme,
    files_are_reached,
    fuzz_targets_have_a_corpus,
    libraries_stay_in_their_folder,
    layers_stay_pure,
    clocks_are_read_in_one_place,
    names_say_what_is_inside,
    tests_hold_their_suite,
    tests_outweigh_source,
    paths_are_of_no_machine,
    words_are_of_the_glossary,
)


def numbers(tree: Tree) -> Iterator[str]:
    """Yield the numbers we watch, a line each."""
    lengths = source_function_lines(tree)
    test, source = test_and_source_lines(tree)
    checks = sum(
        len(CHECK_CALL.findall(cxx.code_only(text)))
        for _, text in cxx_files(tree, tests=False)
    )
    median = round(statistics.median(lengths or [0]))
    yield (
        f"functions: {len(lengths)}, lines median {median}, "
        f"p90 {percentile(lengths, 90)}, p99 {percentile(lengths, 99)}, "
        f"max {max(lengths, default=0)}"
    )
    yield f"tests: {test} lines for {source} of source, {test / max(source, 1):.2f} : 1"
    yield f"checks: {checks}, {1000 * checks / max(source, 1):.1f} per 1000 lines"


def main() -> int:
    """Check the project this file belongs to."""
    tree = read_tree(Path(__file__).resolve().parent.parent)
    breaches = [breach for rule in RULES for breach in rule(tree)]
    for breach in breaches:
        print(breach)
    for line in numbers(tree):
        print(f"   {line}")
    if breaches:
        print(f"{len(breaches)} breaches of the house rules.")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
