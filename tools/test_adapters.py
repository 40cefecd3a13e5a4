"""Tests every adapter with the oldest and the newest version of its framework.

Called by `make test-adapters`. Each has an environment of its own under .cache/adapters, made once,
and again after a change of the versions. `python tools/test_adapters.py langgraph` tests one;
`--newest` leaves the oldest out, and `--smoke`, for `make smoke-adapters`, runs only what the pages
in docs/adapters show.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "adapters"

TOOLS = ["numpy", "pytest", "pytest-asyncio", "pytest-timeout"]
# What the tests of an adapter need besides its extra, for the newest version and for the oldest.
FOR_TESTS: dict[str, tuple[list[str], list[str]]] = {
    "agent-framework": ([], []),
    "clients": (["anthropic", "openai"], ["anthropic==0.70.0", "openai==2.0.0"]),
    "crewai": ([], []),
    "google-adk": ([], []),
    "hermes": ([], []),
    "langgraph": (["langgraph"], ["langgraph==1.0.1", "langgraph-prebuilt==1.0.1"]),
    "langchain": (["langchain-tests"], ["langchain-tests<1.1"]),
    "llamaindex": ([], []),
    "openai-agents": ([], ["openai==2.26.0"]),
    "pydantic-ai": ([], []),
}

# The package whose version the table shows.
FRAMEWORKS = {
    "agent-framework": "agent-framework-core",
    "clients": "openai",
    "crewai": "crewai",
    "google-adk": "google-adk",
    "hermes": "hermes-agent",
    "langgraph": "langgraph",
    "langchain": "langchain-core",
    "llamaindex": "llama-index-core",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai-slim",
}


def requirements(adapter: str, oldest: bool) -> list[str]:
    """What is installed for an adapter: its extra at its lower bounds or as new as can be."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].get(adapter, [])
    newest, pinned = FOR_TESTS[adapter]
    if oldest:
        return [*TOOLS, *(one.replace(">=", "==") for one in extras), *pinned]
    return [*TOOLS, *extras, *newest]


def environment(adapter: str, oldest: bool) -> Path:
    """The interpreter of an environment, which is made if it is missing or out of date."""
    folder = CACHE / f"{adapter}-{'oldest' if oldest else 'newest'}"
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    wanted = "\n".join(requirements(adapter, oldest))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted.split("\n")], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "episodica.pth").write_text(str(ROOT / "python"), encoding="utf-8")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def tested(adapter: str, python: Path, options: list[str]) -> tuple[bool, str]:
    """Runs an adapter's tests: whether they pass, and pytest's last line."""
    tests = ROOT / "tests" / "adapters"
    name = tests / f"test_{adapter.replace('-', '_')}.py"
    command = [python, "-m", "pytest", "--quiet", "--disable-warnings", *options, name]
    ran = subprocess.run(
        [*command, "--config-file", tests / "pytest.ini"],
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


def version(adapter: str, python: Path) -> str:
    """The version of an adapter's framework in an environment."""
    named = FRAMEWORKS[adapter]
    code = f"from importlib.metadata import version; print(version('{named}'))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return f"{named} {found.stdout.strip()}"


def main() -> int:
    """Tests the adapters that are asked for; the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FRAMEWORKS, []], metavar="NAME")
    parser.add_argument("--newest", action="store_true", help="only the newest versions")
    parser.add_argument("--smoke", action="store_true", help="only the pages, newest versions")
    arguments = parser.parse_args()
    versions = (False,) if arguments.newest or arguments.smoke else (False, True)
    options = ["-k", "of_the_page"] if arguments.smoke else []
    table, failed = [], 0
    for adapter in arguments.names or FRAMEWORKS:
        for oldest in versions:
            print(f"{adapter}, {'oldest' if oldest else 'newest'} version", flush=True)
            started = time.monotonic()
            python = environment(adapter, oldest)
            installed = time.monotonic() - started
            passed, line = tested(adapter, python, options)
            failed += not passed
            table.append((version(adapter, python), f"{installed:.0f} s", line))
    print(f"\n{'framework':32} {'install':>8}  tests")
    for name, seconds, line in table:
        print(f"{name:32} {seconds:>8}  {line}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
