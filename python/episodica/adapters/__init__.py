"""Adapters: episodica as the memory of other frameworks.

Each module belongs to one framework and needs its extra (``pip install 'episodica[langgraph]'``).
Nothing is imported before it is used. An adapter translates between a framework's protocol and
:class:`~episodica.MemorySystem`; the engine decides what to remember, find and forget.
"""

from __future__ import annotations

from .shared.connection import Connection, Where

__all__ = ["Connection", "Where"]
