"""Writes python/episodica/aio/methods.py: every public method of the memory as a coroutine.

    python tools/async_methods.py           writes the file
    python tools/async_methods.py --check   exit status 1 where it is not what the sources say

Reads the sources of the synchronous classes. Each method keeps its signature and its documentation,
whose examples await what they call; a listing becomes an ``AsyncRecords`` instead of a coroutine.
"""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "episodica"
TARGET = PACKAGE / "aio" / "methods.py"
# The generated classes, each with the synchronous classes that it follows and their files.
CLASSES = {
    "AsyncMethods": [
        ("OpenStore", "store.py"),
        ("MemoryReader", "queries.py"),
        ("MemoryViews", "views.py"),
        ("Corrections", "corrections.py"),
        ("Procedures", "procedures.py"),
        ("PendingWork", "pending.py"),
        ("MemorySystem", "system.py"),
    ],
    "AsyncPlots": [("Plots", "plot/pictures.py")],
}
DOCUMENTATION = {
    "AsyncMethods": "The methods of :class:`MemorySystem` as coroutines.",
    "AsyncPlots": "The pictures of :class:`Plots` as coroutines.",
}
LISTINGS = ("episodes", "semantic_memories", "messages")
ATTRIBUTE = {"AsyncMethods": "_memory", "AsyncPlots": "_plots"}
HEAD = '''"""The methods of the memory as coroutines.

Written by ``tools/async_methods.py`` from the synchronous classes: change those, then run it.
"""

from __future__ import annotations

from ..listings import AsyncRecords
from .running import run
'''


def main() -> int:
    text = formatted(module())
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


def module() -> str:
    """The source of the file, not yet formatted."""
    classes = []
    for name, sources in CLASSES.items():
        methods = [
            coroutine(name, cls, method)
            for cls, file in sources
            for method in public_methods(cls, PACKAGE / file)
        ]
        attribute = ATTRIBUTE[name]
        wrapped = sources[-1][0]
        classes.append(
            f'class {name}:\n    """{DOCUMENTATION[name]}"""\n\n    __slots__ = '
            f'("{attribute}",)\n\n'
            f"    def __init__(self, {attribute[1:]}: {wrapped}) -> None:\n"
            f"        self.{attribute} = {attribute[1:]}\n\n" + "\n\n".join(methods)
        )
    body = "\n\n\n".join(classes)
    return HEAD + imports() + "\n\n\n" + body + "\n"


def public_methods(cls: str, path: Path) -> list[ast.FunctionDef]:
    """The public methods of a class that may have to wait: no properties, nothing of ``Self``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == cls)
    return [
        one
        for one in found.body
        if isinstance(one, ast.FunctionDef)
        and not one.name.startswith("_")
        and ast.unparse(one.returns or one) != "Self"
        and not any(ast.unparse(mark) == "property" for mark in one.decorator_list)
    ]


def coroutine(name: str, cls: str, method: ast.FunctionDef) -> str:
    """The method of the asynchronous class."""
    wrapped = f"self.{ATTRIBUTE[name]}.{method.name}"
    given = ", ".join(passed(method.args))
    returned = ast.unparse(method.returns) if method.returns else "None"
    marks = "".join(f"    @{ast.unparse(mark)}\n" for mark in method.decorator_list)
    if returned.startswith("Records["):
        start, returned, answer = "def", f"Async{returned}", f"AsyncRecords({wrapped}({given}))"
    else:
        start, answer = "async def", f"await run({', '.join(filter(None, [wrapped, given]))})"
    if "@overload" in marks:
        signature = f"{start} {method.name}({ast.unparse(method.args)}) -> {returned}"
        return f"{marks}    {signature}: ..."
    documentation = textwrap.indent(awaiting(ast.get_docstring(method) or ""), " " * 8).strip()
    end = "" if returned == "None" else "return "
    return (
        f"{marks}    {start} {method.name}({ast.unparse(method.args)}) -> {returned}:\n"
        f'        """{documentation}\n        """\n        {end}{answer}'
    )


def awaiting(text: str) -> str:
    """The documentation of a method as its coroutine has it: listings and examples differ."""
    text = text.replace("\nRecords of ", "\nAsyncRecords of ")
    text = text.replace(
        "A sequence that reads its records when they are asked for.",
        "For ``async for``, which reads the records page by page.",
    )
    for example in doctest.DocTestParser().get_examples(text):
        shown, made = (
            textwrap.indent(source.rstrip(), "... ").replace("... ", ">>> ", 1)
            for source in (example.source, awaited(example.source))
        )
        text = text.replace(shown, made, 1)
    return text


def awaited(source: str) -> str:
    """An example that calls the coroutines of ``memory`` in place of its methods."""
    tree = ast.parse(source)
    owner = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    edits: list[tuple[int, int, int, str]] = []  # line, column, columns to replace, new text

    def put(node: ast.expr, text: str, old: int = 0, *, end: bool = False) -> None:
        line = node.end_lineno if end else node.lineno
        column = node.end_col_offset if end else node.col_offset
        edits.append(((line or 1) - 1, column or 0, old, text))

    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            edits.append((node.lineno - 1, node.col_offset, 0, "async "))
            put(node.items[0].context_expr, "Async")
        if not isinstance(node, ast.Call) or not calls_a_memory(node.func):
            continue
        parent = owner[node]
        if isinstance(node.func, ast.Attribute) and node.func.attr in LISTINGS:
            if isinstance(parent, ast.comprehension):
                put(parent.target, "async for ", -len("for "))
            elif isinstance(parent, ast.Call):  # next(...)
                put(parent, "await a")
        elif isinstance(parent, (ast.Attribute, ast.Subscript)):
            put(node, "(await ")
            put(node, ")", end=True)
        else:
            put(node, "await ")
    lines = source.splitlines()
    for line, column, old, text in sorted(edits, reverse=True):
        first, last = sorted((column, column + old))
        lines[line] = lines[line][:first] + text + lines[line][last:]
    return "\n".join(lines)


def calls_a_memory(called: ast.expr) -> bool:
    """Whether this is ``memory.search``, ``memory.plot.map``, or a method of a ``copy``."""
    return isinstance(called, ast.Attribute) and (
        ast.unparse(called.value) in ("memory", "memory.plot", "copy")
    )


def passed(arguments: ast.arguments) -> list[str]:
    """The arguments of a method as it hands them on."""
    by_place = [one.arg for one in arguments.args if one.arg != "self"]
    by_name = [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    rest = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return [*by_place, *by_name, *rest]


def imports() -> str:
    """Everything that the sources import; ruff removes what the methods don't name."""
    always: dict[str, str] = {}
    for_types: dict[str, str] = {}
    for cls, file in (source for sources in CLASSES.values() for source in sources):
        folders = file.split("/")[:-1]
        always[cls] = f"from ..{file.removesuffix('.py').replace('/', '.')} import {cls}"
        for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
            guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for one in node.body if guarded else [node]:
                if isinstance(one, ast.Import):
                    always.update({name.name: f"import {name.name}" for name in one.names})
                if isinstance(one, ast.ImportFrom) and one.module != "__future__":
                    (for_types if guarded else always).update(moved(one, folders))
    lines = [*always.values(), "if TYPE_CHECKING:", *(f"    {one}" for one in for_types.values())]
    return "\n".join(lines)


def moved(node: ast.ImportFrom, folders: list[str]) -> dict[str, str]:
    """The imports of a module in ``folders`` by name, as ``aio/methods.py`` writes them."""
    start = node.module or ""
    if node.level:
        start = ".." + ".".join(filter(None, [*folders[: len(folders) - node.level + 1], start]))
    return {one.asname or one.name: f"from {start} import {ast.unparse(one)}" for one in node.names}


def formatted(text: str) -> str:
    """The text in the form that ruff gives it."""
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    name = ["--stdin-filename", str(TARGET)]
    sort = [*ruff, "check", "--select", "F401,I", "--fix", "--quiet", *name, "-"]
    layout = [*ruff, "format", "--quiet", *name, "-"]
    for command in (sort, layout):
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    raise SystemExit(main())
