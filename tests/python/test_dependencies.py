"""Each dependency has its reason next to it, in Cargo.toml or pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MANIFESTS = [*(ROOT / "src").glob("*/Cargo.toml"), ROOT / "benches" / "Cargo.toml"]
KINDS = ("dependencies", "build-dependencies", "dev-dependencies")
REQUIREMENT = re.compile(r'"[\w.-]+[<>=~]=|^[\w-]+ = (?:"|\{ version)')


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def table(path: Path, header: str) -> list[str]:
    """The lines of a table."""
    text = path.read_text(encoding="utf-8")
    return text.partition(f"\n{header}\n")[2].partition("\n[")[0].splitlines()


def unexplained(lines: list[str]) -> list[str]:
    """Requirements with no comment at their end and none above them in the table."""
    found, covered = [], False
    for line in lines:
        covered = covered or line.startswith("# ")
        if REQUIREMENT.search(line) and not covered and not re.search(r"  # \S+", line):
            found.append(line)
    return found


def test_a_dependency_without_a_reason_is_found() -> None:
    rows = ['serde = "1.0"', 'half = { version = "2" }', "dev = [", '  "ruff==1",', "]"]
    assert unexplained(rows) == [rows[0], rows[1], rows[3]]
    assert not unexplained(['serde = "1.0"  # records', "# why", *rows])


def test_rust_dependencies_have_reasons() -> None:
    lines = table(ROOT / "Cargo.toml", "[workspace.dependencies]")
    listed = set(read_toml(ROOT / "Cargo.toml")["workspace"]["dependencies"])
    own = {name for name in listed if name.startswith("episodica-")}
    assert sum(bool(REQUIREMENT.search(line)) for line in lines) == len(listed - own) > 30
    assert not unexplained(lines)
    comments = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    for manifest in map(read_toml, MANIFESTS):
        named = {name for kind in KINDS for name in manifest.get(kind, {})}
        assert all(f"`{name}`" in comments for name in named - listed), named


def test_python_dependencies_have_reasons() -> None:
    path = ROOT / "pyproject.toml"
    for header in ("[project.optional-dependencies]", "[dependency-groups]"):
        lines = table(path, header)
        assert sum(bool(REQUIREMENT.search(line)) for line in lines) > 10
        assert not unexplained(lines)
