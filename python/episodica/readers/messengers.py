"""Chats of messengers that export JSON: Telegram, Slack, Discord, Google Chat.

People are ``user`` under their names, programs are ``assistant``. Notices of the messenger, and
photos and files without words, are left out and listed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..dates import by_local_clock, rfc3339
from ..errors import InvalidInputError
from ..inputs.names import role_of_speaker
from . import dates
from .conversation import (
    CALL,
    CONTACT,
    DELETED,
    NO_CAPTION,
    NOTICE,
    PLACE,
    POLL,
    UNDATED,
    Conversation,
    LeftOut,
    Talk,
    mappings,
)
from .source import Item, Source
from .tables import rows

# The first messages, by which a chat is recognised.
SAMPLE = 20


def say(
    talk: Talk,
    name: object,
    text: str,
    when: object,
    own: object,
    *,
    is_bot: bool = False,
    edited: object = None,
) -> None:
    """Adds a message; ``edited`` is the time of its words where the messenger knows it."""
    speaker = name if isinstance(name, str) and name.strip() else None
    role = "assistant" if is_bot else role_of_speaker(speaker or "")
    if not text.strip():
        talk.leave(NO_CAPTION)
        return
    moment = _moment(when)
    if moment is None:
        talk.note(f"{talk.place()}: {UNDATED}")
    message = {"role": role, "name": speaker, "content": text, "timestamp": moment, "id": own}
    if edited is not None and moment is not None:
        message["edited_at"] = _moment(edited) or moment
    talk.add(message)


def _moment(given: object) -> Any:
    """A time as a date or as seconds since 1970; ``None`` for other values, such as 0."""
    if isinstance(given, str):
        with suppress(ValueError):
            given = float(given)
    if isinstance(given, bool) or (
        isinstance(given, (int, float)) and not given > dates.FIRST_SECOND
    ):
        return None
    try:
        read = rfc3339(given, "`timestamp`")
    except InvalidInputError:
        return None
    return given if read >= dates.FIRST_YEAR else None


def is_telegram(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a chat from Telegram's ``result.json``, or the whole file."""
    chats, messages = value.get("chats"), value.get("messages")
    if isinstance(chats, Mapping) and isinstance(chats.get("list"), list):
        return True
    marks = {"date_unixtime", "from_id", "text_entities"}
    return any(one.keys() & marks for one in mappings(messages, SAMPLE))


def telegram(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """The chats of Telegram's export."""
    held = [
        one
        for key in ("chats", "left_chats")
        if isinstance(entry.get(key), Mapping)
        for one in entry[key].get("list") or ()
    ]
    owner = _owner_of_telegram(entry, held)
    for chat in held or [entry]:
        own = chat.get("id")
        name = str(chat.get("name") or chat.get("type") or own or source.stem)
        talk = Talk(name, f"telegram {own}" if own else None, session=name)
        for message in chat.get("messages") or ():
            _of_telegram(talk, message)
        talk.owner = owner
        yield talk


def _owner_of_telegram(entry: Mapping[str, Any], chats: Iterable[Any]) -> str | None:
    """The name of the account, as its messages have it, else as its own page has it."""
    about = entry.get("personal_information")
    if not isinstance(about, Mapping):
        return None
    own = f"user{about.get('user_id')}"
    for chat in mappings(list(chats)):
        for message in mappings(chat.get("messages")):
            if message.get("from_id") == own and isinstance(message.get("from"), str):
                return str(message["from"])
    names = [about.get(key) for key in ("first_name", "last_name")]
    return " ".join(one for one in names if isinstance(one, str) and one.strip()) or None


# What Telegram notes instead of words, by the key of a message.
_INSTEAD_OF_WORDS = {"poll": POLL, "location_information": PLACE, "contact_information": CONTACT}


def _of_telegram(talk: Talk, message: object) -> None:
    if not isinstance(message, Mapping):
        talk.leave("no message", is_unknown=True)
        return
    if message.get("type") != "message":
        called = str(message.get("action") or "").endswith("call")
        talk.leave(CALL if called else NOTICE)
        return
    when = _by_two_clocks(message, "date", "date_unixtime")
    edited = _by_two_clocks(message, "edited", "edited_unixtime") or when
    text = _text_of_telegram(message.get("text"))
    instead = next((why for key, why in _INSTEAD_OF_WORDS.items() if message.get(key)), None)
    if instead is not None and not text.strip():
        talk.leave(instead)
        return
    if "forwarded_from" in message:
        text = _forwarded(text, message.get("forwarded_from"))
    name = talk.speaker(message.get("from"), own=message.get("from_id"))
    say(talk, name, text, when, message.get("id"), edited=edited)


def _by_two_clocks(message: Mapping[str, Any], local: str, instant: str) -> Any:
    """The instant by the clock of the phone that made the export, which writes both."""
    here, moment = message.get(local), _moment(message.get(instant))
    return (by_local_clock(here, moment) or moment) if moment else here


def _forwarded(text: str, author: object) -> str:
    """Forwarded words and their head, marked as a quotation: they are not the sender's own."""
    if not text.strip():
        return text
    head = [f"Forwarded from {' '.join(author.split())}:"] if isinstance(author, str) else []
    return "\n".join(f"> {line}" for line in [*head, *text.splitlines()])


def _text_of_telegram(text: object) -> str:
    if isinstance(text, str):
        return text
    said = ""
    for one in text if isinstance(text, list) else []:
        words = one.get("text") if isinstance(one, Mapping) else one
        if not isinstance(words, str):
            continue
        if isinstance(one, Mapping) and str(one.get("type")).endswith("blockquote"):
            said = said.rstrip("\n") + "\n" * bool(said.strip())
            said += "\n".join(f"> {line}" for line in words.splitlines()) + "\n"
        else:
            said += words.lstrip("\n") if said.endswith("\n") else words
    return said


def is_slack(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a message from Slack."""
    return (
        value.get("type") == "message"
        and "ts" in value
        and bool(value.keys() & {"user", "bot_id", "subtype", "user_profile", "client_msg_id"})
    )


def slack(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The messages of one file of Slack's export, which has the messages of one day."""
    talk = Talk(source.name)
    values = [item.value for item in items]
    _slack_day(talk, values, _people(values))
    yield talk.conversation()


# Messages of Slack of these kinds are from people or programs, not notices.
_SAID_IN_SLACK = (
    *(None, "bot_message", "file_share", "file_comment", "me_message", "thread_broadcast"),
    *("reply_broadcast", "assistant_app_thread"),
)
_NOT_SAID_IN_SLACK = {
    **dict.fromkeys(("huddle_thread", "sh_room_created", "sh_room_shared"), CALL),
    **dict.fromkeys(("tombstone", "message_deleted"), DELETED),
}
_MENTION = re.compile(r"<@(\w+)(?:\|([^<>]*))?>")
_CALLED = re.compile(r"<!(here|channel|everyone)(?:\|[^<>]*)?>")
_LINK = re.compile(r"<([#!]?[^<>|]*)\|([^<>]*)>|<((?:https?|mailto)[^<>]*)>")


def _slack_day(talk: Talk, messages: Iterable[Any], people: Mapping[str, str]) -> None:
    for message in messages:
        if not isinstance(message, Mapping):
            talk.leave("no message", is_unknown=True)
            continue
        kind, inner = message.get("subtype"), message.get("message")
        if kind == "message_changed" and isinstance(inner, Mapping):
            message = {**inner, "edited": inner.get("edited") or {"ts": message.get("ts")}}
            kind = inner.get("subtype")
        if kind not in _SAID_IN_SLACK:
            talk.leave(_NOT_SAID_IN_SLACK.get(str(kind), NOTICE))
            continue
        is_bot = message.get("subtype") == "bot_message" or (
            "bot_id" in message and "user" not in message
        )
        name = people.get(str(message.get("user"))) or message.get("username")
        said = str(message.get("text") or "") or "\n".join(_of_blocks(message.get("blocks")))
        attached = "" if said else _attached(message.get("attachments"))
        # A program speaks in attachments; a person shows there what another wrote.
        said = said or (attached if is_bot else _forwarded(attached, None))
        text = _text_of_slack(said, people)
        speaker = name if is_bot else talk.speaker(name, message.get("user"))
        when = message.get("ts")
        edit = message.get("edited")
        edited = edit.get("ts") if isinstance(edit, Mapping) else when
        say(talk, speaker, text, when, when, is_bot=is_bot, edited=edited)


def _of_blocks(blocks: Any) -> Iterator[str]:
    for block in mappings(blocks):
        inner, text = block.get("elements"), block.get("text")
        if isinstance(inner, list) and block.get("type") in _IN_LINE:
            yield "".join(map(_piece_of_slack, inner))
        elif isinstance(inner, list):
            yield from _of_blocks(inner)
        elif isinstance(text, Mapping):
            yield str(text.get("text") or "")


_IN_LINE = ("rich_text_section", "rich_text_quote", "rich_text_preformatted")


def _piece_of_slack(piece: Any) -> str:
    kind = piece.get("type") if isinstance(piece, Mapping) else None
    if kind == "user":
        return f"<@{piece.get('user_id')}>"
    if kind == "emoji":
        return f":{piece.get('name')}:"
    if kind == "link":
        return f"<{piece.get('url')}|{piece.get('text') or piece.get('url')}>"
    return str(piece.get("text") or "") if kind else ""


def _attached(attachments: Any) -> str:
    """The words of attachments: a program's own, or what a person shares."""
    found = [each for each in attachments or () if isinstance(each, Mapping)]
    texts = (each.get("text") or each.get("fallback") or each.get("title") for each in found)
    return "\n".join(str(text) for text in texts if text)


def _text_of_slack(text: str, people: Mapping[str, str]) -> str:
    """The text with names in place of ids, links with their titles."""
    text = _CALLED.sub(r"@\1", text)
    text = _MENTION.sub(lambda one: "@" + people.get(one[1], one[2] or one[1]), text)
    text = _LINK.sub(lambda one: one[3] or _shown_link(one[1], one[2]), text)
    return html.unescape(text)


def _shown_link(target: str, label: str) -> str:
    if target.startswith(("#", "!")):
        return ("#" if target.startswith("#") else "") + label
    return label if target == label or target.endswith(label) else f"{label} ({target})"


def _people(values: Iterable[Any]) -> dict[str, str]:
    """Names by id, from a list of users or the profiles in messages."""
    found = {}
    for one in values:
        if not isinstance(one, Mapping):
            continue
        profile = one.get("profile") or one.get("user_profile")
        profile = profile if isinstance(profile, Mapping) else {}
        keys = ("real_name", "display_name", "name")
        names = [*(profile.get(key) for key in keys), *(one.get(key) for key in keys)]
        name = next((name for name in names if isinstance(name, str) and name), None)
        own = one.get("user") if "user_profile" in one else one.get("id")
        if name and isinstance(own, str):
            found[own] = name
    return found


_SLACK_DAY = re.compile(r"(?:^|/)([^/]+)/\d{4}-\d{2}-\d{2}\.json$")


def slack_archive(source: Source) -> Iterator[Conversation] | None:
    """A workspace of Slack: a folder for each channel, a file for each day."""
    days: dict[str, list[str]] = {}
    others = []
    for name in source.members or ():
        found = _SLACK_DAY.search(name)
        if found:
            days.setdefault(found[1], []).append(name)
        else:
            others.append(name)
    users = next((one for one in others if one.rpartition("/")[2] == "users.json"), None)
    if not days or users is None:
        return None
    return _workspace(source, days, users, [one for one in others if one != users])


def _workspace(
    source: Source, days: Mapping[str, list[str]], users: str, others: list[str]
) -> Iterator[Conversation]:
    people = _people(source.values(users))
    for channel, files in days.items():
        talk = Talk(channel, channel, session=channel)
        for name in files:
            values = source.values(name)
            _slack_day(talk, values, {**_people(values), **people})
        yield talk.conversation()
    left = tuple(LeftOut(name, "no chat that is known") for name in others)
    yield Conversation(source.name, None, [], left_out=left)


def is_discord(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a channel of DiscordChatExporter, or a message of a data package."""
    if isinstance(value.get("channel"), Mapping) and isinstance(value.get("messages"), list):
        return True
    return {"ID", "Timestamp", "Contents"} <= value.keys()


# Messages of Discord of these kinds have words of an author: 20 and 23 are answers of programs.
_SAID_IN_DISCORD = ("Default", "Reply", "20", "23", 0, 19, 20, 23, None)


def _text_of_discord(message: Mapping[str, Any], is_bot: bool) -> str:
    """The content; if empty, that of the forwarded message or of a program's embeds.

    Embeds of a person's message are previews of pages.
    """
    if message.get("content"):
        return str(message["content"])
    forwarded = message.get("forwardedMessage")
    if isinstance(forwarded, Mapping) and forwarded.get("content"):
        return _forwarded(str(forwarded["content"]), None)
    embeds = mappings(message.get("embeds")) if is_bot else []
    texts = (each.get(part) for each in embeds for part in ("title", "description"))
    return "\n".join(str(text) for text in texts if text)


def discord(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """Channels of Discord, or the messages of one account in a channel."""
    own = Talk(source.name)
    for item in items:
        entry = item.value if isinstance(item.value, Mapping) else {}
        if not isinstance(entry.get("messages"), list):
            _of_package(own, entry, None)
            continue
        channel = entry.get("channel") or {}
        guild = entry.get("guild") or {}
        name = str(channel.get("name") or channel.get("id") or source.stem)
        talk = Talk(name, str(channel.get("id") or name), session=name, title=guild.get("name"))
        for message in entry["messages"]:
            if not isinstance(message, Mapping):
                talk.leave("no message", is_unknown=True)
                continue
            if message.get("type") not in _SAID_IN_DISCORD:
                talk.leave(CALL if message.get("type") in ("Call", 3) else NOTICE)
                continue
            author = message.get("author")
            author = author if isinstance(author, Mapping) else {}
            names = map(author.get, ("nickname", "global_name", "name", "username"))
            is_bot = bool(author.get("isBot") or author.get("bot"))
            text, when = _text_of_discord(message, is_bot), message.get("timestamp")
            edited = message.get("timestampEdited") or message.get("edited_timestamp") or when
            if not text.strip() and message.get("poll"):
                talk.leave(POLL)
                continue
            speaker = talk.speaker(*names, own=author.get("id"))
            say(talk, speaker, text, when, message.get("id"), is_bot=is_bot, edited=edited)
        yield talk.conversation()
    made = own.conversation()
    if made.messages or made.left_out:
        yield made


def _of_package(talk: Talk, message: Mapping[str, Any], name: str | None) -> None:
    text = str(message.get("Contents") or "")
    say(talk, name, text, dates.moment(message.get("Timestamp")), message.get("ID"))


_PACKAGE = re.compile(r"(?:^|/)c?\d{5,}/messages\.(?:json|csv)$")


def discord_package(source: Source) -> Iterator[Conversation] | None:
    """The data package of a Discord account: its own messages, channel by channel."""
    names = source.members or []
    files = [name for name in names if _PACKAGE.search(name)]
    channels = {f"{name.rpartition('/')[0]}/channel.json" for name in files}
    if not files or channels.isdisjoint(names):
        return None
    return _package(source, files, [one for one in names if one not in {*files, *channels}])


def _package(source: Source, files: list[str], others: list[str]) -> Iterator[Conversation]:
    account = next((one for one in others if one.endswith("account/user.json")), None)
    user: Any = next(iter(source.values(account)), None) if account else None
    name = user.get("global_name") or user.get("username") if isinstance(user, Mapping) else None
    for file in files:
        folder = file.rpartition("/")[0]
        about: Any = {}
        if f"{folder}/channel.json" in (source.members or ()):
            about = next(iter(source.values(f"{folder}/channel.json")), {})
        about = about if isinstance(about, Mapping) else {}
        own = str(about.get("id") or folder.rpartition("/")[2])
        title = str(about.get("name") or own)
        talk = Talk(title, own, session=title)
        messages = _rows(source, file) if file.endswith(".csv") else source.values(file)
        said = [one for one in messages if isinstance(one, Mapping)]
        for _ in range(len(messages) - len(said)):
            talk.leave("no message", is_fault=True)
        for message in sorted(said, key=lambda one: str(one.get("Timestamp"))):
            _of_package(talk, {"Contents": message.get("content"), **message}, name)
        yield talk.conversation()
    left = tuple(LeftOut(name, "no chat that is known") for name in others)
    yield Conversation(source.name, None, [], left_out=left)


def _rows(source: Source, name: str) -> list[dict[str, Any]]:
    """The rows of a table; other lines are left out and named."""
    found = source.take(name, rows)
    faults = [(why, line) for why, line in found if isinstance(why, str)]
    source.left_out += (LeftOut(f"{name}, line {line}", why, True) for why, line in faults)
    return [row for row, _ in found if isinstance(row, dict)]


def is_google_chat(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation from Google Chat."""
    said = mappings(value.get("messages"), SAMPLE)
    return any(isinstance(one.get("creator"), Mapping) for one in said)


def google_chat(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation of Google Chat, as Takeout has it."""
    talk = Talk(source.name)
    for message in entry["messages"]:
        if not isinstance(message, Mapping):
            talk.leave("no message", is_unknown=True)
            continue
        if message.get("message_state") == "DELETED" or message.get("deletion_metadata"):
            talk.leave(DELETED)
            continue
        creator = message.get("creator")
        creator = creator if isinstance(creator, Mapping) else {}
        is_bot = str(creator.get("user_type") or "").lower() == "bot"
        when = dates.moment(message.get("created_date"))
        text = str(message.get("text") or "")
        own = message.get("message_id")
        names = map(creator.get, ("name", "email"))
        name = talk.speaker(*names, own=str(creator.get("resource_name") or ""))
        say(talk, name, text, when, own, is_bot=is_bot)
    yield talk
