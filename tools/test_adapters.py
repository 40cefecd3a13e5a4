"""Tests every adapter with the oldest and the newest version of its framework.

`make test-adapters` runs it. Each version has an environment of its own under .cache/adapters,
which is made once, and again when the versions here or in pyproject.toml change. With the newest
version mypy also checks the adapter. `make smoke-adapters` (`--smoke`) runs only the code of the
pages in docs/adapters, with the versions in smoke_adapters.txt, in few environments.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "adapters"
ADAPTERS = ROOT / "python" / "episodica" / "adapters"
TESTS = ROOT / "tests" / "adapters"

TOOLS = ["numpy", "pytest", "pytest-asyncio", "pytest-timeout"]
# The package whose version the output shows.
FRAMEWORKS = {
    "agent-framework": "agent-framework-core",
    "clients": "openai",
    "crewai": "crewai",
    "google-adk": "google-adk",
    "hermes": "hermes-agent",
    "langchain": "langchain-core",
    "langgraph": "langgraph",
    "llamaindex": "llama-index-core",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai-slim",
}
# Packages that tests need besides the adapter's extra: with the newest version, and with the
# oldest.
FOR_TESTS: dict[str, tuple[list[str], list[str]]] = {
    "clients": (["anthropic", "openai"], ["anthropic==0.70.0", "openai==2.0.0"]),
    "langchain": (["langchain-tests"], ["langchain-tests<1.1"]),
    "langgraph": (["langgraph"], ["langgraph==1.0.1", "langgraph-prebuilt==1.0.1"]),
    "openai-agents": ([], ["openai==2.26.0"]),
}
# The modules of the adapters that are not a single module of the adapter's name.
MODULES = {"clients": ["openai.py", "anthropic.py"], "langgraph": ["langgraph"]}


class Run(NamedTuple):
    """Tests of some adapters in one environment."""

    environment: str
    requirements: list[str]
    adapters: list[str]
    options: list[str]
    checks_types: bool


def full_runs(names: list[str], only_newest: bool) -> Iterator[Run]:
    """All tests of each adapter, with the newest and with the oldest version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    for name in names:
        extra = extras.get(name, [])
        newest, oldest = FOR_TESTS.get(name, ([], []))
        yield Run(f"{name}-newest", [*TOOLS, *extra, *newest], [name], [], True)
        if not only_newest:
            lowest = [one.replace(">=", "==") for one in extra]
            yield Run(f"{name}-oldest", [*TOOLS, *lowest, *oldest], [name], [], False)


def smoke_runs(names: list[str]) -> Iterator[Run]:
    """The code of the pages, in one environment for each paragraph of smoke_adapters.txt."""
    paragraphs = (ROOT / "tools" / "smoke_adapters.txt").read_text(encoding="utf-8").split("\n\n")
    for number, paragraph in enumerate(paragraphs, 1):
        pins = [line for line in paragraph.splitlines() if not line.startswith("#")]
        packages = {pin.partition("==")[0] for pin in pins}
        adapters = [name for name in names if FRAMEWORKS[name] in packages]
        if adapters:
            options = ["-k", "code_of_the_page"]
            yield Run(f"smoke-{number}", [*TOOLS, *pins], adapters, options, False)


def interpreter(run: Run) -> Path:
    """The interpreter of a run's environment; makes the environment if it is missing or old."""
    folder = CACHE / run.environment
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    wanted = "\n".join(run.requirements)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *run.requirements], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "episodica.pth").write_text(str(ROOT / "python"), encoding="utf-8")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def tested(run: Run, python: Path) -> tuple[bool, str]:
    """Runs the tests; returns whether they pass, and pytest's last line."""
    files = [TESTS / f"test_{name.replace('-', '_')}.py" for name in run.adapters]
    pytest = [python, "-m", "pytest", "--quiet", "--config-file", TESTS / "pytest.ini"]
    ran = subprocess.run(
        [*pytest, "--disable-warnings", *run.options, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    print(ran.stdout, end="", flush=True)
    lines = ran.stdout.strip().splitlines() or ["no output"]
    return ran.returncode == 0, lines[-1].strip("= ")


def typed(run: Run, python: Path) -> bool:
    """Whether mypy accepts the adapters with the types of the installed frameworks."""
    names = [
        module
        for name in run.adapters
        for module in MODULES.get(name, [f"{name.replace('-', '_')}.py"])
    ]
    mypy = [sys.executable, "-m", "mypy", "--python-executable", python]
    cache = ["--cache-dir", CACHE / "mypy" / run.environment]
    ran = subprocess.run([*mypy, *cache, *(ADAPTERS / name for name in names)], check=False)
    return ran.returncode == 0


def versions(run: Run, python: Path) -> str:
    """The frameworks of a run with their versions."""
    named = [FRAMEWORKS[name] for name in run.adapters]
    code = (
        "import sys; from importlib.metadata import version;"
        "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    )
    found = subprocess.run([python, "-c", code, *named], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def main() -> int:
    """Tests the chosen adapters; returns the number of failed runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FRAMEWORKS, []], metavar="NAME")
    parser.add_argument("--newest", action="store_true", help="only the newest versions")
    parser.add_argument("--smoke", action="store_true", help="only the code of the pages")
    arguments = parser.parse_args()
    names = arguments.names or list(FRAMEWORKS)
    table, failed = [], 0
    for run in smoke_runs(names) if arguments.smoke else full_runs(names, arguments.newest):
        print(run.environment, flush=True)
        started = time.monotonic()
        python = interpreter(run)
        installed = time.monotonic() - started
        passed, line = tested(run, python)
        if run.checks_types and not typed(run, python):
            passed, line = False, f"{line}; wrong types"
        failed += not passed
        table.append(f"{run.environment:24} {installed:5.0f} s  {line}; {versions(run, python)}")
    print(f"\n{'environment':24} {'install':>7}  tests; versions", *table, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
