"""An extension of griffe for the API reference.

Roles of docstrings (``:meth:`search```) become links, and ``**options: Unpack[…]`` becomes the
options one by one, as ``help()`` shows them. A function that a class takes as a method
(``search = queries.search``) is shown as one.
"""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path
from typing import Any

from griffe import Extension, Function, Parameter, ParameterKind, Parameters

_ROLE = re.compile(r":(?:class|meth|func|attr|data):`~?([\w.]+)`")
_UNPACK = re.compile(r"(?:\w+\.)?Unpack\[(\w+)\]")
_PACKAGE = Path(__file__).parents[1] / "python" / "episodica"
_INIT = _PACKAGE / "__init__.py"
_OPTIONS = _PACKAGE / "inputs" / "options.py"


def _public() -> set[str]:
    for node in ast.parse(_INIT.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    raise SystemExit(f"no __all__ in {_INIT}")


def _options() -> dict[str, list[Parameter]]:
    """The options of each ``TypedDict`` as parameters, with their defaults."""
    body = ast.parse(_OPTIONS.read_text(encoding="utf-8")).body
    defaults: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            defaults |= {ast.literal_eval(key): ast.unparse(value) for key, value in pairs if key}
    options: dict[str, list[Parameter]] = {}
    for node in body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [ast.unparse(base) for base in node.bases]
        if "TypedDict" not in bases and not options.keys() & set(bases):
            continue
        inherited = [one for base in bases for one in options.get(base, [])]
        options[node.name] = inherited + [
            Parameter(
                ast.unparse(one.target),
                annotation=ast.unparse(one.annotation),
                kind=ParameterKind.keyword_only,
                default=defaults.get(ast.unparse(one.target), "None"),
            )
            for one in node.body
            if isinstance(one, ast.AnnAssign)
        ]
    return options


class Roles(Extension):
    """Changes each object that griffe has read: roles become links, options are spelled out."""

    def __init__(self) -> None:
        self.public = _public()
        self.options = _options()

    def on_function(self, *, func: Any, **_: Any) -> None:
        """Spells out the options."""
        last = func.parameters[len(func.parameters) - 1] if len(func.parameters) else None
        found = _UNPACK.fullmatch(str(last.annotation)) if last is not None else None
        if found:
            kept = [one for one in func.parameters if one is not last]
            func.parameters = Parameters(*kept, *self.options[found[1]])

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Turns the functions that a class takes as methods into its methods."""
        for cls in (one for module in pkg.modules.values() for one in module.classes.values()):
            if cls.is_alias:
                continue
            for name, attribute in list(cls.attributes.items()):
                module, _, function = str(attribute.value or "").partition(".")
                found = pkg.modules.get(module)
                taken = found.members.get(function) if found is not None else None
                if isinstance(taken, Function):
                    method = copy.copy(taken)
                    method.overloads = [copy.copy(one) for one in taken.overloads or ()] or None
                    cls.set_member(name, method)
                    for one in (method, *(method.overloads or ())):
                        one.parent = cls

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Turns roles of public names into links, and all other roles into code."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(self.link, obj.docstring.value)

    def link(self, role: re.Match[str]) -> str:
        """The Markdown for one role."""
        name = role[1]
        return (
            f"[`{name}`][episodica.{name}]"
            if name.partition(".")[0] in self.public
            else f"`{name}`"
        )
