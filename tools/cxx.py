"""Reads C++ just well enough for tools/tidy.py: no comments, includes, functions.

A real parser would be exact and slow. This one knows comments, strings, preprocessor
lines and braces, which is enough for code that clang-format has laid out.
"""

import dataclasses
import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      //[^\n]*                                     # line comment
    | /\*.*?\*/                                    # block comment
    | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" # raw string
    | "(?:\\.|[^"\\\n])*"                          # string
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'          # character, not a digit separator
    """,
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_SCOPE = re.compile(
    r"^(?:template\s*<.*>\s*|inline\s+|typedef\s+|export\s+)*"
    r"(?:namespace|class|struct|union|enum|extern\s*$)",
    re.DOTALL,
)
_INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
_BLOCK = re.compile(r"(?:\)|\]|[;}:]|\b(?:else|do|try|mutable|noexcept)|->[^;{}()]+)$")
_WORD_END = re.compile(r"[\w>]$")


@dataclasses.dataclass(frozen=True)
class Include:
    """One #include line; `target` is what stands between the quotes or brackets."""

    line: int
    target: str


@dataclasses.dataclass(frozen=True)
class Function:
    """A function with a body: where its declaration starts, its lines in all."""

    line: int
    lines: int
    name: str
    nesting: int = 0  # Blocks inside one another, without the body itself.


def line_of(text: str, offset: int) -> int:
    """Return the line number, from 1, of a place in a text."""
    return text.count("\n", 0, offset) + 1


def blank(match: re.Match[str]) -> str:
    """Return as many lines as the match has, without its characters."""
    return "\n" * match.group().count("\n")


def without_comments(text: str) -> str:
    """Return the text with comments removed; lines keep their numbers."""

    def replace(match: re.Match[str]) -> str:
        return blank(match) if match.group()[0] == "/" else match.group()

    return _TOKEN.sub(replace, text)


def code_only(text: str) -> str:
    """Return the text without comments, strings and preprocessor lines."""

    def replace(match: re.Match[str]) -> str:
        return blank(match) if match.group()[0] == "/" else '""' + blank(match)

    return _DIRECTIVE.sub(blank, _TOKEN.sub(replace, text))


def includes(text: str) -> list[Include]:
    """Return the include lines of a file."""
    code = without_comments(text)
    return [
        Include(line_of(code, match.start(1)), match.group(2))
        for match in _INCLUDE.finditer(code)
    ]


def functions(text: str) -> Iterator[Function]:
    """Yield the functions with a body, tests among them; a lambda is part of its."""
    code = code_only(text)
    head_start = 0  # Where the declaration being read began.
    parentheses = 0
    offset = 0
    while offset < len(code):
        char = code[offset]
        if char in "()":
            parentheses += 1 if char == "(" else -1
        elif char == "{":
            head = code[head_start:offset].strip()
            if parentheses or _opens_value(head):
                offset = _closing_brace(code, offset)
            elif _SCOPE.match(head):
                head_start = offset + 1
            else:
                end = _closing_brace(code, offset)
                yield from _function(code, head_start, offset, end)
                offset = end
                head_start = end + 1
        elif _ends_declaration(code[head_start : offset + 1], parentheses):
            head_start = offset + 1
        offset += 1


def _ends_declaration(head: str, parentheses: int) -> bool:
    """Tell whether the next declaration starts after this text."""
    if head[-1] in ";}":
        return parentheses == 0
    return head.strip() in ("public:", "private:", "protected:")


def _opens_value(head: str) -> bool:
    """Tell whether a brace after this head opens a value, not a scope or a body."""
    if _SCOPE.match(head):
        return False
    if ")" not in head:
        return True  # int x{1}; T table[] = {...};
    listed = _INITIALISERS.search(head)
    return bool(listed and _WORD_END.search(head))  # Queue(int n) : limit_{n} {...}


def _closing_brace(code: str, opening: int) -> int:
    """Return the offset of the brace that closes the one at `opening`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def _function(code: str, start: int, opening: int, end: int) -> Iterator[Function]:
    head = code[start:opening]
    start += len(head) - len(head.lstrip())
    first = line_of(code, start)
    name = re.search(r"([\w:~]+|operator\W+)\s*\(", head)
    lines = line_of(code, end) - first + 1
    nesting = _nesting(code[opening + 1 : end])
    yield Function(first, lines, name.group(1) if name else head.strip(), nesting)


def _nesting(body: str) -> int:
    """Return how deep blocks and lambdas are nested; those on one line do not count."""
    deepest = 0
    open_braces: list[bool] = []  # For each: is it a block, not a braced value?
    for match in re.finditer(r"[{}]", body):
        if match.group() == "{":
            before = body[max(0, match.start() - 200) : match.start()].rstrip()
            bare = before.endswith("{") and all(open_braces[-1:])
            inside = body[match.start() : _closing_brace(body, match.start())]
            block = bare or bool(_BLOCK.search(before))
            open_braces.append(block and "\n" in inside)
            deepest = max(deepest, sum(open_braces))
        elif open_braces:
            open_braces.pop()
    return deepest
