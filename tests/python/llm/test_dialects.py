"""How endpoints differ and fail: a good answer is used in whatever form it comes."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from llm_checks import QUICK
from loopback import Loopback, Reply, Request

from episodica import LLMConfig, MemorySystem

SAID = [
    ("user", "I moved to Lyon last Friday, the flat is tiny."),
    ("assistant", "Lovely! And the job?"),
    ("user", "I started at Renault, early shifts."),
    ("user", "My dog called Rex stays with the neighbour."),
]
FACTS = [
    ("0", "2024-03-08", "moved to Lyon", "Ann moved to Lyon on 8 March 2024."),
    ("2", "-", "started at Renault", "Ann started at Renault."),
    ("3", "-", "dog called Rex", "Ann has a dog called Rex."),
]
LINES = [
    f"personal_info | high | Ann | life | {when} | - | {number} | {quote} | {sentence}"
    for number, when, quote, sentence in FACTS
]
OBJECTS = [
    {
        "content": sentence,
        "kind": "personal_info",
        "importance": "high",
        "subject": "Ann",
        "attribute": "life",
        "when": when.strip("-"),
        "ends": [],
        "corrects": [],
        "messages": [int(number)],
        "quote": quote,
    }
    for number, when, quote, sentence in FACTS
]
ANSWER: dict[str, Any] = {
    "title": "Ann moves to Lyon",
    "narrative": "Ann moved to Lyon on 8 March 2024. Ann has a dog called Rex.",
    "facts": LINES,
}
TEXT = json.dumps(ANSWER)
DRAFT = '{"title": "draft", "narrative": "draft", "facts": []}'


def says(content: Any = None, finish: str = "stop", **more: Any) -> Reply:
    message = {"role": "assistant", "content": content, **more}
    usage = {"prompt_tokens": 500, "completion_tokens": 100}
    return Reply({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


def refuses(text: str, status: int = 400, **more: Any) -> Reply:
    return Reply({"error": {"message": text, "type": "invalid_request_error", **more}}, status)


def form(request: Request) -> str:
    return (request.body.get("response_format") or {}).get("type", "")


def stream() -> Reply:
    pieces = [TEXT[at : at + 40] for at in range(0, len(TEXT), 40)]
    chunks = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
    lines = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])
    return Reply(lines.encode(), content_type="text/event-stream")


def tool_call() -> Reply:
    call = {"id": "1", "type": "function", "function": {"name": "json", "arguments": TEXT}}
    return says(None, "tool_calls", tool_calls=[call])


def as_bytes(content: str) -> bytes:
    return json.dumps(says(content).body, ensure_ascii=False).encode()


def of_facts(facts: list[Any]) -> Reply:
    return says(json.dumps({**ANSWER, "facts": facts}))


# Answers that are the same whatever is asked: where the text stands, and what stands around it.
PLACES: dict[str, Reply] = {
    "plain": says(TEXT),
    "thinking before it": says(f"<think>\nDraft: {DRAFT}\nHmm.\n</think>\n\n{TEXT}"),
    "thinking without a beginning": says(f"Let me see {DRAFT} first.\n</think>\n{TEXT}"),
    "prose without a beginning": says(f"The user wants JSON. Ann moved.\n</think>\n\n{TEXT}"),
    "another mark of thinking": says(f"<thinking>{DRAFT}</thinking>{TEXT}"),
    "reasoning beside it": says(TEXT, reasoning_content=f"thinking {DRAFT}"),
    "reasoning_content alone": says(None, reasoning_content=TEXT),
    "reasoning alone": says("", reasoning=TEXT),
    "channels": says(
        f"<|channel|>analysis<|message|>We need JSON {DRAFT}.<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{TEXT}"
    ),
    "a fence": says(f"Here is the JSON:\n```json\n{json.dumps(ANSWER, indent=2)}\n```\nGood luck!"),
    "two fences": says(f"```json\n{DRAFT}\n```\nBetter:\n```json\n{TEXT}\n```"),
    "prose around it": says(f"I'll analyze this.\n\n{TEXT}\n\nLet me know what else you need."),
    "a call of a tool": tool_call(),
    "parts": says([{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": TEXT}]),
    "a stream that nobody asked for": stream(),
    "JSON in a string": says(json.dumps(TEXT)),
    "inside another object": says(json.dumps({"response": ANSWER})),
    "in a list": says(json.dumps([ANSWER])),
    "a comma too many": says(TEXT[:-2] + ",]}"),
    "Python": says(repr(ANSWER)),
    "single quotes": says(TEXT.replace('"', "'")),
    "a comment": says(TEXT.replace("{", "{ // note\n", 1)),
    "a line break in a string": says(TEXT.replace("Ann has a dog", "Ann\nhas a dog")),
    "cut off in the last fact": says(TEXT[:-20], "length"),
    "NaN": of_facts([{**one, "confidence": float("nan")} for one in OBJECTS]),
    "objects": of_facts(OBJECTS),
    "sentences": of_facts([sentence for *_, sentence in FACTS]),
    "without messages": of_facts(
        [{key: one[key] for key in one if key != "messages"} for one in OBJECTS]
    ),
    "a number for a list": of_facts([{**one, "messages": one["messages"][0]} for one in OBJECTS]),
    "strings for numbers": of_facts([{**one, "messages": ["0", "2", "3"]} for one in OBJECTS]),
    "words for numbers": of_facts([{**one, "confidence": "high"} for one in OBJECTS]),
    "kinds in capitals": of_facts([{**one, "kind": "Personal Info"} for one in OBJECTS]),
    "white space before it": Reply(b"\n         \n" * 50 + as_bytes(TEXT)),
    "a mark of byte order": Reply("\ufeff".encode() + as_bytes("\ufeff" + TEXT)),
    "no role and no usage": Reply({"choices": [{"message": {"content": TEXT}}]}),
    "no usage": Reply({**says(TEXT).body, "usage": None}),
    "a choice of text": Reply({"choices": [{"text": TEXT, "index": 0}]}),
    "Ollama's own form": Reply(
        (json.dumps({"message": {"content": TEXT}, "done": True}) + "\n").encode(),
        content_type="application/x-ndjson",
    ),
}


def deepseek(request: Request) -> Reply:
    if form(request) == "json_schema":
        return refuses("This response_format type is unavailable now")
    return says(TEXT)


def renamed(request: Request) -> Reply:
    body = request.body
    if "max_tokens" in body:
        return refuses(
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            param="max_tokens",
        )
    if "temperature" in body:
        return refuses("Unsupported value: 'temperature' does not support 0", param="temperature")
    # All are used up by thinking.
    return says("", "length") if body["max_completion_tokens"] < 8_000 else says(TEXT)


def stream_only(request: Request) -> Reply:
    if not request.body.get("stream"):
        return refuses("This model only support stream mode, please enable the stream parameter.")
    return stream()


def soon(seconds: float, **headers: str) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        if request.number > 1:
            return says(TEXT)
        wait = headers or {"Retry-After": formatdate(time.time() + seconds, usegmt=True)}
        return Reply({"error": {"message": "Rate limit reached"}}, 429, wait)

    return answer


def first(fault: Reply, times: int = 1) -> Callable[[Request], Reply]:
    return lambda request: fault if request.number <= times else says(TEXT)


def no_schema_words(request: Request) -> Reply:
    if '"additionalProperties"' in json.dumps(request.body.get("response_format", {})):
        text = 'Invalid JSON payload received. Unknown name "additionalProperties"'
        return Reply([{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}], 400)
    return says(TEXT)


def no_form(request: Request) -> Reply:
    if form(request):
        return refuses("UnsupportedParamsError: no parameters: ['response_format']")
    return says(TEXT)


def no_grammar(request: Request) -> Reply:
    if form(request) == "json_schema":
        return refuses("failed to parse grammar")
    return says(TEXT)


def not_strict(request: Request) -> Reply:
    if "strict" in json.dumps(request.body.get("response_format", {})):
        place = ["body", "response_format", "json_schema", "strict"]
        text = "Extra inputs are not permitted"
        return Reply({"detail": [{"type": "extra_forbidden", "loc": place, "msg": text}]}, 422)
    return says(TEXT)


def window(request: Request) -> Reply:
    asked = request.body.get("max_tokens", 0)
    if asked > 2_000:
        return refuses(
            "This model's maximum context length is 4096 tokens. However, you requested "
            f"{2_000 + asked} tokens (2000 in the messages, {asked} in the completion)."
        )
    return says(TEXT)


def most_tokens(request: Request) -> Reply:
    asked = request.body.get("max_tokens", 0)
    if asked > 4_096:
        return refuses(
            f"max_tokens is too large: {asked}. This model supports at most 4096 completion tokens."
        )
    return says(TEXT)


def no_system(status: int) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        if any(message["role"] == "system" for message in request.body["messages"]):
            return refuses("System role not supported", status)
        return says(TEXT)

    return answer


def silent_about_system(request: Request) -> Reply:
    """A template that raises, behind FastAPI."""
    if any(message["role"] == "system" for message in request.body["messages"]):
        return Reply(b"Internal Server Error", 500, content_type="text/plain")
    return says(TEXT)


def no_provider(request: Request) -> Reply:
    """OpenRouter, where no provider of the model takes a schema."""
    if form(request).startswith("json"):
        return refuses("No endpoints found that can handle the requested parameters.", 404)
    return says(TEXT)


def schema_or_text(request: Request) -> Reply:
    """LM Studio, with its error as a string, and a schema that its engine can't compile."""
    if form(request) == "json_object":
        text = "'response_format.type' must be 'json_schema' or 'text'"
        return Reply({"error": text}, 400)
    return refuses("Failed to process regex") if form(request) == "json_schema" else says(TEXT)


def little_context(request: Request) -> Reply:
    """llama.cpp, which names the size of its context."""
    if request.body.get("max_tokens", 0) > 3_000:
        error = {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4_096}
        message = "request (7000 tokens) exceeds the available context size (4096 tokens)"
        return Reply({"error": {**error, "message": message}}, 400)
    return says(TEXT)


def many_states(request: Request) -> Reply:
    if form(request) == "json_schema":
        text = "The specified schema produces a constraint that has too many states for serving."
        return Reply([{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}], 400)
    return says(TEXT)


def warm_only(request: Request) -> Reply:
    if "temperature" in request.body:
        return refuses("`temperature` may only be set to 1 when thinking is enabled.")
    return says(TEXT)


def talkative_stream() -> Reply:
    """A stream with comments, and with reasoning before the answer."""
    thinks = {"choices": [{"delta": {"reasoning": DRAFT}}]}
    halves = [TEXT[:100], TEXT[100:]]
    chunks = [thinks, *({"choices": [{"delta": {"content": half}}]} for half in halves)]
    lines = [f"data: {json.dumps(chunk)}" for chunk in chunks]
    text = "\n\n".join([": PROCESSING", *lines, ": PROCESSING", "data: [DONE]"])
    return Reply(text.encode(), content_type="text/event-stream")


def chunked() -> Reply:
    """Mistral's parts: thinking, references and text."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}]}
    halves = [{"type": "text", "text": half} for half in (TEXT[:90], TEXT[90:])]
    return says([thinking, halves[0], {"type": "reference", "reference_ids": [1]}, halves[1]])


def unclosed(request: Request) -> Reply:
    if request.body["max_tokens"] < 10_000:
        return says("<think>\nI should think about this for a long time " * 50, "length")
    return says(f"<think>\nok\n</think>\n{TEXT}")


def failed_generation(request: Request) -> Reply:
    if form(request) == "json_schema":
        return refuses("This model does not support response format `json_schema`.")
    if request.number == 2:
        return refuses("Failed to generate JSON. See 'failed_generation'.", failed_generation="{")
    return says(TEXT)


IN_CHOICE = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "timeout"}}

# Endpoints that answer well once they are asked in their way, or once more.
MANNERS: dict[str, Callable[[Request], Reply]] = {
    "no json_schema": deepseek,
    "no json_schema, and a failed generation": failed_generation,
    "other names and much thinking": renamed,
    "streams only": stream_only,
    "too many, with a date": soon(1.2),
    "too many, in milliseconds": soon(0, **{"retry-after-ms": "300"}),
    "words of a schema that it does not know": no_schema_words,
    "no response_format": no_form,
    "no grammar for the schema": no_grammar,
    "strict unknown": not_strict,
    "a small window": window,
    "a limit of tokens": most_tokens,
    "no system role": no_system(400),
    "no system role, without a reason": silent_about_system,
    "no provider with these parameters": no_provider,
    "a schema or text": schema_or_text,
    "a context of 4,096": little_context,
    "too many states": many_states,
    "a fixed temperature": warm_only,
    "comments in a stream": lambda request: talkative_stream(),
    "parts with references": lambda request: chunked(),
    "all tokens thought": first(says(None, "length")),
    "too many, with status 200": first(Reply({"error": {"code": 429, "message": "later"}})),
    "overloaded": first(refuses("Overloaded", 529)),
    "nothing, and a stop": first(Reply({"choices": [{"message": {"content": None}}]})),
    "an error at the top": first(Reply({"object": "error", "message": "oops", "code": 500}, 500)),
    "thinking that does not end": unclosed,
    "an empty answer": first(says("")),
    "gzip": lambda request: Reply(
        gzip.compress(as_bytes(TEXT)), headers={"Content-Encoding": "gzip"}
    ),
    "no content": first(Reply({"choices": [{"message": {"role": "assistant"}}]})),
    "white space until the limit": first(says(TEXT[:60] + "\n" * 5_000, "length")),
    "an error with status 200": first(Reply({"error": {"message": "oops", "code": 502}})),
    "an error in the choice": first(
        Reply({"choices": [{**IN_CHOICE, "message": {"content": ""}}]})
    ),
    "no choice": first(Reply({"choices": [], "usage": None})),
    "a model that is being loaded": first(refuses("Loading model", 503), 2),
    "a request that it times out": first(refuses("timeout", 408)),
}

# Endpoints that give no answer: what the episode says of it.
SILENT: dict[str, tuple[Reply, str]] = {
    "a refusal": (says(None, refusal="I'm sorry, I can't help with that."), "refused"),
    "words of refusal": (says("I'm sorry, but I can't assist with that."), "malformed_answer"),
    "a filter": (refuses("content management policy", code="content_filter"), "refused"),
    "no credit": (refuses("You exceeded your quota", 429, code="insufficient_quota"), "outage"),
    "a day's limit": (
        Reply({"error": {"message": "Daily limit"}}, 429, {"Retry-After": "3600"}),
        "outage",
    ),
    "a page": (Reply(b"<html>Bad gateway</html>", content_type="text/html"), "outage"),
    "no such model": (refuses("The model `m` does not exist", 404), "outage"),
    "a redirection": (Reply(b"", 307, {"Location": "/plain"}), "outage"),
    "an echo": (says("0 | 09:00 | Ann: I moved to Lyon."), "malformed_answer"),
}


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch, store: Path) -> Iterator[Callable[..., Any]]:
    monkeypatch.setenv("no_proxy", "*")
    opened: list[Any] = []

    def remember(answer: Callable[[Request], Reply]) -> MemorySystem:
        server = Loopback(answer, 40)
        llm = LLMConfig("m", base_url=server.url, api_key="none", **QUICK)
        memory = MemorySystem(store, llm=llm, llm_concurrency=1)
        opened.extend([memory, server])
        messages = [
            {
                "role": role,
                **({"name": "Ann"} if role == "user" else {}),
                "content": text,
                "timestamp": f"2024-03-11T09:{number:02}:00+01:00",
                "session_id": "s",
            }
            for number, (role, text) in enumerate(SAID)
        ]
        memory.add_messages("ann", messages)
        memory.flush("ann")
        assert memory.wait("ann", timeout=30)
        return memory

    yield remember
    for one in opened:
        one.close()


def check_by_the_model(memory: MemorySystem) -> None:
    (episode,) = memory.episodes("ann")
    facts = list(memory.semantic_memories("ann"))
    assert (episode.title, episode.provenance["method"]) == ("Ann moves to Lyon", "m")
    wanted = {sentence for *_, sentence in FACTS}
    by_model = {fact.content for fact in facts if fact.provenance["method"] == "m"}
    assert len(wanted & by_model) >= 2, facts
    assert "draft" not in episode.summary
    assert memory.stats("ann")["pending_llm"] == 0


@pytest.mark.parametrize("name", PLACES)
def test_an_answer_is_read_wherever_it_stands(
    name: str, remembered: Callable[..., MemorySystem]
) -> None:
    memory = remembered(lambda request: PLACES[name])
    check_by_the_model(memory)
    assert memory.usage()["failures"] == 0


@pytest.mark.parametrize("name", MANNERS)
def test_a_server_is_asked_as_it_wants(name: str, remembered: Callable[..., MemorySystem]) -> None:
    check_by_the_model(remembered(MANNERS[name]))


@pytest.mark.parametrize("name", SILENT)
def test_without_an_answer_the_rules_work_and_the_episode_says_why(
    name: str, remembered: Callable[..., MemorySystem]
) -> None:
    reply, why = SILENT[name]
    memory = remembered(lambda request: reply)
    (episode,) = memory.episodes("ann")
    assert (episode.provenance["method"], episode.provenance["fallback"]) == ("offline", why)
    assert list(memory.semantic_memories("ann"))
    assert memory.health()["status"] == "degraded" or why == "refused"
    assert memory.stats("ann")["refused_llm"] == int(why == "refused")
