"""EpisodicaSession against the SDK's SQLiteSession, and in a run of an agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ModelResponse, Runner, SQLiteSession, Usage, set_tracing_disabled
from agents.memory.session import Session
from agents.memory.session_settings import SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem
from episodica.adapters import Where
from episodica.adapters.openai_agents import EpisodicaSession

set_tracing_disabled(True)


def random_item(rng: random.Random) -> Any:
    """Messages, tool calls, their results, reasoning: also what holds no words, and odd text."""
    text = rng.choice(["Hello", "", " ", "家", "a\nb", "\u0000", "same", "x" * 300])
    return rng.choice(
        [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [{"type": "output_text", "text": text}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
            {"type": "function_call_output", "call_id": "c", "output": text},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": text},
            {"type": "item_reference", "id": text},
            {"role": "user", "content": [{"type": "input_image", "image_url": "u", "x": None}]},
            {"type": "message", "role": "assistant", "n": [1.5, 10**20, -0.0, True, {}]},
        ]
    )


@pytest.mark.parametrize("seed", range(40))
async def test_random_operations_agree_with_the_reference(
    memory: MemorySystem, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    user = rng.choice([None, "alice"])
    names = ["one", "two"]
    ours = {name: EpisodicaSession(name, memory, user_id=user) for name in names}
    reference = {name: SQLiteSession(name, tmp_path / "reference.db") for name in names}
    for _ in range(60):
        name, kind = rng.choice(names), rng.random()
        if kind < 0.4:
            items = [random_item(rng) for _ in range(rng.randint(0, 4))]
            for session in (ours[name], reference[name]):
                await session.add_items(items)
        elif kind < 0.6:
            assert await ours[name].pop_item() == await reference[name].pop_item()
        elif kind < 0.62:
            for session in (ours[name], reference[name]):
                await session.clear_session()
        else:
            limit = rng.choice([None, None, 0, 1, 3, 100, -1])
            found = await ours[name].get_items(limit)
            expected = await reference[name].get_items(limit)
            # The SDK's session parts results of tools from their calls.
            more = len(found) - len(expected)
            assert found[more:] == expected
            assert more == 0 or found[0]["type"] == "function_call"
    for name in names:
        again = EpisodicaSession(name, memory, user_id=user)
        assert await again.get_items() == await reference[name].get_items()
        reference[name].close()


async def test_the_clock_does_not_order_items(memory: MemorySystem) -> None:
    """Items of one moment, and of a session that others write to at the same time."""
    sessions = [EpisodicaSession("s", memory) for _ in range(4)]

    async def write(session: EpisodicaSession, writer: int) -> None:
        for number in range(10):
            await session.add_items(
                [{"writer": writer, "number": number, "part": part} for part in range(3)]
            )

    await asyncio.gather(*(write(session, place) for place, session in enumerate(sessions)))
    items: list[Any] = await sessions[0].get_items()
    for writer in range(4):
        mine = [(item["number"], item["part"]) for item in items if item["writer"] == writer]
        assert mine == [(number, part) for number in range(10) for part in range(3)]
    lists = [items[start : start + 3] for start in range(0, len(items), 3)]
    assert all(len({(one["writer"], one["number"]) for one in whole}) == 1 for whole in lists)


async def test_the_settings_limit_what_comes_back(memory: MemorySystem) -> None:
    session = EpisodicaSession("s", memory, session_settings=SessionSettings(limit=2))
    await session.add_items([{"role": "user", "content": str(number)} for number in range(5)])
    assert [item["content"] for item in await session.get_items()] == ["3", "4"]
    assert len(await session.get_items(4)) == 4
    assert isinstance(session, Session)


async def test_a_limit_does_not_part_a_result_from_its_call(memory: MemorySystem) -> None:
    session = EpisodicaSession("s", memory)
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "12C"}
    said = [{"role": "user", "content": "Hi"}, call, result, {"role": "user", "content": "Bye"}]
    await session.add_items(said)
    assert await session.get_items(limit=2) == said[1:]
    assert await session.get_items(limit=3) == said[1:]
    assert await session.get_items(limit=1) == said[3:]
    lost = EpisodicaSession("t", memory)
    await lost.add_items([{"role": "user", "content": "Hi"}, result])
    assert await lost.get_items(limit=1) == [result]


async def test_items_of_all_sessions_are_found_by_meaning(memory: MemorySystem) -> None:
    for name, text in [("one", "My dog is called Pickle."), ("two", "I live in Lyon.")]:
        await EpisodicaSession(name, memory, user_id="alice").add_items(
            [{"role": "user", "content": text}]
        )
    hits = memory.search("alice", "Where does she live?", kinds=["message"])
    assert hits[0].content == "I live in Lyon."
    assert memory.users() == ["alice"]


async def test_what_is_not_json_is_refused_whole(memory: MemorySystem) -> None:
    session = EpisodicaSession("s", memory)
    bad: Any = [
        {"role": "user", "content": "good"},
        {"role": "user", "content": "x", "n": object()},
    ]
    with pytest.raises(InvalidInputError, match=r"message 1: metadata\.item\.n"):
        await session.add_items(bad)
    assert await session.get_items() == []


async def test_popped_and_cleared_items_are_erased(
    store: Path, on_disk: Callable[[str], bool]
) -> None:
    session = EpisodicaSession("s", store)
    await session.add_items([{"role": "user", "content": word} for word in ("nougat", "caramel")])
    await session.pop_item()
    await session.add_items([{"role": "user", "content": "praline"}])
    session.close()
    assert on_disk("praline")
    assert not on_disk("caramel")
    again = EpisodicaSession("s", store)
    await again.clear_session()
    again.close()
    assert not any(map(on_disk, ("nougat", "caramel", "praline")))


async def test_a_long_session_is_a_context_and_its_latest_items(memory: MemorySystem) -> None:
    session = EpisodicaSession("s", memory, user_id="alice", keep_items=3, max_tokens=200)
    await session.add_items([{"role": "user", "content": "My dog is called Pickle."}])
    for number in range(30):
        await session.add_items(
            [
                {"role": "user", "content": f"Task number {number}, please."},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "done"},
                {"role": "assistant", "content": f"Task {number} is done."},
            ]
        )
    await session.add_items([{"role": "user", "content": "What is the dog called?"}])
    items: list[Any] = await session.get_items()
    assert items[0]["role"] == "system"
    assert "Pickle" in items[0]["content"]
    # No call without its result: the whole of the turn is kept.
    assert items[1] == {"role": "user", "content": "Task number 29, please."}
    assert len(items) == 6
    assert len(await session.get_items(1000)) == 122


async def test_a_cancelled_addition_is_whole_or_not_there(memory: MemorySystem) -> None:
    session = EpisodicaSession("s", memory)
    for number in range(20):
        items: Any = [{"number": number, "part": part} for part in range(5)]
        task = asyncio.create_task(session.add_items(items))
        await asyncio.sleep(number / 4000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = [item for item in await session.get_items() if item["number"] == number]
        assert found in ([], items)


class ScriptedModel(Model):
    """Says what the script says, and notes what it was given."""

    def __init__(self, *script: str) -> None:
        self.script = iter(script)
        self.given: list[Any] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.given.append(kwargs.get("input", args[1] if len(args) > 1 else None))
        text = ResponseOutputText(type="output_text", text=next(self.script), annotations=[])
        message = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    items: Any = [{"role": "user", "content": "Hello"}, {"type": "reasoning", "summary": []}]
    session = EpisodicaSession("s", anywhere, user_id="alice")
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.pop_item() == items[1]
    session.close()


async def test_an_agent_with_our_session_runs_as_with_the_sdks(store: Path) -> None:
    """The SDK's first example of sessions, with one line changed."""
    transcripts = []
    async with AsyncMemorySystem(store) as memory:
        for session in (SQLiteSession("c"), EpisodicaSession("c", memory)):
            model = ScriptedModel("San Francisco", "California")
            agent = Agent(name="Assistant", instructions="Be short.", model=model)
            await Runner.run(agent, "Which city has the Golden Gate Bridge?", session=session)
            result = await Runner.run(agent, "Which state is it in?", session=session)
            assert result.final_output == "California"
            assert "Golden Gate" in str(model.given[1])
            transcripts.append((await session.get_items(), model.given))
    assert transcripts[0] == transcripts[1]


async def test_a_run_on_a_compacted_session_keeps_only_its_own_items(memory: MemorySystem) -> None:
    session = EpisodicaSession("c", memory, keep_items=2)
    model = ScriptedModel("Noted.", "One.", "Two.", "Pickle.")
    agent = Agent(name="Assistant", model=model)
    asked = ["My dog is called Pickle.", "Count.", "Go on.", "What is the dog called?"]
    for text in asked:
        await Runner.run(agent, text, session=session)
    earlier, *kept = model.given[-1]
    assert earlier["role"] == "system"
    assert "Pickle" in earlier["content"]
    assert [item["role"] for item in kept] == ["user", "assistant", "user"]
    items: list[Any] = await session.get_items(100)
    assert [item["role"] for item in items] == ["user", "assistant"] * 4
    assert [item["content"] for item in items[::2]] == asked


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("max_tokens", [20, 2000])
async def test_instructions_stay_whole_before_and_outside_of_the_context(
    role: str, max_tokens: int, memory: MemorySystem
) -> None:
    session = EpisodicaSession("s", memory, user_id="al", keep_items=2, max_tokens=max_tokens)
    instructions: list[Any] = [
        {"role": role, "content": "Answer in French. Never name the dog Pickle."},
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": "Be brief."}]},
    ]
    await session.add_items([instructions[0]])
    for number in range(12):
        await session.add_items([{"role": "user", "content": f"My dog is Pickle, {number}."}])
        if number == 5:
            await session.add_items([instructions[1]])
        await session.add_items([{"role": "assistant", "content": f"Noted {number}."}])
    await session.add_items([{"role": "user", "content": "What is the dog called, in French?"}])
    items: list[Any] = await session.get_items()
    assert items[:2] == instructions
    recalled = [one for one in items[2:] if one["role"] == "system"]
    assert all("French. Never" not in one["content"] for one in recalled)
    assert all("Be brief" not in one["content"] for one in recalled)
    assert "Answer in French" not in memory.context("al", "Answer in French").text
    whole: list[Any] = await session.get_items(1000)
    assert whole[0] == instructions[0]


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("openai_agents")
