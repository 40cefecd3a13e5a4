"""Every block of code on every page runs: README, CONTRIBUTING, SECURITY and the pages in docs.

A page is one session in an empty directory: later blocks continue earlier ones.

* ``python``: runs; a ``text`` block right after it holds exactly what it prints.
* ``console``: runs line by line; lines below a command hold exactly what it prints.
* a block of any language with ``title="NAME"``: becomes this file.
* ``json``, ``toml``, ``diff``: is parsed.

``<!-- not run: REASON -->`` above a block says why it can't run in a test; their number is below.
The pages of adapters need the frameworks: ``make smoke-adapters`` runs them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from loopback import Loopback, Reply, Request

import episodica

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PAGES = [
    *sorted(TOP.glob("*.md")),
    TOP / "evaluation" / "README.md",
    *sorted(page for page in DOCS.glob("**/*.md") if page.parent.name != "adapters"),
]
# Blocks that are marked as not run, by page.
NOT_RUN = {
    "CONTRIBUTING.md": 2,
    "README.md": 1,
    "README.zh.md": 1,
    "docs/facts.md": 1,
    "docs/guide/command_line.md": 1,
    "docs/guide/deploy.md": 5,
    "docs/guide/postgresql.md": 4,
    "docs/mcp.md": 2,
    "docs/others.md": 1,
    "docs/performance.md": 1,
    "docs/results.md": 1,
    "docs/scoring.md": 1,
    "docs/serve.md": 2,
    "docs/start/chatbot.md": 1,
    "docs/start/install.md": 2,
    "docs/ui.md": 1,
    "evaluation/README.md": 3,
}


class Block(NamedTuple):
    """A block of code: its language and title, its text, why it can't run, and its output."""

    language: str
    title: str
    text: str
    not_run: str
    shown: str | None


_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n+)?"
    r"```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$"
    r"(?:\n+```text\n(?P<shown>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


def blocks(page: Path) -> list[Block]:
    """The blocks of a page; one that a snippet fills is resolved."""
    found = []
    for one in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        text = one["text"]
        if snippet := re.fullmatch(r"--8<--\n(.+)\n--8<--\n", text):
            text = (TOP / snippet[1]).read_text(encoding="utf-8")
        found.append(Block(one["language"], one["title"] or "", text, one["why"], one["shown"]))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_pages(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    # Commands find the package and the interpreter of the test, and answer no questions.
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([folder, os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.syspath_prepend(Path.cwd())
    for block in blocks(page):
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
            # A later page may have another module of this name.
            sys.modules.pop(Path(block.title).stem, None)
        elif block.not_run:
            continue
        elif block.language == "python":
            if "import TestClient" in block.text:
                pytest.importorskip("fastapi.testclient")
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(compile(block.text, page.name, "exec"), names)
            assert block.shown is None or told.getvalue() == block.shown
        elif block.language in ("console", "sh"):
            for command, shown in commands(block):
                run(command, shown)
        else:
            check(block)


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, each with the lines below it."""
    prompt = "$ " if block.language == "console" else ""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith(prompt):
            found.append((line.removeprefix(prompt).partition("  #")[0], ""))
        elif line:
            command, shown = found.pop()
            found.append((command, f"{shown}{line}\n"))
    return found


def run(command: str, shown: str) -> None:
    """Runs a command; one below which an error is shown has to fail."""
    done = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert (done.returncode != 0) == shown.startswith("error:"), f"{command}\n{done.stdout}"
    assert not shown or done.stdout == shown, command


def check(block: Block) -> None:
    """Checks that a block that can't run is at least well formed."""
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "diff":
        for taken in ("+", "-"):
            lines = [one for one in block.text.splitlines(True) if not one.startswith(taken)]
            compile("".join(line[1:] for line in lines), "diff", "exec")
    else:
        assert block.language in ("text", ""), f"who runs `{block.language}`?"


def test_blocks_that_do_not_run_are_counted() -> None:
    found = Counter(
        str(page.relative_to(TOP)) for page in PAGES for block in blocks(page) if block.not_run
    )
    assert dict(found) == NOT_RUN


def test_no_mark_and_no_fence_is_overlooked() -> None:
    """Every mark belongs to a block, and every fence is the start or the end of one."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = blocks(page)
        assert len(re.findall("^<!-- not run:", text, re.M)) == sum(
            bool(block.not_run) for block in found
        ), page
        fences = len(re.findall(r"^ *```", text, re.MULTILINE))
        assert fences == 2 * len(found) + 2 * sum(block.shown is not None for block in found), page


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


def test_commands_that_do_not_run_name_real_targets_and_extras() -> None:
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets, extras = set(), set()
    for page in [*PAGES, *DOCS.glob("adapters/*.md")]:
        text = page.read_text(encoding="utf-8")
        targets |= set(re.findall(r"(?:^\$ |^|`|&& )make ([a-z-]+)", text, re.MULTILINE))
        for names in re.findall(r"episodica\[([\w,-]+)\]", text):
            extras |= set(names.split(","))
    assert len(targets) > 10
    assert targets <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert len(extras) > 5
    assert extras <= set(project["optional-dependencies"])


def test_every_error_is_on_its_page_with_cause_and_remedy() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^::: episodica\.(\w+)$(.*?)(?=^:::|\Z)", text, re.M | re.S))
    errors = {
        name
        for name in episodica.__all__
        if isinstance(getattr(episodica, name), type)
        and issubclass(getattr(episodica, name), episodica.EpisodicaError)
    }
    assert set(entries) == errors
    for name in errors - {"EpisodicaError"}:
        assert re.search(r"^\*\*Cause\.\*\* .+\.$", entries[name], re.M), name
        assert re.search(r"^\*\*Remedy\.\*\* .+\.$", entries[name], re.M), name


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md"))
    shown = re.findall(r"^::: episodica\.(\w+)$", text, re.M)
    assert sorted(shown) == sorted(set(episodica.__all__) - {"__version__"})


def test_the_reference_lists_every_method_by_its_purpose() -> None:
    text = (DOCS / "reference" / "memory.md").read_text(encoding="utf-8")
    listed = re.findall(r"\[episodica\.MemorySystem\.(\w+)\]", text)
    public = [name for name in dir(episodica.MemorySystem) if not name.startswith("_")]
    assert sorted(listed) == sorted(public)


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"[\w/]+\.(?:md|ipynb)$", (TOP / "mkdocs.yml").read_text(), re.M)
    pages = [*DOCS.glob("**/*.md"), *DOCS.glob("**/*.ipynb")]
    # tools/docs_hooks.py lists the decisions.
    names = [str(page.relative_to(DOCS)) for page in pages if page.parent.name != "decisions"]
    assert sorted(listed) == sorted(names)


def test_the_chatbot_asks_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> Reply:
        message = {"role": "assistant", "content": f"answer {request.number}"}
        return Reply({"choices": [{"index": 0, "message": message}]})

    program = DOCS / "start" / "chatbot.py"
    with contextlib.closing(Loopback(answer)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for said in ("I moved to Lyon with my dog Pickle.\n", "Where do I live?\n"):
            done = subprocess.run(
                [sys.executable, program, "Alice"],
                input=said,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
        assert done.stdout == "answer 2\n"
        first, second = (request.body["messages"] for request in server.requests)
    assert "Lyon" not in first[0]["content"]
    assert "I moved to Lyon with my dog Pickle." in second[0]["content"]
    assert second[-1]["content"] == "Where do I live?"
