"""The measurement of the line below which a context says that nothing was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools import found_line


def test_the_line_is_measured_on_both_kinds_of_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [("Ida", "I keep four bees' hives behind the mill."), ("Per", "I sail a red dinghy.")]
    # Of a short talk nothing is told to be missing.
    said += [(name, "Good morning!") for _ in range(150) for name in ("Ida", "Per")]
    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": name, "dia_id": f"D1:{number}", "text": text}
            for number, (name, text) in enumerate(said, 1)
        ],
        "speaker_a": "Ida",
        "speaker_b": "Per",
    }
    asked = [
        {"question": f"Where does {name} keep four hives?", "answer": "mill", **more}
        for name, more in (
            ("Ida", {"evidence": ["D1:1"], "category": 4}),
            ("Per", {"evidence": [], "category": 5, "adversarial_answer": "the mill"}),
        )
    ]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"sample_id": "t", "conversation": talk, "qa": asked}]))
    monkeypatch.setattr("sys.argv", ["found_line", f"locomo={path}"])
    found_line.main()
    told = capsys.readouterr().out
    assert "locomo: 1 unanswerable, 1 answerable questions" in told
    assert "below 0.5: told 1.000, wrongly 0.000" in told
