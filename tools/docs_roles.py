"""An extension of griffe: roles of docstrings (``:meth:`search```) become links."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from griffe import Extension

_ROLE = re.compile(r":(?:class|meth|func|attr|data):`~?([\w.]+)`")
_INIT = Path(__file__).parents[1] / "python" / "episodica" / "__init__.py"


def _public() -> set[str]:
    for node in ast.parse(_INIT.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    raise SystemExit(f"no __all__ in {_INIT}")


class Roles(Extension):
    """Rewrites the docstring of each object once it is known."""

    def __init__(self) -> None:
        self.public = _public()

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Links to what is public, and code for the rest."""
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
