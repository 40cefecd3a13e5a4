"""The first calls of a new user, as they are guessed before a page is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
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
        hit: Any = memory.search("What is the dog called?", user_id="ann")[0]
        assert "Pickle" in hit["memory"]
        assert json.loads(json.dumps(hit.to_dict()))["content"] == hit.text
        prompt = memory.context("ann", "What is the dog called?")
        assert prompt
        assert "Pickle" in str(prompt)
    with MemorySystem(store) as memory:
        again = memory.wait("ann", report=True)
        assert [event.statement for event in again.events] == learned
    where = ["--store", str(store)]
    assert main(["search", *where, "what", "is", "the", "dog", "called"]) == 0
    assert "Pickle" in capsys.readouterr().out
