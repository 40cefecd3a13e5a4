"""Runs scripts written for Nemori, with its classes, names and result shapes.

Either ``python -m episodica.compat.nemori script.py``, or :func:`install` before ``from nemori
import NemoriMemory, MemoryConfig``. Covers Nemori's synchronous and asynchronous interfaces. Needs
no server, key or network; a language model is used if the script names one.
"""

from .classes import MemorySystem
from .config import MemoryConfig
from .facade import NemoriMemory
from .running import install, main

__all__ = ["MemoryConfig", "MemorySystem", "NemoriMemory", "install", "main"]
