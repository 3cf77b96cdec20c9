"""The reference of the Python package, and how it is written."""

import ast

import api_reference as reference

PAGES = reference.pages()
TEXTS = reference.reference()


def text_of(file: str) -> str:
    return TEXTS[reference.FOLDER / file]


def test_what_is_there_is_what_would_be_written() -> None:
    assert set(reference.FOLDER.glob("*.md")) == set(TEXTS)
    for path, text in TEXTS.items():
        assert path.read_text() == text, "run: python tools/api_reference.py"


def test_every_public_name_has_a_place() -> None:
    listed = {entry.name for page in PAGES for entry in page.entries}
    modules = {f"mr.{name}" for name in reference.kernel_modules()}
    titles = {page.title for page in PAGES}
    assert modules <= titles
    missing = (
        set(reference.module("millrace").names)
        - set(reference.kernel_modules())
        - listed
    )
    assert not missing, "give it a place in tools/api_reference.py"


def test_names_are_those_that_the_package_has() -> None:
    assert "read_parquet" in reference.source_functions()
    assert "loader" not in reference.source_functions()
    assert "image" in reference.kernel_modules()
    assert "## parse" in text_of("example.md")  # From a module beside the kernels.


def test_every_method_of_datasets_is_there_once() -> None:
    text = text_of("dataset.md")
    for name in ("map", "filter", "batch", "pack", "explain", "distribute"):
        assert text.count(f"\n### {name}\n") == 1
    assert "_then" not in text


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    home, node = reference.find("millrace", "read_csv")
    assert isinstance(node, ast.FunctionDef)
    lines = reference.function_code(home, node, "read_csv").splitlines()
    assert lines[0] == "def read_csv("
    assert lines[1:5] == [
        "    paths: Paths,",
        '    separator: str = ",",',
        "    *,",
        "    fields: str | None = None,",
    ]
    assert lines[-1] == ") -> Dataset: ..."


def test_a_class_without_fields_shows_its_bases() -> None:
    assert "class DataError(Error, ValueError): ..." in text_of("errors.md")


def test_docstrings_become_markdown() -> None:
    doc = """Reads *.txt, and `*.csv`.

Args:
    paths: Where
        they are.

Example:
    >>> 1 + 1
    2"""
    assert reference.doc_text(doc) == (
        "Reads \\*.txt, and `*.csv`.\n\n"
        "- `paths`: Where\n  they are.\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )


def test_headings_of_one_name_have_places_of_their_own() -> None:
    page = next(page for page in PAGES if page.file == "loaders.md")
    places = reference.anchors(page)
    assert len(set(places)) == len(places)
    assert places[:2] == ["loader", "loader-1"]
