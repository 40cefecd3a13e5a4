"""Nemori's core classes over ``episodica``. Called by :mod:`episodica.compat.nemori` only."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

from ...errors import EpisodicaError, UnsupportedFormatError
from ...inputs.options import Kind, Method
from ...records import Episode, SemanticMemory
from ...reports import AddResult
from ...results import Hit
from ...system import MemorySystem as Store
from . import shapes
from .config import MemoryConfig, report_once
from .names import ScriptNames
from .spending import TokenCounter

_TOTALS = ("messages", "episodes", "semantic_memories")
_lock = threading.Lock()
_open: dict[Path, _Shared] = {}


class _Shared:
    """The store of a path, shared by the whole process.

    Scripts open a memory in every worker; the settings of the first memory apply.
    """

    def __init__(self, path: Path, config: MemoryConfig) -> None:
        self.path = path
        self.store = _converted(path, config)
        self.names = ScriptNames(path)
        self.holders = 0

    @classmethod
    def acquire(cls, config: MemoryConfig) -> _Shared:
        path = Path(config.storage_path).expanduser().absolute()
        with _lock:
            shared = _open.get(path) or cls(path, config)
            _open[path] = shared
            shared.holders += 1
        return shared

    def release(self) -> None:
        with _lock:
            self.holders -= 1
            if self.holders:
                return
            del _open[self.path]
            TokenCounter.add(self.store.usage())
            self.names.remove()
            self.store.close()


def _converted(path: Path, config: MemoryConfig) -> Store:
    """The store at a path. A folder of Nemori is copied into a store, and kept as `PATH.nemori`."""
    kept = path.with_name(f"{path.name}.nemori")
    if kept.is_dir() and not path.exists():
        # An earlier conversion stopped between its two renames.
        kept.rename(path)
    try:
        return Store(path, **config.overrides())
    except UnsupportedFormatError:
        if (path / "episodica.json").exists() or kept.exists():
            raise
    copy = path.with_name(f"{path.name}.importing")
    with Store(copy, **config.overrides()) as store:
        store.import_(path)
    path.rename(kept)
    copy.rename(path)
    told = f"imported the memories of Nemori in {path}; its files are now in {kept}"
    warnings.warn(told, UserWarning, stacklevel=5)
    return Store(path, **config.overrides())


class Records:
    """The records of one kind, as scripts ask a repository of Nemori for them."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind

    def list_user_items(self, owner_id: str) -> list[Episode] | list[SemanticMemory]:
        """All current records of an owner."""
        if self._kind == "semantic":
            return list(self._store.semantic_memories(owner_id))
        return list(self._store.episodes(owner_id))

    get_user_episodes = list_by_user = list_user_items


class MemorySystem:
    """Nemori's core class.

    Parameters
    ----------
    config
        The settings; by default Nemori's defaults.
    language
        Accepted; languages are recognised by their script.
    **components
        Clients and repositories that a script may pass to Nemori: accepted without effect, and
        named once in a warning.

    Examples
    --------
    >>> with MemorySystem(MemoryConfig(storage_path="nemori-memories")) as system:
    ...     _ = system.add_messages("ann", [{"role": "user", "content": "I play the viola."}])
    ...     _ = system.force_episode_creation("ann")
    ...     system.search_all("ann", "instrument")["episodic"][0]["message_count"]
    1
    """

    def __init__(
        self, config: MemoryConfig | None = None, language: str = "en", **components: Any
    ) -> None:
        self.config = config or MemoryConfig()
        self.language = language
        report_once(sorted(name for name, component in components.items() if component is not None))
        self._shared = _Shared.acquire(self.config)
        self._store = self._shared.store
        self._closed = False

    def add_messages(
        self,
        owner_id: str,
        messages: Sequence[Mapping[str, Any]],
        metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Adds messages.

        The result has Nemori's form: an error is a status, not an exception. Every message gets
        ``metadata``.
        """
        self._shared.names.make_room(owner_id)
        before = self._buffered(owner_id)
        shared = dict(metadata or {})
        given = [{**one, "metadata": {**shared, **(one.get("metadata") or {})}} for one in messages]
        try:
            added = self.add(owner_id, given)
        except (EpisodicaError, KeyError) as error:
            return {"status": "error", "error": str(error), "buffer_size": before}
        made = [self._store.get(owner_id, one) for one in added.episodes]
        return {
            "status": "success",
            "buffer_size_before": before,
            "messages_added": added.messages_added,
            "episodes_created": [
                shapes.episode_info(one) for one in made if isinstance(one, Episode)
            ],
            "semantic_memories_created": [],
            "boundary_detections": [],
            "buffer_size_after": added.buffered,
        }

    def force_episode_creation(self, owner_id: str) -> dict[str, Any] | None:
        """Closes the buffer; returns the last episode, or ``None`` for an owner without any.

        If all messages are in episodes already, it still returns the last episode, because scripts
        take ``None`` for a failure.
        """
        made = self.close_buffer(owner_id) or list(
            self._store.episodes(owner_id, newest_first=True, limit=1)
        )
        return shapes.episode_info(made[-1]) if made else None

    def add(self, owner_id: str, messages: Sequence[Mapping[str, Any]]) -> AddResult:
        """Adds messages; an error is raised."""
        self._shared.names.make_room(owner_id)
        return self._store.add_messages(owner_id, shapes.incoming(messages))

    def close_buffer(self, owner_id: str) -> list[Episode]:
        """Closes the buffer; returns the episodes that this made."""
        made = self._store.flush(owner_id)
        self._shared.names.add(owner_id)
        return made

    def search_all(
        self,
        user_id: str,
        query: str,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches episodes and facts.

        Parameters
        ----------
        user_id, query
            The user, and the question.
        top_k_episodes, top_k_semantic
            Most hits of each kind; by default the configuration's. 0 for none.
        search_method
            ``"hybrid"``, ``"vector"``, ``"bm25"`` (or ``"text"``), ``"norlift"``; any other is
            ``"hybrid"``, as in Nemori.
        """
        found = self.find(user_id, query, top_k_episodes, top_k_semantic, search_method)
        return {
            kind: [shapes.found(hit, search_method) for hit in hits] for kind, hits in found.items()
        }

    def find(
        self,
        user_id: str,
        query: str,
        top_k_episodes: int | None,
        top_k_semantic: int | None,
        search_method: str,
    ) -> dict[Kind, list[Hit]]:
        """The hits of each kind."""
        most: dict[Kind, int] = {
            "episodic": _first(top_k_episodes, self.config.search_top_k_episodes),
            "semantic": _first(top_k_semantic, self.config.search_top_k_semantic),
        }
        self._shared.names.make_room(user_id)
        method = _method(search_method, norlift=bool(self.config.enable_norlift_ranking))
        if not query.strip():
            return {kind: [] for kind in most}
        return {
            kind: self._hits(user_id, query, kind, top_k, method) if top_k > 0 else []
            for kind, top_k in most.items()
        }

    def _hits(self, user_id: str, query: str, kind: Kind, top_k: int, method: Method) -> list[Hit]:
        found = self._store.search(user_id, query, kinds=[kind], top_k=top_k, method=method)
        if not found and found.degraded:
            # A search by vectors alone finds nothing without an embedder: search by words.
            found = self._store.search(user_id, query, kinds=[kind], top_k=top_k)
        return list(found)

    def wait_for_semantic_generation(self, owner_id: str, timeout: float = 30.0) -> bool:
        """Waits until the owner's facts are learned; ``False`` after the timeout."""
        done = self._store.wait(owner_id, timeout)
        self._shared.names.add(owner_id)
        return done

    def drain(self, timeout: float) -> bool:
        """Waits until all owners' facts are learned; ``False`` after the timeout."""
        return self._store.wait(timeout=timeout)

    def get_semantic_generation_status(self, owner_id: str | None = None) -> dict[str, Any]:
        """The number of episodes whose facts are still to be learned."""
        pending = int(self._store.stats(owner_id).get("pending_semantic", 0))
        tasks = [
            {"owner_id": owner_id, "status": "pending", "done": False, "running": False}
        ] * pending
        return {
            "active_tasks": pending,
            "total_tasks": pending,
            "tasks": [dict(one) for one in tasks],
        }

    def get_stats(self, owner_id: str | None = None) -> dict[str, Any]:
        """Counts of the store and, if ``owner_id`` is given, of the owner."""
        total = self._total()
        made: dict[str, Any] = {
            "system": {
                **self._store.stats().to_dict(),
                "messages_processed": total["messages"],
                "episodes_created": total["episodes"],
                "semantic_memories_created": total["semantic_memories"],
            },
            "performance": self._store.usage().to_dict(),
            "config": self.config.to_dict(),
        }
        if owner_id is not None:
            counts = self._store.stats(owner_id).to_dict()
            made["user"] = {
                **counts,
                "buffer_size": counts.get("buffered", 0),
                "episode_count": counts.get("episodes", 0),
                "semantic_count": counts.get("semantic_memories", 0),
            }
        return made

    def load_user_data_and_indices(self, owner_id: str) -> None:
        """Loads an owner's records and indexes now."""
        self._store.load_user_data_and_indices(owner_id)

    def load_user_data_and_indices_for_method(
        self, owner_id: str, search_method: str = "vector"
    ) -> None:
        """Loads an owner's records and indexes now, whatever the method."""
        self._store.load_user_data_and_indices(owner_id)

    @property
    def storage(self) -> dict[str, Records]:
        """Nemori's repositories of episodes (``"episode"``) and facts (``"semantic"``)."""
        return {kind: Records(self._store, kind) for kind in ("episode", "episodic", "semantic")}

    def delete_episode(
        self, owner_id: str, episode_id: str, cascade_semantic: bool = True
    ) -> dict[str, Any]:
        """Removes an episode and the facts learned from it alone."""
        report = self._store.delete(owner_id, episode_id)
        return {
            "episode_deleted": report.episodes > 0,
            "semantic_deleted": report.semantic_memories,
        }

    def delete_semantic_memory(self, owner_id: str, memory_id: str) -> dict[str, Any]:
        """Removes a fact."""
        return {"semantic_deleted": self._store.delete(owner_id, memory_id).semantic_memories > 0}

    def delete_user_data(self, owner_id: str) -> dict[str, bool]:
        """Removes everything of an owner."""
        self._store.delete_user_data(owner_id)
        return dict.fromkeys(
            ("buffer", "episodic_storage", "semantic_storage", "search_index"), True
        )

    def _total(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for user in self._store.users():
            counts = self._store.stats(user)
            total.update({name: counts[name] for name in _TOTALS})
        return total

    def _buffered(self, owner_id: str) -> int:
        return int(self._store.stats(owner_id).get("buffered", 0))

    def close(self) -> None:
        """Releases the store; its last memory closes it. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._shared.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LightweightSearchSystem(MemorySystem):
    """Nemori's search over loaded users; here it is an ordinary memory.

    Parameters
    ----------
    config
        The settings.
    preload_data
        Accepted; users are loaded when they are asked for.
    """

    def __init__(self, config: MemoryConfig | None = None, preload_data: bool = True) -> None:
        super().__init__(config)

    def batch_preload_users(
        self, user_ids: Sequence[str], max_workers: int | None = None
    ) -> dict[str, bool]:
        """Loads users; returns for each whether the store has them."""
        known = set(self._store.users())
        for user in known.intersection(user_ids):
            self._store.load_user_data_and_indices(user)
        return {user: user in known for user in user_ids}

    def search_vector(
        self, user_id: str, query: str, top_k_episodes: int = 10, top_k_semantic: int = 10
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches by vectors."""
        return self.search_all(user_id, query, top_k_episodes, top_k_semantic, "vector")

    def get_memory_usage(self) -> dict[str, Any]:
        """Counts of the store."""
        total = self._total()
        return {
            "preloaded_users": len(self._store.users()),
            "total_episodes": total["episodes"],
            "total_semantic_memories": total["semantic_memories"],
        }


def _first(given: int | None, default: Any) -> int:
    return int(default) if given is None else given


def _method(name: str, *, norlift: bool) -> Method:
    if name == "text":
        return "bm25"
    if name == "vector" and norlift:
        return "norlift"
    return next((one for one in get_args(Method) if one == name), "hybrid")
