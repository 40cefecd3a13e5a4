"""Tests of the adapters with the real frameworks; `make test-adapters` runs them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from episodica import AsyncMemorySystem, MemorySystem
from episodica.adapters import Where

DOCS = Path(__file__).parents[2] / "docs" / "adapters"
END = "--- the program ends here"


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's settings or writes outside its own directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("EPISODICA_", "OPENAI_", "ANTHROPIC_", "LANGCHAIN_", "LANGSMITH_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def memory(store: Path) -> Iterator[MemorySystem]:
    with MemorySystem(store) as opened:
        yield opened


@pytest.fixture(params=["path", "system", "async system"])
async def anywhere(request: pytest.FixtureRequest, store: Path) -> AsyncIterator[Where]:
    """A memory in each of the forms that an adapter takes."""
    if request.param == "path":
        yield store
    elif request.param == "system":
        with MemorySystem(store) as opened:
            yield opened
    else:
        async with AsyncMemorySystem(store) as opened:
            yield opened


@pytest.fixture
def the_page(tmp_path: Path) -> Callable[[str], None]:
    """Runs all code of a page in docs/adapters; its program prints what the page says it prints.

    The other blocks of Python, and the lines that a diff leaves, run after the program with its
    names. Commands may install an extra, which must exist, or run Python.
    """

    def run(name: str) -> None:
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
        kinds = {kind for kind, _ in blocks}
        assert kinds <= {"console", "python", "diff", "text", "yaml"}, kinds
        by_kind = {kind: [code for one, code in blocks if one == kind] for kind in kinds}
        program = f"--8<--\ndocs/adapters/example_{name}.py\n--8<--\n"
        assert program in by_kind["python"], "the page does not show its program"
        rest = [code for code in by_kind["python"] if code != program]
        rest += [after(diff) for diff in by_kind.get("diff", ())]
        code = (DOCS / f"example_{name}.py").read_text(encoding="utf-8")
        script = tmp_path / "page.py"
        script.write_text("\n".join([code, f"print({END!r})", *rest]), encoding="utf-8")
        printed = python(tmp_path, str(script)).partition(f"{END}\n")
        assert printed[1], "the program ends before the other blocks of the page"
        assert [printed[0]] == by_kind["text"]
        for command in "".join(by_kind.get("console", ())).splitlines():
            check_command(command, tmp_path)

    return run


def after(diff: str) -> str:
    """The lines that a diff leaves or adds."""
    return "\n".join(line[1:] for line in diff.splitlines() if line[:1] in ("+", " "))


def check_command(command: str, folder: Path) -> None:
    """Runs a command of a page; of an installation only the extra's name is checked."""
    words = shlex.split(command.removeprefix("$ "))
    if words[:2] == ["pip", "install"]:
        project = tomllib.loads((DOCS.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        extras = [f"episodica[{name}]" for name in project["project"]["optional-dependencies"]]
        assert set(words[2:]) <= set(extras), command
    else:
        assert words[0] == "python", command
        python(folder, *words[1:])


def python(folder: Path, *arguments: str) -> str:
    """What a run of Python in a folder prints."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,  # importing a framework takes its time
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def on_disk(store: Path) -> Callable[[str], bool]:
    """Whether a word is in any file of the store."""

    def look(word: str) -> bool:
        files = (path for path in store.rglob("*") if path.is_file())
        return any(word.encode() in path.read_bytes() for path in files)

    return look
