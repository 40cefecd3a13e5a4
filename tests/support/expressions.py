"""Every regular expression of the package, and how it is used: found in the sources, not listed."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import episodica

PACKAGE = Path(episodica.__file__).parent
METHODS = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
_USE = re.compile(rf"\bre\.(?:compile|{'|'.join(sorted(METHODS))})\(")
# These begin at every position of a text; the others at its beginning.
ROAMING = METHODS - {"fullmatch", "match"}


@dataclass(frozen=True)
class Expression:
    """An expression, where it stands, and whether it is tried at every position of a text."""

    place: str
    pattern: re.Pattern[Any]
    is_roaming: bool


@dataclass(frozen=True)
class Unknown:
    """An expression that can't be tried, because it is made while the program runs."""

    place: str


@cache
def expressions() -> tuple[Expression | Unknown, ...]:
    """The expressions of all modules, in the order of their places."""
    found: list[Expression | Unknown] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if _USE.search(text):
            found += _of_module(path, ast.parse(text))
    return tuple(found)


def _of_module(path: Path, tree: ast.Module) -> Iterator[Expression | Unknown]:
    calls = [node for node in ast.walk(tree) if _is_call_of_re(node)]
    if not calls:
        return
    module = importlib.import_module(_name(path))
    covered: set[ast.AST] = set()
    for statement in tree.body:
        inner = set(ast.walk(statement)).intersection(calls)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and inner:
            covered |= inner
            yield from _of_globals(path, tree, module, statement)
    for call in calls:
        if call not in covered:
            yield _of_call(path, call)  # type: ignore[arg-type]


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {*METHODS, "compile"}
    )


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _of_globals(
    path: Path, tree: ast.Module, module: ModuleType, statement: ast.Assign | ast.AnnAssign
) -> Iterator[Expression]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        for name in (node.id for node in ast.walk(target) if isinstance(node, ast.Name)):
            used = {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == name
            }
            # Used under another name: as if it began everywhere.
            is_roaming = not used or bool(used & ROAMING)
            for pattern in _patterns(getattr(module, name)):
                yield Expression(f"{_place(path)}:{statement.lineno} {name}", pattern, is_roaming)


def _patterns(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _patterns(list(value.values()))
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _patterns(one)


def _of_call(path: Path, call: ast.Call) -> Expression | Unknown:
    place = f"{_place(path)}:{call.lineno}"
    assert isinstance(call.func, ast.Attribute)
    try:
        text = ast.literal_eval(call.args[0])
        pattern = re.compile(text)
    except (ValueError, IndexError, re.error):
        return Unknown(place)
    return Expression(place, pattern, call.func.attr in ROAMING)


def _place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()
