"""E-mail: an mbox file with many messages, or a single message with its headers."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from email import errors, policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import getaddresses, parseaddr

from ..hints import first_of, shown
from .conversation import NO_WORDS, Conversation, Talk, text_of_html, without_elements
from .quoted import own_words, thread_of
from .source import Source

_BEGINS = re.compile(rb"From \S++.*\d{4}")
_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]*:\s.*|\s+.*)")
_NEEDED = ("from:", "date:")
# No program writes longer ones; a letter is not refused for a subject.
_LONGEST_SUBJECT = 200
_LONGEST_ID = 998
_FORWARDS = re.compile(r"\s*(?:fwd?|wg|tr|rv|転送)\s*[:\uff1a]", re.IGNORECASE)
_QUOTATION = re.compile(r"<(?P<name>blockquote)\b[^<>]*>", re.IGNORECASE)
_QUOTED = re.compile(r"</(?P<name>blockquote)\s{0,9}>", re.IGNORECASE)
# The headers in which a mailbox names its owner.
_OWNERS = ("Delivered-To", "X-Original-To", "Envelope-To")
# What programs write under the name of a smaller encoding.
_WIDER = {
    "iso-8859-1": "cp1252",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
_BASE64_FAULTS = (
    errors.InvalidBase64CharactersDefect,
    errors.InvalidBase64LengthDefect,
    errors.InvalidBase64PaddingDefect,
)
# The most attachments that a note names.
_MOST_NAMED = 5
_WINDOWS = "episodica.windows-1252"


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
    talk, box = Talk(source.name), _Mailbox()
    for line, data in _letters(source):
        letter = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
        _add(talk, box, letter, line)
        if talk.is_full:
            talk.owner = box.owner()
            yield talk.conversation()
    talk.owner = box.owner()
    yield talk.conversation()


class _Mailbox:
    """Whose mailbox it is: the address that the server noted, or the only one in all letters."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._noted: set[str] = set()
        self._in_all: set[str] | None = None
        self._others: set[str] = set()

    def see(self, letter: EmailMessage) -> list[str]:
        """Takes a letter into account; returns the names and addresses of its people."""
        fields = [str(one) for key in ("From", "To", "Cc") for one in letter.get_all(key, [])]
        people = [(name, address.lower()) for name, address in getaddresses(fields) if address]
        self._noted |= {str(letter[key]).strip().lower() for key in _OWNERS if letter[key]}
        here = {address for _, address in people}
        self._in_all = here if self._in_all is None else self._in_all & here
        self._others |= here
        for name, address in people:
            self._names.setdefault(address, name or address)
        return [part.casefold() for person in people for part in person if part]

    def owner(self) -> str | None:
        """The owner's name, else the address; ``None`` if it is not clear."""
        found = self._noted or (self._in_all or set())
        if len(found) != 1 or not self._others - found:
            return None
        [address] = found
        return self._names.get(address)


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


def _add(talk: Talk, box: _Mailbox, letter: EmailMessage, line: int) -> None:
    try:
        name, address = parseaddr(str(letter["From"] or ""))
        subject = str(letter["Subject"] or "")
        thread = thread_of(subject)
        about = box.see(letter)
        people = None if _FORWARDS.match(subject) else about
        said, changes = _text(letter)
        changes += _parts_beside(letter)
        is_reply = thread != subject.strip() or bool(letter["In-Reply-To"] or letter["References"])
        text, quoted = own_words(said, thread.casefold(), people, is_reply=is_reply)
        when, own = letter["Date"], letter["Message-ID"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        talk.leave(f"a letter that is damaged: {type(error).__name__}", line, is_fault=True)
        return
    if not (name or address or when):
        talk.leave("no letter: it has no head", line, is_fault=True)
        return
    if not text:
        talk.leave("; ".join([NO_WORDS, *changes]), line)
        return
    moment = getattr(when, "datetime", None)
    for change in changes:
        talk.note(f"line {line}: {change}")
    if quoted:
        talk.note(f"line {line}: {quoted} quoted lines were left out")
    talk.add(
        {
            "role": "user",
            "name": name or address or None,
            "content": text,
            "timestamp": moment.isoformat() if moment else (str(when) if when else None),
            "session_id": thread[:_LONGEST_SUBJECT] or None,
            "metadata": {
                key: value for key, value in (("subject", subject), ("from", address)) if value
            }
            or None,
            "id": str(own).strip()[:_LONGEST_ID] if own else None,
        },
        line,
    )


def _text(letter: EmailMessage) -> tuple[str, list[str]]:
    """The words of a letter, and notes if it declares another encoding than it has."""
    body = letter.get_body(preferencelist=("plain", "html"))
    data = None if body is None else body.get_payload(decode=True)
    if body is None or not isinstance(data, bytes):
        return "", []
    content, note = _decoded(data, body.get_content_charset())
    notes = [note] if note else []
    # A fault is noted while the text is decoded.
    if any(isinstance(fault, _BASE64_FAULTS) for fault in body.defects):
        notes.append("the text is not whole base64; read as far as it goes")
    if body.get_content_subtype() == "html":
        # A mark stays for what is quoted, as a plain letter has it.
        marked = _QUOTATION.sub(r"<br>&gt;<br>\g<0>", content)
        content = text_of_html(without_elements(marked, _QUOTATION, _QUOTED))
    return content, notes


def _parts_beside(letter: EmailMessage) -> list[str]:
    """A note that names the attachments, which are left out. Pictures within the text are none."""
    if letter.get_content_subtype() == "related":
        return []
    names: list[str] = []
    # A broken part makes no letter unreadable.
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        names.extend(
            f"`{shown(part.get_filename() or part.get_content_type())}`"
            for part in letter.iter_attachments()
        )
    return [f"attachments left out: {first_of(names, _MOST_NAMED)}"] if names else []


def _decoded(data: bytes, declared: str | None) -> tuple[str, str]:
    """The text in the declared encoding, else in UTF-8, else in windows-1252, and a note."""
    encoding = _WIDER.get(declared or "", declared or "utf-8")
    wrong = f"the text is not `{shown(declared or 'utf-8')}`; read as "
    for one, note in ((encoding, ""), ("utf-8", f"{wrong}UTF-8")):
        with suppress(LookupError, ValueError):
            return data.decode(one), note
    with suppress(LookupError, ValueError):
        if codecs.lookup(encoding).name not in ("ascii", "utf-8"):
            return data.decode(encoding, "replace"), f"{wrong}far as it goes"
    return data.decode("utf-8", _WINDOWS), f"{wrong}windows-1252"


def _by_windows(error: UnicodeError) -> tuple[str, int]:
    """Reads only the bytes that are not UTF-8 as windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_WINDOWS, _by_windows)
