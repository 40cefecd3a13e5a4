"""EpisodicaMemoryService against ADK's InMemoryMemoryService, and in a run of an agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory
from google.genai import types

from episodica import AsyncMemorySystem, MemorySystem
from episodica.adapters import Where
from episodica.adapters.google_adk import EpisodicaMemoryService

WORDS = ["lyon", "dog", "pickle", "cello", "porto", "peanut", "vet", "lift", "garden", "tortoise"]


def event(rng: random.Random, number: int) -> Event:
    text = " ".join(rng.choices(WORDS, k=rng.randint(1, 6))) if rng.random() < 0.9 else ""
    parts = [types.Part(text=text)] if rng.random() < 0.95 else []
    if rng.random() < 0.2:
        parts.append(types.Part(function_call=types.FunctionCall(name="f", args={"x": 1})))
    content = types.Content(role="user", parts=parts) if rng.random() < 0.95 else None
    return Event(
        id=f"e{number}",
        author=rng.choice(["user", "agent"]),
        content=content,
        timestamp=1_700_000_000 + number,
    )


def stored(reference: InMemoryMemoryService, app: str, user: str) -> set[str]:
    """The ids of what the reference holds that has words."""
    sessions = reference._session_events.get((app, user), {})
    return {
        one.id
        for events in sessions.values()
        for one in events
        if any(part.text for part in one.content.parts)
    }


@pytest.mark.parametrize("seed", range(40))
async def test_random_operations_agree_with_the_reference(memory: MemorySystem, seed: int) -> None:
    rng = random.Random(seed)
    reference, ours = InMemoryMemoryService(), EpisodicaMemoryService(memory, top_k=1000)
    apps, users = ["app", "app/x"], ["alice", "x/alice"]
    sessions = {
        (app, user, name): Session(id=name, app_name=app, user_id=user, events=[])
        for app in apps
        for user in users
        for name in ("s1", "s2")
    }
    number = 0
    for _ in range(60):
        app, user, kind = rng.choice(apps), rng.choice(users), rng.random()
        session = sessions[app, user, rng.choice(["s1", "s2"])]
        if kind < 0.4:
            for _ in range(rng.randint(0, 4)):
                session.events.append(event(rng, number))
                number += 1
            for service in (ours, reference):
                await service.add_session_to_memory(session)
        elif kind < 0.55 and session.events:
            again = rng.sample(session.events, 1)
            for service in (ours, reference):
                await service.add_events_to_memory(
                    app_name=app, user_id=user, events=again, session_id=session.id
                )
        elif kind < 0.7:
            known = sorted(stored(reference, app, user)) or ["unknown"]
            gone = rng.choice([*known, "unknown"])
            for service in (ours, reference):
                await service.delete_memory(app_name=app, user_id=user, memory_id=gone)
        else:
            asked: dict[str, Any] = {"app_name": app, "user_id": user, "query": rng.choice(WORDS)}
            wanted = {one.id: one for one in (await reference.search_memory(**asked)).memories}
            got = {one.id: one for one in (await ours.search_memory(**asked)).memories}
            assert wanted.keys() <= got.keys()
            for name, one in wanted.items():
                assert (got[name].content, got[name].author) == (one.content, one.author)
        name = EpisodicaMemoryService.memory_user(app, user)
        assert {message.message_id for message in memory.messages(name)} == stored(
            reference, app, user
        )


async def test_pieces_of_a_stream_are_not_remembered_beside_the_whole(memory: MemorySystem) -> None:
    def piece(number: int, text: str, partial: bool) -> Event:
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return Event(id=f"e{number}", author="agent", content=content, partial=partial)

    events = [piece(1, "In ", True), piece(2, "Lyon.", True), piece(3, "In Lyon.", False)]
    service = EpisodicaMemoryService(memory)
    await service.add_events_to_memory(app_name="app", user_id="alice", events=events)
    assert [one.content for one in memory.messages("adk:app/alice")] == ["In Lyon."]


async def test_what_was_deleted_stays_deleted_after_a_restart(
    store: Path, on_disk: Callable[[str], bool]
) -> None:
    said = Event(
        id="e1",
        author="user",
        content=types.Content(role="user", parts=[types.Part(text="marzipan")]),
    )
    session = Session(id="s", app_name="app", user_id="alice", events=[said])
    service = EpisodicaMemoryService(store)
    await service.add_session_to_memory(session)
    await service.delete_memory(app_name="app", user_id="alice", memory_id="e1")
    service.close()
    again = EpisodicaMemoryService(store)
    await again.add_session_to_memory(session)
    found = await again.search_memory(app_name="app", user_id="alice", query="marzipan")
    again.close()
    assert found.memories == []
    assert not on_disk("marzipan")


async def test_entries_are_added_directly(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        service = EpisodicaMemoryService(memory)
        entry = MemoryEntry(
            id="m1",
            author="user",
            timestamp="2026-03-01T09:00:00+01:00",
            content=types.Content(parts=[types.Part(text="Alice is allergic to peanuts.")]),
            custom_metadata={"source": "form"},
        )
        where: dict[str, Any] = {"app_name": "app", "user_id": "alice"}
        for _ in range(2):
            await service.add_memory(**where, memories=[entry], custom_metadata={"x": 1})
        (found,) = (await service.search_memory(**where, query="What is she allergic to?")).memories
        assert found.id == "m1"
        assert found.content == entry.content
        wanted = datetime.fromisoformat("2026-03-01T09:00:00+01:00")
        assert datetime.fromisoformat(found.timestamp) == wanted
        assert found.custom_metadata == {"source": "form", "x": 1}
        assert (await service.search_memory(**where, query=" ")).memories == []
        await service.delete_memory(**where, memory_id=None)
        await service.delete_memory(**where, memory_id="m1")
        assert (await service.search_memory(**where, query="peanuts")).memories == []


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    service = EpisodicaMemoryService(anywhere)
    one = event(random.Random(1), 1)
    where: dict[str, Any] = {"app_name": "app", "user_id": "alice"}
    for _ in range(2):
        await service.add_events_to_memory(**where, events=[one], session_id="s")
    (found,) = (await service.search_memory(**where, query=one.content.parts[0].text)).memories
    assert (found.id, found.content) == (one.id, one.content)
    service.close()


async def test_entries_without_an_id_are_added_once_and_again_after_a_deletion(
    memory: MemorySystem,
) -> None:
    service, where = EpisodicaMemoryService(memory), {"app_name": "app", "user_id": "alice"}
    entries = [
        MemoryEntry(content=types.Content(parts=[types.Part(text=text)]))
        for text in ("Alice likes figs.", "Alice lives in Lyon.")
    ]

    async def found() -> list[str]:
        """The ids of what is found, facts included."""
        answer = await service.search_memory(**where, query="figs")
        return [one.id for one in answer.memories if "figs" in one.content.parts[0].text]

    for _ in range(3):
        await service.add_memory(**where, memories=entries)
    (known,) = [one for one in await found() if one.startswith("entry:")]
    await service.delete_memory(**where, memory_id=known)
    assert await found() == []
    await service.add_memory(**where, memories=entries)
    assert known in await found()
    assert len(list(memory.messages("adk:app/alice"))) == 2


def test_the_whole_protocol_is_there() -> None:
    named = {name for name in vars(BaseMemoryService) if not name.startswith("_")}
    assert {"add_session_to_memory", "search_memory"} <= named
    assert named <= set(vars(EpisodicaMemoryService))


async def test_a_cancelled_addition_is_whole_or_not_there(memory: MemorySystem) -> None:
    service, rng = EpisodicaMemoryService(memory), random.Random(0)
    for number in range(10):
        events = [event(rng, 10 * number + part) for part in range(5)]
        wanted = [
            one.id for one in events if one.content and any(p.text for p in one.content.parts)
        ]
        task = asyncio.create_task(
            service.add_events_to_memory(app_name="a", user_id=str(number), events=events)
        )
        await asyncio.sleep(number / 2000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = [message.message_id for message in memory.messages(f"adk:a/{number}")]
        assert found in ([], wanted)


class ScriptedModel(BaseLlm):
    """Asks the memory first, then says what it found."""

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        latest = llm_request.contents[-1].parts[-1]
        if latest.function_response is not None:
            part = types.Part(text=f"I remember: {latest.function_response.response}")
        elif "?" in (latest.text or ""):
            call = types.FunctionCall(name="load_memory", args={"query": latest.text})
            part = types.Part(function_call=call)
        else:
            part = types.Part(text="Noted.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


@pytest.mark.parametrize("kind", ["reference", "ours"])
async def test_an_agent_recalls_an_earlier_session(memory: MemorySystem, kind: str) -> None:
    """ADK's own example of a memory: two sessions, `load_memory` in between; one line differs."""
    service: Any = (
        InMemoryMemoryService() if kind == "reference" else EpisodicaMemoryService(memory)
    )
    agent = LlmAgent(name="assistant", model=ScriptedModel(model="scripted"), tools=[load_memory])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=service)

    async def ask(name: str, text: str) -> str:
        await sessions.create_session(app_name="app", user_id="alice", session_id=name)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        answer = ""
        async for one in runner.run_async(user_id="alice", session_id=name, new_message=message):
            if one.is_final_response() and one.content:
                answer = one.content.parts[0].text or ""
        done = await sessions.get_session(app_name="app", user_id="alice", session_id=name)
        assert done is not None
        await service.add_session_to_memory(done)
        return answer

    assert await ask("one", "My favorite project is Project Alpha.") == "Noted."
    assert "Project Alpha" in await ask("two", "What is my favorite project?")


@pytest.mark.parametrize("query", ["Thanks!", "Thank you so much!", "谢谢！", "¡Gracias!", "Hello"])
async def test_thanks_recall_nothing(query: str, memory: MemorySystem) -> None:
    service = EpisodicaMemoryService(memory)
    where: dict[str, Any] = {"app_name": "app", "user_id": "alice"}
    texts = ["My dog is called Pickle. Thanks for asking!", "Hello there!", "I moved to London."]
    entries = [MemoryEntry(content=types.UserContent(text)) for text in texts]
    await service.add_memory(**where, memories=entries)
    assert (await service.search_memory(**where, query=query)).memories == []
    for asked in ("London", "dog", "What is my dog called?"):
        assert (await service.search_memory(**where, query=asked)).memories


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("google_adk")
