"""A model says which facts end: it sees the known facts by number, and the memory follows it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from loopback import Request
from model_server import ModelServer, shown, step_of, telling, user_of

from episodica import MemorySystem

CASES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "changes.json").read_text(encoding="utf-8")
)
BEFORE, AFTER = datetime(2024, 1, 8, 9, tzinfo=UTC), datetime(2024, 6, 10, 9, tzinfo=UTC)


def known(prompt: str) -> dict[str, int]:
    """The known facts of a prompt, by sentence."""
    lines = re.findall(r"(?m)^(\d+) \| [^|]* \| [^|]* \| [0-9/-]+ \| (.+)$", prompt)
    return {sentence: int(number) for number, sentence in lines}


def row_of(told: dict[str, str], number: int, ended: list[int], **parts: str) -> list[str]:
    """A fact in the form that the prompt asks for."""
    named = {
        "kind": "personal_info",
        "importance": "high",
        "subject": "Nora",
        "attribute": told["attribute"],
        "value": "",
        "when": "",
        "from": told.get("when", ""),
        "ends": ", ".join(map(str, ended)),
        "messages": str(number),
        "sentence": told["fact"],
    }
    return list({**named, **parts}.values())


def perfect(request: Request) -> str | None:
    """Finds the fact of each message; a later fact ends the earlier one if the prompt shows it."""
    if step_of(request) not in {"episode", "extract"}:
        return None
    prompt = user_of(request)
    numbers, facts = known(prompt), []
    for number, text in shown(prompt):
        for case in CASES:
            if text == case["before"]["said"]:
                facts.append(row_of(case["before"], number, []))
            elif text == case["after"]["said"]:
                old = numbers.get(case["before"]["fact"])
                ends = [old] if case["changes"] and old is not None else []
                facts.append(row_of(case["after"], number, ends))
    return telling(request, facts)


def sessions() -> list[list[dict[str, Any]]]:
    """Everything said before, a session a day, and everything said after it on one day."""
    made = []
    for name, start, step in (("before", BEFORE, timedelta(days=1)), ("after", AFTER, timedelta())):
        for number, case in enumerate(CASES):
            at = start + number * step + timedelta(minutes=10 * number)
            said = [("user", "Nora", case[name]["said"]), ("assistant", "Otto", "Thank you.")]
            made.append(
                [
                    {
                        "role": role,
                        "name": speaker,
                        "content": text,
                        "timestamp": at + timedelta(seconds=20 * place),
                        "session_id": f"{name}{number}",
                    }
                    for place, (role, speaker, text) in enumerate(said)
                ]
            )
    return made


def remembered(memory: MemorySystem, batches: list[list[dict[str, Any]]]) -> dict[str, Any]:
    for batch in batches:
        memory.add_messages("nora", batch)
        memory.flush("nora")
    assert memory.wait("nora", timeout=120)
    assert memory.verify("nora").errors == 0
    return {
        fact.content: fact for fact in memory.semantic_memories("nora", include_superseded=True)
    }


@pytest.mark.timeout(180)
def test_changes_end_what_they_change_from_the_day_of_the_event(
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once, 6 of 28 changes ended a fact: the attribute has another name in each sentence."""
    one_by_one = remembered(open_memory(serve(perfect), path=tmp_path / "single"), sessions())
    at_once = remembered(
        open_memory(serve(perfect), path=tmp_path / "whole"),
        [[message for session in sessions() for message in session]],
    )
    ended = wrongly = dated = 0
    for case in CASES:
        old, new = (one_by_one[case[name]["fact"]] for name in ("before", "after"))
        assert new.is_current, new.content
        if not case["changes"]:
            wrongly += not old.is_current
        elif not old.is_current:
            ended += 1
            assert old.superseded_by == new.memory_id
            day = (case["after"]["when"] + "-01")[:10]
            dated += f"{old.valid_to:%Y-%m-%d}" == f"{new.valid_from:%Y-%m-%d}" == day
    with capsys.disabled():
        print(f"\nended {ended} of 30, from the day of the event {dated}; wrongly {wrongly} of 10")
    assert ended >= 28
    assert dated == ended
    assert wrongly == 0
    # However the messages came in, the same holds.
    assert {text: fact.is_current for text, fact in one_by_one.items()} == {
        text: fact.is_current for text, fact in at_once.items()
    }


def say(memory: MemorySystem, *texts: str, day: int) -> None:
    messages = [
        {
            "role": "user",
            "name": "Nora",
            "content": text,
            "timestamp": BEFORE + timedelta(days=day, minutes=number),
            "session_id": f"day {day}",
        }
        for number, text in enumerate(texts)
    ]
    memory.add_messages("nora", messages)
    memory.flush("nora")
    assert memory.wait("nora", timeout=60)


def test_three_changes_in_one_episode_see_all_three_old_facts(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, the model saw the ten facts nearest to the episode's mean, and none of the three."""
    memory = open_memory(serve(perfect))
    for number, case in enumerate(CASES):
        say(memory, case["before"]["said"], day=number)
    changes = [CASES[place] for place in (2, 3, 4)]
    say(memory, *(case["after"]["said"] for case in changes), day=(AFTER - BEFORE).days)
    facts = {
        fact.content: fact for fact in memory.semantic_memories("nora", include_superseded=True)
    }
    assert not [case for case in changes if facts[case["before"]["fact"]].is_current]


def test_of_many_facts_only_those_are_shown_that_the_messages_may_change(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, the latest facts filled all places, at 30 tokens each."""

    def script(request: Request) -> str | None:
        if step_of(request) not in {"episode", "extract"}:
            return None
        facts = [
            row_of(
                {"said": text, "fact": text, "attribute": "taste"}, number, [], kind="preference"
            )
            for number, text in shown(user_of(request))
        ]
        return telling(request, facts)

    server = serve(script)
    memory = open_memory(server)
    fruits = "fig plum kiwi lime date pear lychee melon mango guava quince papaya banana cherry"
    likes = [f"Nora likes {fruit}." for fruit in [*fruits.split(), "apple", "grape", "lemon"]]
    say(memory, *likes, day=0)
    say(memory, "Quince gives Nora a rash.", day=30)
    prompts = [user_of(request) for request in server.of("episode")]
    known_then = known(prompts[-1])
    assert "Nora likes quince." in known_then
    assert len(known_then) < 16


def test_a_correction_replaces_the_fact_from_its_beginning(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, Arun and Arjun were both kept: the subject itself was wrong."""
    told = {
        "My brother Arun turns 30 in May.": ("Arun", "Nora's brother Arun turns 30 in May."),
        "He is Arjun, my phone changed the name.": ("Arjun", "Nora's brother is called Arjun."),
    }

    def script(request: Request) -> str | None:
        if step_of(request) not in {"episode", "extract"}:
            return None
        facts = []
        for number, text in shown(user_of(request)):
            subject, sentence = told[text]
            wrong = [place for fact, place in known(user_of(request)).items() if "Arun" in fact]
            about = {"said": text, "fact": sentence, "attribute": "brother"}
            ends = ", ".join(f"!{place}" for place in wrong) or ""
            facts.append(row_of(about, number, [], subject=subject, ends=ends))
        return telling(request, facts)

    memory = open_memory(serve(script))
    for number, text in enumerate(told):
        say(memory, text, day=30 * number)
    old, new = memory.semantic_memories("nora", include_superseded=True)
    assert (old.is_current, new.is_current) == (False, True)
    assert old.valid_to == old.valid_from == new.valid_from, "it never held"
    assert old.superseded_by == new.memory_id


def test_the_messages_before_an_episode_are_shown_without_numbers(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Without them, the model can't know who "he" is."""
    server = serve()
    memory = open_memory(server)
    for number, text in enumerate(["My brother Arjun moved to York.", "He wrote to me today."]):
        message = {"role": "user", "name": "Nora", "content": text, "session_id": "s"}
        memory.add_messages("nora", [{**message, "timestamp": BEFORE + timedelta(days=number)}])
        memory.flush("nora")
        assert memory.wait("nora", timeout=60)
    first, second = (user_of(request) for request in server.of("episode"))
    assert "<before-" not in first
    before = second.partition("<before-")[2].partition("</before-")[0]
    assert "09:00 | Nora: My brother Arjun moved to York." in before
    assert [text for _, text in shown(second)] == ["He wrote to me today."]


def test_what_the_model_does_not_end_holds_beside_the_new(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Without a model, the rules would end the first employer by the second."""

    def script(request: Request) -> str | None:
        if step_of(request) not in {"episode", "extract"}:
            return None
        facts = [
            row_of(
                {
                    "said": text,
                    "fact": text.replace("I work", "Nora works"),
                    "attribute": "employer",
                },
                number,
                [],
            )
            for number, text in shown(user_of(request))
        ]
        return telling(request, facts)

    memory = open_memory(serve(script))
    say(memory, "I work at Korn in the mornings.", day=0)
    say(memory, "I work at Rex in the evenings.", day=30)
    assert [fact.is_current for fact in memory.semantic_memories("nora")] == [True, True]


@pytest.mark.timeout(120)
def test_what_a_deleted_message_ended_holds_again(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    changing = [number for number, case in enumerate(CASES) if case["changes"]][:8]
    all_sessions, half = sessions(), len(CASES)
    memory = open_memory(serve(perfect))
    facts = remembered(
        memory, [all_sessions[n] for n in changing] + [all_sessions[half + n] for n in changing]
    )
    for number in changing:
        case = CASES[number]
        before, after = facts[case["before"]["fact"]], facts[case["after"]["fact"]]
        assert (before.is_current, after.is_current) == (False, True)
        for message in after.source_messages:
            memory.delete("nora", message)
        left = {
            fact.content: fact for fact in memory.semantic_memories("nora", include_superseded=True)
        }
        assert case["after"]["fact"] not in left
        again = left[case["before"]["fact"]]
        assert (again.is_current, again.valid_to, again.superseded_by) == (True, None, None)
    assert memory.verify("nora").errors == 0
