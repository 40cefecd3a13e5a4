"""E-mail: an mbox file with many messages, or a single message with its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr

from .conversation import NO_WORDS, Conversation, Talk, text_of_html
from .source import Source

_BEGINS = re.compile(rb"From \S++.*\d{4}")
_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*:\s.*|\s+.*)")
_NEEDED = ("from:", "date:")
# No program writes longer ones; a letter is not refused for a subject.
_LONGEST_SUBJECT = 200
_LONGEST_ID = 998
_REPLY = re.compile(
    r"\s*(?:re|fwd?|aw|wg|tr|rv|sv|vs|antw|回复|答复|転送)\s*[:\uff1a]\s*", re.IGNORECASE
)
# The line above a quotation, in whatever language: it ends with a colon and names a writer.
_QUOTES = re.compile(r".{3,200}[:\uff1a]\s*$")


def is_mail(head: str) -> bool:
    """Whether the text is an mbox or a letter."""
    lines = head.lstrip("\ufeff\r\n").splitlines()
    if lines and _BEGINS.match(lines[0].encode("utf-8", "replace")):
        lines = lines[1:]
    top = []
    for line in lines:
        if not line.strip():
            break
        if not _HEADER.fullmatch(line):
            return False
        top.append(line.lower())
    return all(any(one.startswith(key) for one in top) for key in _NEEDED)


def mail(source: Source) -> Iterator[Conversation]:
    """The e-mails without quotations; each thread is a session."""
    talk = Talk(source.name)
    for line, data in _letters(source):
        letter = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
        _add(talk, letter, line)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()


def _letters(source: Source) -> Iterator[tuple[int, bytes]]:
    held: list[bytes] = []
    begun, is_free = 1, True
    for number, line in enumerate(source.bytes(), 1):
        if is_free and _BEGINS.match(line):
            if held:
                yield begun, b"".join(held)
            held, begun = [], number
            continue
        held.append(line[1:] if re.match(rb">+From ", line) else line)
        is_free = not line.strip()
    if held:
        yield begun, b"".join(held)


def _add(talk: Talk, letter: EmailMessage, line: int) -> None:
    try:
        name, address = parseaddr(str(letter["From"] or ""))
        subject = str(letter["Subject"] or "")
        text, quoted = _own_words(_text(letter))
        when, own = letter["Date"], letter["Message-ID"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        talk.leave(f"a letter that is damaged: {type(error).__name__}", line, is_fault=True)
        return
    if not (name or address or when):
        talk.leave("no letter: it has no head", line, is_fault=True)
        return
    if not text:
        talk.leave(NO_WORDS, line)
        return
    begin = 0
    while found := _REPLY.match(subject, begin):
        begin = found.end()
    thread = subject[begin:]
    moment = getattr(when, "datetime", None)
    if quoted:
        talk.note(f"line {line}: {quoted} quoted lines were left out")
    talk.add(
        {
            "role": "user",
            "name": name or address or None,
            "content": text,
            "timestamp": moment.isoformat() if moment else (str(when) if when else None),
            "session_id": thread.strip()[:_LONGEST_SUBJECT] or None,
            "metadata": {"subject": subject} if subject else None,
            "id": str(own).strip()[:_LONGEST_ID] if own else None,
        },
        line,
    )


def _text(letter: EmailMessage) -> str:
    body = letter.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    content = body.get_content()
    if not isinstance(content, str):
        return ""
    if body.get_content_subtype() == "html":
        content = text_of_html(content)
    return content


def _own_words(text: str) -> tuple[str, int]:
    """What the writer wrote, and how many lines are quoted from others."""
    kept: list[str] = []
    quoted = 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith(">"):
            while not quoted and kept and not kept[-1].strip():
                kept.pop()
            if not quoted and kept and _QUOTES.fullmatch(kept[-1]):
                kept.pop()
                quoted += 1
            quoted += 1
        else:
            kept.append(line.rstrip())
    return "\n".join(kept).strip(), quoted
