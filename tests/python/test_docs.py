"""Every example in the documentation runs: docstrings, README and the pages in docs."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

import episodica
from episodica import MemorySystem

TOP = Path(__file__).parents[2]
PAGES = [
    page
    for page in (TOP / "README.md", TOP / "README.zh.md", *sorted((TOP / "docs").glob("**/*.md")))
    # The pages of adapters need the frameworks: `make test-adapters` runs their programs.
    if page.exists() and page.parent.name != "adapters"
]


def documented() -> list[tuple[str, str]]:
    """Every public docstring with an example, by name."""
    found = {"episodica": episodica.__doc__ or ""}
    for name in episodica.__all__:
        item = getattr(episodica, name)
        found[name] = inspect.getdoc(item) or ""
        for member, value in inspect.getmembers(item) if isinstance(item, type) else []:
            if not member.startswith("_") and inspect.isroutine(value):
                found[f"{name}.{member}"] = inspect.getdoc(value) or ""
    return [(name, text) for name, text in found.items() if ">>>" in text]


@pytest.mark.parametrize(
    ("name", "text"), documented(), ids=lambda value: value if " " not in str(value) else ""
)
def test_docstring_examples(name: str, text: str, lyon: MemorySystem) -> None:
    globs: dict[str, Any] = {
        "memory": lyon,
        **{public: getattr(episodica, public) for public in episodica.__all__},
    }
    example = doctest.DocTestParser().get_doctest(text, globs, name, None, 0)
    told = io.StringIO()
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=told.write)
    assert not told.getvalue(), told.getvalue()


def test_the_main_methods_have_examples() -> None:
    names = {name for name, _ in documented()}
    assert {
        f"MemorySystem.{name}"
        for name in ("search", "context", "add_messages", "episodes", "get", "update", "verify")
    } <= names


def blocks(page: Path) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with the output of the ``text`` block after it."""
    pattern = r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?"
    return [
        (code, shown or None)
        for code, shown in re.findall(pattern, page.read_text(encoding="utf-8"), re.DOTALL)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    """One page is one session: later blocks continue earlier ones."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, shown in blocks(page):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            exec(compile(code, page.name, "exec"), names)
        assert shown is None or told.getvalue() == shown


def test_the_translation_has_what_the_original_has() -> None:
    """The same code (but for comments and prose), headings and links, in the same order."""
    original, translated = (
        (TOP / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")
    )

    def shape(text: str) -> tuple[list[int], list[str], list[str]]:
        headings = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
        fences = re.findall(r"^```(\w+)", text, re.MULTILINE)
        links = [
            link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("README")
        ]
        return headings, fences, links

    assert shape(original) == shape(translated)
    commands = [
        re.findall(r"^\$ (.*?)(?:  +#.*)?$", text, re.MULTILINE) for text in (original, translated)
    ]
    assert commands[0] == commands[1]
