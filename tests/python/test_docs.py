"""Every example in the documentation runs: docstrings, README and the pages in docs."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import episodica
from episodica import AsyncMemorySystem, MemorySystem

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
    seen: dict[str, str] = {}
    for name, text in found.items():  # what is inherited runs once
        if ">>>" in text:
            seen.setdefault(text, name)
    return [(name, text) for text, name in seen.items()]


@pytest.mark.parametrize(
    ("name", "text"), documented(), ids=lambda value: value if " " not in str(value) else ""
)
def test_docstring_examples(
    name: str, text: str, lyon: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples of coroutines run in one event loop, with ``await`` at the top."""
    monkeypatch.setattr(sys, "displayhook", lambda value: value is None or print(repr(value)))
    names: dict[str, Any] = {one: getattr(episodica, one) for one in episodica.__all__}
    with asyncio.Runner() as loop, contextlib.ExitStack() as stack:
        names["memory"] = lyon
        if name.startswith("Async"):
            lyon.close()
            names["memory"] = memory = AsyncMemorySystem(lyon.path)
            stack.callback(lambda: loop.run(memory.close()))
        for example in doctest.DocTestParser().get_examples(text):
            told = output(example, names, loop)
            right = doctest.OutputChecker().check_output(
                example.want, told, doctest.NORMALIZE_WHITESPACE
            )
            assert right, f"{example.source}gives\n{told}and not\n{example.want}"


def output(example: doctest.Example, names: dict[str, Any], loop: asyncio.Runner) -> str:
    """What an example prints, or its error as the docstring has it."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(example.source, "example", "single", flags=flags, dont_inherit=True)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        try:
            if inspect.iscoroutine(result := eval(code, names)):
                loop.run(result)
        except episodica.EpisodicaError as error:
            told.write("Traceback (most recent call last):\n")
            told.write("".join(traceback.format_exception_only(error)))
    return told.getvalue()


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
