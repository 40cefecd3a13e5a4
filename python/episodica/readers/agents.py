"""Transcripts of coding agents: Claude Code, Codex, Gemini CLI and opencode.

The words of a person and of the agent, calls of tools and their results are kept. Results are
messages of the tool, so that its output does not pass for speech. Thinking, states of the program
and texts that the program writes in the name of the user are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import text_of
from ..inputs.pieces import written
from .conversation import NO_WORDS, Conversation, Talk, mappings, without_elements
from .source import Item, Source

_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_RESULTS = frozenset(("tool_result", "function_call_output", "custom_tool_call_output"))
# Texts that programs insert into the words of a user: states, rules, output of commands.
_NAMES = (
    r"(?P<name>system-reminder|local-command-[a-z]+|command-(?:name|message|args)"
    r"|bash-(?:input|stdout|stderr)|environment_context|user_instructions"
    r"|permissions instructions|ide_[a-z_]+|INSTRUCTIONS|turn_aborted|user-prompt-submit-hook"
    r"|skill)>"
)
_INSERTED, _INSERTED_END = re.compile(f"<{_NAMES}"), re.compile(f"</{_NAMES}")
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\[\]]*\]")
_RULES = re.compile(r"# AGENTS\.md instructions for .*", re.DOTALL)


def is_claude_code(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a record of a session of Claude Code."""
    return (
        value.get("type") in ("user", "assistant")
        and isinstance(value.get("message"), Mapping)
        and bool(value.keys() & {"sessionId", "parentUuid", "isSidechain", "cwd"})
    )


def claude_code(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The records of Claude Code's sessions, without the sessions of agents that it started."""
    talks: dict[str, Talk] = {}
    names: dict[str, str] = {}
    for item in items:
        record = item.value
        if not isinstance(record, Mapping):
            record = {}
        session = str(record.get("sessionId") or source.stem)
        talk = talks.get(session)
        if talk is None:
            talk = talks[session] = Talk(source.name, session, session=session)
        kind, message = record.get("type"), record.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, Mapping):
            talk.leave(f"a record of the program: `{kind}`", item.line)
        elif record.get("isSidechain"):
            talk.leave("a talk of the program with its own agent", item.line)
        elif any(record.get(one) for one in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
            talk.leave("written by the program", item.line)
        else:
            about = {"id": record.get("uuid"), "timestamp": record.get("timestamp")}
            _add(talk, _turns(kind, message.get("content"), names), about, item.line)
        if talk.is_full:
            yield talk.conversation()
    for talk in talks.values():
        yield talk.conversation()


def _add(talk: Talk, turns: list[dict[str, Any]], about: Mapping[str, Any], line: int = 0) -> None:
    """Adds what one record says; only the first of several messages has the record's id."""
    if not turns:
        talk.leave(NO_WORDS, line)
    for number, turn in enumerate(turns):
        own = about.get("id")
        given = f"{own}-{number}" if number and own else own
        talk.add({**about, "id": given, **turn}, line)


def _turns(role: str, content: object, names: dict[str, str]) -> list[dict[str, Any]]:
    """The messages in the parts of one turn. Each tool result becomes a message of the tool."""
    if isinstance(content, str):
        text = _without_insertions(content) if role == "user" else content
        return [{"role": role, "content": text}] if text.strip() else []
    made: list[dict[str, Any]] = []
    said: list[Any] = []
    for part in mappings(content):
        kind = part.get("type")
        if kind == "tool_use" and isinstance(part.get("id"), str):
            names[part["id"]] = str(part.get("name") or "tool")
        if kind in _RESULTS:
            result = text_of({"role": "tool", "content": [part]})[0]
            if isinstance(result, str) and result.strip():
                name = names.get(str(part.get("tool_use_id")))
                made.append({"role": "tool", "name": name, "content": result})
        elif kind == "text" and isinstance(part.get("text"), str):
            text = part["text"]
            said.append({**part, "text": _without_insertions(text) if role == "user" else text})
        elif kind not in _THOUGHTS:
            said.append(part)
    words = text_of({"role": role, "content": said})[0] if said else None
    if isinstance(words, str) and words.strip():
        made.append({"role": role, "content": words})
    return made


def _without_insertions(text: str) -> str:
    own = without_elements(text, _INSERTED, _INSERTED_END)
    return _RULES.sub("", _INTERRUPTED.sub("", own)).strip()


def is_codex(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a record of a Codex session, in the present or an earlier form."""
    if value.get("type") in ("session_meta", "response_item", "event_msg", "turn_context"):
        return isinstance(value.get("payload"), Mapping)
    return {"id", "timestamp", "instructions"} <= value.keys() or "record_type" in value


def codex(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The rollout of a session of Codex."""
    talk: Talk | None = None
    names: dict[str, str] = {}
    for item in items:
        record = item.value if isinstance(item.value, Mapping) else {}
        held = record.get("payload")
        payload: Mapping[str, Any] = held if isinstance(held, Mapping) else record
        kind = record.get("type")
        if talk is None:
            given = payload.get("id") if kind in ("session_meta", None) else None
            session = str(given or source.stem)
            talk = Talk(source.name, session if given else None, session=session)
            talk.date = record.get("timestamp")
        if kind in ("session_meta", "event_msg", "turn_context", "compacted", "ghost_snapshot") or (
            kind is None and "role" not in record
        ):
            talk.leave(f"a record of the program: `{kind or 'head'}`", item.line)
            continue
        turns = _of_codex(payload, names)
        if not turns and payload.get("type") == "reasoning":
            talk.leave("thinking", item.line)
        elif payload.get("role") in ("system", "developer"):
            talk.leave("an instruction of the program", item.line)
        else:
            _add(talk, turns, {"timestamp": record.get("timestamp")}, item.line)
        if talk.is_full:
            yield talk.conversation()
    if talk is not None:
        yield talk.conversation()


def _of_codex(item: Mapping[str, Any], names: dict[str, str]) -> list[dict[str, Any]]:
    kind = item.get("type")
    if kind in ("message", None):
        return _turns_of_items(str(item.get("role") or "user"), item.get("content"))
    if kind == "reasoning":
        return []
    called = str(item.get("call_id") or item.get("id") or "")
    if str(kind).endswith("_output"):
        output = item.get("output")
        with suppress(ValueError, RecursionError):
            held = json.loads(output) if isinstance(output, str) else output
            if isinstance(held, Mapping):
                output = held.get("output") or held.get("content") or output
        text = written(output)
        return [{"role": "tool", "name": names.get(called), "content": text}] if text else []
    if str(kind).endswith("_call"):
        name = str(item.get("name") or str(kind).removesuffix("_call"))
        names[called] = name
        given = next((item[key] for key in ("arguments", "input", "action") if item.get(key)), None)
        return [{"role": "assistant", "content": f"[tool call: {name}({written(given)})]"}]
    return []


def _turns_of_items(role: str, content: object) -> list[dict[str, Any]]:
    text = text_of({"role": role, "content": content})[0] if content else None
    if isinstance(text, str) and role == "user":
        text = _without_insertions(text)
    return [{"role": role, "content": text}] if isinstance(text, str) and text.strip() else []


def is_gemini_cli(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a session of Gemini CLI, or an entry of its log."""
    messages = value.get("messages")
    if isinstance(messages, list) and "sessionId" in value:
        return any(
            isinstance(one, Mapping) and one.get("type") in ("user", "gemini") for one in messages
        )
    return _begins_gemini(value) or {"sessionId", "messageId", "type", "message"} <= value.keys()


def _begins_gemini(value: Mapping[str, Any]) -> bool:
    """Whether `value` is the first line of a session file that has one line per message."""
    return {"sessionId", "projectHash", "startTime"} <= value.keys() and "messages" not in value


def gemini_cli(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """Sessions of Gemini CLI. The log of Gemini CLI has only the user's words."""
    log = Talk(source.name)
    begun: dict[str, Any] = {}
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        if _begins_gemini(value):
            if begun:
                yield _session_of_gemini(begun, source)
            begun = {**value, "messages": [], "taken_back": []}
            continue
        if begun:
            _continue_gemini(begun, value)
            continue
        if not isinstance(value.get("messages"), list):
            session = value.get("sessionId")
            own = f"{session}-{value.get('messageId')}" if session else None
            said = {"content": value.get("message") or "", "timestamp": value.get("timestamp")}
            if isinstance(said["content"], str):
                log.add({"role": "user", "id": own, "session_id": session, **said}, item.line)
            else:
                log.leave("no message", item.line, is_fault=True)
            continue
        yield _session_of_gemini(value, source)
    if begun:
        yield _session_of_gemini(begun, source)
    if log.messages or log.first:
        yield log.conversation()


def _session_of_gemini(value: Mapping[str, Any], source: Source) -> Conversation:
    session = str(value.get("sessionId") or source.stem)
    talk = Talk(source.name, session, session=session, date=value.get("startTime"))
    for message in value["messages"]:
        _of_gemini(talk, message)
    for _ in value.get("taken_back", ()):
        talk.leave("taken back in the chat")
    return talk.conversation()


def _continue_gemini(session: dict[str, Any], line: Mapping[str, Any]) -> None:
    """Takes one line: a message, a newer state of a message, or how far the chat was undone."""
    messages: list[Any] = session["messages"]
    back, own = line.get("$rewindTo"), line.get("id")
    ids = [one.get("id") for one in messages]
    if back is not None and back in ids:
        session["taken_back"] += messages[ids.index(back) :]
        del messages[ids.index(back) :]
    elif own is not None and own in ids:
        messages[ids.index(own)] = line
    elif "$set" not in line and back is None:
        messages.append(line)


def _of_gemini(talk: Talk, message: Mapping[str, Any]) -> None:
    kind = message.get("type")
    about = {"id": message.get("id"), "timestamp": message.get("timestamp")}
    if kind not in ("user", "gemini"):
        talk.leave(f"a note of the program: `{kind}`")
        return
    content = message.get("content")
    if isinstance(content, (list, Mapping)):
        parts = content if isinstance(content, list) else [content]
        content = text_of({"parts": parts})[0]
    turns: list[dict[str, Any]] = []
    calls = mappings(message.get("toolCalls"))
    done = [f"[tool call: {one.get('name')}({written(one.get('args'))})]" for one in calls]
    said = "\n".join(filter(None, [content if isinstance(content, str) else "", *done]))
    if said.strip():
        turns.append({"role": "user" if kind == "user" else "assistant", "content": said})
    for call in calls:
        shown_result = call.get("resultDisplay")
        result = shown_result if isinstance(shown_result, str) else _result(call.get("result"))
        if result.strip():
            turns.append({"role": "tool", "name": call.get("name"), "content": result})
    _add(talk, turns, about)


def _result(result: object) -> str:
    if isinstance(result, list):
        with suppress(InvalidInputError):
            return str(text_of({"role": "tool", "parts": result})[0] or "")
    return written(result)


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
    talk = Talk(name, session, session=session, title=info.get("title"), date=_created(info))
    for message in entry["messages"]:
        _of_opencode(talk, message.get("info") or message, message["parts"])
    yield talk


def _created(info: Mapping[str, Any]) -> float | None:
    """The time of creation in seconds; opencode counts milliseconds."""
    time = info.get("time")
    created = time.get("created") if isinstance(time, Mapping) else None
    return created / 1000 if isinstance(created, (int, float)) else None


def _of_opencode(talk: Talk, info: Mapping[str, Any], parts: Iterable[Any]) -> None:
    role = str(info.get("role") or "user")
    said: list[str] = []
    results: list[dict[str, Any]] = []
    for part in parts:
        kind, state = part.get("type"), part.get("state")
        if kind == "text" and not (part.get("synthetic") or part.get("ignored")):
            said.append(str(part.get("text") or ""))
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
    _add(talk, [*turns, *results], {"id": info.get("id"), "timestamp": _created(info)})


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
        title = info.get("title")
        talk = Talk(str(title or session), session, session=session, title=title)
        messages = [_loaded(source, name) for name in files]
        for message in sorted(messages, key=lambda one: _created(one) or 0):
            parts = kept["part"].get(str(message.get("id")), ())
            _of_opencode(talk, message, [_loaded(source, name) for name in sorted(parts)])
        yield talk.conversation()


def _loaded(source: Source, name: str) -> Mapping[str, Any]:
    with source.member(name) as member:
        found = next(member.items(), None)
    return found.value if found is not None and isinstance(found.value, Mapping) else {}
