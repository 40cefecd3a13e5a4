"""The tools in a crew."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crewai import Agent, BaseLLM, Crew, Task
from crewai.memory import Memory
from crewai.tools import BaseTool
from crewai.tools.memory_tools import create_memory_tools

from episodica import AsyncMemorySystem, MemorySystem
from episodica.adapters import Where
from episodica.adapters.crewai import RecallTool, RememberTool, memory_tools


def test_what_is_remembered_is_recalled(memory: MemorySystem) -> None:
    recall, remember = memory_tools(memory, "alice", max_tokens=100, session_id="s")
    assert recall.run(question="Where does she live?") == "Nothing is remembered on this."
    for _ in range(3):
        assert remember.run(text="Alice moved to Lyon.") == "Remembered."
    assert "Alice moved to Lyon." in recall.run(question="Where does she live?")
    (message,) = memory.messages("alice")
    assert (message.role, message.session_id) == ("user", "s")


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    recall, remember = memory_tools(anywhere, "alice")
    assert remember.run(text="Alice moved to Lyon.") == "Remembered."
    assert "Alice moved to Lyon." in recall.run(question="Where does she live?")
    for tool in (recall, remember):
        tool.close()


def test_users_do_not_meet(memory: MemorySystem) -> None:
    RememberTool(memory=memory, user_id="alice").run(text="Alice moved to Lyon.")
    recall = RecallTool(memory=memory, user_id="bob")
    assert recall.run(question="Lyon") == "Nothing is remembered on this."


async def test_the_tools_run_beside_the_event_loop(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        recall, remember = memory_tools(memory, "alice")
        await asyncio.gather(*(remember.arun(text=f"Note {number}.") for number in range(5)))
        assert "Note 3." in await recall.arun(question="Note 3")
        assert len([one async for one in memory.messages("alice")]) == 5


def test_arguments_are_checked(memory: MemorySystem) -> None:
    recall, remember = memory_tools(memory, "alice")
    for tool, argument in ((recall, {"question": ""}), (remember, {"text": ""})):
        with pytest.raises(ValueError, match="at least 1 character"):
            tool.run(**argument)
    assert "question" in recall.args_schema.model_json_schema()["properties"]


class ScriptedLLM(BaseLLM):
    """Calls the tools that the script names, then answers with what it saw last."""

    script: list[str]

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        if self.script:
            return self.script.pop(0)
        seen = [one["content"] for one in messages if "Lyon" in str(one["content"])]
        return f"Thought: I know.\nFinal Answer: {'She lives in Lyon.' if seen else 'Unknown.'}"

    def supports_function_calling(self) -> bool:
        return False


def ask(tools: list[BaseTool], *script: str) -> str:
    llm = ScriptedLLM(model="scripted", script=list(script))
    agent = Agent(
        role="Assistant", goal="Help Alice", backstory="You remember.", llm=llm, tools=tools
    )
    task = Task(description="Help.", expected_output="An answer.", agent=agent)
    return str(Crew(agents=[agent], tasks=[task]).kickoff())


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")


class SilentLLM(BaseLLM):
    """A model that CrewAI's own memory has to do without."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no model")


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(byte) for byte in hashlib.sha256(text.encode()).digest()] for text in texts]


@pytest.mark.parametrize("kind", ["reference", "ours"])
def test_our_tools_take_the_place_of_crewais_own(tmp_path: Path, kind: str) -> None:
    """A crew whose agent keeps notes with the tools of CrewAI's memory; one line differs."""
    if kind == "reference":
        kept = Memory(llm=SilentLLM(model="none"), embedder=embed, storage=str(tmp_path / "own"))
        tools = create_memory_tools(kept)
    else:
        tools = memory_tools(tmp_path / "store", "alice")
    recall, remember = tools

    def step(tool: BaseTool, text: str) -> str:
        ((argument, schema),) = tool.args_schema.model_json_schema()["properties"].items()
        given = json.dumps({argument: [text] if schema["type"] == "array" else text})
        return f"Thought: I use a tool.\nAction: {tool.name}\nAction Input: {given}"

    ask(tools, step(remember, "Alice lives in Lyon."))
    assert ask(tools, step(recall, "Where does Alice live?")) == "She lives in Lyon."


def test_a_crew_recalls_what_another_one_remembered(memory: MemorySystem) -> None:
    note = 'Thought: Note it.\nAction: remember\nAction Input: {"text": "Alice lives in Lyon."}'
    look = 'Thought: Look.\nAction: recall\nAction Input: {"question": "Where does Alice live?"}'
    ask(memory_tools(memory, "alice"), note)
    assert [message.content for message in memory.messages("alice")] == ["Alice lives in Lyon."]
    assert ask(memory_tools(memory, "alice"), look) == "She lives in Lyon."


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("crewai")
