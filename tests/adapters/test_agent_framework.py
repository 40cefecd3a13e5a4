"""The context and history providers in runs of Microsoft's agents."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
    SessionContext,
)

from episodica import MemorySystem
from episodica.adapters import Where
from episodica.adapters.agent_framework import EpisodicaContextProvider, EpisodicaHistoryProvider


class ScriptedClient(BaseChatClient):
    """Says what the script says, and notes what it was given."""

    def __init__(self, *script: str) -> None:
        super().__init__()
        self.script = iter(script)
        self.given: list[str] = []

    def _inner_get_response(
        self, *, messages: Any, stream: bool, options: Any, **kwargs: Any
    ) -> Any:
        said = [f"{message.role}: {message.text}" for message in messages]
        self.given.append("\n".join([str(options.get("instructions") or ""), *said]))

        async def whole() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", [next(self.script)])])

        async def pieces() -> Any:
            for word in next(self.script).split(" "):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(f"{word} ")])

        return ResponseStream(pieces(), finalizer=ChatResponse.from_updates) if stream else whole()


def said(memory: MemorySystem) -> list[tuple[str, str]]:
    return [(message.role, message.content.strip()) for message in memory.messages("alice")]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_agent_recalls_an_earlier_session(memory: MemorySystem, stream: bool) -> None:
    """The framework's example of a context provider, with ours."""
    client = ScriptedClient("Lovely!", "In Lyon.")
    provider = EpisodicaContextProvider(memory, "alice", max_tokens=100)
    agent = Agent(client=client, instructions="Be short.", context_providers=[provider])

    async def ask(text: str, session: AgentSession) -> str:
        if not stream:
            return (await agent.run(text, session=session)).text
        running = agent.run(text, session=session, stream=True)
        async for _ in running:
            pass
        return (await running.get_final_response()).text

    await ask("I moved to Lyon last week.", agent.create_session(session_id="one"))
    answer = await ask("Where do I live?", agent.create_session(session_id="two"))
    assert answer.strip() == "In Lyon."
    assert "<memory-" not in client.given[0]
    assert "I moved to Lyon last week" in client.given[1]
    assert "Be short." in client.given[1]
    assert said(memory) == [
        ("user", "I moved to Lyon last week."),
        ("assistant", "Lovely!"),
        ("user", "Where do I live?"),
        ("assistant", "In Lyon."),
    ]
    sessions = [message.session_id for message in memory.messages("alice")]
    assert sessions == ["one", "one", "two", "two"]


@pytest.mark.parametrize("ends", ["left", "broken"])
async def test_a_streamed_run_that_breaks_off_keeps_what_arrived(
    memory: MemorySystem, ends: str
) -> None:
    class Pieces(ChatMiddlewareLayer, ScriptedClient):
        def _inner_get_response(self, *, stream: bool, **kwargs: Any) -> Any:
            async def pieces() -> Any:
                for word in ("In ", "Lyon"):
                    yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])
                if ends == "broken":
                    raise ConnectionError("down")

            return ResponseStream(pieces(), finalizer=ChatResponse.from_updates)

    agent = Agent(client=Pieces(), context_providers=[EpisodicaContextProvider(memory, "alice")])

    async def ask() -> None:
        async for update in agent.run("Where?", stream=True):
            if ends == "left" and update.text == "Lyon":
                break

    with contextlib.suppress(ConnectionError):
        await ask()
    gc.collect()
    assert said(memory) == [("user", "Where?"), ("assistant", "In Lyon")]


async def test_a_run_that_fails_leaves_nothing(memory: MemorySystem) -> None:
    class Failing(ScriptedClient):
        def _inner_get_response(self, **kwargs: Any) -> Any:
            raise ConnectionError("down")

    agent = Agent(client=Failing(), context_providers=[EpisodicaContextProvider(memory, "alice")])
    with pytest.raises(Exception, match="down"):
        await agent.run("Hello")
    assert said(memory) == []


async def test_a_run_that_is_reported_again_adds_nothing(memory: MemorySystem) -> None:
    provider = EpisodicaContextProvider(memory, "alice")
    for run in range(2):
        context = SessionContext(session_id="s", input_messages=[Message("user", ["Hello"])])
        context._response = SimpleNamespace(messages=[Message("assistant", ["Hi."])])
        for _ in range(3):
            await provider.after_run(agent=None, session=None, context=context, state={})
        assert said(memory) == [("user", "Hello"), ("assistant", "Hi.")] * (run + 1)


async def test_messages_without_words_ask_nothing_and_leave_nothing(memory: MemorySystem) -> None:
    provider = EpisodicaContextProvider(memory, "alice")
    picture = Content.from_data(b"x", media_type="image/png")
    context = SessionContext(session_id="s", input_messages=[Message("user", [picture])])
    await provider.before_run(agent=None, session=None, context=context, state={})
    await provider.after_run(agent=None, session=None, context=context, state={})
    assert context.instructions == []
    assert memory.users() == []


def random_message(rng: random.Random) -> Message:
    text = rng.choice(["Hello", "", "家", "a\nb", "same"])
    contents = [
        Content.from_text(text),
        Content.from_function_call("c1", "f", arguments={"x": [1, None]}),
        Content.from_function_result("c1", result="22"),
        Content.from_data(b"x", media_type="image/png"),
    ]
    return Message(
        rng.choice(["user", "assistant", "tool"]),
        rng.sample(contents, rng.randint(1, 3)),
        author_name=rng.choice([None, "Ann"]),
        message_id=rng.choice([None, "id"]),
        additional_properties={"n": rng.randint(0, 9)},
    )


@pytest.mark.parametrize("seed", range(40))
async def test_histories_agree_with_the_reference(memory: MemorySystem, seed: int) -> None:
    rng, states = random.Random(seed), {"one": {}, "two": {}}
    ours = EpisodicaHistoryProvider(memory, rng.choice([None, "alice"]))
    reference = InMemoryHistoryProvider()
    for _ in range(50):
        name = rng.choice(["one", "two"])
        if rng.random() < 0.5:
            messages = [random_message(rng) for _ in range(rng.randint(0, 3))]
            if rng.random() < 0.3:  # the whole history again, with new messages behind it
                messages = [*await ours.get_messages(name), *messages]
            await ours.save_messages(name, messages)
            await reference.save_messages(name, messages, state=states[name])
        else:
            got = await ours.get_messages(name)
            wanted = await reference.get_messages(name, state=states[name])
            assert [one.to_dict() for one in got] == [one.to_dict() for one in wanted]


@pytest.mark.parametrize("kind", ["reference", "ours"])
async def test_an_agent_keeps_its_session_in_our_history(store: Path, kind: str) -> None:
    """The framework's example of a session with two questions; one line differs."""
    history = InMemoryHistoryProvider() if kind == "reference" else EpisodicaHistoryProvider(store)
    client = ScriptedClient("Hello Alice!", "Alice.")
    agent = Agent(client=client, context_providers=[history])
    session = agent.create_session(session_id="s")
    for text in ("My name is Alice.", "What is my name?"):
        await agent.run(text, session=session)
    assert client.given[1].split("\n")[-3:] == [
        "user: My name is Alice.",
        "assistant: Hello Alice!",
        "user: What is my name?",
    ]


async def test_a_session_goes_on_after_a_restart(store: Path) -> None:
    for text, answer in [("My name is Alice.", "Hello Alice!"), ("Who am I?", "Alice.")]:
        history = EpisodicaHistoryProvider(store)
        client = ScriptedClient(answer)
        agent = Agent(client=client, context_providers=[history])
        await agent.run(text, session=agent.create_session(session_id="s"))
        history.close()
    assert "user: My name is Alice.\nassistant: Hello Alice!" in client.given[0]


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    client = ScriptedClient("Lovely!", "In Lyon.")
    provider = EpisodicaContextProvider(anywhere, "alice")
    agent = Agent(client=client, context_providers=[provider])
    for text in ("I moved to Lyon.", "Where do I live?"):
        await agent.run(text, session=agent.create_session())
    assert "I moved to Lyon." in client.given[1]
    history = EpisodicaHistoryProvider(anywhere)
    await history.save_messages("s", [Message("user", ["Hello"])])
    assert [one.text for one in await history.get_messages("s")] == ["Hello"]
    provider.close()
    history.close()


async def test_a_cancelled_save_is_whole_or_not_there(memory: MemorySystem) -> None:
    history = EpisodicaHistoryProvider(memory)
    for number in range(10):
        messages = [Message("user", [f"{number} {part}"]) for part in range(5)]
        task = asyncio.create_task(history.save_messages(str(number), messages))
        await asyncio.sleep(number / 2000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert len(await history.get_messages(str(number))) in (0, 5)


async def test_instructions_are_no_memories(memory: MemorySystem) -> None:
    provider = EpisodicaContextProvider(memory, "alice")
    messages = [Message("system", ["Answer in French."]), Message("user", ["I moved to Lyon."])]
    context = SessionContext(session_id="s", input_messages=messages)
    await provider.after_run(agent=None, session=None, context=context, state={})
    assert said(memory) == [("user", "I moved to Lyon.")]
    history = EpisodicaHistoryProvider(memory, "ben")
    await history.save_messages("s", messages)
    assert [one.text for one in await history.get_messages("s")] == [one.text for one in messages]
    assert "French" not in memory.context("ben", "Answer in French").text


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("agent_framework")
