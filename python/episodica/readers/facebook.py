"""Chats of Facebook Messenger and Instagram, which list the newest message first.

Among the messages of people stand notices under their names; these are left out and listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .conversation import CALL, DELETED, NO_CAPTION, NOTICE, Talk, mappings
from .messengers import SAMPLE, say
from .source import Source


def is_messenger(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a chat from Messenger or Instagram."""
    marks = {"sender_name", "timestamp_ms", "senderName"}
    said = mappings(value.get("messages"), SAMPLE)
    return "participants" in value and any(one.keys() & marks for one in said)


_SENT = re.compile(
    r"(?:.{1,60} )?sent (?:an attachment|a (?:photo|video|voice message|gif|link|sticker))\.?",
    re.IGNORECASE,
)
_NOTICES = ("Subscribe", "Unsubscribe", "placeholder")
_REACTION = re.compile(r"(?:Reacted .{1,20} to your message|Liked a message)\s*", re.IGNORECASE)
# Texts that Messenger writes without the name of the person.
_OWN_WORDS = re.compile(
    r"You are now connected on Messenger|Say hi to your new Facebook friend, .{1,80}"
    r"|You can now (?:message and )?call each other\b.{0,120}"
    r"|(?:The )?(?:audio|video|voice|group) (?:call|chat) ended|This poll is no longer available"
    r"|.{1,60} is now connected on Messenger",
    re.IGNORECASE,
)
# Texts that it writes about a person, in English also after "You".
_DID = re.compile(
    r" (?:(?:named|left|joined) the group\b.{0,300}\.|created (?:the group\.|a poll: .{1,300})"
    r"|(?:joined|started|left) (?:the|an?) (?:audio |video |voice |group )?(?:call|chat)\."
    r"|missed (?:your|an?) (?:audio |video |voice |group )?(?:call|chat)(?: from .{1,80})?\."
    r"|set the (?:nickname|emoji|quick reaction)\b.{0,300}\."
    r"|set (?:your|his|her|their|its) (?:own )?nickname\b.{0,300}\."
    r"|(?:cleared|removed) the (?:nickname|emoji|group photo|group name)\b.{0,300}\."
    r"|changed the (?:theme|group photo|chat \w{1,20}|group name)\b.{0,300}\."
    r"|(?:added|removed) .{1,200} (?:to|from) the group\."
    r"|(?:voted for|removed vote for|changed \w{3,5} vote to) \".{1,400})",
    re.IGNORECASE,
)
_ENDS = (".", "\u3002", "\uff0e", "\u0964")
# "Will do." may be said by Will.
_LEAST_WORDS = 4


def messenger(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A chat of Messenger or Instagram."""
    name = _mended(str(entry.get("title") or entry.get("threadName") or source.stem))
    own = str(entry.get("thread_path") or entry.get("threadName") or name)
    talk = Talk(name, own, session=name)
    said = [one for one in entry["messages"] if isinstance(one, Mapping)]
    told = [_told(one) for one in said]
    spoken = {sender for sender, text in told if _begins_with_own_word(sender, text)}
    is_mended = any(_mended(part) != part for one in map(_written, said) for part in one)
    for message in sorted(said, key=_sent_at):
        sender, text = _told(message)
        if message.get("type") == "Call" or "call_duration" in message:
            talk.leave(CALL)
        elif message.get("is_unsent") or message.get("isUnsent"):
            talk.leave(DELETED)
        elif message.get("type") in _NOTICES or _REACTION.fullmatch(text):
            talk.leave(NOTICE)
        elif _SENT.fullmatch(text):
            talk.leave(NO_CAPTION)
        elif _is_notice(sender, text, sender in spoken):
            talk.leave(NOTICE)
        else:
            say(talk, talk.speaker(sender), text, _sent_at(message) or None, None)
    if is_mended:
        talk.note("letters that the export has broken into bytes were put together")
    yield talk


def _written(message: Mapping[str, Any]) -> tuple[str, str]:
    """Who is named as the sender, and the text, as the file has them."""
    sender = str(message.get("sender_name") or message.get("senderName") or "")
    return sender, str(message.get("content") or message.get("text") or "")


def _told(message: Mapping[str, Any]) -> tuple[str, str]:
    sender, text = _written(message)
    return _mended(sender), _mended(text)


def _begins_with_own_word(sender: str, text: str) -> bool:
    """Whether a person's own text begins with the sender's first name: it is a word, too."""
    first = sender.partition(" ")[0]
    return (
        bool(first)
        and text.startswith(f"{first} ")
        and not text.rstrip().endswith(_ENDS)
        and not _DID.fullmatch(text, len(first))
        and not _SENT.fullmatch(text)
    )


def _is_notice(sender: str, text: str, is_word: bool) -> bool:
    """Whether Messenger wrote a text: of its sender by name, in whatever language.

    ``is_word``: the sender begins other messages with the first name, as Will may.
    """
    text = text.strip()
    if _OWN_WORDS.fullmatch(text.rstrip(".")):
        return True
    first = sender.partition(" ")[0]
    for name in ("You", sender, first):
        if not name.strip() or not text.startswith(f"{name} "):
            continue
        if _DID.fullmatch(text, len(name)):
            return True
        is_sentence = name != "You" and "\n" not in text and text.endswith(_ENDS)
        is_long = len(text.split()) >= _LEAST_WORDS or not text.isascii()
        if is_sentence and (name != first or (is_long and not is_word)):
            return True
    return False


def _sent_at(message: Mapping[str, Any]) -> float:
    given = message.get("timestamp_ms") or message.get("timestamp")
    return given / 1000 if isinstance(given, (int, float)) else 0.0


def _mended(text: str) -> str:
    """The text, repaired if each byte of it was written as a letter."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text
