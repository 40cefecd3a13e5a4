"""Wrapped clients whose prompts only grow from question to question."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace as Object
from typing import Any

import pytest
from chat_clients import Client, Resource, call, chat_client, completion, said, user

from episodica import MemorySystem
from episodica.adapters import anthropic, openai

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
TOPICS = ("ferry", "orchard", "piano", "beehive", "kiln", "sled", "loom", "canoe", "cellar", "kite")
Messages = list[dict[str, Any]]


def fill(memory: MemorySystem, rounds: int = 6) -> None:
    messages = [
        {
            "role": "user",
            "content": f"The {topic} cost {number}{len(topic)} crowns at visit {number}.",
            "timestamp": START + timedelta(days=number),
            "session_id": f"day {number}",
        }
        for number, topic in enumerate(TOPICS * rounds)
    ]
    memory.add_messages("alice", messages)
    memory.flush("alice")
    memory.wait("alice")


def ask(topic: str) -> str:
    return f"What did the {topic} cost?"


def unchanged(before: Messages, after: Messages) -> int:
    """Bytes at the beginning of a prompt that the next one has, too."""
    one, two = (json.dumps(sent).encode() for sent in (before, after))
    pairs = enumerate(zip(one, two, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(two)))


def test_thirty_turns_keep_the_prompt_before_them(memory: MemorySystem) -> None:
    fill(memory)
    client, resource = chat_client(*(completion(f"Answer {number}.") for number in range(30)))
    wrapped = openai.wrap(client, memory, "alice", recall=4_000)
    history: Messages = [{"role": "system", "content": "Be short."}]
    for number in range(30):
        topic = TOPICS[number % len(TOPICS)]
        history.append(user(ask(topic)))
        wrapped.chat.completions.create(messages=history)
        history.append({"role": "assistant", "content": f"Answer {number}."})
        assert f"The {topic} cost" in json.dumps(resource.asked[-1]["messages"])
    prompts = [one["messages"] for one in resource.asked]
    pairs = list(pairwise(prompts))
    kept = sum(unchanged(before, after) for before, after in pairs)
    assert kept >= 0.95 * sum(len(json.dumps(before)) for before, _ in pairs)
    assert not any("<memory-" in text for _, text in said(memory))
    assert [text for _, text in said(memory)[-2:]] == [ask(TOPICS[9]), "Answer 29."]


def chat(memory: MemorySystem) -> tuple[Any, Resource, str]:
    client, resource = chat_client(*(completion("Noted.") for _ in range(9)))
    wrapped = openai.wrap(client, memory, "alice", recall=2_000)
    return wrapped.chat.completions, resource, "messages"


def responses(memory: MemorySystem) -> tuple[Any, Resource, str]:
    part = Object(type="output_text", text="Noted.", annotations=[])
    answer = Object(output=[Object(type="message", role="assistant", content=[part])])
    resource = Resource(*(answer for _ in range(9)))
    wrapped: Any = openai.wrap(Client(responses=resource), memory, "alice", recall=2_000)
    return wrapped.responses, resource, "input"


def messages(memory: MemorySystem) -> tuple[Any, Resource, str]:
    answer = Object(content=[Object(type="text", text="Noted.")])
    resource = Resource(*(answer for _ in range(9)))
    wrapped: Any = anthropic.wrap(Client(messages=resource), memory, "alice", recall=2_000)
    return wrapped.messages, resource, "messages"


@pytest.mark.parametrize("api", [chat, responses, messages])
def test_a_line_is_given_once_and_stays(memory: MemorySystem, api: Any) -> None:
    fill(memory, rounds=1)
    wrapped, resource, key = api(memory)
    asked: Messages = [user([{"type": "text", "text": ask("kiln")}])]
    wrapped.create(**{key: asked})
    [first] = resource.asked[0][key]
    lines, question = first["content"]
    assert "The kiln cost" in lines["text"]
    assert question == {"type": "text", "text": ask("kiln")}
    assert lines["type"] == ("input_text" if api is responses else "text")
    asked += [{"role": "assistant", "content": "Noted."}, user("And the kiln again?")]
    wrapped.create(**{key: asked})
    assert resource.asked[1][key][0] == first
    assert json.dumps(resource.asked[1][key]).count("The kiln cost") == 1
    assert asked[0] == user([{"type": "text", "text": ask("kiln")}]), "the call's list is changed"


def test_an_input_of_plain_text_gets_lines_too(memory: MemorySystem) -> None:
    fill(memory, rounds=1)
    wrapped, resource, _ = responses(memory)
    wrapped.create(input=ask("sled"))
    assert "The sled cost" in resource.asked[0]["input"]
    assert resource.asked[0]["input"].endswith(f"\n\n{ask('sled')}")
    wrapped.create(input="Thanks!")
    assert resource.asked[1]["input"] == "Thanks!"


def test_results_of_tools_and_repeated_questions_change_nothing(memory: MemorySystem) -> None:
    fill(memory, rounds=1)
    wrapped, resource, _ = chat(memory)
    asked: Messages = [user(ask("loom"))]
    wrapped.create(messages=asked)
    wrapped.create(messages=asked)
    asked.append({"role": "assistant", "content": None, "tool_calls": [vars(call("sum", "{}"))]})
    asked.append({"role": "tool", "content": "22", "tool_call_id": "1"})
    wrapped.create(messages=asked)
    first, again, results = (one["messages"] for one in resource.asked)
    assert "The loom cost" in first[0]["content"]
    assert first == again == results[:1]
    assert results[2] == asked[2]


def test_an_edited_conversation_begins_anew(memory: MemorySystem) -> None:
    fill(memory, rounds=1)
    wrapped, resource, _ = chat(memory)
    asked: Messages = [user(ask("canoe")), {"role": "assistant", "content": "Noted."}]
    wrapped.create(messages=asked[:1])
    wrapped.create(messages=[*asked, user(ask("kite"))])
    edited = [user("Hello there."), asked[1], user(ask("canoe"))]
    wrapped.create(messages=edited)
    sent = resource.asked[2]["messages"]
    assert sent[:2] == edited[:2]
    assert "The canoe cost" in sent[2]["content"]


def test_conversations_of_users_are_apart(memory: MemorySystem) -> None:
    fill(memory, rounds=1)
    names = iter(("alice", "bob", "alice"))
    client, resource = chat_client(*(completion("Noted.") for _ in range(3)))
    wrapped = openai.wrap(client, memory, lambda: next(names), recall=1_000)
    for _ in range(3):
        wrapped.chat.completions.create(messages=[user(ask("cellar"))])
    alice, bob, again = (one["messages"][0]["content"] for one in resource.asked)
    assert "The cellar cost" in alice
    assert alice == again
    assert bob == ask("cellar")


def test_at_the_end_of_its_tokens_the_text_begins_anew(memory: MemorySystem) -> None:
    fill(memory)
    client, resource = chat_client(*(completion("Noted.") for _ in range(10)))
    wrapped = openai.wrap(client, memory, "alice", recall=150)
    history: Messages = []
    for topic in TOPICS:
        history.append(user(ask(topic)))
        wrapped.chat.completions.create(messages=history)
        history.append({"role": "assistant", "content": "Noted."})
        last = resource.asked[-1]["messages"]
        assert f"The {topic} cost" in last[-1]["content"]
        assert sum("<memory-" in str(one["content"]) for one in last) < len(TOPICS)
