"""Conversations with assistants in further programs: Grok, Gemini, Open WebUI, LibreChat, Copilot.

As in ``accounts``, each conversation becomes a session, read along the branch that was shown last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..inputs.chat import text_of
from ..inputs.names import named
from . import dates
from .accounts import path_to, talk_of, versions_of
from .conversation import NO_WORDS, Conversation, Talk, mappings, text_of_html, without_elements
from .source import Item, Source

# Open WebUI folds thinking and calls of tools into the text of an answer.
_FOLDED = re.compile(r"<details\b[^<>]*type=\"(?:reasoning|code_interpreter)\"")
_FOLDED_END = re.compile(r"</details>\s*")
_PROMPTED = re.compile(r"(?:Prompted|Said|Asked)\s+", re.IGNORECASE)
# A first word is the program's only if at least this many titles begin with it.
_ENOUGH_TITLES = 3


def is_grok(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an export of Grok, or one of its conversations."""
    if isinstance(value.get("responses"), list) and isinstance(value.get("conversation"), Mapping):
        return True
    return any("responses" in one for one in mappings(value.get("conversations")))


# Grok's marks of citations and cards.
_CARD, _CARD_END = re.compile(r"<grok:render\b"), re.compile(r"</grok:render>")


def grok(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """The conversations of Grok's export."""
    for held in entry.get("conversations", [entry]):
        about = held.get("conversation") or {}
        date = about.get("create_time")
        talk = talk_of(about, ("id",), about.get("title"), _wrapped(date))
        for response in held.get("responses") or ():
            one = response.get("response") or response
            sender = str(one.get("sender") or "human").lower()
            talk.add(
                {
                    "role": "user" if sender in ("human", "user") else "assistant",
                    "content": without_elements(str(one.get("message") or ""), _CARD, _CARD_END),
                    "id": one.get("_id"),
                    "timestamp": _wrapped(one.get("create_time")),
                }
            )
        yield talk


def _wrapped(date: object) -> Any:
    """The date from MongoDB's form: milliseconds in objects."""
    while isinstance(date, Mapping) and date:
        date = date.get("$date", date.get("$numberLong"))
    if isinstance(date, str) and date.isdecimal():
        return int(date) / 1000
    return date / 1000 if isinstance(date, (int, float)) else date


def is_takeout(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an activity of Gemini in Google Takeout."""
    products = value.get("products")
    named_there = (value.get("header"), *(products if isinstance(products, list) else ()))
    return {"title", "time"} <= value.keys() and any(
        isinstance(one, str) and ("Gemini" in one or "Bard" in one) for one in named_there
    )


def takeout(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The questions to Gemini and its answers, which Takeout lists newest first."""
    activities = [item for item in items if isinstance(item.value, Mapping)]
    activities.sort(key=lambda item: str(item.value.get("time")))
    word = _common_word(item.value for item in activities if _answer(item.value))
    talk = Talk(source.name)
    for item in activities:
        title, when = str(item.value.get("title") or ""), item.value.get("time")
        answer = _answer(item.value)
        asked = _PROMPTED.match(title)
        rest = title[asked.end() :] if asked else _after(word, title)
        if not answer and rest is None:
            talk.leave("an activity without a question", item.line)
            continue
        question = title if rest is None else rest
        talk.add({"role": "user", "content": question, "timestamp": when}, item.line)
        if answer:
            talk.add({"role": "assistant", "content": answer, "timestamp": when}, item.line)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()


def _common_word(activities: Iterable[Mapping[str, Any]]) -> str | None:
    """The word before each question, which depends on the language of the account."""
    firsts = Counter(str(one.get("title") or "").partition(" ")[0] for one in activities)
    for word, count in firsts.most_common(1):
        if word and count >= _ENOUGH_TITLES and count == firsts.total():
            return word
    return None


def _after(word: str | None, title: str) -> str | None:
    """The rest of a title that begins with a word; ``None``: it does not."""
    if word is None or not title.startswith(word):
        return None
    rest = title[len(word) :]
    return rest.lstrip() if rest[:1].isspace() else None


def _answer(activity: Mapping[str, Any]) -> str:
    held = activity.get("safeHtmlItem")
    texts = (one.get("html") for one in held or () if isinstance(one, Mapping))
    return "\n".join(text_of_html(text).strip() for text in texts if isinstance(text, str))


def is_open_webui(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a chat of Open WebUI."""
    chat = value.get("chat")
    held = chat if isinstance(chat, Mapping) else value
    return isinstance(held.get("history"), Mapping) and isinstance(
        held["history"].get("messages"), Mapping
    )


def open_webui(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A chat of Open WebUI."""
    chat = entry["chat"] if isinstance(entry.get("chat"), Mapping) else entry
    history = chat["history"]
    title = entry.get("title") or chat.get("title")
    talk = talk_of(entry, ("id",), title, entry.get("created_at") or chat.get("timestamp"))
    nodes = {key: one for key, one in history["messages"].items() if isinstance(one, Mapping)}
    last = history.get("currentId")
    if last not in nodes:
        last = max(nodes, key=lambda key: nodes[key].get("timestamp") or 0, default=None)
    shown_last = path_to(last, nodes, "parentId")
    for message in shown_last:
        content = message.get("content")
        if isinstance(content, str):
            content = without_elements(content, _FOLDED, _FOLDED_END)
        _add(talk, message, content, str(message.get("role") or "user"))
    told = ((key, one.get("parentId"), one.get("role")) for key, one in nodes.items())
    talk.tell_versions(versions_of(told))
    talk.leave_branches(len(nodes) - len(shown_last))
    yield talk


def _add(talk: Talk, message: Mapping[str, Any], content: object, role: str) -> None:
    if isinstance(content, list):
        content = [one for one in content if not _is_thought(one)]
    said = text_of({"role": role, "content": content})[0] if content else None
    if not isinstance(said, str) or not said.strip():
        talk.leave(NO_WORDS)
        return
    when = named(message, "timestamp")
    own = message.get("messageId") or message.get("id")
    talk.add({"role": role, "content": said, "id": own, "timestamp": when})


def _is_thought(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "think"


def is_librechat(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation of LibreChat."""
    held = value.get("messages", value.get("messagesTree"))
    return "conversationId" in value and isinstance(held, list)


def librechat(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation of LibreChat: a tree of messages, or a list."""
    title = entry.get("title")
    talk = talk_of(entry, ("conversationId",), title, entry.get("createdAt"))
    held = entry.get("messages") or entry.get("messagesTree") or []
    shown_last = _shown(held)
    for message in shown_last:
        is_user = message.get("isCreatedByUser", str(message.get("sender")).lower() == "user")
        parts = message.get("content")
        content = message.get("text") or parts
        _add(talk, message, content, "user" if is_user else "assistant")
    nodes = list(_all(held))
    told = (
        (one.get("messageId"), one.get("parentMessageId"), one.get("isCreatedByUser"))
        for one in nodes
    )
    talk.tell_versions(versions_of(told))
    talk.leave_branches(len(nodes) - len(shown_last))
    yield talk


def _all(messages: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for one in messages:
        yield one
        yield from _all(one.get("children") or [])


def _shown(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last branch of a tree, or of a list whose messages name their parents."""
    if any(one.get("children") for one in messages):
        path, level = [], messages
        while level:
            path.append(level[-1])
            level = level[-1].get("children") or []
        return path
    nodes = {one.get("messageId"): one for one in messages}
    parents = [one.get("parentMessageId") for one in messages]
    if len(messages) > 1 and len(set(parents)) < len(parents) and all(parents):
        return path_to(messages[-1].get("messageId"), nodes, "parentMessageId")
    return messages


def is_copilot(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a chat with Copilot in VS Code."""
    held = value.get("requests")
    return isinstance(held, list) and ("responderUsername" in value or "requesterUsername" in value)


def copilot(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A chat of Copilot, as VS Code exports it."""
    talk = talk_of(entry, ("sessionId",), entry.get("customTitle"), entry.get("creationDate"))
    for request in entry["requests"]:
        when = request.get("timestamp")
        about = {"timestamp": when / 1000 if isinstance(when, (int, float)) else when}
        own = request.get("requestId")
        asked = request.get("message")
        words = asked.get("text") if isinstance(asked, Mapping) else asked
        talk.add({"role": "user", "content": words or "", "id": own, **about})
        said = [_of_copilot(part) for part in request.get("response") or ()]
        answer = "".join(said).strip()
        talk.add({"role": "assistant", "content": answer, "id": own and f"{own}-1", **about})
    yield talk


def _of_copilot(part: object) -> str:
    """The words in a part of an answer; files and steps shown there are not words."""
    if not isinstance(part, Mapping) or part.get("kind") not in (None, "markdownContent"):
        return ""
    held = part.get("value", part.get("content"))
    if isinstance(held, Mapping):
        held = held.get("value")
    return held if isinstance(held, str) else ""


def is_roleplay(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a line of a SillyTavern chat."""
    return ("mes" in value and "is_user" in value) or "character_name" in value


def roleplay(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """A chat of SillyTavern: a head, then one message per line."""
    talk = Talk(source.name)
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        if "mes" not in value:
            talk.leave("the head of the file", item.line)
            continue
        role = "user" if value.get("is_user") else "assistant"
        role = "system" if value.get("is_system") else role
        date = {"timestamp": dates.moment(value.get("send_date")) or value.get("send_date")}
        said = {"name": value.get("name"), "content": str(value.get("mes") or "")}
        talk.add({"role": role, **said, **date}, item.line)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()
