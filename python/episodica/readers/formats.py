"""The formats that can be read, each recognised by its content."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import (
    accounts,
    agents,
    aider,
    assistants,
    benchmarks,
    claude_code,
    codex,
    copies,
    databases,
    facebook,
    facts,
    gemini_cli,
    logs,
    mail,
    messengers,
    tables,
    texts,
    transcript,
)
from .conversation import Conversation, LeftOut, Talk
from .finish import finished
from .source import Item, Source, is_document

# The first characters, and the first values of JSON, by which a format is recognised.
_HEAD = 1 << 16
_SAMPLE = 40
# How JSON begins: with an object, which is no name in braces, or with a list of lists or texts.
# Text broken in its first line is still JSON if it holds an object or a text.
_OBJECT = re.compile(r"[\s\[]*\{(?![^{}\[\]:\"',\n]+\})")
_LIST = re.compile(r"\[\s*[\[\"]")
_HOLDS_VALUES = re.compile(r"[\s\[]*[{\"]")
EXPORT = "episodica-export"
# Endings of files that may hold a chat, in archives and folders.
_READABLE = frozenset(
    ("", ".csv", ".eml", ".json", ".jsonl", ".log", ".markdown", ".mbox", ".md", ".ndjson", ".srt",
     ".tsv", ".txt", ".vtt")
)  # fmt: skip
_MOST_NAMED = 5
# The most keys that an error names.
_MOST_KEYS = 6
_MAPPED = (
    "tell which key is what: `--keys content=KEY,speaker=KEY,timestamp=KEY`, "
    'in Python `keys={"content": "KEY", …}`'
)

Value: TypeAlias = Mapping[str, Any]
_Read: TypeAlias = Callable[[Iterable[Item], Source], Iterator[Conversation]]


class UnknownFormatError(InvalidInputError):
    """The file has none of the formats."""


@dataclass(frozen=True, slots=True)
class _Json:
    """A format of JSON: how a value of it is recognised, and how all are read."""

    recognises: Callable[[Value], bool]
    read: _Read


@dataclass(frozen=True, slots=True)
class _Text:
    """A format of text: how it is recognised by its beginning, and how it is read."""

    recognises: Callable[[str], bool]
    read: Callable[[Source], Iterator[Conversation]]


def _each(convert: Callable[[Any, int, Source], Iterable[Talk | Conversation]]) -> _Read:
    """Reads entry by entry. Leaves out entries that break the format, and names them."""

    def read(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
        for number, item in enumerate(items):
            try:
                for made in convert(item.value, number, source):
                    talk = made.conversation() if isinstance(made, Talk) else made
                    if not (talk.messages or talk.left_out or talk.statements):
                        place = f"conversation {number} in line {item.line}"
                        left = (LeftOut(place, f"`{shown(talk.name)}` has no messages"),)
                        talk = replace(talk, left_out=left)
                    yield talk
            except KeyError as error:
                yield _broken(source, number, item, f"`{shown(error.args[0])}` is missing")
            except (TypeError, AttributeError, IndexError, ValueError) as error:
                why = error.message if isinstance(error, InvalidInputError) else _OTHER_FORM
                yield _broken(source, number, item, why)

    return read


_OTHER_FORM = "it has another form than this format"


def _broken(source: Source, number: int, item: Item, why: str) -> Conversation:
    place = f"conversation {number} in line {item.line}"
    return Conversation(source.name, None, [], left_out=(LeftOut(place, why, True, True),))


_JSON: dict[str, _Json] = {
    "locomo": _Json(benchmarks.is_locomo, _each(benchmarks.locomo)),
    "longmemeval": _Json(benchmarks.is_longmemeval, _each(benchmarks.longmemeval)),
    "claude-code": _Json(claude_code.is_claude_code, claude_code.claude_code),
    "qwen-code": _Json(gemini_cli.is_qwen_code, gemini_cli.qwen_code),
    "codex": _Json(codex.is_codex, codex.codex),
    "gemini-cli": _Json(gemini_cli.is_gemini_cli, gemini_cli.gemini_cli),
    "opencode": _Json(agents.is_opencode, _each(agents.opencode)),
    "copilot-cli": _Json(agents.is_copilot_cli, agents.copilot_cli),
    "kimi": _Json(agents.is_kimi, agents.kimi),
    "deepseek": _Json(accounts.is_deepseek, _each(accounts.deepseek)),
    "chatgpt": _Json(accounts.is_chatgpt, _each(accounts.chatgpt)),
    "claude": _Json(accounts.is_claude, _each(accounts.claude)),
    "grok": _Json(assistants.is_grok, _each(assistants.grok)),
    "gemini": _Json(assistants.is_takeout, assistants.takeout),
    "open-webui": _Json(assistants.is_open_webui, _each(assistants.open_webui)),
    "librechat": _Json(assistants.is_librechat, _each(assistants.librechat)),
    "copilot": _Json(assistants.is_copilot, _each(assistants.copilot)),
    "telegram": _Json(messengers.is_telegram, _each(messengers.telegram)),
    "slack": _Json(messengers.is_slack, messengers.slack),
    "discord": _Json(messengers.is_discord, messengers.discord),
    "messenger": _Json(facebook.is_messenger, _each(facebook.messenger)),
    "google-chat": _Json(messengers.is_google_chat, _each(messengers.google_chat)),
    "sharegpt": _Json(accounts.is_sharegpt, _each(accounts.sharegpt)),
    "mem0": _Json(facts.is_mem0, facts.mem0),
    "zep": _Json(facts.is_zep, facts.zep),
    "letta": _Json(facts.is_letta, _each(facts.letta)),
    "mcp-memory": _Json(facts.is_graph, facts.graph),
    "sillytavern": _Json(assistants.is_roleplay, assistants.roleplay),
    "messages": _Json(lambda value: logs.is_message(value) or logs.is_log(value), logs.messages),
}
_TEXT: dict[str, _Text] = {
    "aider": _Text(aider.is_aider, aider.aider),
    "subtitles": _Text(texts.is_subtitles, texts.subtitles),
    "email": _Text(mail.is_mail, mail.mail),
    "csv": _Text(tables.is_table, tables.table),
    # LINE puts messages of several lines between quotation marks.
    "line": _Text(*texts.of_lines(texts.line, is_quoted=True)),
    "kakaotalk": _Text(*texts.of_lines(texts.kakaotalk)),
    "irc": _Text(*texts.of_lines(texts.irc)),
    "zoom": _Text(*texts.of_lines(texts.zoom)),
    "imessage": _Text(texts.is_imessage, texts.read_imessage),
    "copied": _Text(copies.is_copied, copies.copied),
    "whatsapp": _Text(transcript.is_messenger, transcript.messenger),
    "text": _Text(transcript.is_transcript, transcript.transcript),
}
# Formats of whole archives and folders; each function gives `None` for other archives and folders.
_BUNDLES: dict[str, Callable[[Source], Iterator[Conversation] | None]] = {
    "slack": messengers.slack_archive,
    "discord": messengers.discord_package,
    "opencode": agents.opencode_folder,
}
FORMATS = tuple(dict.fromkeys((*_JSON, *_TEXT, *_BUNDLES)))
"""Names of the formats."""

EXPECTED = (
    "readable are chats as messengers, assistants and coding agents export them, JSON, CSV, "
    "and text with `Name:` on each line"
)


def read_conversations(
    path: str | os.PathLike[str], format: str | None = None
) -> list[Conversation]:
    """Reads a file; see :func:`iter_conversations`."""
    return list(iter_conversations(path, format))


def iter_conversations(
    path: str | os.PathLike[str] | Source, format: str | None = None
) -> Iterator[Conversation]:
    """Reads a file, conversation by conversation; ``-`` is standard input.

    A path leads to a file, a ZIP archive or a folder of such files. The errors of what can't be
    read have ``path`` and ``line``.
    """
    if format is not None and format not in FORMATS:
        raise InvalidInputError(
            f"format is unknown: `{shown(format)}`", hint=nearest_hint(format, FORMATS)
        )
    source = path if isinstance(path, Source) else Source(path)
    try:
        with nullcontext() if source.is_open else source:
            found = _bundle(source, format) if source.members is not None else _file(source, format)
            yield from _with_content(found)
    except InvalidInputError as error:
        raise in_file(error, source) from error.__cause__


def in_file(error: InvalidInputError, source: Source) -> InvalidInputError:
    """The error with the file's name, and the line number unless the text has it."""
    if error.path:
        return error
    place = f"`{source.path}`" if not source.is_stdin else source.name
    says_line = error.line is None or f"line {error.line}" in error.message
    where = place if says_line else f"line {error.line} of {place}"
    joint = ":" if error.message.startswith("the file ") else " in"
    return InvalidInputError(
        f"{error.message}{joint} {where}", hint=error.hint, path=str(source.path), line=error.line
    )


def _with_content(conversations: Iterable[Conversation]) -> Iterator[Conversation]:
    """The conversations; an error if the file gave none and some of it was not understood."""
    waiting: list[Conversation] = []
    is_read = False
    for conversation in conversations:
        if not is_read and conversation.is_empty:
            waiting.append(conversation)
            continue
        is_read = True
        yield from waiting
        waiting = []
        yield conversation
    faults = (left for one in waiting for left in one.left_out if left.is_fault)
    if (fault := next(faults, None)) is not None:
        raise InvalidInputError(f"{fault.place}: {fault.why}", hint=EXPECTED, line=fault.line)
    yield from waiting


def _file(source: Source, format: str | None) -> Iterator[Conversation]:
    try:
        yield from finished(_read(source, format), source.date, source.zone)
    except UnicodeDecodeError as error:
        raise source.not_utf8() from error
    yield from _named(source.left_out, source)


def _bundle(source: Source, format: str | None) -> Iterator[Conversation]:
    """The files of an archive or a folder, each by its own format unless they belong together."""
    names = source.members or []
    for name, read in _BUNDLES.items():
        if format in (None, name) and (found := read(source)) is not None:
            yield from finished(found, source.date, source.zone)
            yield from _named(source.left_out, source)
            return
    others: Counter[str] = Counter()
    left = list(source.left_out)
    is_read = False
    for name in names:
        ending = PurePosixPath(name).suffix.lower()
        if ending not in _READABLE:
            others[ending] += 1
            continue
        try:
            with source.member(name) as member:
                for conversation in _file(member, format):
                    is_read = True
                    yield _in_member(conversation, name)
        except UnknownFormatError:
            left.append(LeftOut(name, "no chat that is known"))
        except InvalidInputError as error:
            left.append(LeftOut(name, error.message, is_fault=True))
    if not is_read and not any(one.is_fault for one in left):
        kind = "ZIP archive" if source.path.is_file() else "folder"
        held = ", ".join(f"`{shown(name)}`" for name in names[:_MOST_NAMED]) or "nothing"
        raise InvalidInputError(
            f"the {kind} holds no chat that is known, but {held}", hint=EXPECTED
        )
    left += [
        LeftOut(f"{count} file{'s' * (count > 1)} `{end}`", "no text")
        for end, count in others.items()
    ]
    yield from _named(left, source)


def _named(left: list[LeftOut], source: Source) -> Iterator[Conversation]:
    """A conversation that only names the parts left out, if there are any."""
    if left:
        yield Conversation(source.name, None, [], left_out=tuple(left))


def _in_member(conversation: Conversation, name: str) -> Conversation:
    left = tuple(replace(one, place=f"{name}, {one.place}") for one in conversation.left_out)
    notes = tuple(f"{name}, {one}" for one in conversation.notes)
    return replace(conversation, left_out=left, notes=notes, file=name)


def _read(source: Source, format: str | None) -> Iterator[Conversation]:
    if (database := databases.named(source)) is not None:
        raise UnknownFormatError(database.what, hint=database.remedy)
    head = _head(source)
    if not head.strip():
        raise UnknownFormatError("the file is empty")
    is_mapped = bool(source.keys) and tables.is_table(head, source.keys)
    chosen = format or ("csv" if is_mapped else _text_format(head))
    if chosen in _TEXT:
        yield from _TEXT[chosen].read(source)
        return
    items = source.items()
    try:
        sample = list(islice(items, 1))
    except InvalidInputError as error:
        raise InvalidInputError(error.message, hint=EXPECTED, line=error.line) from error.__cause__
    if not sample:
        raise UnknownFormatError("the file holds no conversation", hint=EXPECTED)
    name = format if format in _JSON else _recognised(sample[0].value)
    while name is None and len(sample) < _SAMPLE and (item := next(items, None)) is not None:
        sample.append(item)
        name = _recognised(item.value)
    if name is None:
        raise _unknown(sample[0].value)
    try:
        yield from _JSON[name].read(chain(sample, items), source)
    except (InvalidInputError, UnicodeDecodeError):
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise InvalidInputError(f"the file breaks the form of `{name}`") from error


def _head(source: Source) -> str:
    """The first characters. Only letters name the encoding of their text themselves."""
    head = source.head(_HEAD)
    return head if mail.is_mail(head) else source.text().read(_HEAD)


def _text_format(head: str) -> str:
    """The name of a format of text; ``json`` for what begins like JSON."""
    start = head.lstrip("\ufeff \t\r\n")
    if _is_json(start):
        return "json"
    for name, one in _TEXT.items():
        if one.recognises(head):
            return name
    is_whole = len(head) < _HEAD and start[:1] == "[" and is_document(head)
    if is_whole or _HOLDS_VALUES.match(start):
        return "json"
    line = start.partition("\n")[0].rstrip()
    number = head[: len(head) - len(start)].count("\n") + 1
    hint = f"a table has a column `content` and one of `name` or `role`; {EXPECTED}"
    if tables.may_be_table(line):
        hint = f"a table has a column `content` and one of `name` or `role`; {_MAPPED}"
    raise UnknownFormatError(
        f"line {number} is not understood: `{shown(line)}`", hint=hint, line=number
    )


def _is_json(start: str) -> bool:
    """Whether a text begins like JSON, and not with a name or a date in brackets or braces."""
    if _OBJECT.match(start):
        return True
    if not _LIST.match(start):
        return False
    line = start.partition("\n")[0]
    try:
        _, end = json.JSONDecoder().raw_decode(start)
    except json.JSONDecodeError as error:
        return error.pos > len(line)
    except (ValueError, RecursionError):
        return True
    return not line[end:].strip()


def _recognised(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    if value.get("format") == EXPORT:
        raise InvalidInputError(
            "the file is an export of episodica", hint="`episodica import` reads it"
        )
    return next((name for name, one in _JSON.items() if one.recognises(value)), None)


def _unknown(first: object) -> UnknownFormatError:
    if not isinstance(first, Mapping):
        text = f"a list that begins with `{shown(first)}` is not a conversation"
        return UnknownFormatError(text, hint=EXPECTED)
    text = f"an object with the keys {_keys_of(first)} is not a conversation"
    lists = ((key, one[0]) for key, one in first.items() if isinstance(one, list) and one)
    key, inner = next(((key, one) for key, one in lists if isinstance(one, Mapping)), ("", {}))
    if inner:
        text += f"; the list `{shown(key)}` has objects with the keys {_keys_of(inner)}"
    return UnknownFormatError(text, hint=_MAPPED if first else EXPECTED)


def _keys_of(one: Mapping[Any, Any]) -> str:
    return ", ".join(f"`{shown(key)}`" for key in list(one)[:_MOST_KEYS]) or "(none)"
