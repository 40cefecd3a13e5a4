"""Each dependency has its reason in CONTRIBUTING.md, and each reason its dependency."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def reasons(language: str) -> list[str]:
    """Names in the first column of the table for `language`, in its order."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition(f"| {language} | why |\n|---|---|\n")[2].partition("\n\n")[0]
    return [
        name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]


def test_rust_dependencies_have_reasons() -> None:
    manifests = [*(ROOT / "src").glob("*/Cargo.toml"), ROOT / "benches" / "Cargo.toml"]
    members = [read_toml(path) for path in manifests]
    tables = [
        member.get(kind, {})
        for member in members
        for kind in ("dependencies", "build-dependencies", "dev-dependencies")
    ]
    named = {
        name
        for table in [*tables, read_toml(ROOT / "Cargo.toml")["workspace"]["dependencies"]]
        for name in table
    }
    names = reasons("Rust")
    assert names == sorted(names)
    assert set(names) == {name for name in named if not name.startswith("episodica-")}


def test_python_dependencies_have_reasons() -> None:
    project = read_toml(ROOT / "pyproject.toml")
    requirements = [*project["project"]["dependencies"]]
    for group in [
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]:
        requirements += [one for one in group if isinstance(one, str)]
    assert set(reasons("Python")) == {
        re.split(r"[^\w.-]", requirement)[0] for requirement in requirements
    }
