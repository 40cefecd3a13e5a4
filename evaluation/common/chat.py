"""A small client for OpenAI-compatible chat endpoints, for answers and judgements only."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ATTEMPTS = 3
RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})
LONGEST_WAIT_SECONDS = 60.0


class ChatError(RuntimeError):
    """A call that failed for good. Its text names no key and no prompt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it cost.

    Tokens are the endpoint's own count, ``None`` where it gives none.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    calls: int


@dataclass(frozen=True, slots=True)
class ChatClient:
    """Sends one prompt at a time; may be used from several threads.

    ``options`` go into every request as they are (``temperature``, ``seed``, ...).
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    options: dict[str, Any] = field(default_factory=lambda: {"temperature": 0, "seed": 1})
    timeout_seconds: float = 120.0
    pause: Callable[[float], None] = time.sleep

    def ask(self, prompt: str, *, run: int = 0) -> Reply:
        """The model's reply. ``run`` > 0 asks for another sample: it is added to the seed.

        Raises
        ------
        ChatError
            After three attempts (for network errors and the statuses 408, 409, 429 and 5xx), or at
            once for other refusals.
        """
        options = {
            **self.options,
            **({"seed": self.options["seed"] + run} if "seed" in self.options else {}),
        }
        body = json.dumps(
            {"model": self.model, "messages": [{"role": "user", "content": prompt}], **options}
        ).encode()
        started = time.perf_counter()
        problem = ""
        for attempt in range(1, ATTEMPTS + 1):
            wait = 2 ** (attempt - 1) * random.uniform(0.9, 1.1)
            try:
                answer = self._post(body)
                return _reply(answer, self.model, time.perf_counter() - started, attempt)
            except urllib.error.HTTPError as error:
                with error:
                    problem = f"HTTP status {error.code}"
                    if error.code not in RETRYABLE:
                        raise ChatError(problem) from None
                    wait = _retry_after(error.headers.get("Retry-After"), wait)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem = type(error).__name__
            if attempt < ATTEMPTS:
                self.pause(wait)
        raise ChatError(f"{problem} after {ATTEMPTS} attempts")

    def _post(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(
            f"{self.base_url.rstrip('/')}/chat/completions", body, headers
        )
        with urllib.request.urlopen(request, timeout=self.timeout_seconds) as response:
            return json.load(response)


def _reply(answer: Any, model: str, seconds: float, calls: int) -> Reply:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ChatError("the answer is not in the format of a chat completion") from None
    usage = answer.get("usage") or {}
    return Reply(
        (text or "").strip(),
        str(answer.get("model") or model),
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        round(seconds, 3),
        calls,
    )


def _retry_after(value: str | None, default: float) -> float:
    try:
        return min(float(value or default), LONGEST_WAIT_SECONDS)
    except ValueError:
        return default
