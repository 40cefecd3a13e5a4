"""The notebooks of the docs run, and their outputs are small and name no machine."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_some() -> None:
    assert {"first_steps", "locomo", "own_embedder", "with_an_llm"} <= {
        path.stem for path in NOTEBOOKS
    }


@each
def test_it_runs(path: Path) -> None:
    for needed in ("nbclient", "ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(needed)
    command = [sys.executable, str(ROOT / "tools" / "notebooks.py"), "--check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@each
def test_its_outputs_are_kept(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 400_000
    assert "/tmp/" not in text
    assert "/home/" not in text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert len(outputs) >= len(cells) // 2
    assert not [
        output
        for output in outputs
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ]


def test_they_run_twice_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run shows the same as the first: people run notebooks again, in the same folder."""
    for needed in ("matplotlib", "pandas"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    first, second = ({path.stem: shown(path) for path in NOTEBOOKS} for _ in range(2))
    for name, told in first.items():
        assert any(told), name
        assert second[name] == told, name


def shown(path: Path) -> list[str]:
    """What each cell prints, and its last value."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            if isinstance(tree.body[-1], ast.Expr):
                tree.body[-1] = ast.parse("_ = 0").body[0]
                tree.body[-1].value = ast.parse("".join(cell["source"])).body[-1].value
            told = io.StringIO()
            names["_"] = None
            with contextlib.redirect_stdout(told):
                exec(compile(tree, path.name, "exec"), names)
            found.append(told.getvalue() + without_measures(repr(names["_"])))
    return found


def without_measures(text: str) -> str:
    """Addresses, times and sizes in memory differ from run to run."""
    return re.sub(r"0x[0-9a-f]+|(seconds|memory_bytes)=[\d.e-]+", "", text)
