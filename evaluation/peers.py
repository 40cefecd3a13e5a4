"""Other memories by small adapters, on the vectors that the dense baseline is given.

mem0 keeps messages as they are (``infer=False``) and finds them by vectors; Nemori's store keeps an
episode for each session and finds it by words and vectors. Neither asks a model here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evaluation.datasets import Conversation, Question
from evaluation.measures import DEPTH, Found, Packed
from evaluation.systems import System, packed, rendered, spoken


class Peer(System):
    """What all adapters share: contexts of its best messages in the order of time."""

    package: ClassVar[str]
    module: ClassVar[str]

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._folder, self._embedder = folder, embedder

    @classmethod
    def missing(cls) -> str:
        """Why it can't run here; empty if it can."""
        if importlib.util.find_spec(cls.module) is None:
            return f"pip install {cls.package}"
        return ""

    def found(self, conversation: Conversation, question: Question, k: int) -> list[str]:
        """Ids of its messages, best first."""
        raise NotImplementedError

    def pack(
        self, conversation: Conversation, question: Question, said: int, max_tokens: int
    ) -> Packed:
        """Lines by its ranking until the budget is used up."""
        from episodica import count_tokens

        places = {one["message_id"]: at for at, one in enumerate(conversation.messages)}
        taken, used = [], 0
        for identity in self.found(conversation, question, DEPTH):
            cost = count_tokens(rendered(conversation.messages[places[identity]])) + 1
            if used + cost <= max_tokens:
                taken.append(places[identity])
                used += cost
        return packed([conversation.messages[at] for at in sorted(taken)])


@dataclass(frozen=True, slots=True)
class _Ready:
    """Stands in for mem0's embedder."""

    embedder: Any

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""
        return [float(value) for value in self.embedder([text])[0]]

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = None
    ) -> list[list[float]]:
        """Several texts'."""
        return [[float(value) for value in row] for row in self.embedder(list(texts))]


class Mem0(Peer):
    """mem0 with a local Qdrant, ``infer=False``."""

    name, package, module = "mem0", "mem0ai", "mem0"
    WIDTH = 384

    def __init__(self, folder: Path, embedder: Any) -> None:
        super().__init__(folder, embedder)
        import os

        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder))
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": self.WIDTH}
        ready = {"api_key": "none", "embedding_dims": self.WIDTH}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**store, "on_disk": True}},
                # Never asked: messages are added as they are.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {"provider": "openai", "config": ready},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Ready(embedder)
        self._own: dict[str, str] = {}

    def add(self, conversation: Conversation, start: int, end: int) -> dict[str, Any]:
        """Each message with its id, its speaker in its text."""
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

    def found(self, conversation: Conversation, question: Question, k: int) -> list[str]:
        """By its search."""
        hits = self._memory.search(
            question.text, filters={"user_id": conversation.user}, top_k=k, threshold=0.0
        )
        return [hit["metadata"]["message_id"] for hit in hits["results"]]

    def ask(self, conversation: Conversation, question: Question, said: int) -> Found:
        """Its ranking and best score."""
        return Found(self.found(conversation, question, DEPTH))

    def erase(self, conversation: Conversation, ids: list[str]) -> bool:
        """Deletes memory by memory."""
        for own, identity in list(self._own.items()):
            if identity in ids:
                self._memory.delete(own)
                del self._own[own]
        return True

    def forget(self, conversation: Conversation) -> None:
        """Deletes the user's."""
        self._memory.delete_all(user_id=conversation.user)


PEERS: dict[str, type[Peer]] = {"mem0": Mem0}
