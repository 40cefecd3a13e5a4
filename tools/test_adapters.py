"""Tests every adapter with the oldest and the newest version of its framework.

Called by `make test-adapters`. Each has an environment of its own under .cache/adapters, made once,
and again after a change of the versions. `python tools/test_adapters.py langgraph` tests one;
`--newest` leaves the oldest out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
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
    "langgraph": (["langgraph"], ["langgraph==1.0.1"]),
    "langchain": (["langchain-tests"], ["langchain-tests<1.1"]),
    "llamaindex": ([], []),
    "openai-agents": ([], ["openai==2.26.0"]),
    "pydantic-ai": ([], []),
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
    """The interpreter of an environment, which is made if it is not there or out of date."""
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


def main() -> int:
    """Tests the adapters that are asked for; the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FOR_TESTS, []], metavar="NAME")
    parser.add_argument("--newest", action="store_true", help="only the newest versions")
    arguments = parser.parse_args()
    failed = 0
    for adapter in arguments.names or FOR_TESTS:
        for oldest in (False,) if arguments.newest else (False, True):
            print(f"{adapter}, {'oldest' if oldest else 'newest'} version", flush=True)
            python = environment(adapter, oldest)
            tests = ROOT / "tests" / "adapters" / f"test_{adapter.replace('-', '_')}.py"
            settings = ROOT / "tests" / "adapters" / "pytest.ini"
            pytest = ["-m", "pytest", "--quiet", "--config-file", settings, "--disable-warnings"]
            ran = subprocess.run(
                [python, *pytest, tests],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": ""},
                check=False,
            )
            failed += ran.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
