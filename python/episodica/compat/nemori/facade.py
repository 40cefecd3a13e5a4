"""Nemori's façade: synchronous, as in its first versions, and asynchronous, as in later versions.

Called by :mod:`episodica.compat.nemori` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

from . import shapes
from .classes import MemorySystem
from .config import MemoryConfig
from .spending import Stats

_DRAIN_SECONDS = 30.0


class NemoriMemory:
    """Nemori's façade.

    ``with`` gives the methods of Nemori's synchronous versions, ``async with`` the methods of its
    asynchronous versions (:class:`AsyncNemoriMemory`).

    Parameters
    ----------
    config
        The settings; by default Nemori's defaults.
    memory_system
        A system to use, and to close with the façade. By default the façade makes its own.
    **components
        As for :class:`MemorySystem`.

    Examples
    --------
    >>> with NemoriMemory(MemoryConfig(storage_path="nemori-memories")) as memory:
    ...     _ = memory.add_messages("bob", [{"role": "user", "content": "I live in Ghent."}])
    ...     _ = memory.flush("bob")
    ...     memory.wait_for_semantic("bob", timeout=30)
    ...     [hit["type"] for hit in memory.search("bob", "where?", top_k_semantic=0)["episodic"]]
    True
    ['episodic']
    """

    def __init__(
        self,
        config: MemoryConfig | None = None,
        *,
        memory_system: MemorySystem | None = None,
        **components: Any,
    ) -> None:
        self.config = config or (memory_system.config if memory_system else MemoryConfig())
        self._memory_system = memory_system or MemorySystem(
            self.config, self.config.language, **components
        )

    @classmethod
    def from_env(cls, **components: Any) -> Self:
        """A memory with the settings of the environment, else the defaults."""
        return cls(MemoryConfig(), **components)

    def add_messages(self, user_id: str, messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Adds messages; see :meth:`MemorySystem.add_messages`."""
        return self._memory_system.add_messages(user_id, list(messages))

    def flush(self, user_id: str) -> dict[str, Any] | None:
        """Closes the buffer into an episode; see :meth:`MemorySystem.force_episode_creation`."""
        return self._memory_system.force_episode_creation(user_id)

    def wait_for_semantic(self, user_id: str, timeout: float = 30.0) -> bool:
        """Waits until the user's facts are learned; ``False`` after the timeout."""
        return self._memory_system.wait_for_semantic_generation(user_id, timeout)

    def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches episodes and facts; see :meth:`MemorySystem.search_all`."""
        return self._memory_system.search_all(
            user_id, query, top_k_episodes, top_k_semantic, search_method
        )

    async def asearch(self, user_id: str, query: str, **options: Any) -> dict[str, Any]:
        """:meth:`search` in a thread."""
        return await asyncio.to_thread(self.search, user_id, query, **options)

    def delete_episode(
        self, user_id: str, episode_id: str, *, cascade_semantic: bool = True
    ) -> dict[str, Any]:
        """Removes an episode; see :meth:`MemorySystem.delete_episode`."""
        return self._memory_system.delete_episode(user_id, episode_id, cascade_semantic)

    def delete_semantic_memory(self, user_id: str, memory_id: str) -> dict[str, Any]:
        """Removes a fact; see :meth:`MemorySystem.delete_semantic_memory`."""
        return self._memory_system.delete_semantic_memory(user_id, memory_id)

    def stats(self, user_id: str | None = None) -> dict[str, Any]:
        """Counts; see :meth:`MemorySystem.get_stats`."""
        return self._memory_system.get_stats(user_id)

    def close(self) -> None:
        """Releases the store."""
        self._memory_system.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> AsyncNemoriMemory:
        return AsyncNemoriMemory(self._memory_system)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._memory_system.drain, _DRAIN_SECONDS)
        await asyncio.to_thread(self.close)


class AsyncNemoriMemory:
    """Nemori's asynchronous façade, which ``async with NemoriMemory(config)`` gives.

    Each method does its work in a thread. Unlike the synchronous façade, it raises errors.

    Examples
    --------
    >>> async def main():
    ...     async with NemoriMemory(MemoryConfig(storage_path="nemori-memories")) as memory:
    ...         await memory.add_messages("eve", [{"role": "user", "content": "I live in Oslo."}])
    ...         await memory.flush("eve")
    ...         return (await memory.search("eve", "where?"))["episodes"][0]["content"]
    >>> "Oslo" in asyncio.run(main())
    True
    """

    def __init__(self, system: MemorySystem) -> None:
        self._memory = system
        self._store = system._store

    @property
    def _system(self) -> SimpleNamespace:
        """What scripts read of Nemori's core class: the statistics of its orchestrator."""
        return SimpleNamespace(_orchestrator=SimpleNamespace(stats=Stats.of(self._store.usage())))

    async def add_messages(self, user_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Adds messages."""
        await asyncio.to_thread(self._memory.add, user_id, messages)

    async def add_multimodal_message(
        self,
        user_id: str,
        text: str,
        image_urls: Sequence[str] | None = None,
        role: str = "user",
        timestamp: str | None = None,
        compress_images: bool = True,
    ) -> None:
        """Adds a message with pictures; the memory keeps only a mark for each."""
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in image_urls or ()]
        content = [{"type": "text", "text": text}, *pictures] if pictures else text
        message = {"role": role, "content": content, "timestamp": timestamp}
        await self.add_messages(user_id, [message])

    async def flush(self, user_id: str) -> list[dict[str, Any]]:
        """Closes the buffer; returns the episodes that this made."""
        made = await asyncio.to_thread(self._memory.close_buffer, user_id)
        return [shapes.episode_record(one) for one in made]

    async def search(
        self,
        user_id: str,
        query: str,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches episodes and facts; see :meth:`MemorySystem.search_all`."""
        found = await asyncio.to_thread(
            self._memory.find, user_id, query, top_k_episodes, top_k_semantic, search_method
        )
        names = {"episodic": "episodes", "semantic": "semantic_memories"}
        return {
            names[kind]: [{**shapes.record(hit.record), "score": hit.score} for hit in hits]
            for kind, hits in found.items()
        }

    async def delete_episode(self, user_id: str, episode_id: str) -> None:
        """Removes an episode and the facts learned from it alone."""
        await asyncio.to_thread(self._store.delete, user_id, episode_id)

    async def delete_semantic(self, user_id: str, memory_id: str) -> None:
        """Removes a fact."""
        await asyncio.to_thread(self._store.delete, user_id, memory_id)

    async def delete_user(self, user_id: str) -> None:
        """Removes everything of a user."""
        await asyncio.to_thread(self._memory.delete_user_data, user_id)

    async def stats(self, user_id: str) -> dict[str, Any]:
        """Counts of a user, and what the model has cost."""
        counts = (await asyncio.to_thread(self._store.stats, user_id)).to_dict()
        return {
            "user_id": user_id,
            "agent_id": self._memory.config.agent_id,
            "episode_count": counts["episodes"],
            "semantic_memory_count": counts["semantic_memories"],
            "pending_messages": counts["buffered"],
            "orchestrator_stats": vars(Stats.of(self._store.usage())),
        }

    async def health(self) -> SimpleNamespace:
        """Whether store, model and embedder work; unconfigured parts count as healthy."""
        health = (await asyncio.to_thread(self._store.health)).to_dict()
        failing = set(health["failing"])
        return SimpleNamespace(
            db="store" not in failing,
            llm="llm" not in failing,
            embedding="embedding" not in failing,
            healthy=not failing,
            diagnostics=health,
        )
