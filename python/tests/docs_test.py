"""Every block of code of the documentation, run as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

import doctests_test
import pages

ROOT = Path(__file__).parent.parent.parent
# What a page takes for granted; others make their data themselves.
PREPARED = {
    "README.md": """
        millrace data make-images data --count 512 --files 128 --height 48 --width 64
        for file in data/images-*.tar; do mv $file data/train-${file#data/images-}; done
    """,
}
GENERATED = "docs/python/"  # Signatures; the examples in them are doctests.


FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(file.relative_to(ROOT)): file.read_text() for file in FILES}
PAGES = {
    name: text
    for name, text in TEXTS.items()
    if pages.is_program(text) and not name.startswith(GENERATED)
}
WITH_TORCH = [name for name, text in PAGES.items() if pages.needs_torch(text)]


@pytest.mark.parametrize("name", [name for name in PAGES if name not in WITH_TORCH])
def test_code_runs(name: str, tmp_path: Path) -> None:
    pages.run_page(PAGES[name], tmp_path, PREPARED.get(name, ""))


@pytest.mark.frameworks
@pytest.mark.parametrize("name", WITH_TORCH)
def test_code_with_torch_runs(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pages.run_page(PAGES[name], tmp_path, PREPARED.get(name, ""))


PAGE = """# A page
```python
def twice(x):
    return 2 * x
```
```sh
echo hello > greeting
```
```python
print(twice(4), open("greeting").read().strip())
```
```text
8 hello
```
"""


def test_blocks_of_a_page_run_in_order_in_one_program(tmp_path: Path) -> None:
    pages.run_page(PAGE, tmp_path)


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 12: the page shows"):
        pages.run_page(PAGE.replace("8 hello", "9 hello"), tmp_path)


def test_numbers_may_differ_where_the_page_says_so(tmp_path: Path) -> None:
    page = PAGE.replace("```text", "```text numbers").replace("8 hello", "9 hello")
    pages.run_page(page, tmp_path)


def test_an_error_names_the_line_of_the_page(tmp_path: Path) -> None:
    page = PAGE.replace("return 2 * x", "return 2 * y")
    with pytest.raises(AssertionError, match=r"line 4, in twice"):
        pages.run_page(page, tmp_path)


def test_a_block_with_a_title_is_a_file(tmp_path: Path) -> None:
    page = '```python title="train.py"\nprint("trained")\n```\n```sh\npython train.py\n'
    pages.run_page(f"{page}```\n```text\ntrained\n```\n", tmp_path)


def test_a_failing_command_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="returned non-zero exit status 3"):
        pages.run_page("```sh\nexit 3\n```\n", tmp_path)


def test_links_lead_somewhere() -> None:
    for name, text in TEXTS.items():
        for link in pages.links(text):
            path, _, place = link.partition("#")
            target = (ROOT / name).parent / path if path else ROOT / name
            assert target.exists(), f"{name}: {link}"
            if place:
                assert place in pages.anchors(target.read_text()), f"{name}: {link}"


# --- The examples in docstrings. ---


def modules_with_examples() -> list[str]:
    """Name the modules with examples that no other test runs."""
    folder = ROOT / "python"
    files = [f for f in folder.glob("millrace/**/*.py") if ">>> " in f.read_text()]
    names = [
        ".".join(file.relative_to(folder).with_suffix("").parts)
        for file in sorted(files)
    ]
    done = [*doctests_test.MODULES, "millrace.__init__"]
    return [n for n in names if n not in done and ".kernels." not in n]


EXAMPLES = modules_with_examples()
FRAMEWORK = {"millrace.torch.loader": "torch", "millrace.jax": "jax"}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in FRAMEWORK])
def test_examples_of_docstrings_run(name: str) -> None:
    doctests_test.test_examples_run(name)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", FRAMEWORK)
def test_examples_with_frameworks_run(name: str) -> None:
    pytest.importorskip(FRAMEWORK[name])
    doctests_test.test_examples_run(name)
