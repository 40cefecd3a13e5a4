"""Transcripts of the coding agents opencode, Copilot CLI and Kimi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..inputs.chat import text_of
from ..inputs.pieces import written
from .coding import OF_AGENTS, THINKING, WRITTEN, Once, add_turns, own_words, repository
from .conversation import Conversation, Talk, mappings
from .source import Item, Source


def is_copilot_cli(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an event of a session of Copilot CLI."""
    kind = value.get("type")
    return (
        isinstance(value.get("data"), Mapping)
        and "timestamp" in value
        and isinstance(kind, str)
        and kind.partition(".")[0] in ("session", "user", "assistant", "tool", "subagent")
        and "." in kind
    )


def copilot_cli(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The events of a session of Copilot CLI."""
    talk: Talk | None = None
    names: dict[str, str] = {}
    for item in items:
        event = item.value if isinstance(item.value, Mapping) else {}
        held = event.get("data")
        data: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
        if talk is None:
            session = data.get("sessionId") or source.stem
            talk = Talk(source.name, str(session), session=str(session), has_unique_ids=True)
        _of_copilot(talk, names, event, data, item.line)
        if talk.is_full:
            yield talk.conversation()
    if talk is not None:
        yield talk.conversation()


def _of_copilot(
    talk: Talk, names: dict[str, str], event: Mapping[str, Any], data: Mapping[str, Any], line: int
) -> None:
    kind = event.get("type")
    place = data.get("context")
    if kind in ("session.start", "session.resume") and isinstance(place, Mapping):
        directory = place.get("gitRoot") or place.get("cwd")
        talk.about = repository(directory, place.get("branch"), place.get("repository"))
    content = data.get("content")
    text = content if isinstance(content, str) else ""
    turns: list[dict[str, Any]] = []
    if kind == "user.message":
        if data.get("source") not in (None, "", "user"):
            talk.leave(f"{WRITTEN}: `{data.get('source')}`", line)
            return
        sent = data.get("transformedContent")
        is_empty = not text.strip() and isinstance(sent, str)
        words = own_words(talk, str(sent) if is_empty else text, is_programs=is_empty)
        turns = [{"role": "user", "content": words}]
    elif kind == "assistant.message":
        calls = mappings(data.get("toolRequests"))
        for call in calls:
            names[str(call.get("toolCallId"))] = str(call.get("name") or "tool")
        asked = [
            f"[tool call: {one.get('name')}({written(one.get('arguments') or one.get('args'))})]"
            for one in calls
        ]
        turns = [{"role": "assistant", "content": "\n".join(filter(None, [text, *asked]))}]
        if data.get("parentToolCallId"):
            talk.leave(OF_AGENTS, line)
            return
    elif kind == "tool.execution_complete":
        result = data.get("result")
        said = result.get("content") if isinstance(result, Mapping) else result
        name = names.get(str(data.get("toolCallId")))
        turns = [{"role": "tool", "name": name, "content": written(said)}]
    else:
        talk.leave(f"a record of the program: `{kind}`", line)
        return
    turns = [turn for turn in turns if turn["content"].strip()]
    add_turns(talk, turns, {"id": event.get("id"), "timestamp": event.get("timestamp")}, line)


# Roles under which Kimi CLI keeps its own states among the messages.
_OWN_ROLES = ("_checkpoint", "_usage", "_system_prompt")
_TYPED = ("turn.prompt", "turn.steer")
_OF_KIMI = ("context.append_message", "context.append_loop_event", *_TYPED)


def is_kimi(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a line of a session of Kimi CLI or Kimi Code."""
    return value.get("role") in _OWN_ROLES or value.get("type") in _OF_KIMI


def kimi(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The session of Kimi CLI (``context.jsonl``) or Kimi Code (``wire.jsonl``)."""
    session = source.path.parent.name if source.stem == "context" else source.stem
    talk = Talk(source.name, session=session)
    names: dict[str, str] = {}
    parts: list[str] = []
    once = Once()
    for item in items:
        line = item.value if isinstance(item.value, Mapping) else {}
        held = line.get("message") if isinstance(line.get("message"), Mapping) else line
        event = line.get("event")
        when = line.get("time") or line.get("timestamp")
        if line.get("type") in _TYPED:
            held = {"role": "user", "content": line.get("input"), "origin": line.get("origin")}
        if isinstance(event, Mapping):
            _of_loop(talk, names, parts, event, when, item.line)
        elif isinstance(held, Mapping) and held.get("role") in ("user", "assistant", "tool"):
            _say_parts(talk, parts, when)
            _of_context(talk, once, held, line, when, item.line)
        else:
            what = line.get("type") or line.get("role")
            talk.leave(f"a record of the program: `{what}`", item.line)
        if talk.is_full:
            yield talk.conversation()
    _say_parts(talk, parts, None)
    yield talk.conversation()


def _of_context(
    talk: Talk,
    once: Once,
    held: Mapping[str, Any],
    line: Mapping[str, Any],
    when: object,
    number: int,
) -> None:
    origin = held.get("origin") or line.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else None
    trigger = origin.get("trigger") if isinstance(origin, Mapping) else None
    if kind not in (None, "user") and not str(trigger).startswith("user"):
        talk.leave(f"{WRITTEN}: `{kind}`", number)
        return
    role = str(held["role"])
    said, thought = text_of({**held, "content": _known_parts(held.get("content"))})
    if thought:
        talk.cut(THINKING)
    text = said if isinstance(said, str) else ""
    text = own_words(talk, text) if role == "user" else text
    turns = [{"role": role, "content": text}] if text.strip() else []
    # A prompt is told when it is typed and when it enters the context.
    if turns and not once.is_new(str(line.get("type")), role, text):
        return
    add_turns(talk, turns, {"timestamp": when}, number)


def _known_parts(content: object) -> object:
    """The parts of a message; Kimi calls thinking ``think``."""
    if not isinstance(content, list):
        return content
    return [
        {"type": "thinking", "thinking": str(one.get("think") or "")}
        if one.get("type") == "think"
        else one
        for one in mappings(content)
    ]


def _of_loop(
    talk: Talk,
    names: dict[str, str],
    parts: list[str],
    event: Mapping[str, Any],
    when: object,
    line: int,
) -> None:
    """Takes an event of a turn: a part of the answer, a call of a tool, or its result."""
    kind, part = event.get("type"), event.get("part")
    called = str(event.get("toolCallId") or event.get("id") or "")
    if kind == "content.part" and isinstance(part, Mapping):
        if part.get("type") == "text":
            parts.append(str(part.get("text") or ""))
        else:
            talk.cut(THINKING)
    elif kind == "tool.call":
        name = str(event.get("name") or event.get("toolName") or "tool")
        names[called] = name
        given = event.get("args") or event.get("arguments") or event.get("input")
        parts.append(f"[tool call: {name}({written(given)})]")
    elif kind == "tool.result":
        _say_parts(talk, parts, when)
        result = event.get("result") or event.get("output") or event.get("content")
        text = written(result.get("output", result) if isinstance(result, Mapping) else result)
        turns = [{"role": "tool", "name": names.get(called), "content": text}]
        add_turns(talk, turns if text.strip() else [], {"timestamp": when}, line)
    else:
        if kind == "step.end":
            _say_parts(talk, parts, when)
        talk.leave(f"a record of the program: `{kind}`", line)


def _say_parts(talk: Talk, parts: list[str], when: object) -> None:
    """Adds the answer whose parts were read so far."""
    text = "\n".join(filter(str.strip, parts))
    parts.clear()
    if text.strip():
        talk.add({"role": "assistant", "content": text, "timestamp": when})


def is_opencode(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a session written by `opencode export`."""
    messages = value.get("messages")
    return (
        isinstance(value.get("info"), Mapping)
        and isinstance(messages, list)
        and all(isinstance(one, Mapping) and "parts" in one for one in messages)
    )


def opencode(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A session of opencode."""
    info = entry["info"]
    session = str(info.get("id") or f"{source.stem}-{number + 1}")
    name = str(info.get("title") or session)
    talk = _talk_of(info, session, name)
    for message in entry["messages"]:
        if _is_of_agent(info):
            talk.leave(OF_AGENTS)
        else:
            _of_opencode(talk, message.get("info") or message, message["parts"])
    yield talk


def _is_of_agent(info: Mapping[str, Any]) -> bool:
    """Whether a session of opencode was started by an agent: it has a parent, a fork has none."""
    return bool(info.get("parentID"))


def _talk_of(info: Mapping[str, Any], session: str, name: str) -> Talk:
    title = info.get("title")
    talk = Talk(
        name, session, session=session, title=title, date=_created(info), has_unique_ids=True
    )
    talk.about |= repository(info.get("directory"))
    return talk


def _created(info: Mapping[str, Any]) -> float | None:
    """The time of creation in seconds; opencode counts milliseconds."""
    time = info.get("time")
    created = time.get("created") if isinstance(time, Mapping) else None
    return created / 1000 if isinstance(created, (int, float)) else None


def _of_opencode(talk: Talk, info: Mapping[str, Any], parts: object) -> None:
    role = str(info.get("role") or "user")
    said: list[str] = []
    results: list[dict[str, Any]] = []
    for part in mappings(parts):
        kind, state = part.get("type"), part.get("state")
        if kind == "text" and (part.get("synthetic") or part.get("ignored")):
            talk.cut(WRITTEN)
        elif kind == "text":
            text = str(part.get("text") or "")
            said.append(own_words(talk, text) if role == "user" else text)
        elif kind in ("reasoning", "thinking"):
            talk.cut(THINKING)
        elif kind == "file":
            said.append(f"[file: {part.get('filename') or 'unnamed'}]")
        elif kind == "tool":
            held = state if isinstance(state, Mapping) else {}
            said.append(f"[tool call: {part.get('tool')}({written(held.get('input'))})]")
            output = written(held.get("output") or held.get("error"))
            if output.strip():
                results.append({"role": "tool", "name": part.get("tool"), "content": output})
    text = "\n".join(one for one in said if one.strip())
    turns = [{"role": role, "content": text}] if text else []
    add_turns(talk, [*turns, *results], {"id": info.get("id"), "timestamp": _created(info)})


def opencode_folder(source: Source) -> Iterator[Conversation] | None:
    """The sessions in opencode's folder of storage: a file for each message and part."""
    names = [name for name in source.members or () if name.endswith(".json")]
    kept: dict[str, dict[str, list[str]]] = {kind: {} for kind in ("session", "message", "part")}
    for name in names:
        for kind, held in kept.items():
            if f"/{kind}/" in f"/{name}":
                held.setdefault(name.split("/")[-2], []).append(name)
    if not kept["message"] or not kept["part"]:
        return None
    return _stored(source, kept)


def _stored(source: Source, kept: dict[str, dict[str, list[str]]]) -> Iterator[Conversation]:
    about = {
        info.get("id"): info
        for files in kept["session"].values()
        for info in (_loaded(source, name) for name in files)
    }
    for session, files in kept["message"].items():
        info = about.get(session) or {}
        talk = _talk_of(info, session, str(info.get("title") or session))
        if _is_of_agent(info):
            for _ in files:
                talk.leave(OF_AGENTS)
            yield talk.conversation()
            continue
        messages = [_loaded(source, name) for name in files]
        for message in sorted(messages, key=lambda one: _created(one) or 0):
            parts = kept["part"].get(str(message.get("id")), ())
            _of_opencode(talk, message, [_loaded(source, name) for name in sorted(parts)])
        yield talk.conversation()


def _loaded(source: Source, name: str) -> Mapping[str, Any]:
    found = next(iter(source.values(name)), None)
    return found if isinstance(found, Mapping) else {}
