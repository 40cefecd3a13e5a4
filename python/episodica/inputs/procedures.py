"""What agents did, as callers hand it over: steps, or the messages of a chat with tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import checks
from .chat import ToolCall, ToolResult, as_mapping, role_in, spoken_of, tools_of
from .facts import fact_kind, stated_fact
from .forms import expanded
from .names import named
from .texts import json_text

_STEP_KEYS = ("action", "arguments", "result", "error")
# The categories of facts about what an agent did.
_KINDS = ("procedure", "case")


def stated_procedure(
    goal: object,
    steps: object,
    *,
    outcome: object,
    worked: object,
    messages: object,
    kind: object,
    zone: str | None,
    **stated: object,
) -> dict[str, Any]:
    """The arguments of ``Engine.remember``."""
    if worked is not None and not isinstance(worked, bool):
        raise InvalidInputError(f"worked must be true, false or None: `{shown(worked)}`")
    if fact_kind(kind) not in _KINDS:
        raise InvalidInputError(
            f"what an agent did is a `procedure` or a `case`, not: `{shown(kind)}`"
        )
    done = _steps(steps)
    proofs: list[str] = []
    if messages is not None:
        if done:
            raise InvalidInputError(
                "steps and messages can't be combined", hint="the messages say the steps"
            )
        goal, done, outcome, proofs = _read(messages, goal, outcome)
    if goal is None:
        raise InvalidInputError("goal is missing", hint="say what was to be achieved")
    text = checks.text(goal, "goal")
    if not text.strip():
        raise InvalidInputError("goal is empty")
    if worked is None and done and done[-1].get("error") is not None:
        worked = False
    procedure = {"goal": text, "steps": done, "worked": worked}
    if outcome is not None:
        procedure["outcome"] = checks.text(outcome, "outcome")
    fact = stated_fact(text, kind, **stated, zone=zone)
    return {**fact, "procedure": json_text(procedure, "steps"), "source_messages": proofs}


def _steps(steps: object) -> list[dict[str, Any]]:
    if isinstance(steps, (str, Mapping)) or not isinstance(steps, Iterable):
        raise InvalidInputError(f"steps must be a list, not `{type(steps).__name__}`")
    return [_step(step, number) for number, step in enumerate(steps)]


def _step(step: object, number: int) -> dict[str, Any]:
    """A step from a ``str`` with only its action, or from a mapping or an object with its parts."""
    place = f"step {number}"
    if isinstance(step, str):
        return {"action": checks.text(step, place)}
    if not isinstance(step, Mapping):
        step = {key: getattr(step, key) for key in _STEP_KEYS if hasattr(step, key)}
    for key in step:
        if key not in _STEP_KEYS:
            raise InvalidInputError(
                f"{place}: unknown key: `{shown(key)}`", hint=nearest_hint(key, _STEP_KEYS)
            )
    if step.get("action") is None:
        raise InvalidInputError(f"{place}: `action` is missing")
    found: dict[str, Any] = {"action": checks.text(step["action"], f"{place}: `action`")}
    found |= {key: step[key] for key in ("arguments", "result") if step.get(key) is not None}
    if step.get("error") is not None:
        found["error"] = checks.text(step["error"], f"{place}: `error`")
    return found


def _read(
    messages: object, goal: object, outcome: object
) -> tuple[object, list[dict[str, Any]], object, list[str]]:
    """Goal, steps, outcome and ids out of messages with tool calls and their results.

    The goal is the user's first message that has text, the outcome the assistant's last message
    with text after the tool calls.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInputError(f"messages must be a list, not `{type(messages).__name__}`")
    steps: list[dict[str, Any]] = []
    open_steps: dict[str | None, dict[str, Any]] = {}
    proofs: list[str] = []
    asked: str | None = None
    said: str | None = None
    for message in _mappings(messages):
        own = named(message, "message_id")
        proofs += [own] if isinstance(own, str) else []
        role, text = role_in(message), spoken_of(message)
        if role == "user" and text and asked is None:
            asked = text
        for tool in tools_of(message):
            said = None
            if isinstance(tool, ToolCall):
                step = {"action": tool.name, "arguments": tool.arguments}
                steps.append({key: value for key, value in step.items() if value is not None})
                open_steps[tool.id] = open_steps[None] = steps[-1]
            else:
                _add_result(open_steps.get(tool.id) or open_steps.get(None), tool)
        if role == "assistant" and text:
            said = text
    if not steps:
        raise InvalidInputError("messages have no tool calls", hint="give `steps` instead")
    return goal or asked, steps, outcome or said, proofs


def _mappings(messages: Iterable[object]) -> Iterator[Mapping[str, Any]]:
    for number, message in enumerate(messages):
        found = as_mapping(message)
        if found is None:
            raise InvalidInputError(
                f"message {number}: must be a mapping, not `{type(message).__name__}`"
            )
        yield from expanded(found)


def _add_result(step: dict[str, Any] | None, tool: ToolResult) -> None:
    if step is None:
        return
    if tool.failed:
        told = tool.result
        step["error"] = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    elif tool.result is not None:
        step["result"] = tool.result
