"""Runs scripts that were written for Nemori: its classes over ``episodica``, with its names and its shapes of results.

Either ``python -m episodica.compat.nemori script.py``, or :func:`install` before ``from nemori
import NemoriMemory, MemoryConfig``. It covers Nemori's synchronous interface, not its later
asynchronous one. No server, key or network is needed; a language model is used where a script names
one.
"""

from .classes import MemorySystem, NemoriMemory
from .config import MemoryConfig
from .running import install, main

__all__ = ["MemoryConfig", "MemorySystem", "NemoriMemory", "install", "main"]
