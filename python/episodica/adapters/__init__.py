"""Adapters: episodica as the memory of other frameworks.

Each module belongs to one framework and needs its extra (``pip install 'episodica[langgraph]'``).
Nothing is imported before it is used. An adapter translates between a framework's protocol and
:class:`~episodica.MemorySystem`; what is remembered, found or forgotten is the engine's decision.
"""

from __future__ import annotations

from .shared.connection import Connection, Where

__all__ = ["Connection", "Where"]
