"""The command that compares contexts with the ranking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.datasets import load

THINGS = ("kiln", "sled", "loom", "canoe", "piano", "ferry")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """One conversation about prices, with the quotations that prove them."""
    said: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": f"We had rain again. The {thing} cost {number}00 crowns. Then we went home.",
            "timestamp": f"2024-03-0{number + 1}T09:00:00Z",
            "message_id": f"m{number}",
        }
        for number, thing in enumerate(THINGS)
    ]
    questions = [
        {
            "question": f"What did the {thing} cost?",
            "answer": f"{number}00 crowns",
            "gold": [f"m{number}"],
            "quotes": [f"The {thing} cost {number}00 crowns"],
        }
        for number, thing in enumerate(THINGS)
    ]
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([{"id": "ann", "messages": said, "questions": questions}]))
    return path


def test_quotes_are_read(talks: Path) -> None:
    data = load("quotes", talks)
    first = data.questions[0]
    assert (first.text, first.messages) == ("What did the kiln cost?", ("m0",))
    assert first.quotes == ("The kiln cost 000 crowns",)
    assert len(data.conversations[0].messages) == len(THINGS)


def test_a_line_tells_what_contexts_and_the_ranking_hold(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["contexts", f"quotes={talks}", "--kept", str(tmp_path / "kept")]
    for _ in range(2):
        assert main(asked) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split()[1:3] == ["recall@5", "1.000"]
        assert "context@200 1.000  ranking@200 1.000" in lines[1]
        assert "unchanged 1.000  lost +0.000" in lines[4]
        assert lines[-1] == "0 below the ranking"
    assert main([*asked, "--only", "warned"]) == 0
    assert "recall@5" not in capsys.readouterr().out
