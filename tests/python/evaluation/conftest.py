"""A small dataset, and a scripted chat endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Reply, Request

ROOT = Path(__file__).parents[3]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A small LoCoMo file with a corrected question, bad evidence ids and a trap.

    Its corrections are in a file next to it.
    """
    sample = {
        "sample_id": "t-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Tomas",
            "session_1_date_time": "7:12 pm on 5 March, 2024",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "I bought a cello yesterday."},
                {"speaker": "Tomas", "dia_id": "D1:2", "text": "Lovely! My sister plays the oboe."},
                {
                    "speaker": "Ines",
                    "dia_id": "D1:3",
                    "text": "Look at it.",
                    "blip_caption": "a red cello on a chair",
                },
            ],
            "session_2_date_time": "9:00 am on 20 April, 2024",
            "session_2": [
                {"speaker": "Tomas", "dia_id": "D2:1", "text": "I moved to Ghent, near the canal."},
                {"speaker": "Ines", "dia_id": "D2:2", "text": "Ghent is a good town for rowing."},
            ],
        },
        "qa": [
            {
                "question": "What did Ines buy?",
                "answer": "a cello",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {
                "question": "When did Ines buy the cello?",
                "answer": "5 March 2024",
                "evidence": ["D1:2"],
                "category": 2,
            },
            {
                "question": "Where does Tomas live?",
                "answer": "Ghent",
                "evidence": ["D2:1; D2:2", "D9:9", "D:1:1"],
                "category": 1,
            },
            {
                "question": "Would Tomas enjoy boats?",
                "answer": "Likely yes",
                "evidence": [],
                "category": 3,
            },
            {
                "question": "Which instrument does Ines' sister play?",
                "adversarial_answer": "the oboe",
                "evidence": ["D1:2"],
                "category": 5,
            },
        ],
    }
    corrections = [
        {
            "sample_id": "t-1",
            "qa_index": 1,
            "error_type": "TEMPORAL_ERROR",
            "correct_evidence": ["D1:1"],
            "correct_answer": "4 March 2024",
        }
    ]
    path = tmp_path / "talk.json"
    write(path, [sample])
    write(tmp_path / "talk_corrections.json", corrections)
    return path


def write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


Script = Callable[[str, dict[str, Any]], tuple[int, str]]


class ChatServer(Loopback):
    """A scripted chat endpoint. `script` gets prompt and request, and returns status and text."""

    def __init__(self, script: Script, most: int = 500) -> None:
        self.script = script
        self.calls: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        super().__init__(self._answer, most)

    def _answer(self, request: Request) -> Reply:
        self.calls.append(
            {
                **request.body,
                "path": request.path,
                "authorization": request.headers.get("authorization"),
            }
        )
        status, text = self.script(request.body["messages"][0]["content"], request.body)
        answer = {
            "model": "scripted-1",
            "choices": [{"message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 2},
        }
        return Reply(answer if status == 200 else {"error": text}, status, self.headers)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ChatServer]]:
    """Starts scripted servers, and stops them at the end of the test."""
    monkeypatch.setenv("no_proxy", "*")
    started: list[ChatServer] = []

    def start(script: Script, most: int = 500) -> ChatServer:
        started.append(ChatServer(script, most))
        return started[-1]

    yield start
    for server in started:
        server.close()
