"""The capability in runs of agents, and the store against InMemoryConversationStore."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from episodica import AsyncMemorySystem, MemorySystem
from episodica.adapters import Where
from episodica.adapters.pydantic_ai import (
    EpisodicaConversationStore,
    EpisodicaMemory,
    _draft,
    _shard,
)


def said(memory: MemorySystem) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.messages("alice")]


def scripted(*script: str) -> tuple[FunctionModel, list[str]]:
    """A model that says what the script says, and the instructions that it was given."""
    answers, given = iter(script), []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        given.append(str(info.instructions))
        return ModelResponse(parts=[TextPart(next(answers))])

    return FunctionModel(answer), given


async def test_an_agent_recalls_what_was_said_in_another_conversation(memory: MemorySystem) -> None:
    model, given = scripted("Lovely!", "In Lyon.")
    agent = Agent(model, capabilities=[EpisodicaMemory(memory, "alice", max_tokens=100)])
    await agent.run("I moved to Lyon last week.", conversation_id="one")
    result = await agent.run("Where do I live?", conversation_id="two")
    assert result.output == "In Lyon."
    assert "Lyon" not in given[0]
    assert "I moved to Lyon last week" in given[1]
    assert said(memory) == [
        ("user", "I moved to Lyon last week."),
        ("assistant", "Lovely!"),
        ("user", "Where do I live?"),
        ("assistant", "In Lyon."),
    ]
    sessions = [message.session_id for message in memory.messages("alice")]
    assert sessions == ["one", "one", "two", "two"]


async def test_a_run_with_history_remembers_only_what_is_new(memory: MemorySystem) -> None:
    agent = Agent(
        TestModel(custom_output_text="Hi."), capabilities=[EpisodicaMemory(memory, "alice")]
    )
    first = await agent.run("Hello")
    await agent.run("And again", message_history=first.all_messages())
    assert [text for _, text in said(memory)] == ["Hello", "Hi.", "And again", "Hi."]


async def test_a_streamed_run_is_remembered(memory: MemorySystem) -> None:
    agent = Agent(
        TestModel(custom_output_text="Hi there."), capabilities=[EpisodicaMemory(memory, "alice")]
    )
    async with agent.run_stream("Hello") as result:
        assert await result.get_output() == "Hi there."
    assert said(memory) == [("user", "Hello"), ("assistant", "Hi there.")]


@pytest.mark.parametrize("ends", ["left", "broken", "cancelled"])
async def test_a_streamed_run_that_breaks_off_keeps_what_arrived(
    memory: MemorySystem, ends: str
) -> None:
    async def pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "In "
        yield "Lyon"
        if ends == "broken":
            raise ConnectionError("down")
        await asyncio.sleep(60)

    agent = Agent(
        FunctionModel(stream_function=pieces), capabilities=[EpisodicaMemory(memory, "alice")]
    )
    arrived = asyncio.Event()

    async def ask() -> None:
        async with agent.run_stream("Where?") as result:
            async for text in result.stream_text(delta=False, debounce_by=None):
                if text == "In Lyon":
                    arrived.set()
                    if ends == "left":
                        break

    asked = asyncio.create_task(ask())
    async with asyncio.timeout(20):
        if ends == "cancelled":
            await arrived.wait()
            asked.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await asked
    assert said(memory) == [("user", "Where?"), ("assistant", "In Lyon")]


def test_raw_bytes_come_back_equal(memory: MemorySystem) -> None:
    returned = ToolReturnPart("f", {"raw": b"\xff\xfe", "list": [b"", "text"]}, "c1")
    message = ModelRequest(parts=[ToolReturnPart("g", b"\xff\xfe", "c2"), returned])
    draft = _draft(ConversationEntry(id="e1", parent_id=None, message=message))
    store = EpisodicaConversationStore(memory)
    store._items.write(_shard("e1"), {"e1": draft})
    assert store._entry("e1").message == message


async def test_a_run_that_fails_leaves_nothing(memory: MemorySystem) -> None:
    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ConnectionError("down")

    agent = Agent(FunctionModel(fail), capabilities=[EpisodicaMemory(memory, "alice")])
    with pytest.raises(ConnectionError):
        await agent.run("Hello")
    assert said(memory) == []


async def test_users_come_from_the_run_and_pictures_are_passed_over(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        agent = Agent(
            TestModel(custom_output_text="Hi."),
            deps_type=str,
            capabilities=[EpisodicaMemory(memory, lambda ctx: ctx.deps)],
        )
        picture = BinaryContent(b"x", media_type="image/png")
        await agent.run(["Look at this", picture], deps="alice")
        await agent.run([picture], deps="bob")
        assert await memory.users() == ["alice", "bob"]
        assert [one.content async for one in memory.messages("alice")] == ["Look at this", "Hi."]
        assert [one.content async for one in memory.messages("bob")] == ["Hi."]


def random_message(rng: random.Random, number: int) -> ModelMessage:
    text = rng.choice([f"text {number}", "same", "", "家", "a\nb"])
    if rng.random() < 0.5:
        parts: Any = [UserPromptPart(text)]
        if rng.random() < 0.2:
            parts.append(ToolReturnPart("f", {"x": [1, None]}, tool_call_id=f"c{number}"))
        return ModelRequest(parts=parts, metadata={"n": number})
    answers = [TextPart(text), ThinkingPart(text), ToolCallPart("f", {"y": 1.5}, f"c{number}")]
    return ModelResponse(parts=rng.sample(answers, rng.randint(1, 3)), model_name="m")


class Pair:
    """The same steps in two stores; what they answer must agree."""

    def __init__(self, ours: ConversationStore) -> None:
        self.stores = [ours, InMemoryConversationStore()]

    async def both(self, step: Callable[[ConversationStore], Any]) -> Any:
        answers = []
        for store in self.stores:
            try:
                answers.append(await step(store))
            except (UserError, LookupError) as error:
                answers.append(type(error))
        assert shape(answers[0]) == shape(answers[1])
        return answers


def shape(answer: Any) -> Any:
    """What does not depend on the ids and times that a store makes."""
    if isinstance(answer, Conversation):
        return answer.conversation_id, answer.messages, answer.usage
    if isinstance(answer, list):
        return [shape(one) for one in answer]
    if hasattr(answer, "message"):
        return answer.message
    if hasattr(answer, "head_id"):
        return answer.conversation_id, answer.scope, answer.forked_from, len(answer.branches)
    return answer


async def random_step(pair: Pair, rng: random.Random, number: int) -> None:
    name, other = rng.choices(["one", "two", "三/%"], k=2)
    kind, scope = rng.random(), rng.choice([None, None, "alice"])
    new = [random_message(rng, 10 * number + part) for part in range(rng.randint(0, 3))]
    keep = rng.choice([None, None, None, 1])
    limit, at = rng.choice([None, 0, 1, 100]), rng.randint(0, 3)

    async def save(store: ConversationStore) -> Any:
        known = await store.load(name) or Conversation(messages=[], conversation_id=name)
        # Now and then the history is written anew from its second message on.
        known.messages[len(known.messages) if keep is None else keep :] = new
        return await store.save(known, scope=scope)

    async def branch(store: ConversationStore) -> Any:
        known = await store.load(name)
        revision = known.revision if known else None
        return await store.branch(name, at=at, expected_revision=revision)

    if kind < 0.55:
        await pair.both(save)
    elif kind < 0.65:
        await pair.both(branch)
    elif kind < 0.75:
        await pair.both(lambda store: store.fork(name, new_conversation_id=other))
    elif kind < 0.85:
        await pair.both(lambda store: store.delete(name, scope=scope))
    else:
        await pair.both(lambda store: store.load(name, limit=limit, scope=scope))
        await pair.both(lambda store: store.load_entries(name, limit=limit))


@pytest.mark.parametrize("seed", range(40))
async def test_random_operations_agree_with_the_reference(memory: MemorySystem, seed: int) -> None:
    rng, pair = random.Random(seed), Pair(EpisodicaConversationStore(memory))
    for number in range(50):
        await random_step(pair, rng, number)
        await pair.both(lambda store: store.list_conversations())
        # Erased is what no conversation reaches.
        users = [user for user in memory.users() if user.startswith("pydantic-ai:entries/")]
        stored = sum(len(list(memory.messages(user))) for user in users)
        assert stored == len(pair.stores[1]._entries)


async def test_of_two_savers_one_learns_of_the_other(memory: MemorySystem) -> None:
    stores = [EpisodicaConversationStore(memory), EpisodicaConversationStore(memory)]
    first = Conversation(messages=[ModelRequest(parts=[UserPromptPart("a")])], conversation_id="c")
    await stores[0].save(first)
    copies = [await store.load("c") for store in stores for _ in range(3)]
    for place, copy in enumerate(copies):
        copy.messages.append(ModelResponse(parts=[TextPart(str(place))]))
    results = await asyncio.gather(
        *(stores[place % 2].save(copy) for place, copy in enumerate(copies)), return_exceptions=True
    )
    assert sum(isinstance(result, ConversationConflict) for result in results) == len(copies) - 1
    assert len((await stores[0].load("c")).messages) == 2


@pytest.mark.parametrize("kind", ["reference", "ours"])
async def test_an_agent_goes_on_with_a_stored_conversation(store: Path, kind: str) -> None:
    """Pydantic AI's example of a conversation store; one line differs."""
    conversations: ConversationStore = (
        InMemoryConversationStore() if kind == "reference" else EpisodicaConversationStore(store)
    )
    seen = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(len(messages))
        return ModelResponse(parts=[TextPart("Hi.")])

    agent = Agent(FunctionModel(answer))
    for text in ("Hello", "Me again"):
        known = await conversations.load("c") or Conversation(messages=[], conversation_id="c")
        await conversations.save(await agent.run(text, conversation=known))
    assert seen == [1, 3]
    assert len((await conversations.load("c")).messages) == 4


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    memory = EpisodicaMemory(anywhere, "alice")
    model, given = scripted("Lovely!", "In Lyon.")
    agent = Agent(model, capabilities=[memory])
    for text in ("I moved to Lyon.", "Where do I live?"):
        await agent.run(text)
    assert "I moved to Lyon." in given[1]
    conversations = EpisodicaConversationStore(anywhere)
    said = [ModelRequest(parts=[UserPromptPart("a")])]
    await conversations.save(Conversation(messages=said, conversation_id="c"))
    assert (await conversations.load("c")).messages == said
    memory.close()
    conversations.close()


async def test_a_run_that_is_reported_again_adds_nothing(memory: MemorySystem) -> None:
    capability = EpisodicaMemory(memory, "alice")
    kept: list[Any] = []

    class Reporting(EpisodicaMemory):
        async def after_run(self, ctx: Any, *, result: Any) -> Any:
            kept.append((ctx, result))
            return await super().after_run(ctx, result=result)

    agent = Agent(TestModel(custom_output_text="Hi."), capabilities=[Reporting(memory, "alice")])
    await agent.run("Hello")
    ((ctx, result),) = kept
    for _ in range(3):
        assert await capability.after_run(ctx, result=result) is result
    assert said(memory) == [("user", "Hello"), ("assistant", "Hi.")]


async def test_a_cancelled_save_is_whole_or_not_there(memory: MemorySystem) -> None:
    conversations = EpisodicaConversationStore(memory)
    for number in range(10):
        said = [ModelRequest(parts=[UserPromptPart(f"{number} {part}")]) for part in range(5)]
        whole = Conversation(messages=list(said), conversation_id=str(number))
        task = asyncio.create_task(conversations.save(whole))
        await asyncio.sleep(number / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = await conversations.load(str(number))
        assert found is None or found.messages == said


async def test_a_conversation_goes_on_after_a_restart(
    store: Path, on_disk: Callable[[str], bool]
) -> None:
    for _ in range(2):
        model, _given = scripted("marzipan")
        conversations = EpisodicaConversationStore(store)
        known = await conversations.load("c") or Conversation(messages=[], conversation_id="c")
        result = await Agent(model).run("Hello", conversation=known)
        await conversations.save(result)
        conversations.close()
    again = EpisodicaConversationStore(store)
    assert len((await again.load("c")).messages) == 4
    assert on_disk("marzipan")
    await again.delete("c")
    again.close()
    assert not on_disk("marzipan")


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("pydantic_ai")
