"""mem0, with the vectors of the dense baseline.

It keeps messages as they are (``infer=False``) and finds them by vectors, without a model.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.datasets import Conversation, Question
from evaluation.systems import Ranking, Vector, spoken

WIDTH = 384


@dataclass(frozen=True, slots=True)
class _Ready:
    """Stands in for mem0's embedder."""

    embedder: Any

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""
        return self.embed_batch([text])[0]

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = None
    ) -> list[list[float]]:
        """The vectors of several texts."""
        return [[float(value) for value in row] for row in self.embedder(list(texts))]


class Mem0(Ranking):
    """mem0 with a local Qdrant, ``infer=False``."""

    name = "mem0"

    def __init__(self, folder: Path, embedder: Any) -> None:
        super().__init__()
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder))
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": WIDTH}
        ready = {"api_key": "none", "embedding_dims": WIDTH}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**store, "on_disk": True}},
                # Never called, since messages are added as they are.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {"provider": "openai", "config": ready},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._embedder = embedder
        self._memory.embedding_model = _Ready(embedder)
        self._own: dict[str, str] = {}

    @staticmethod
    def installed() -> bool:
        """Whether it can run here."""
        return importlib.util.find_spec("mem0") is not None

    def add(self, conversation: Conversation, start: int, end: int) -> dict[str, Any]:
        """Adds each message with its id, and with its speaker in the text."""
        added = conversation.messages[start:end]
        self._embedder([spoken(one) for one in added])
        for one in added:
            said = [{"role": one["role"], "content": spoken(one)}]
            kept = self._memory.add(
                said,
                user_id=conversation.user,
                metadata={"message_id": one["message_id"]},
                infer=False,
            )
            self._own |= {row["id"]: one["message_id"] for row in kept["results"]}
        return {"messages": len(added)}

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """The scores of its search; messages that it doesn't find are not ranked."""
        places = {one["message_id"]: at for at, one in enumerate(conversation.messages)}
        hits = self._memory.search(
            question.text, filters={"user_id": conversation.user}, top_k=said, threshold=0.0
        )
        made = np.full(said, -np.inf)
        for hit in hits["results"]:
            made[places[hit["metadata"]["message_id"]]] = hit["score"]
        return made

    def erase(self, conversation: Conversation, ids: list[str]) -> bool:
        """Deletes one memory after the other."""
        for own, identity in list(self._own.items()):
            if identity in ids:
                self._memory.delete(own)
                del self._own[own]
        self._last = ("", 0, [], None)
        return True

    def forget(self, conversation: Conversation) -> None:
        """Deletes the user's memories."""
        self._memory.delete_all(user_id=conversation.user)
