"""What a letter quotes: lines after ``>``, and a letter below the head that a mail program writes.

Heads are known by their form, in whatever language: they name a writer and a date.
"""

from __future__ import annotations

import re

# The marks of replies before a subject.
_REPLY = re.compile(
    r"\s*(?:re|fwd?|aw|wg|tr|rv|sv|vs|antw|回复|答复|転送)\s*[:\uff1a]\s*", re.IGNORECASE
)
# The line above lines after `>`: it ends with a colon and names a writer.
_QUOTES = re.compile(r".{3,200}[:\uff1a]\s*$")
# The head that Outlook writes above a quotation: "From: ...", "*Gesendet:* ...", perhaps below
# "-----Original Message-----".
_FIELD = re.compile(r"\s{0,9}\*{0,2}[^\W\d_][^:\uff1a]{0,28}[:\uff1a]\*{0,2}\s{0,9}(\S.{0,400})")
_TITLE = re.compile(r"\s{0,9}-{3,20}\s{0,3}[^\W\d_][^-]{2,60}-{3,20}\s*+")
_RULE = re.compile(r"\s{0,9}[-_]{5,80}\s*+")
_FIELDS, _FIELDS_BELOW_TITLE = 3, 2
# "On 12 March 2024 at 9:00, Tom Hill <tom@mail.example> wrote:" in some lines, perhaps between
# dashes instead of the colon.
_LONGEST_HEAD, _MOST_LINES = 250, 3
_ENDS_HEAD = re.compile(r".{0,250}(?:[:\uff1a]|\s-{2,20})\s{0,9}")
# An address in brackets, as programs write it.
_ADDRESS = re.compile(r"[<(\[](?:mailto:)?[^\s<>()\[\]@]{1,80}@[^\s<>()\[\]@]{1,80}[>)\]]")
_DAY = re.compile(r"(?<!\d)(?:(?:19|20)\d{2}(?!\d)|\d{1,2}([-/.])\d{1,2}\1\d{2,4})")
_CLOCK = re.compile(r"(?<!\d)\d{1,2}[:.h]\d{2}(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
# The most words after the name ("a écrit"), in it, and besides it: the day, "at", the verb.
_MOST_BEHIND, _MOST_IN_NAME, _MOST_BESIDE = 3, 4, 9
# A part of a name that is shorter may be a word.
_LEAST_PART = 3


def thread_of(subject: str) -> str:
    """A subject without the marks of replies before it."""
    begin = 0
    while found := _REPLY.match(subject, begin):
        begin = found.end()
    return subject[begin:].strip()


def own_words(
    text: str, thread: str, people: list[str] | None, *, is_reply: bool
) -> tuple[str, int]:
    """What the writer wrote, and how many lines are quoted from others.

    ``people`` are those of the letter; ``None`` for a forwarded one, of which nothing goes that
    stands nowhere else. Where nothing above the quoted letter is the writer's, what they wrote may
    stand below. Then, and in a forwarded one, the lines stay, marked as a quotation.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    end = len(lines) if people is None else _quoted_from(lines, thread, people)
    begin = _headed_from(lines[:end], people or [], is_reply)
    kept, quoted = _unmarked(lines[:begin], people or [], is_reply)
    if begin < end and (people is None or not kept):
        marked = "\n".join(f"> {line}".rstrip() for line in lines[begin:end])
        return f"{kept}\n\n{marked}".strip(), quoted + len(lines) - end
    return kept, quoted + len(lines) - begin


def _unmarked(lines: list[str], people: list[str], is_reply: bool) -> tuple[str, int]:
    """The lines without those after ``>`` and the head above them, and how many these are."""
    kept: list[str] = []
    quoted = 0
    for line in lines:
        if line.startswith(">"):
            while not quoted and kept and not kept[-1].strip():
                kept.pop()
            if not quoted and kept:
                first = _head_before(kept, people, is_reply)
                quoted += len(kept) - first
                del kept[first:]
            quoted += 1
        else:
            kept.append(line.rstrip())
    return "\n".join(kept).strip(), quoted


def _head_before(lines: list[str], people: list[str], is_reply: bool) -> int:
    """Where the head begins that ends with the last line; the number of lines without one."""
    last = len(lines) - 1
    if (first := _begin_of_head(lines, last, people, is_reply)) is not None:
        return _below_title(lines, first)
    if not _QUOTES.fullmatch(lines[last]):
        return len(lines)
    # A long line with the writer's address is broken before it.
    is_broken = lines[last].lstrip().startswith("<")
    return last - 1 if is_broken and last and lines[last - 1].strip() else last


def _headed_from(lines: list[str], people: list[str], is_reply: bool) -> int:
    """The line where the head of a letter begins whose lines are not marked; else their number."""
    for last in range(len(lines)):
        first = _begin_of_head(lines, last, people, is_reply)
        if first is not None and not _next_line(lines, last).startswith(">"):
            return _below_title(lines, first)
    return len(lines)


def _below_title(lines: list[str], first: int) -> int:
    """Where a head begins whose title, if it has one, stands above."""
    above = first - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    return above if above >= 0 and _TITLE.fullmatch(lines[above]) else first


def _next_line(lines: list[str], at: int) -> str:
    """The next line with text; an empty text at the end."""
    return next((line for line in lines[at + 1 :] if line.strip()), "")


def _begin_of_head(lines: list[str], last: int, people: list[str], is_reply: bool) -> int | None:
    """The first line of the head that ends with a line; ``None`` if none does."""
    if not _ENDS_HEAD.fullmatch(lines[last]):
        return None
    text = ""
    for first in range(last, max(last - _MOST_LINES, -1), -1):
        text = f"{lines[first].strip()} {text}".strip()
        if not lines[first].strip() or len(text) > _LONGEST_HEAD:
            return None
        if _is_head(text.strip("-:\uff1a ").casefold(), people, is_reply):
            return first
    return None


def _is_head(text: str, people: list[str], is_reply: bool) -> bool:
    """Whether a line names the writer of the text below it, and when.

    That is an address in brackets, or in a reply one of the letter's people.
    """
    addresses = list(_ADDRESS.finditer(text))
    if addresses:
        name = addresses[-1].span()
    elif is_reply and (found := _named_in(text, people)):
        name = found
    else:
        return False
    before, behind = text[: name[0]], text[name[1] :]
    words, more = len(_WORD.findall(before)), len(_WORD.findall(behind))
    in_name = _MOST_IN_NAME if addresses else 0
    is_sure = bool(_CLOCK.search(text) and _DAY.search(text))
    if _DAY.search(before) or _CLOCK.search(before):
        is_short = more <= _MOST_BEHIND and words <= _MOST_BESIDE + in_name
        return is_short and not re.search(r"\d", behind) and (is_sure or is_reply)
    return is_sure and words <= in_name and more <= _MOST_BESIDE


def _is_inside_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()


def _named_in(text: str, people: list[str]) -> tuple[int, int] | None:
    """Where a text in small letters names one of the people.

    By the whole name with a day, or by a part of the name with a time.
    """
    for one in people:
        # Scripts without capital letters have no spaces around a name.
        is_spaced = one != one.upper()
        at = text.find(one)
        while is_spaced and at >= 0 and _is_inside_word(text, at, at + len(one)):
            at = text.find(one, at + len(one))
        if at >= 0:
            return (at, at + len(one)) if _DAY.search(text) else None
    parts = {
        part
        for one in people
        for part in _WORD.findall(one.partition("@")[0])
        if len(part) >= _LEAST_PART
    }
    if not _CLOCK.search(text):
        return None
    told = [word.span() for word in _WORD.finditer(text) if word[0] in parts]
    return (told[0][0], told[-1][1]) if told else None


def _quoted_from(lines: list[str], thread: str, people: list[str]) -> int:
    """The line where the letter begins that is quoted whole; the number of lines if none is.

    Its head has at least three fields, of which one repeats the subject or two name people of this
    letter; two fields are enough below "-----Original Message-----".
    """

    def is_person(value: str) -> bool:
        return any(one in value or value in one.split() for one in people)

    at = 0
    while at < len(lines):
        values: list[str] = []
        end = at
        while end < len(lines) and (found := _FIELD.fullmatch(lines[end])):
            values.append(found[1].strip("* ").casefold())
            end += 1
        above = at - 1
        while values and above >= 0 and not lines[above].strip():
            above -= 1
        is_titled = above >= 0 and _TITLE.fullmatch(lines[above]) is not None
        named = sum(map(is_person, values))
        repeats = bool(thread) and any(thread_of(value) == thread for value in values)
        if is_titled and len(values) >= _FIELDS_BELOW_TITLE and (repeats or named):
            return above
        if len(values) >= _FIELDS and (repeats or named > 1):
            return above if above >= 0 and _RULE.fullmatch(lines[above]) else at
        at = end + 1
    return len(lines)
