"""``LightweightSearchSystem``: a store that somebody else writes, for reading."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ._config import MemoryConfig
from ._reading import MemoryReader
from ._reports import RebuildReport
from ._system import Embedding, _embedding_spec, resolve_config


class LightweightSearchSystem(MemoryReader):
    """Searches a store without ever writing to it or taking its writer lock; works on read-only disks and beside a writer.

    Parameters are those of :class:`MemorySystem`, without ``llm``: reading needs none.

    Raises
    ------
    StoreIOError
        When there is no store at ``path``.

    Examples
    --------
    >>> from episodica import LightweightSearchSystem
    >>> with LightweightSearchSystem(memory.path) as reader:
    ...     reader.preload(["alice"]).users
    1
    """

    __slots__ = ()

    def __init__(
        self,
        path: str | os.PathLike[str] = "memories",
        *,
        config: MemoryConfig | None = None,
        tenant: str = "default",
        embedding: Embedding | None = None,
        **overrides: Any,
    ) -> None:
        settings = resolve_config(config, overrides)
        spec = _embedding_spec(settings.embedding if embedding is None else embedding)
        super().__init__(path, tenant, settings, read_only=True, embedding=spec, llm=None)

    def preload(self, users: Iterable[str] | None = None) -> RebuildReport:
        """Reads these users' records and indexes (all users' without a list) into memory now instead of at the first search."""
        names = self.users() if users is None else [users] if isinstance(users, str) else users
        return sum(map(self.load_user_data_and_indices, names), RebuildReport())
