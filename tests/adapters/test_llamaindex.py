"""EpisodicaMemoryBlock in LlamaIndex's Memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import BaseMemoryBlock, Memory, StaticMemoryBlock

from episodica import InvalidInputError, MemorySystem, count_tokens
from episodica.adapters import Where
from episodica.adapters.llamaindex import EpisodicaMemoryBlock


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text, additional_kwargs=extra)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def said(memory: MemorySystem) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.messages("alice")]


async def test_what_is_put_is_remembered_once_and_recalled(memory: MemorySystem) -> None:
    block = EpisodicaMemoryBlock(memory=memory, user_id="alice", max_tokens=100)
    talk = [user("I moved to Lyon."), assistant("Lovely!"), user("My dog is called Pickle.")]
    for _ in range(3):
        await block.aput(talk, session_id="s1")
    assert said(memory) == [
        ("user", "I moved to Lyon."),
        ("assistant", "Lovely!"),
        ("user", "My dog is called Pickle."),
    ]
    assert {message.session_id for message in memory.messages("alice")} == {"s1"}
    text = await block.aget([user("Where do I live?"), assistant("Hm.")])
    assert "I moved to Lyon." in text
    assert count_tokens(text) <= 100
    assert await block.aget([]) == ""
    assert await block.aget([assistant("Hm.")]) == ""
    # A message is the framework's: nothing of ours may reach a model's API with it.
    assert all(set(message.additional_kwargs) <= {"session_id"} for message in talk)


async def test_the_same_words_in_another_place_are_another_message(memory: MemorySystem) -> None:
    block = EpisodicaMemoryBlock(memory=memory, user_id="alice")
    await block.aput([user("Yes."), assistant("Sure?"), user("Yes.")], session_id="s1")
    await block.aput([user("Yes.")], session_id="s2")
    assert [text for _, text in said(memory)] == ["Yes.", "Sure?", "Yes.", "Yes."]


async def test_messages_without_words_are_left_out(memory: MemorySystem) -> None:
    block = EpisodicaMemoryBlock(memory=memory, user_id="alice")
    await block.aput([user(" "), ChatMessage(role=MessageRole.TOOL, content=None)])
    await block.aput([])
    assert memory.users() == []


async def test_a_text_is_truncated_to_what_is_asked(memory: MemorySystem) -> None:
    block = EpisodicaMemoryBlock(memory=memory, user_id="alice", priority=1)
    content = "\n".join(f"Line {number} says something." for number in range(20))
    for tokens in range(0, count_tokens(content) + 5, 7):
        left = await block.atruncate(content, tokens)
        assert count_tokens(left or "") <= max(0, count_tokens(content) - tokens)
        assert content.startswith(left or "")
    assert await block.atruncate(content, 0) == content
    assert await block.atruncate(content, 10**6) is None
    with pytest.raises(InvalidInputError, match="tokens_to_truncate"):
        await block.atruncate(content, -1)


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    block = EpisodicaMemoryBlock(memory=anywhere, user_id="alice")
    await block.aput([user("I moved to Lyon.")])
    assert "Lyon" in await block.aget([user("Where do I live?")])
    block.close()


def test_the_whole_protocol_is_there() -> None:
    abstract = BaseMemoryBlock.__abstractmethods__ | {"atruncate"}
    assert {"_aget", "_aput"} <= abstract <= set(vars(EpisodicaMemoryBlock))


async def test_a_cancelled_put_is_whole_or_not_there(memory: MemorySystem) -> None:
    for number in range(10):
        block = EpisodicaMemoryBlock(memory=memory, user_id=f"u{number}")
        talk = [user(f"{number} {part}") for part in range(5)]
        task = asyncio.create_task(block.aput(talk))
        await asyncio.sleep(number / 2000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = [message.content for message in memory.messages(f"u{number}")]
        assert found in ([], [message.content for message in talk])


@pytest.mark.parametrize("kind", ["static", "ours"])
async def test_a_chat_recalls_what_left_its_short_term_memory(
    memory: MemorySystem, kind: str
) -> None:
    """LlamaIndex's example of memory blocks, with one block exchanged."""
    block: Any = StaticMemoryBlock(name="core", static_content="I moved to Lyon.")
    if kind == "ours":
        block = EpisodicaMemoryBlock(memory=memory, user_id="alice")
    chat_memory = Memory.from_defaults(
        session_id="s1",
        token_limit=200,
        chat_history_token_ratio=0.2,
        token_flush_size=20,
        memory_blocks=[block],
    )
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=5), memory=chat_memory)
    await engine.achat("I moved to Lyon.")
    for number in range(12):
        await engine.achat(f"Tell me about the number {number}, and take your time with it.")
    await chat_memory.aput(user("Where did I move?"))
    prompt = await chat_memory.aget()
    assert "I moved to Lyon." in str(prompt[0].content)
    assert prompt[0].role == MessageRole.SYSTEM
    if kind == "ours":
        assert ("user", "I moved to Lyon.") in said(memory)
        asked = [text for role, text in said(memory) if role == "user"]
        assert len(asked) == len(set(asked)) > 5


async def test_instructions_are_no_memories_and_thanks_recall_none(memory: MemorySystem) -> None:
    block = EpisodicaMemoryBlock(memory=memory, user_id="alice")
    rule = ChatMessage(role=MessageRole.SYSTEM, content="Never speak of Lyon.")
    other = ChatMessage(role=MessageRole.DEVELOPER, content="Never speak of Paris.")
    await block.aput([rule, other, user("I moved to Lyon.")], session_id="s1")
    assert said(memory) == [("user", "I moved to Lyon.")]
    assert await block.aget([user("Thanks!")]) == ""
    assert "Lyon" in await block.aget([user("Where do I live?")])


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("llamaindex")
