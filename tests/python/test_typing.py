"""Typical user code is clean for mypy --strict and pyright, and typical mistakes are not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "typing"
MISTAKES = FOLDER / "mistakes.py"
CLEAN = sorted(path for path in FOLDER.glob("*.py") if path != MISTAKES)
PYTHON = Path(__file__).parents[2] / "python"

Checker = Callable[[list[Path], Path], dict[str, set[int]]]


def mypy(paths: list[Path], scratch: Path) -> dict[str, set[int]]:
    """The lines with errors by file, as mypy --strict sees them."""
    pytest.importorskip("mypy")
    config = scratch / "mypy.ini"
    config.write_text(
        # The bodies of the package's functions are none of the user's.
        f"[mypy]\nstrict = True\nmypy_path = {PYTHON}\nfollow_imports = silent\n"
        "[mypy-pandas.*]\nignore_missing_imports = True\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(config),
        "--cache-dir",
        os.devnull,
        *map(str, paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, set[int]] = {}
    for file, line in re.findall(r"^(.*?):(\d+): error:", done.stdout, re.MULTILINE):
        found.setdefault(Path(file).name, set()).add(int(line))
    return found


def pyright(paths: list[Path], scratch: Path) -> dict[str, set[int]]:
    """Like :func:`mypy`, as pyright sees them.

    Not in strict mode, which also demands the types that other packages lack.
    """
    pytest.importorskip("basedpyright", reason="`make typing` installs it")
    config = scratch / "pyrightconfig.json"
    settings = {
        "include": [str(path) for path in paths],
        "extraPaths": [str(PYTHON)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "reportMissingTypeStubs": False,
        "reportUnknownMemberType": False,
        "reportUnknownVariableType": False,
        "reportUnknownArgumentType": False,
    }
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "--project",
        str(config),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    found: dict[str, set[int]] = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found.setdefault(Path(one["file"]).name, set()).add(one["range"]["start"]["line"] + 1)
    return found


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_user_code_is_clean_and_mistakes_are_found(checker: Checker, tmp_path: Path) -> None:
    assert CLEAN
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if "# error:" in line}
    assert checker([*CLEAN, MISTAKES], tmp_path) == {MISTAKES.name: wanted}
