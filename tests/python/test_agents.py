"""``agent_id``: where it comes from, where it is kept, and what it filters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    Episode,
    InvalidInputError,
    MemorySystem,
    Message,
    SemanticMemory,
)

DAY = "2024-03-0{}T10:00:00Z"


@pytest.fixture
def agents(memory: MemorySystem) -> MemorySystem:
    """Ann talks with two agents, then with none that has a name."""
    memory.add_messages(
        "ann",
        [
            {
                "role": "user",
                "name": "Ann",
                "content": "I live in Lyon.",
                "timestamp": DAY.format(1),
            },
            {
                "role": "assistant",
                "content": "The hotel agent will book a room.",
                "timestamp": DAY.format(1),
                "agent_id": "hotels",
            },
        ],
        agent_id="travel",
        session_id="s1",
    )
    memory.add_messages(
        "ann",
        [
            {
                "role": "user",
                "name": "Ann",
                "content": "My dog is called Rex.",
                "timestamp": DAY.format(5),
            }
        ],
        session_id="s2",
    )
    memory.flush("ann")
    memory.wait("ann")
    memory.remember("ann", "Ann prefers window seats.", agent_id="travel")
    return memory


def test_messages_have_the_agent_that_they_name(agents: MemorySystem) -> None:
    assert [message.agent_id for message in agents.messages("ann")] == ["travel", "hotels", None]
    first = agents.messages("ann")[0]
    assert first.to_dict()["agent_id"] == "travel"
    assert Message.from_dict(first.to_dict()) == first
    assert ">travel<" in first._repr_html_()


def test_the_log_keeps_the_agent_and_old_lines_have_none(agents: MemorySystem, store: Path) -> None:
    agents.close()
    log = store / "messages" / "ann_messages.jsonl"
    kept = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("agent_id") for line in kept[1:]] == ["travel", "hotels", None]
    assert "agent_id" not in kept[3]
    with MemorySystem(store) as again:
        assert [one.agent_id for one in again.messages("ann")] == ["travel", "hotels", None]


def test_an_episode_has_the_agents_of_its_messages(agents: MemorySystem) -> None:
    first, second = agents.episodes("ann")
    assert first.agent_ids == ("travel", "hotels")
    assert second.agent_ids == ()
    for agent in ("travel", "hotels"):
        assert list(agents.episodes("ann", agent_id=agent)) == [first]
    assert all(f">{agent}<" in first._repr_html_() for agent in first.agent_ids)


def test_a_fact_has_the_agents_of_its_messages_or_the_one_that_stated_it(
    agents: MemorySystem,
) -> None:
    of = [fact.content for fact in agents.semantic_memories("ann", agent_id="travel")]
    assert of == ['Ann: "I live in Lyon."', "Ann prefers window seats."]
    assert len(agents.semantic_memories("ann", agent_id="hotels")) == 0
    lyon, _, window = agents.semantic_memories("ann")
    assert (lyon.agent_id, window.agent_id) == (None, "travel")


def test_facts_belong_to_the_sessions_of_their_messages(agents: MemorySystem) -> None:
    [fact] = agents.semantic_memories("ann", session_id="s2")
    assert "Rex" in fact.content
    assert agents.search("ann", "Rex", kinds=["semantic"], session_id="s2")[0].id == fact.memory_id
    assert not agents.search("ann", "Rex", kinds=["semantic"], session_id="s1", agent_id="hotels")


@pytest.mark.parametrize("method", ["hybrid", "rrf", "vector", "bm25", "norlift"])
def test_searches_and_contexts_return_only_the_agent(agents: MemorySystem, method: Any) -> None:
    for hit in agents.search("ann", "Lyon Rex window hotel", method=method, agent_id="travel"):
        record = hit.record
        if isinstance(record, Message):
            assert record.agent_id == "travel"
        elif isinstance(record, Episode):
            assert "travel" in record.agent_ids
        else:
            assert isinstance(record, SemanticMemory)
            assert "Rex" not in record.content
    context = agents.context("ann", "Where does Ann live?", agent_id="travel")
    assert "Lyon" in context.text
    assert "Rex" not in context.text


def test_what_one_agent_knows_can_be_deleted(agents: MemorySystem) -> None:
    report = agents.delete_where("ann", agent_id="travel", kinds=["message", "semantic"])
    assert (report.messages, report.semantic_memories) == (1, 2)
    assert [message.agent_id for message in agents.messages("ann")] == ["hotels", None]


def test_exports_and_other_stores_keep_the_agent(agents: MemorySystem, tmp_path: Path) -> None:
    agents.export("ann", tmp_path / "ann.jsonl")
    with MemorySystem(tmp_path / "other") as other:
        other.import_(tmp_path / "ann.jsonl")
        assert len(other.messages("ann", agent_id="hotels")) == 1
        assert len(other.semantic_memories("ann", agent_id="travel")) == 2


def test_agents_survive_a_snapshot(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": f"Note {n}.", "timestamp": n, "agent_id": f"a{n % 3}"}
        for n in range(3_000)
    ]
    with MemorySystem(tmp_path / "store") as memory:
        memory.add_messages("ann", said)
    with MemorySystem(tmp_path / "store") as memory:
        assert len(memory.messages("ann", agent_id="a1")) == 1_000


def test_importers_pass_the_agent(memory: MemorySystem, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("role,content,agent_id\nuser,I like tea.,kitchen\n")
    log = tmp_path / "log.jsonl"
    log.write_text('{"role": "user", "content": "I like jazz.", "agent_id": "radio"}\n')
    facts = tmp_path / "mem0.json"
    facts.write_text('{"results": [{"id": "1", "memory": "Ann skis.", "agent_id": "sports"}]}')
    for file in (table, log, facts):
        memory.import_(file, "ann")
    assert [message.agent_id for message in memory.messages("ann")] == ["kitchen", "radio"]
    [fact] = memory.semantic_memories("ann", agent_id="sports")
    assert fact.agent_id == "sports"


def test_objects_have_agents_too(memory: MemorySystem) -> None:
    @dataclass
    class Turn:
        role: str
        content: str
        agent_id: str

    memory.add_messages("ann", [Turn("user", "I like tea.", "kitchen")])
    assert memory.messages("ann")[0].agent_id == "kitchen"


def test_what_is_no_text_is_refused(memory: MemorySystem) -> None:
    with pytest.raises(InvalidInputError, match="message 0: `agent_id` must be a str, not `int`"):
        memory.add_messages("ann", [{"role": "user", "content": "Hi.", "agent_id": 7}])
    with pytest.raises(InvalidInputError, match="agent_id must be a str"):
        memory.messages("ann", agent_id=7)  # type: ignore[arg-type]


async def test_async(agents: MemorySystem, store: Path) -> None:
    agents.close()
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages(
            "bo", [{"role": "user", "content": "I like tea."}], agent_id="kitchen"
        )
        assert [one.agent_id async for one in memory.messages("bo")] == ["kitchen"]
        hits = await memory.search("ann", "Lyon", kinds=["message"], agent_id="hotels")
        assert [hit.messages[0].agent_id for hit in hits] == ["hotels"]


def test_the_command_line_filters_and_states(
    agents: MemorySystem, cli: Callable[..., CompletedProcess[str]], store: Path
) -> None:
    agents.close()
    shown = cli("messages", "ann", "--agent", "hotels", "--json", "--store", str(store))
    assert [one["agent_id"] for one in json.loads(shown.stdout)] == ["hotels"]
    stated = cli(
        "remember", "ann", "Ann skis.", "--agent", "sports", "--json", "--store", str(store)
    )
    assert json.loads(stated.stdout)["metadata"]["agent_id"] == "sports"
