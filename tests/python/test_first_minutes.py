"""The first calls of a new user, as they are guessed before a page is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import LearningReport, MemorySystem
from episodica.cli.app import main


@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_an_empty_context_is_false(memory: MemorySystem, form: Any) -> None:
    assert not memory.context("ann", "Where?", format=form)
    memory.add_messages("ann", "I moved to Lyon.")
    assert memory.context("ann", "Where did I move?", format=form)
    assert not memory.context("bob", "Where did I move?", format=form)


def test_the_first_calls_lead_to_a_useful_result(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemorySystem(store) as memory:
        told: Any = memory.add_messages("I moved to Lyon with my dog Pickle.", user_id="ann")
        assert told["messages_added"] == told.messages_added == 1
        memory.flush("ann")
        report = memory.wait("ann", report=True)
        learned = [event.statement for event in report.events]
        assert learned
        hit: Any = memory.search("What is the dog called?", user_id="ann")[0]
        assert "Pickle" in hit["memory"]
        assert json.loads(json.dumps(hit.to_dict()))["content"] == hit.text
        prompt = memory.context("ann", "What is the dog called?")
        assert prompt
        assert "Pickle" in str(prompt)
    where = ["--store", str(store)]
    assert main(["search", *where, "what", "is", "the", "dog", "called"]) == 0
    assert "Pickle" in capsys.readouterr().out


SENTENCES = {
    "I live in Oslo.": None,
    "Where do you live?": "question",
    "> I live in Berlin.": "quoted",
    "ok then": "low_importance",
}


def test_a_report_says_what_was_kept_and_what_was_not_and_why(store: Path) -> None:
    def told(memory: MemorySystem, since: str | None = None) -> LearningReport:
        return memory.wait("ann", report=True, since=since)

    with MemorySystem(store) as memory:
        memory.add_messages("ann", [{"role": "user", "content": text} for text in SENTENCES])
        memory.flush("ann")
        first = told(memory)
        ids = {one.message_id: one.content for one in memory.messages("ann")}
        assert [event.change for event in first.events] == ["ADD"]
        reasons = {ids[one.id]: one.reason for one in first.turned_down}
        assert reasons == {text: why for text, why in SENTENCES.items() if why}
        assert all(one.change == "REJECT" for one in first.turned_down)
        assert all(one.evidence == (one.id,) for one in first.turned_down)
        assert f"{len(reasons)} turned down" in repr(first)
        memory.add_messages("ann", "Who are you?")
        memory.flush("ann")
        assert [one.statement for one in told(memory, first.cursor).turned_down] == ["Who are you?"]
        both = told(memory)
    with MemorySystem(store) as memory:
        assert told(memory) == both
        assert LearningReport.from_dict(both.to_dict()) == both
        question = next(one for one in both.turned_down if one.reason == "question")
        memory.delete("ann", question.id)
        left = [one.statement for one in told(memory).turned_down]
        assert question.statement not in left
        assert len(left) == len(both.turned_down) - 1
