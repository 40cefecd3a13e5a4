"""Runs a script with ``episodica`` in place of Nemori."""

from __future__ import annotations

import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from ...records import Episode, SemanticMemory
from .classes import LightweightSearchSystem, MemorySystem
from .config import MemoryConfig
from .facade import NemoriMemory
from .shapes import GivenMessage
from .spending import TokenCounter

_CLASSES = {
    "Episode": Episode,
    "LightweightSearchSystem": LightweightSearchSystem,
    "MemoryConfig": MemoryConfig,
    "MemorySystem": MemorySystem,
    "Message": GivenMessage,
    "NemoriMemory": NemoriMemory,
    "SemanticMemory": SemanticMemory,
    "TokenCounter": TokenCounter,
}
# A module follows its parent.
_MODULES = (
    "src",
    "src.api",
    "src.api.facade",
    "src.config",
    "src.core",
    "src.core.lightweight_search_system",
    "src.core.memory_system",
    "src.models",
    "src.utils",
    "src.utils.token_counter",
    "nemori",
    "nemori.api",
    "nemori.api.facade",
    "nemori.config",
    "nemori.core",
    "nemori.core.memory_system",
    "nemori.domain",
    "nemori.domain.models",
)


def install() -> None:
    """Makes ``import nemori`` and ``import src`` mean this package, even if Nemori is installed."""
    for name in _MODULES:
        module = types.ModuleType(name, "Nemori's names over `episodica`.")
        module.__dict__.update(_CLASSES)
        module.__path__ = []
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a script as if Nemori were installed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help"}:
        sys.stderr.write("usage: python -m episodica.compat.nemori script.py [argument ...]\n")
        return 0 if given else 2
    script = Path(given[0])
    if not script.is_file():
        sys.stderr.write(f"error: there is no script `{script}`\n")
        return 2
    install()
    sys.argv = given
    sys.path.insert(0, str(script.absolute().parent))
    runpy.run_path(str(script), run_name="__main__")
    return 0
