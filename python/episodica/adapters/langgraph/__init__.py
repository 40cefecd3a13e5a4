"""episodica in LangGraph: a ``BaseStore`` that survives restarts, and memory for an agent's graph.

Needs ``pip install 'episodica[langgraph]'``.
"""

from __future__ import annotations

from ..shared.connection import missing

try:
    from .memories import MEMORIES, memory_namespace
    from .nodes import pre_model_hook, remember
    from .store import EpisodicaStore
except ImportError as error:
    raise missing("langgraph", error) from error

__all__ = ["MEMORIES", "EpisodicaStore", "memory_namespace", "pre_model_hook", "remember"]
