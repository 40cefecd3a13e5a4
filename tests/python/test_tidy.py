"""The shape of the code: who may import whom, where imports stand, and how long files are.

The tables below say what is allowed. A module may import from the levels below its own, never from
its own level or above, so no circle can form. Within a package the modules may import each other
in any order that is no circle.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from unicodedata import combining, east_asian_width

import pytest

import episodica

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "episodica"
CORE = ROOT / "src" / "episodica-core" / "src"

# Modules and packages of `python/episodica`, lowest level first.
PYTHON_LEVELS = [
    "visible",
    "_native errors hints people preflight",
    "awaiting dates signatures",
    "frames handle headings place progress regular request_record value",
    "config records reports status",
    "embedders forgetting",
    "inputs listings models results sessions",
    "fence following profile readers rerankers",
    "store",
    "changes",
    "profiling",
    "operation queries",
    "corrections explaining forming plot recalling",
    "conversations layers namesakes",
    "transfer",
    "carrying display",
    "system",
    "aio compat",
    "server",
    "mcp",
    "cli",
    "__init__ __main__",
    "adapters",
]
# The modules of `adapters`: the shared ones, then one for each framework, which don't import each
# other.
ADAPTER_LEVELS = [
    "shared.connection shared.content shared.escaping shared.filters shared.identity",
    "shared.recalling",
    "shared.chat_messages shared.items shared.log shared.protocol",
    "shared.turns",
    "shared.streams",
    "shared.middleware",
    "__init__ shared",
    "agent_framework anthropic crewai google_adk hermes langchain langgraph llamaindex openai"
    " openai_agents pydantic_ai",
]
# The top-level modules of the core, lowest level first.
CORE_LEVELS = [
    "error fork sync",
    "clock control ids matrix parallel",
    "config pack",
    "model",
    "remote",
    "text",
    "index llm store",
    "embed",
    "score",
    "boundary",
    "generate",
    "engine",
]
# The folders of the engine, and the other modules of the engine that each may use. `memory` knows
# neither the engine nor its operations.
ENGINE_ROOMS = {
    "memory": "callback_guard counters",
    "asking": "services user",
    "writing": "asking callback_guard counters feed memory services user",
    "reading": "lifecycle memory services user",
    "background": "asking catching_up memory panics services user writing",
}
# Optional packages, and modules that load slowly and are seldom needed: only these are imported
# inside functions.
EXTRAS = {"IPython", "fastembed", "matplotlib", "numpy", "pandas", "shtab"}
SLOW = {
    *(".layers.folder", ".transfer", "asyncio", "concurrent.futures", "difflib", "hashlib", "html"),
    *("logging", "sqlite3", "tomllib", "urllib.error", "urllib.request", "zoneinfo"),
}
MAX_LINES = 800
MAX_WIDTH = 100


def tracked(*suffixes: str) -> list[Path]:
    """The files of the repository, including those about to be added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / line for line in found.splitlines() if line.endswith(suffixes)]
    return [path for path in paths if path.is_file()]


def levels(table: list[str]) -> dict[str, int]:
    return {name: level for level, names in enumerate(table) for name in names.split()}


def wrong_edges(edges: set[tuple[str, str]], table: list[str]) -> list[str]:
    """The imports that don't lead downwards."""
    level = levels(table)
    return sorted(
        f"{importer} -> {imported}"
        for importer, imported in edges
        if importer != imported and level[imported] >= level[importer]
    )


# Python


@cache
def python_modules() -> dict[str, Path]:
    """Dotted names below ``episodica`` and their files; a package is named like its folder."""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        short = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
        names[".".join(short)] = path
    return names


def imported_modules(name: str, path: Path) -> Iterator[str]:
    """The modules of the package that a module imports, those for type checkers included."""
    known = python_modules()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [] if name == "__init__" else package
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = [part for part in (node.module or "").split(".") if part]
        if node.level:
            parts = package[: len(package) - node.level + 1] + parts
        elif parts[0] != "episodica":
            continue
        elif len(parts) == 1:
            yield "__init__"
            continue
        else:
            parts = parts[1:]
        for alias in node.names:
            target = ".".join([*parts, alias.name])
            yield target if target in known or target == "_native" else ".".join(parts)


def test_python_modules_import_downwards_only() -> None:
    edges = {
        (name.partition(".")[0], target.partition(".")[0])
        for name, path in python_modules().items()
        for target in imported_modules(name, path)
    }
    assert ("system", "corrections") in edges, "the imports are not read"
    assert wrong_edges(edges, PYTHON_LEVELS) == []


def test_adapters_share_what_is_below_and_use_the_public_package() -> None:
    def adapter(name: str) -> str:
        """The name in the table: packages of frameworks are one module there."""
        parts = name.split(".")[1:]
        return ".".join(parts[: 2 if parts[:1] == ["shared"] else 1]) or "__init__"

    edges = set()
    for name, path in python_modules().items():
        if name.partition(".")[0] == "adapters":
            for target in imported_modules(name, path):
                inside = target.partition(".")[0] == "adapters"
                assert inside or target in ("__init__", "awaiting", "fence"), f"{name} -> {target}"
                if inside:
                    edges.add((adapter(name), adapter(target)))
    assert ("openai", "shared.middleware") in edges, "the imports are not read"
    assert wrong_edges(edges, ADAPTER_LEVELS) == []


def test_python_modules_form_no_circle() -> None:
    graph = {
        name: {target for target in imported_modules(name, path) if target != name}
        for name, path in python_modules().items()
        if path.name != "__init__.py"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_functions_import_only_what_users_may_lack_or_what_loads_slowly() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(function):
                names = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else ["." * node.level + (node.module or "")]
                    if isinstance(node, ast.ImportFrom)
                    else []
                )
                found += [
                    f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
                    for name in names
                    if name.partition(".")[0] not in EXTRAS and name not in SLOW
                ]
    assert found == []


def test_the_package_loads_nothing_that_loads_slowly() -> None:
    code = (
        "import sys, numpy; before = set(sys.modules); import episodica; "
        "print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    slow = {f"episodica{name}" if name.startswith(".") else name for name in SLOW}
    assert "episodica.system" in loaded
    assert slow.isdisjoint(loaded)


def test_the_evaluation_imports_public_names_only() -> None:
    public = {*episodica.__all__, "_native"}  # the benchmarks time a bare native call
    found = []
    for path in sorted((ROOT / "evaluation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name != "episodica"]
                found += [name for name in names if name.partition(".")[0] == "episodica"]
            elif isinstance(node, ast.ImportFrom) and node.module:
                if node.module == "episodica":
                    found += [a.name for a in node.names if a.name not in public]
                elif node.module.startswith("episodica."):
                    found.append(node.module)
    assert found == []


# Rust


@cache
def rust_modules() -> dict[tuple[str, ...], Path]:
    """The module paths of the core and their files, without those of tests."""
    modules = {}
    for path in sorted(CORE.rglob("*.rs")):
        parts = path.relative_to(CORE).with_suffix("").parts
        if not {"tests", "testing"} & set(parts):
            modules[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = path
    return modules


def rust_imports(module: tuple[str, ...], path: Path) -> Iterator[tuple[str, ...]]:
    """The paths below the crate that a file names, without those of its tests."""
    code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    code = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", code, maxsplit=1, flags=re.MULTILINE)[0]
    code = re.sub(r"pub\(in [\w:]+\)", "", code)
    used = re.findall(r"\buse ((?:crate|super)::[^;]*);", code)
    named = re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse [^;]*;", "", code))
    for tree in [*used, *named]:
        for names in expanded(re.sub(r"\s", "", tree).replace("::", " ")):
            ups = names.count("super")
            base = module[: len(module) - ups] if ups else ()
            yield (*base, *(name for name in names if name not in ("crate", "self", "super")))


def expanded(tree: str) -> Iterator[list[str]]:
    """The paths in ``a {b c, d}``, the form in which a tree of ``use`` is given here."""
    start, brace, rest = tree.partition("{")
    if not brace:
        yield start.split()
        return
    depth, item = 0, ""
    for letter in rest.removesuffix("}") + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if item:
                yield from ([*start.split(), *path] for path in expanded(item))
            item = ""
        else:
            item += letter


def core_edges() -> set[tuple[str, str]]:
    known = levels(CORE_LEVELS)
    return {
        (module[0], target[0])
        for module, path in rust_modules().items()
        if module
        for target in rust_imports(module, path)
        if target and target[0] in known
    }


def test_every_module_of_the_core_has_its_level() -> None:
    modules = {module[0] for module in rust_modules() if module}
    assert modules == set(levels(CORE_LEVELS))


def test_modules_of_the_core_use_what_is_below() -> None:
    edges = core_edges()
    assert ("engine", "score") in edges, "the imports are not read"
    assert wrong_edges(edges, CORE_LEVELS) == []


def test_rooms_of_the_engine_use_what_they_may() -> None:
    used: dict[str, set[str]] = {room: set() for room in ENGINE_ROOMS}
    for module, path in rust_modules().items():
        if module[:1] == ("engine",) and len(module) > 1 and module[1] in used:
            targets = [one for one in rust_imports(module, path) if one[:1] == ("engine",)]
            used[module[1]] |= {one[1] for one in targets if len(one) > 1} - {module[1]}
    assert "memory" in used["writing"], "the imports are not read"
    allowed = {room: set(names.split()) for room, names in ENGINE_ROOMS.items()}
    assert {
        room: names - allowed[room] for room, names in used.items() if names - allowed[room]
    } == {}


# Files


def test_files_are_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_bytes().splitlines())
        for path in tracked(".py", ".rs")
    }
    assert lengths, "no files are read"
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def width(line: str) -> int:
    """The columns of a line: characters of East Asia take two, combining marks none."""
    columns = (0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in line)
    return len(line) if line.isascii() else sum(columns)


def test_rust_lines_fit_the_screen() -> None:
    """Ruff checks the width of Python; rustfmt leaves lines with a long string as they are."""
    assert width("三天前e\u0301") == 7
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked(".rs")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if width(line) > MAX_WIDTH
    ]
    assert found == []
