"""EpisodicaRetriever in LangChain's own suite of retriever tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem
from episodica.adapters import Connection, Where
from episodica.adapters.langchain import EpisodicaRetriever
from episodica.adapters.shared.chat_messages import to_messages

TALK = [
    "I moved to Lyon last Friday.",
    "My dog Pickle is afraid of the lift.",
    "On Sundays I play the cello in an orchestra.",
    "My sister Jeanne lives in Porto.",
    "I am allergic to peanuts.",
]


@pytest.fixture
def talk(memory: MemorySystem) -> MemorySystem:
    memory.add_messages("alice", [{"role": "user", "content": text} for text in TALK])
    memory.flush("alice")
    memory.wait("alice")
    return memory


class TestRetriever(RetrieversIntegrationTests):
    """The suite opens retrievers in its own way; all are over this one memory."""

    memory: MemorySystem

    @pytest.fixture(autouse=True)
    def _memory(self, talk: MemorySystem) -> None:
        type(self).memory = talk

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EpisodicaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory, "user_id": "alice", "kinds": ["message"]}

    @property
    def retriever_query_example(self) -> str:
        return "Where does Alice live?"


def test_documents_say_where_they_are_from(talk: MemorySystem) -> None:
    retriever = EpisodicaRetriever(memory=talk, user_id="alice", kinds=["message"], k=1)
    (document,) = retriever.invoke("What is the dog called?")
    assert document.page_content == TALK[1]
    assert talk.get("alice", document.id).content == TALK[1]
    assert document.metadata["kind"] == "message"
    assert document.metadata["uri"] == talk.search("alice", "dog", kinds=["message"])[0].uri
    assert document.metadata["score"] > 0
    assert set(document.metadata) == {"kind", "score", "timestamp", "title", "uri"}


def test_the_engines_kinds_come_without_a_choice(talk: MemorySystem) -> None:
    documents = EpisodicaRetriever(memory=talk, user_id="alice").invoke("dog")
    expected = [hit.id for hit in talk.search("alice", "dog", top_k=10)][:10]
    assert [document.id for document in documents] == expected


async def test_the_two_ways_to_ask_agree(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("alice", [{"role": "user", "content": text} for text in TALK])
        retriever = EpisodicaRetriever(memory=memory, user_id="alice", kinds=["message"])
        assert await retriever.ainvoke("Porto") == retriever.invoke("Porto")


def test_a_path_serves_and_is_closed(store: Path) -> None:
    retriever = EpisodicaRetriever(memory=store, user_id="alice")
    assert retriever.invoke("Lyon") == []
    retriever.close()
    with MemorySystem(store):
        pass


def test_pieces_of_a_stream_have_the_role_of_their_message(memory: MemorySystem) -> None:
    messages = [
        HumanMessageChunk("I moved to Lyon."),
        AIMessageChunk("<think>hm</think>How nice."),
        AIMessage("", invalid_tool_calls=[]),
    ]
    talk = [("user", "I moved to Lyon."), ("assistant", "How nice.")]
    memory.add_messages("alice", to_messages(messages, "s"))
    assert [(one.role, one.content) for one in memory.messages("alice")] == talk
    pieces = [AIMessageChunk("Yes", id="1"), AIMessageChunk(".", id="1")]
    memory.add_messages("bob", [*messages, *pieces])
    found = [(one.role, one.content) for one in memory.messages("bob")]
    assert found == [*talk, ("assistant", "Yes.")]


def test_mistakes_are_refused(memory: MemorySystem) -> None:
    with pytest.raises(ValueError, match="k"):
        EpisodicaRetriever(memory=memory, user_id="alice", k=0)
    with pytest.raises(InvalidInputError, match="query is empty"):
        EpisodicaRetriever(memory=memory, user_id="alice").invoke(" ")
    with pytest.raises(InvalidInputError, match="top_k"):
        EpisodicaRetriever(memory=memory, user_id="alice").invoke("x", None, k=0)


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    with Connection(anywhere) as connection:
        connection.memory.add_messages("alice", [{"role": "user", "content": TALK[1]}])
        retriever = EpisodicaRetriever(memory=anywhere, user_id="alice", kinds=["message"])
        (document,) = await retriever.ainvoke("What is the dog called?")
        assert document.page_content == TALK[1]
        retriever.close()


async def test_a_cancelled_search_leaves_the_retriever_usable(talk: MemorySystem) -> None:
    retriever = EpisodicaRetriever(memory=talk, user_id="alice", kinds=["message"], k=1)
    for number in range(10):
        task = asyncio.create_task(retriever.ainvoke("What is the dog called?"))
        await asyncio.sleep(number / 4000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    (document,) = await retriever.ainvoke("What is the dog called?")
    assert document.page_content == TALK[1]


@pytest.mark.parametrize("kind", ["reference", "ours"])
def test_a_chain_answers_with_our_retriever(talk: MemorySystem, kind: str) -> None:
    """LangChain's first example of retrieval; one line differs."""

    def joined(documents: list[Document]) -> str:
        return "\n".join(document.page_content for document in documents)

    prompt = ChatPromptTemplate.from_template("Context:\n{context}\n\nQuestion: {question}")
    model = GenericFakeChatModel(messages=iter([AIMessage("Pickle.")]))
    retriever: BaseRetriever = EpisodicaRetriever(
        memory=talk, user_id="alice", kinds=["message"], k=len(TALK)
    )
    if kind == "reference":
        vectors = InMemoryVectorStore.from_texts(TALK, DeterministicFakeEmbedding(size=8))
        retriever = vectors.as_retriever(search_kwargs={"k": len(TALK)})
    given = {"context": retriever | joined, "question": RunnablePassthrough()} | prompt
    question = "What is the dog called?"
    assert TALK[1] in given.invoke(question).to_string()
    assert (given | model | StrOutputParser()).invoke(question) == "Pickle."


def test_thanks_find_nothing(talk: MemorySystem) -> None:
    retriever = EpisodicaRetriever(memory=talk, user_id="alice")
    assert retriever.invoke("Thanks!") == []
    assert retriever.invoke("cello")


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("langchain")
