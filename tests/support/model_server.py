"""An OpenAI-compatible server with a scripted model: sensible answers, or any fault."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from loopback import Loopback, Reply, Request

Script = Callable[[Request], Reply | str | None]

_STEPS = {"should_end": "boundary", "episodes": "episode", "facts": "extract"}
DIMENSION = 16


def step_of(request: Request) -> str:
    """The step of the engine that asks, by the schema in its request."""
    if request.path.endswith("/embeddings"):
        return "embedding"
    form = request.body.get("response_format") or {}
    strict = form.get("type") == "json_schema"
    schema = (
        form["json_schema"]["schema"]
        if strict
        else json.loads(system_of(request).rsplit("\n", 1)[1])
    )
    return next(step for name, step in _STEPS.items() if name in schema["properties"])


def system_of(request: Request) -> str:
    return request.body["messages"][0]["content"]


def user_of(request: Request) -> str:
    return request.body["messages"][1]["content"]


def shown(prompt: str) -> list[tuple[int, str]]:
    """The messages of a prompt: number and text."""
    conversation = prompt.rpartition("<material-")[2]
    lines = (re.match(r"(\d+) \| [^|]* \| [^:]*: (.*)", one) for one in conversation.splitlines())
    return [(int(found[1]), found[2]) for found in lines if found]


def sensible(step: str, prompt: str) -> dict[str, Any]:
    """Episodes of eight messages, and one fact about the first message of each."""
    messages = shown(prompt)
    if step == "boundary":
        return {"should_end": len(messages) > 8, "confidence": 0.9}
    groups = [messages[start : start + 8] for start in range(0, len(messages), 8)]
    facts = [_fact(*group[0]) for group in groups]
    if step == "extract":
        return {"facts": facts}
    return {"episodes": [_episode(group) for group in groups], "facts": facts}


def _episode(group: list[tuple[int, str]]) -> dict[str, Any]:
    text = group[0][1]
    return {
        "first": group[0][0],
        "last": group[-1][0],
        "confidence": 0.9,
        "title": f"The model on {text}",
        "narrative": f"It was said that {text}.",
    }


def _fact(number: int, text: str) -> dict[str, Any]:
    return {
        "content": f"The speaker said {text}",
        "kind": "event",
        "subject": "the speaker",
        "attribute": "said",
        "value": text,
        "when": "",
        "ends": [],
        "corrects": [],
        "importance": "high",
        "messages": [number],
    }


def asks_for_facts(request: Request) -> bool:
    return step_of(request) in {"episode", "extract"}


def telling(request: Request, facts: list[Any]) -> str:
    """A sensible answer with these facts."""
    return json.dumps({**sensible(step_of(request), user_of(request)), "facts": facts})


def vector(text: str) -> list[float]:
    """A vector: the same for the same text, and near for texts that share words."""
    row = [0.01] * DIMENSION
    for word in text.lower().split():
        row[zlib.crc32(word.encode()) % DIMENSION] += 1.0
    return row


class ModelServer(Loopback):
    """Answers `/v1/chat/completions` and `/v1/embeddings`.

    A `script` may answer instead: with a reply, or with the model's text.
    """

    def __init__(self, script: Script | None = None, most: int = 2_000) -> None:
        self.script: Script | None = script
        self.says_usage = True
        self.answered: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        """Prompt and completion tokens by step, model and the word `user:<name>` of the prompt."""
        super().__init__(self._answer, most)

    @property
    def asked(self) -> Counter[str]:
        """Requests by step."""
        return Counter(step_of(request) for request in list(self.requests))

    def of(self, step: str) -> list[Request]:
        return [request for request in list(self.requests) if step_of(request) == step]

    def _answer(self, request: Request) -> Reply:
        step = step_of(request)
        scripted = self.script(request) if self.script else None
        if isinstance(scripted, Reply):
            return scripted
        if step == "embedding":
            texts = request.body["input"]
            data = [
                {"index": number, "embedding": vector(text)} for number, text in enumerate(texts)
            ]
            return Reply({"data": data, **self._usage(request, step, " ".join(texts), "")})
        text = json.dumps(sensible(step, user_of(request))) if scripted is None else scripted
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return Reply(
            {
                "choices": [choice],
                **self._usage(request, step, system_of(request) + user_of(request), text),
            }
        )

    def _usage(self, request: Request, step: str, prompt: str, text: str) -> dict[str, Any]:
        used = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        with self._lock:
            for name in (step, request.body["model"], *re.findall(r"user:\w+", prompt)[:1]):
                self.answered[name] += 1
                self.tokens[name] += sum(used.values())
        return {"usage": used} if self.says_usage else {}
