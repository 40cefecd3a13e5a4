"""With a weak model, a memory is no poorer than without one, and `health` names the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from loopback import Request
from model_server import ModelServer, sensible, shown, step_of, system_of, user_of

from episodica import MemorySystem

TALK = [
    "I live in Lyon with my dog Rex.",
    "I work as a nurse at the hospital of Saint Luc.",
    "My sister Eva was born in 1990.",
    "I am allergic to walnuts.",
    "My favourite composer is Bach.",
    "I moved to Lyon in 2019 from Nantes.",
]


def episode(prompt: str, facts: list[Any], **texts: str) -> str:
    answer = sensible("episode", prompt)
    episodes = [{**one, **texts} for one in answer["episodes"]]
    return json.dumps({"episodes": episodes, "facts": facts})


def fact(content: str, number: int) -> dict[str, Any]:
    return {"content": content, "kind": "event", "subject": "Ann", "messages": [number]}


def garbage(prompt: str, task: str) -> str:
    return "lorem ipsum } [ dolor {{ sit"


def no_objects(prompt: str, task: str) -> str:
    return episode(prompt, [1, None, [], {}, {"content": 7}])


def echoes(prompt: str, task: str) -> str:
    """Sentences of its instructions."""
    sentences = [one for one in task.split(". ") if len(one.split()) > 5]
    return episode(prompt, [fact(one, 0) for one in sentences[:10]])


WEAK = [garbage, no_objects, echoes]


def remembered(memory: MemorySystem) -> list[str]:
    for session in range(3):
        memory.add_messages(
            "ann",
            [
                {
                    "role": "user",
                    "name": "Ann",
                    "content": text,
                    "timestamp": 1_710_000_000 + 90_000 * session + 60 * number,
                    "session_id": str(session),
                }
                for number, text in enumerate(TALK[2 * session : 2 * session + 2])
            ],
        )
        memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    return [fact.content for fact in memory.semantic_memories("ann")]


@pytest.mark.parametrize("answer", WEAK)
def test_a_weak_model_leaves_no_fewer_facts_than_the_rules(
    answer: Callable[[str, str], str],
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
    tmp_path: Any,
) -> None:
    """Once, junk counted as nothing to learn: no fact where the rules find 27, and health "ok"."""

    def script(request: Request) -> str | None:
        if step_of(request) not in {"episode", "extract"}:
            return None
        return answer(user_of(request), system_of(request))

    without = remembered(open_memory(path=tmp_path / "rules"))
    memory = open_memory(serve(script), path=tmp_path / "model")
    found = remembered(memory)
    assert len(found) >= len(without) >= 5, found
    assert not [one for one in found if "yacht" in one or "Boris" in one or "9,000" in one]
    assert memory.health()["status"] == "degraded"
    for one in memory.episodes("ann"):
        told = f"{one.title} {one.summary} {one.content}"
        assert "ardening" not in told
        assert "lorem" not in told


def test_a_model_that_finds_what_there_is_keeps_its_own(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    def script(request: Request) -> str | None:
        if step_of(request) not in {"episode", "extract"}:
            return None
        prompt = user_of(request)
        facts = [fact("Ann says: " + text, number) for number, text in shown(prompt)]
        return episode(prompt, facts)

    memory = open_memory(serve(script))
    found = remembered(memory)
    assert len(found) == len(TALK)
    assert all(one.startswith("Ann says: ") for one in found)
    assert memory.health()["status"] == "ok"
