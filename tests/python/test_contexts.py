"""What a context quotes of messages that are longer than its budget."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodica import Context, MemorySystem

START = datetime(2024, 3, 1, 9, tzinfo=UTC)


def said(*lines: str, day: int = 0, speakers: tuple[str, ...] = ("Ann", "Ben")) -> Any:
    return [
        {
            "role": "user",
            "name": speakers[number % len(speakers)],
            "content": text,
            "timestamp": START + timedelta(days=day, minutes=number),
            "session_id": f"day {day}",
            "message_id": f"{day}/{number}",
        }
        for number, text in enumerate(lines)
    ]


def add(memory: MemorySystem, *sessions: Any) -> None:
    for session in sessions:
        memory.add_messages("ann", session)
    memory.flush("ann")
    memory.wait("ann")


FILLER = "The committee met in the usual room and spoke about the usual things at length. "
ANSWER = "The spare key of the boathouse hangs under the third step. "
QUESTION = "Where is the key of the boathouse?"


@pytest.mark.parametrize(("size", "budget"), [(1_600, 300), (4_900, 1_000), (16_000, 2_000)])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_long_message_is_quoted_where_it_matches(
    memory: MemorySystem, size: int, budget: int, place: str
) -> None:
    parts = [FILLER] * (size // len(FILLER))
    parts.insert({"first": 0, "middle": len(parts) // 2, "last": len(parts)}[place], ANSWER)
    add(memory, said("".join(parts)))
    for tokens in (150, 300, budget):
        context = memory.context("ann", QUESTION, max_tokens=tokens)
        assert ANSWER.strip() in context.text
        assert context.token_count <= tokens
        [message] = context.messages
        assert (message.message_id in context.excerpts) == ("[…]" in context.text)
        assert Context.from_dict(context.to_dict()).excerpts == context.excerpts


def test_excerpts_are_marked_in_every_form(memory: MemorySystem) -> None:
    add(memory, said(FILLER * 60 + ANSWER + FILLER * 60))
    for form in ("text", "json", "xml"):
        context = memory.context("ann", QUESTION, max_tokens=300, format=form)
        assert context.excerpts == ("0/0",)
        assert ANSWER.strip() in context.text
        if form == "json":
            [message] = json.loads(context.text)["messages"]
            assert message["excerpt"] is True
            assert message["content"].startswith("[…] ")
        elif form == "xml":
            assert '<message from="Ann" excerpt="true">[…] ' in context.text
        else:
            assert "Ann: […] " in context.text


def test_one_message_of_many_megabytes_is_quoted(memory: MemorySystem) -> None:
    noise = [f"line {n}: nothing to report\n" for n in range(150_000)]
    noise.insert(75_000, "pump 7 lost its pressure at noon\n")
    add(memory, said("".join(noise)))
    context = memory.context("ann", "Which pump lost its pressure?", max_tokens=200)
    assert "pump 7 lost its pressure at noon\n" in context.text
    assert context.excerpts == ("0/0",)


def test_short_talk_is_quoted_whole_around_a_long_message(memory: MemorySystem) -> None:
    add(
        memory,
        said(FILLER * 60 + ANSWER, "Thanks, and the oars are in the boathouse too?", "Yes."),
    )
    context = memory.context("ann", QUESTION, max_tokens=300)
    assert ANSWER.strip() in context.text
    assert "Thanks, and the oars are in the boathouse too?" in context.text
    assert context.excerpts == ("0/0",)
