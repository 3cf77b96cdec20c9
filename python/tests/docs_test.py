"""Every block of code of the documentation, run as a reader would."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

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


def all_pages() -> dict[str, str]:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    return {
        name: text
        for name, text in texts.items()
        if pages.is_program(text) and not name.startswith(GENERATED)
    }


PAGES = all_pages()
WITH_TORCH = [name for name, text in PAGES.items() if pages.needs_torch(text)]


@pytest.mark.parametrize("name", [name for name in PAGES if name not in WITH_TORCH])
def test_code_runs(name: str, tmp_path: Path) -> None:
    pages.run_page(PAGES[name], tmp_path, PREPARED.get(name, ""))


@pytest.mark.frameworks
@pytest.mark.parametrize("name", WITH_TORCH)
def test_code_with_torch_runs(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
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
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for file in files:
        for link in pages.links(file.read_text()):
            assert (file.parent / link).exists(), f"{file.relative_to(ROOT)}: {link}"
