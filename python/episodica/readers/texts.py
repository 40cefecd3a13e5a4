"""Chats as text with a form of their own: LINE, KakaoTalk, IRC, Zoom, iMessage, subtitles.

Each is a form of lines that ``transcript.read_lines`` reads: who begins to speak, what, and when.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice

from ..errors import InvalidInputError
from ..inputs.names import role_of_speaker
from . import dates
from .conversation import Conversation, Talk
from .lines import Form, Start
from .source import Source
from .transcript import read_lines

_LOOKED_AT = 2_000
# Lines with text that are looked at, and the share that must fit, counted from the first that fits.
_FIRST_LINES = 40
_LEAST_SHARE = 0.3
_WEEKDAY = re.compile(
    r"(?<!\s)\s*[(\uff08][^()\uff08\uff09]{1,12}[)\uff09]$|(?<!\s)\s+[^\W\d_]+$|^[^\W\d_]+,?\s+"
)


def day_of(text: str) -> str | None:
    """A line with nothing but a day, and perhaps the day of the week."""
    for written in (text, _WEEKDAY.sub("", text, count=1)):
        if dates.is_date(written) and not dates.has_time(written):
            return dates.by_weekday(text, written)
    return None


def of_lines(
    form: Form, is_quoted: bool = False
) -> tuple[Callable[[str], bool], Callable[[Source], Iterator[Conversation]]]:
    """The functions that recognise and read a form of lines; see ``read_lines``."""

    def recognises(head: str) -> bool:
        lines = [line for line in head.splitlines() if line.strip()][:_FIRST_LINES]
        begun = [(at, start) for at, line in enumerate(lines) if (start := form(line))]
        named = [at for at, start in begun if start.name]
        fitting = [at for at, _ in begun if named and at >= named[0]]
        return bool(named) and len(fitting) >= _LEAST_SHARE * (len(lines) - named[0])

    def read(source: Source) -> Iterator[Conversation]:
        sample = [line for _, line in islice(source.lines(), _LOOKED_AT)]
        return read_lines(source, form, sample, raw=True, is_quoted=is_quoted)

    return recognises, read


_LINE = re.compile(r"(?P<time>[^\t]{0,8}\d{1,2}:\d{2}[^\t]{0,4})\t(?P<name>[^\t]*)\t?(?P<text>.*)")
# LINE writes these in place of media and calls.
_LINE_MARK = re.compile(r"\[[^\[\]]{1,20}\]|\u260e .*")
_LINE_HEAD = re.compile(r"\[LINE\]|(?:Saved on|保存日時|儲存日期|저장한 날짜)\s?[:\uff1a]")


def line(text: str) -> Start | None:
    """``09:30<tab>Alice<tab>hello`` below ``2024/03/11(Mon)``."""
    written = text.strip("\ufeff ")
    if _LINE_HEAD.match(written):
        return Start("", written, "")
    if (day := day_of(dates.plain(written))) is not None:
        return Start("", "", day)
    found = _LINE.fullmatch(written)
    if found is None or dates.time_of(found["time"]) is None:
        return None
    if not found["text"] and "\t" not in written[found.end("name") :]:
        return Start("", found["name"], found["time"])
    if _LINE_MARK.fullmatch(found["text"]):
        return Start("", found["text"], found["time"])
    return Start(found["name"].strip(), found["text"], found["time"])


_KAKAO = re.compile(
    r"\[(?P<name>(?:[^\[\]\n]|\[[^\[\]\n]{0,40}\]){1,60})\] "
    r"\[(?P<time>[^\]\n]{3,20})\] (?P<text>.*)"
)


# Notices of who came and went, and what stands in the place of media.
_KAKAO_NOTICE = re.compile(
    r".{1,40}님(?:이|을|과|께서)? ?(?:.{1,40}님[을,] ?)?"
    r"(?:나갔|들어왔|초대하였|초대했|내보냈|내보내졌)습니다\.?"
    r"|.{1,60} (?:left|joined|entered) this (?:chat|chatroom|group)\.?"
)
_KAKAO_MARK = re.compile(
    r"사진(?: \d{1,3}장)?|동영상|이모티콘|음성메시지|삭제된 메시지입니다\.?"
    r"|(?:보이스톡|페이스톡)\b.{0,30}"
)


def kakaotalk(text: str) -> Start | None:
    """``[Alice] [9:30 AM] hello`` below a line with the day between dashes."""
    written = text.strip("\ufeff ")
    ruled = written.strip("-").strip()
    if written.startswith("---") and (day := day_of(dates.plain(ruled))) is not None:
        return Start("", "", day)
    found = _KAKAO.fullmatch(written)
    if found is None or dates.time_of(found["time"]) is None:
        return Start("", written, "") if _KAKAO_NOTICE.fullmatch(written) else None
    is_media = _KAKAO_MARK.fullmatch(found["text"].strip()) is not None
    return Start("" if is_media else found["name"], found["text"], found["time"])


_IRC = re.compile(
    r"\[?(?P<time>(?:\d{4}-\d{2}-\d{2}[ T])?\d{1,2}:\d{2}(?::\d{2})?)\]?\s+"
    r"(?:<[@+%~&! ]?(?P<name>[^<>\s]{1,40})>\s?(?P<text>.*)"
    r"|\*\s+(?P<doer>[^\s*]{1,40})\s(?P<deed>.*)"
    r"|(?:\*{2,3}|-!-|<?-->?|={3}|<--)\s*(?P<notice>.*))"
)
# WeeChat's logs: the nick stands between tabs, a mark in its place is an action or a notice.
_WEECHAT = re.compile(
    r"(?P<time>\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\t *[@+%~&]?(?P<name>[^\t]{0,40})\t(?P<text>.*)"
)
_WEECHAT_NOTICES = frozenset(("", "-->", "<--", "--", "=!=", "---", "\u2500\u2500"))
_IRC_DAY = re.compile(
    r"(?:---|\*{4}) (?:Day changed|Log opened|BEGIN LOGGING AT|Log started:?) (?:\w{3} )?"
    r"(?P<date>.+)",
    re.IGNORECASE,
)
_IRC_DATE = re.compile(
    r"(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2})(?: \d{2}:\d{2}:\d{2})? (?P<year>\d{4})"
)


def irc(text: str) -> Start | None:
    """``[09:30] <alice> hello``, ``[09:32] * alice waves``, and WeeChat's logs."""
    written = text.strip("\ufeff ")
    opened = _IRC_DAY.fullmatch(written)
    if opened:
        found = _IRC_DATE.search(opened["date"])
        day = f"{found['day']} {found['month']} {found['year']}" if found else opened["date"]
        return Start("", "", day) if dates.is_date(day) else None
    if logged := _WEECHAT.fullmatch(written):
        name, words = logged["name"].strip(), logged["text"]
        if name == "*":
            name, _, words = words.partition(" ")
        return Start("" if name in _WEECHAT_NOTICES else name, words, logged["time"])
    said = _IRC.fullmatch(written)
    if said is None:
        return None
    if said["notice"] is not None:
        return Start("", said["notice"], said["time"])
    return Start(said["name"] or said["doer"], said["text"] or said["deed"] or "", said["time"])


_ZOOM = re.compile(
    r"(?P<time>(?:\d{4}-\d{2}-\d{2}\s{1,4})?\d{1,2}:\d{2}:\d{2}(?:\s?[AP]M)?)\s{1,4}From\s{1,4}"
    r"(?P<name>\S.{0,79}?)(?:\s{1,4}to\s{1,4}(?P<to>\S.{0,79}?))?\s{0,4}:\s?(?P<text>.*)",
    re.IGNORECASE,
)


def zoom(text: str) -> Start | None:
    """``09:30:12 From Alice to Everyone: hello``, the text on this line or below."""
    found = _ZOOM.fullmatch(text.strip("\ufeff "))
    return Start(found["name"].strip(), found["text"], found["time"]) if found else None


_RECEIPT = "(Read by "


def imessage(text: str) -> tuple[str, bool]:
    """A line in plain form, and whether it is only a date and time, as in exports of iMessage."""
    written = dates.plain(text)
    if written.endswith(")"):
        written = written.partition(_RECEIPT)[0]
    written = " ".join(written.split())
    return written, dates.is_date(written) and dates.has_time(written)


def is_imessage(head: str) -> bool:
    """Whether the text begins with a date, a name below it, and a text below that."""
    lines = head.lstrip("\ufeff\r\n").splitlines()
    return len(lines) > 2 and imessage(lines[0])[1] and bool(lines[1].strip() and lines[2].strip())


def read_imessage(source: Source) -> Iterator[Conversation]:
    """Blocks of a date, a name and a text."""
    lines = list(islice(source.lines(), _LOOKED_AT))
    day_first = dates.order_of(date for _, one in lines if (date := imessage(one)[0])).day_first
    talk = Talk(source.name)
    talk.is_local = True
    date, name, begun, said = "", "", 0, list[str]()

    def hand_over() -> None:
        if name:
            moment = dates.parse(date, day_first)
            when = moment.isoformat() if moment else None
            about = {"role": "user" if name == "Me" else role_of_speaker(name), "name": name}
            talk.add({**about, "content": "\n".join(said).strip(), "timestamp": when}, begun)

    for number, one in source.lines():
        written, is_head = imessage(one)
        if is_head:
            hand_over()
            date, name, begun, said = written, "", number, []
        elif not name:
            name = one.strip()
        else:
            said.append(one.rstrip())
        if is_head and talk.is_full:
            yield talk.conversation()
    hand_over()
    yield talk.conversation()


_CUE = re.compile(r"\s*(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->\s*.*")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+(?P<name>[^<>]{1,80})>(?P<text>.*?)(?:</v>|$)", re.DOTALL)
_TAG = re.compile(r"</?[a-z][^<>]*>|<\d[^<>]*>", re.IGNORECASE)
_NAMED = re.compile(r"\[?(?P<name>[^\W\d_][^:\n<>\]]{0,60}?)\]?:\s+(?P<text>.*)", re.DOTALL)
_ENDS = (".", "!", "?", "…", "。", "\uff01", "\uff1f")


def is_subtitles(head: str) -> bool:
    """Whether the text is WebVTT or SubRip."""
    lines = [line for line in head.lstrip("\ufeff \r\n").splitlines() if line.strip()]
    if lines and lines[0].startswith("WEBVTT"):
        return True
    return len(lines) > 1 and lines[0].strip().isdecimal() and bool(_CUE.fullmatch(lines[1]))


def subtitles(source: Source) -> Iterator[Conversation]:
    """The transcript of a meeting; a sentence in several cues is one message."""
    talk = Talk(source.name, session=source.stem)  # `Speaker 1` is one person in this file only
    name, said, begun = "", "", 0
    for number, text in _cues(source):
        for speaker, words in _spoken(text):
            if said and (speaker or name) == name and not said.endswith(_ENDS):
                said = f"{said} {words}"
                continue
            if said and name:
                talk.add({"role": role_of_speaker(name), "name": name, "content": said}, begun)
            elif said:
                talk.leave("words of a speaker who is not named", begun)
            name, said, begun = speaker or name, words, number
    if said and name:
        talk.add({"role": role_of_speaker(name), "name": name, "content": said}, begun)
    made = talk.conversation()
    if not made.messages:
        raise InvalidInputError(
            "the subtitles name no speaker",
            hint="cues are like `<v Alice>Hello.` or `Alice: Hello.`",
        )
    yield made


def _cues(source: Source) -> Iterator[tuple[int, str]]:
    """The text of each cue and its line."""
    held: list[str] | None = None
    begun = 0
    for number, one in source.lines():
        if _CUE.fullmatch(one):
            held, begun = [], number + 1
        elif not one.strip():
            if held:
                yield begun, "\n".join(held)
            held = None
        elif held is not None:
            held.append(one.strip())
    if held:
        yield begun, "\n".join(held)


def _spoken(text: str) -> Iterator[tuple[str, str]]:
    voices = list(_VOICE.finditer(text))
    found = [(one["name"], one["text"]) for one in voices]
    if not found:
        named = _NAMED.fullmatch(text)
        found = [(named["name"], named["text"])] if named else [("", text)]
    for name, words in found:
        said = html.unescape(_TAG.sub("", words)).replace("\n", " ").strip()
        if said:
            yield name.strip(), said
