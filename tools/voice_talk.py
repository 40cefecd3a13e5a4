"""The labelled parts of messages in ``tools/labels/voice``, and messages composed of them.

A layout is a message with places for parts: ``{O:}\\n⟦{BB}⟧`` is a line that announces another's
words, with a colon, and below it those words, in the marks ``⟦`` and ``⟧``. The same statements
stand in the writer's own messages and in foreign ones, so that only the place and the announcement
tell them apart. The README of the labels lists the places.
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

LABELS = Path(__file__).resolve().parent / "labels"
VOICE = LABELS / "voice"
LANGUAGES = ("en", "de", "fr", "es", "zh", "ja", "ru", "it", "pt", "nl", "ko", "pl", "tr")
# How often a language is drawn; the others once.
FREQUENT = {"en": 4, "de": 2, "fr": 2, "es": 2, "zh": 3, "ja": 2}
# Kinds of layouts that are drawn more often than once, because most messages are like them.
COMMON = {
    "sentence": 5,
    "long": 2,
    "talk": 12,
    "vocative": 2,
    "plain-same-line": 3,
    "plain-gap": 3,
    "after-gap": 3,
    "below": 3,
    "above": 4,
    "asked": 3,
    "told": 2,
    "label": 4,
    "label-other": 3,
}
# Languages that write words without spaces, and sentences without one between them.
UNSPACED = ("zh", "ja", "ko")
UNJOINED = ("zh", "ja")
FOLDS = 4
# Statements in each frame of fiction.
FRAMED = 12
SPEAKERS = ("Nora", "user", "Alice", "Ben Ode", "小雨", "Karl")
DAYS = ("Monday", "12.03.24", "2024-03-12", "3/12/24", "Yesterday", "gestern", "昨天", "3月12日")
HANDLES = ("mossy", "kelp_88", "anna.k", "dr_no", "tomtom")

Texts = dict[str, list[str]]


class Talk(NamedTuple):
    """A message: ``text`` has the marks ``⟦⟧`` around another's words, and in ``whole.tsv`` others
    around the writer's own statements.
    """

    kind: str
    language: str
    speaker: str
    text: str

    def plain(self) -> tuple[str, list[bool]]:
        """The text without marks, and for each character whether it is another's."""
        said, foreign, inside = [], [], False
        for char in self.text:
            if char in "⟦⟧":
                inside = char == "⟦"
            if char in "⟦⟧‹›":
                continue
            said.append(char)
            foreign.append(inside)
        return "".join(said), foreign


@functools.cache
def rows(name: str) -> list[list[str]]:
    """The lines of a file of labels, split into columns."""
    return [line.split("\t") for line in (VOICE / name).read_text("utf-8").splitlines()]


def bare(text: str) -> str:
    """A text without the mark at its end."""
    return text.rstrip(" :：.!?？！")


def shown(text: str) -> str:
    """A text as the engine reads it: without marks around it, but with a question mark."""
    is_kept = [char.isalnum() or char in "?？" for char in text]
    if not any(is_kept):
        return ""
    return text[is_kept.index(True) : len(text) - is_kept[::-1].index(True)]


@functools.cache
def fold(text: str) -> int:
    """The number of the fold of a part; its forms with other marks are in the same."""
    return hashlib.sha256(bare(text).lower().encode()).digest()[1] % FOLDS


@functools.cache
def by_language(name: str, code: str) -> Texts:
    """The texts of a file with this code."""
    found: Texts = defaultdict(list)
    for language, label, text in rows(name):
        if label == code:
            found[language].append(text)
    return found


@functools.cache
def openings() -> dict[str, Texts]:
    """What announces another's or one's own words: written out, and drawn from patterns."""
    found = {code: by_language("openings.tsv", code) for code in ("other", "own")}
    codes = ("true", "own-said", "other-said", "own-label", "other-label")
    found.update({code: defaultdict(list) for code in codes})
    drawn = random.Random(11)
    for language, code, number, pattern in rows("patterns.tsv"):
        texts: dict[str, None] = {}
        for _ in range(3 * int(number)):
            text = re.sub(r"\(([^()]*)\)", lambda part: drawn.choice(part[1].split("|")), pattern)
            text = text.strip()
            text = text[:1].upper() + text[1:] if drawn.random() < 0.6 else text
            if len(texts) < int(number):
                texts[text] = None
        known = set(found[code][language])
        found[code][language] += [text for text in texts if text not in known]
    return found


@functools.cache
def sentences() -> tuple[Texts, Texts, list[str]]:
    """Statements about oneself, small talk, and sentences of real chats."""
    said, small = by_language("statements.tsv", "body"), defaultdict(list)
    chats = []
    for source in ("authored", "talk", "chats", "plain"):
        for line in (LABELS / f"{source}.tsv").read_text("utf-8").splitlines():
            language, role, text, code, *_ = line.split("\t")
            if source == "chats":
                chats.append(text)
            if role != "user" or "q" in code[2:] or re.search('["“”„«»「」『』:：<>|\\[\\]]', text):
                continue
            asks = text.endswith(("?", "？"))
            worth = code[1] > "0" or source == "chats"
            if code[0] in "sepo" and worth and "u" not in code[2:] and not asks:
                if 12 <= len(text.encode()) <= 180:
                    said[language].append(text)
            elif code[0] == "x" and len(text) < 60:
                small[language].append(text)
    return said, small, chats


def framed(said: Texts, written: Texts) -> Texts:
    """Sentences that are nobody's own: written as such, and statements in the frames of fiction.

    The same statements stand among a person's own, so that only the frame tells them apart.
    """
    drawn, found = random.Random(5), defaultdict(list)
    for language, frame in rows("frames.tsv"):
        for text in drawn.choices(said[language], k=FRAMED):
            inside = text if text.startswith(("I ", "I'")) else _lowered(text)
            verb = re.match(r"(ich) (\S+) (.*)", inside)
            if "^" in frame and verb:
                inside = f"{verb[2]} {verb[1]} {verb[3]}"
            elif "^" in frame:
                continue
            found[language].append(frame.replace("^", "").replace("{}", inside))
    return {one: found[one] + written[one] for one in {**found, **written}}


def framed_true(said: Texts) -> Texts:
    """Statements in frames that leave them true: "the doctor says", "folks"."""
    drawn, found = random.Random(6), defaultdict(list)
    for language, frames in by_language("asking.tsv", "true").items():
        for frame in frames:
            for text in drawn.choices(said[language], k=2 * FRAMED):
                inside = text if text.startswith(("I ", "I'")) else _lowered(text)
                whole = frame.replace("{}", inside)
                found[language].append(whole[:1].upper() + whole[1:])
    return found


class Parts:
    """The parts of messages, all of them or those of some folds."""

    def __init__(self, keep: Callable[[str], bool] = lambda text: True) -> None:
        self.keep = keep
        said, small, chats = sentences()
        announced = openings()
        # "I told my doctor", "my mum said": what comes before a quotation.
        self.quotes_own = self._kept(announced["own-said"])
        self.quotes_other = self._kept(announced["other-said"])
        # "FYI", "Exercise 3": short, before a colon.
        self.label_own = self._kept(announced["own-label"])
        self.label_other = self._kept(announced["other-label"])
        other = _joined(self._kept(announced["other"]), self.quotes_other)
        own = _joined(self._kept(announced["own"]), self.quotes_own)
        self.other, self.own = _joined(other, self.label_other), _joined(own, self.label_own)
        self.said, self.small = self._kept(said), self._kept(small)
        self.invented = self._kept(framed(said, by_language("statements.tsv", "other")))
        true, more = by_language("statements.tsv", "own"), announced["true"]
        self.true = _joined(self._kept(_joined(true, more)), framed_true(self.said))
        self.jokes = self._kept(by_language("statements.tsv", "joke"))
        self.requests = self._kept(by_language("phrases.tsv", "request"))
        self.names = self._kept(by_language("names.tsv", "name"))
        self.labels = [text for _, code, text in rows("names.tsv") if code == "label"]
        self.labels = [text for text in self.labels if keep(text)]
        self.chats = [text for text in chats if keep(text)]
        self.phrases: dict[str, Texts] = defaultdict(lambda: defaultdict(list))
        for language, code, text in rows("phrases.tsv"):
            self.phrases[code][language].append(text)
        self.asking = {code: by_language("asking.tsv", code) for code in ("if", "told", "tag")}

    def _kept(self, texts: Texts) -> Texts:
        """The texts to keep; all of a language with too few."""
        kept = {language: list(filter(self.keep, some)) for language, some in texts.items()}
        return {
            language: some if len(some) > 2 else texts[language] for language, some in kept.items()
        }


class Composer:
    """Fills in layouts."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self.parts, self.drawn = parts, random.Random(seed)

    def talks(self, layouts: dict[str, list[str]], number: int) -> list[Talk]:
        """So many messages of each kind of layout."""
        found = []
        weights = [FREQUENT.get(language, 1) for language in LANGUAGES]
        for kind, texts in sorted(layouts.items()):
            for at in range(number * COMMON.get(kind, 1)):
                [language] = self.drawn.choices(LANGUAGES, weights)
                text, speaker = self._filled(texts[at % len(texts)], language)
                found.append(Talk(kind, language, speaker, text))
        return found

    def _filled(self, layout: str, language: str) -> tuple[str, str]:
        """A layout with parts in its places, and the speaker's name."""
        places = self._places(language)
        speaker = places["S"]()
        text = layout.replace("\\n", "\n").replace("\\t", "\t")
        text = re.sub(r"\{([^}]+)\}", lambda place: places[place[1]](), text)
        if language in UNJOINED:
            text = re.sub(r"([。！？：]) (?=\S)", r"\1", text)
        return text, speaker

    def _places(self, language: str) -> dict[str, Callable[[], str]]:
        """What each place of a layout draws."""
        parts, chosen, choose = self.parts, self.drawn.random(), self.drawn.choice
        colon = {"zh": "：", "ja": "：", "fr": " :"}.get(language, ":") if chosen < 0.75 else ":"

        def of(texts: Texts) -> Callable[[], str]:
            return lambda: choose(texts.get(language) or texts["en"])

        def phrase(code: str) -> Callable[[], str]:
            return of(parts.phrases[code])

        def opening(texts: Texts, end: str) -> Callable[[], str]:
            return lambda: bare(of(texts)()) + end

        def unmarked(texts: Texts) -> Callable[[], str]:
            return lambda: (str.rstrip if self.drawn.random() < 0.8 else _bare_of)(
                of(texts)(), " :："
            )

        names = parts.names.get(language, parts.names["en"])
        one, two = self.drawn.sample(names, 2)
        speaker = choose(SPEAKERS if self.drawn.random() < 0.7 else names)
        speaker = "user" if speaker in (one, two) else speaker
        other = choose([code for code in ("en", "de", "fr", "es", "zh", "ja") if code != language])
        number = self.drawn.randrange(len(parts.phrases["asked"].get(language, [""])))
        labels = parts.labels
        return {
            "O": of(parts.other),
            "O:": opening(parts.other, colon),
            "O.": unmarked(parts.other),
            "OR.": lambda: self._ordered(language),
            "W": of(parts.own),
            "W:": opening(parts.own, colon),
            "W.": unmarked(parts.own),
            "w": lambda: self._short(language).lower(),
            "w:": lambda: self._short(language).lower() + colon,
            "C": lambda: self._wish(language),
            "WQ:": lambda: phrase("question")() + colon,
            "A": of(parts.requests),
            "B": of(parts.said),
            "TA": lambda: self.told_and_asked(language),
            "WS": of(parts.quotes_own),
            "OS": of(parts.quotes_other),
            "L:": opening(parts.label_own, colon),
            "L.": unmarked(parts.label_own),
            "K:": opening(parts.label_other, colon),
            "K.": unmarked(parts.label_other),
            "b": lambda: _lowered(of(parts.said)()),
            "BB": lambda: self._several(language),
            "BB'": lambda: self._several(other),
            "v": lambda: max(re.split("[,，;；.。]", of(parts.said)()), key=len).strip(),
            "X": of(parts.small),
            "F": of(parts.invented),
            "V": of(parts.true) if language in parts.true else of(parts.said),
            "J": of(parts.jokes),
            "R": lambda: choose(parts.chats),
            "RR": lambda: " ".join(self.drawn.choices(parts.chats, k=self.drawn.randint(2, 4))),
            "N": lambda: one,
            "M": lambda: two,
            "n": one.lower,
            "m": two.lower,
            "NU": one.upper,
            "MU": two.upper,
            "S": lambda: speaker,
            "T": self._time,
            "D": lambda: choose(DAYS),
            "G": lambda: phrase("greeting")() + choose([",", "!", ""]),
            "GS": lambda: f"{phrase('greeting')()} {speaker},",
            "GN": lambda: phrase("greeting")() + choose(["", " " + two]) + ",",
            "FW": phrase("farewell"),
            "QL:": lambda: _at(parts.phrases["asked"], language, number) + colon,
            "AL:": lambda: _at(parts.phrases["answered"], language, number) + colon,
            "HF:": lambda: phrase("from")() + colon,
            "HS:": lambda: phrase("subject")() + colon,
            "HT:": lambda: phrase("to")() + colon,
            "x": lambda: choose(labels).lower(),
            "xX": lambda: choose(labels).capitalize(),
            "XX": lambda: choose(labels).upper(),
            "h": lambda: choose(HANDLES),
        }

    def told_and_asked(self, language: str) -> str:
        """A sentence with a statement and a question, in one of two orders."""
        told = bare(self.drawn.choice(self.parts.said[language])).rstrip("。")
        texts = self.parts.requests.get(language) or self.parts.requests["en"]
        asked = self._first(texts, lambda text: text[-1:] in "?？")
        comma = "，" if language == "zh" else "、" if language == "ja" else ", "
        if self.drawn.random() < 0.75:
            return told + comma + _lowered(asked)
        return asked.rstrip("?？ ") + comma + _lowered(told) + asked[len(asked.rstrip("?？ ")) :]

    def _several(self, language: str) -> str:
        """Two to four statements."""
        stop = "。" if language in UNJOINED else "."
        texts = self.drawn.choices(self.parts.said[language], k=self.drawn.randint(2, 4))
        ended = [text if text[-1:] in ".!?。！？…" else text + stop for text in texts]
        return ("" if language in UNJOINED else " ").join(ended)

    def _first(self, texts: Iterable[str], is_fit: Callable[[str], bool]) -> str:
        """A text that fits, or after many tries any."""
        known = list(texts)
        for _ in range(60):
            text = self.drawn.choice(known)
            if is_fit(text):
                return text
        return text

    def _ordered(self, language: str) -> str:
        """An order or a question about another's words, with or without a stop."""

        def is_fit(text: str) -> bool:
            long = len(text) > 4 if language in UNSPACED else len(text.split()) > 2
            return text[-1:] not in ":：" and long

        text = self._first(self.parts.other[language], is_fit)
        return text if text[-1:] in "?？.!" else text + self.drawn.choice(["", ".", ""])

    def _wish(self, language: str) -> str:
        """An order to write something for the person."""
        least = 6 if language in UNSPACED else 12
        texts = self.parts.own[language]
        text = self._first(texts, lambda text: text[-1:] in ".。?？" and len(text) > least)
        return text if text[-1:] in ".。?？" else self.drawn.choice(self.parts.requests["en"])

    def _short(self, language: str) -> str:
        """A short label of one's own words."""
        texts = map(bare, self.parts.own[language])
        return self._first(texts, lambda text: len(text.split()) <= 3 and len(text) <= 24)

    def _time(self) -> str:
        hour, minute = self.drawn.randrange(24), self.drawn.randrange(60)
        half = f"{(hour - 1) % 12 + 1}:{minute:02} {'AM' if hour < 12 else 'PM'}"
        return self.drawn.choice([f"{hour}:{minute:02}", f"{hour:02}:{minute:02}", half])


def _joined(one: Texts, other: Texts) -> Texts:
    return {
        language: one.get(language, []) + other.get(language, []) for language in {**one, **other}
    }


def _bare_of(text: str, _: str) -> str:
    return bare(text)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _at(texts: Texts, language: str, number: int) -> str:
    return (texts.get(language) or texts["en"])[number]


def layouts() -> dict[str, list[str]]:
    """The layouts of each kind."""
    found: dict[str, list[str]] = defaultdict(list)
    for kind, layout in rows("layouts.tsv"):
        found[kind].append(layout)
    return found


def whole() -> dict[str, list[Talk]]:
    """The whole messages of each author."""
    found: dict[str, list[Talk]] = defaultdict(list)
    for author, language, text in rows("whole.tsv"):
        kind = "others" if "⟦" in text and "‹" not in text else "own"
        found[author].append(Talk(kind, language, "Nora", text.replace("\\n", "\n")))
    return found


def formed() -> list[Talk]:
    """Messages of many forms, with marks around all that is the writer's or another's."""
    return [
        Talk(form, language, "Nora", text.replace("\\n", "\n"))
        for form, language, text in rows("forms.tsv")
    ]


# Characters of an opening that is only a label.
MAX_LABEL = 24
# Code below and above the writer's own words.
CODE = (
    "{}\n\n```\nfor x in rows: print(x)\n```",
    "```\n$ make\nerror: 2\n```\n{}",
    "{}\n<log>x</log>",
)


def linked() -> list[Talk]:
    """Every second statement about oneself of the pairs, each a message; a third also below a label
    such as "Correction:", a third beside code.
    """
    lines = (LABELS / "links.tsv").read_text("utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("talk ")]
    pairs = (line.split("\t") for line in lines)
    texts = {(pair[1], text): None for pair in pairs for text in pair[3:]}
    labels: dict[str, list[str]] = defaultdict(list)
    for language, whose, text in rows("openings.tsv"):
        if whose == "own" and text.endswith((":", "：")) and len(text) < MAX_LABEL:
            labels[language].append(text)
    talks = []
    for number, (language, text) in enumerate(list(texts)[::2]):
        shown, some = [text], labels[language]
        if number % 3 == 1 and some:
            shown.append(f"{some[number % len(some)]} {text}")
        elif number % 3 == 2:
            shown.append(CODE[number // 3 % len(CODE)].format(text))
        talks += (Talk("alone", language, "Nora", one) for one in shown)
    return talks


def written(name: str) -> list[Talk]:
    """Messages that were written as a whole."""
    blocks = re.split(r"(?m)^=== ", (VOICE / name).read_text("utf-8"))[1:]
    found = []
    for block in blocks:
        head, text = block.split("\n", 1)
        kind, language, speaker = head.split(" ")
        found.append(Talk(kind, language, speaker, text.rstrip("\n")))
    return found
