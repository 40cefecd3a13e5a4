"""episodica in LangChain: a retriever over a user's memory.

Needs ``pip install 'episodica[langchain]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from episodica import Hit
from episodica.fence import asks_nothing

from .shared.connection import Connected, Connection, missing, settle

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field, PrivateAttr
except ImportError as error:
    raise missing("langchain", error) from error

__all__ = ["EpisodicaRetriever"]


class EpisodicaRetriever(Connected, BaseRetriever):
    """Searches a user's memory and returns documents, best first.

    A document's ``page_content`` is the text of the hit and its ``id`` the id of the record; the
    ``metadata`` has ``kind``, ``score`` (0 to 1), ``timestamp``, ``title`` and ``uri``, and of a
    message ``episode_id`` and ``episode_title`` (empty while it has no episode) and ``claims``,
    the facts that quote it.

    Parameters
    ----------
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory.
    k
        Most documents; also an argument of ``invoke``.
    kinds
        ``episodic``, ``semantic`` and ``message``, or some of them; by default those of
        :meth:`MemorySystem.search`.
    search_options
        Further options of :meth:`MemorySystem.search`, such as ``since`` or ``where``.

    Examples
    --------
    >>> from episodica.adapters.langchain import EpisodicaRetriever
    >>> retriever = EpisodicaRetriever(memory="memories", user_id="alice", k=3)
    >>> documents = retriever.invoke("Where does Alice live?")
    """

    memory: Any
    user_id: str
    k: int = Field(default=10, ge=1, le=1000)
    kinds: Sequence[str] | None = None
    search_options: Mapping[str, Any] = Field(default_factory=dict)
    _connection: Connection = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Connects to the memory."""
        super().model_post_init(context)
        self._connection = Connection(self.memory)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._find(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await settle(self._find, query, k)

    def _find(self, query: str, k: int | None) -> list[Document]:
        wanted = self.k if k is None else k
        options = dict(self.search_options)
        if self.kinds is not None:
            options["kinds"] = list(self.kinds)
        hits = self._connection.memory.search(self.user_id, query, top_k=wanted, **options)
        if asks_nothing(query, (hit.content for hit in hits)):
            return []
        return [_document(hit) for hit in list(hits)[:wanted]]


def _document(hit: Hit) -> Document:
    moment = {
        "episode_id": hit.episode.episode_id if hit.episode else "",
        "episode_title": hit.episode.title if hit.episode else "",
        "claims": [one.content for one in hit.claims],
    }
    return Document(
        id=hit.id,
        page_content=hit.content,
        metadata={
            "kind": hit.kind,
            "score": hit.score,
            "timestamp": hit.timestamp.isoformat(),
            "title": hit.title,
            "uri": hit.uri,
            **(moment if hit.kind == "message" else {}),
        },
    )
