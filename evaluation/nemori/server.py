"""A scripted model for the engine and for Nemori's scripts, whose requests differ in form."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from loopback import Reply, Request
from model_server import ModelServer, vector

_MOST_REQUESTS = 20_000
_DIMENSION = 1_536
_GOLD = re.compile(r"(?:Gold answer|<CORRECT ANSWER>):?\s*(.*)")
_GIVEN = re.compile(r"(?:Generated answer:|<RESPONSE>\s*A:)\s*(.*)")


class StandIn(ModelServer):
    """Answers the engine as in the tests, questions with the nearest line, and judges by words."""

    def __init__(self) -> None:
        self.of_scripts: Counter[str] = Counter()
        super().__init__(most=_MOST_REQUESTS)

    def summary(self) -> str:
        """The number of requests by purpose."""
        asked = [one for one in self.requests if _of_the_engine(one)]
        steps = Counter(
            "vectors" if one.path.endswith("/embeddings") else "memory" for one in asked
        )
        return ", ".join(f"{name} {count}" for name, count in (steps + self.of_scripts).items())

    def _answer(self, request: Request) -> Reply:
        if request.path.endswith("/embeddings"):
            return self._vectors(request)
        if _of_the_engine(request):
            return super()._answer(request)
        prompt = "\n".join(str(message["content"]) for message in request.body["messages"])
        gold, given = _GOLD.findall(prompt), _GIVEN.findall(prompt)
        if gold and given:
            kind, right = "judgements", _words(gold[-1]) <= _words(given[-1])
            label, correct = ("CORRECT", "yes") if right else ("WRONG", "no")
            text = json.dumps({"label": label, "is_correct": correct})
        else:
            kind, text = "answers", _nearest_line(prompt)
        with self._lock:
            self.of_scripts[kind] += 1
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        return Reply(
            {
                "id": "stand-in",
                "object": "chat.completion",
                "created": 0,
                "model": request.body["model"],
                "choices": [{**choice, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }
        )

    def _vectors(self, request: Request) -> Reply:
        """Vectors with the same dimension as the model named in Nemori's scripts."""
        rows = [(vector(text) * _DIMENSION)[:_DIMENSION] for text in request.body["input"]]
        data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
        return Reply({"data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}})


def _of_the_engine(request: Request) -> bool:
    """Whether the engine asks: its requests have a task, a schema and no gold answer."""
    if request.path.endswith("/embeddings"):
        return True
    said = request.body["messages"]
    return (
        len(said) == 2
        and '"properties"'
        in json.dumps([request.body.get("response_format"), said[0]["content"]]).replace("\\", "")
        and not _GOLD.search(str(said[1]["content"]))
    )


def _nearest_line(prompt: str) -> str:
    """The line of the memories that shares most words with the question."""
    head, _, question = prompt.rpartition("Question:")
    lines = [line for line in head.splitlines() if re.match(r"\s*(?:- |•|\d+\. \[|\d{4}-)", line)]
    wanted = _words(question)
    return max(lines, key=lambda line: len(_words(line) & wanted), default="I don't know.")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
