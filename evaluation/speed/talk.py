"""Generated conversations of any length: deterministic, with the vocabulary of real ones.

Random vectors and random words do not behave like language: vector graphs degrade, and all postings
are alike. So the sentences come from the conversations of the test fixtures and of the demo. Parts
of them are replaced at random: content words by words that are about as frequent, names by made-up
ones (new names keep coming), numbers and days by others. A session keeps to the words of one source
session, which gives it a topic; every session also has facts worth remembering. The same seed gives
the same conversation on every machine.
"""

from __future__ import annotations

import calendar
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    ROOT / "python/episodica/data/sample_conversation.json",
    *sorted((ROOT / "tests/fixtures/conversations").glob("*.json")),
]
# Number of earlier sessions for messages added to a store, larger than the number in any store.
LATER = 150_000
START = datetime(2019, 1, 1, 8, tzinfo=UTC)

_WORD = re.compile(r"[A-Za-z][a-z]{3,}")
_NUMBER = re.compile(r"\d+")
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]*\s*")  # noqa: RUF001
# Share of content words that are replaced.
_EXCHANGED = 0.35
_ONSETS = re.findall(r"\w+", "b br d dr f g gr h j k l m n p r s st t tr v w z")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "io")
_ENDS = ("", "n", "r", "l", "s", "th", "m", "nd", "ck")
_FACTS = (
    "I bought a {noun} {thing} in {place} on {day}.",
    "I love {noun} {thing}.",
    "I don't like {noun} {thing}.",
    "I started learning {noun} {thing} on {day}.",
    "My friend {name} lives in {place}.",
    "My cousin {name} works as a {noun} maker.",
    "{name} and I went to {place} on {day}.",
    "I finished the {noun} {thing} for {name}.",
    "I want to visit {place} with {name}.",
    "We adopted a dog named {name}.",
    "I enjoy {noun} {thing} with {name}.",
    "I moved to {place} on {day}.",
)
_QUESTIONS = (
    "Where did {speaker} buy the {word} {other}?",
    "What does {speaker} think about the {word}?",
    "When did {speaker} talk about {word} and {other}?",
    "Who went to {place}?",
    "What happened with the {word}?",
    "Does {speaker} like {word} {other}?",
    "What did {speaker} say about {name}?",
    "Which {word} did they talk about in {month} {year}?",
)
_MONTHS = tuple(calendar.month_name[1:])


@dataclass(frozen=True, slots=True)
class _Source:
    speakers: tuple[str, str]
    sessions: tuple[tuple[tuple[int, str], ...], ...]


class Talk:
    """Messages of two speakers, session by session, without end.

    Another seed gives another conversation. With ``after``, it continues after that many sessions
    of a conversation of its own.
    """

    def __init__(self, seed: int = 1, length: int = 10, after: int = 0) -> None:
        self._chance = random.Random(seed)
        # Questions use a random generator of their own, so that they don't change the conversation.
        self._asking = random.Random(f"questions {seed}")
        self._length = length
        self._sources = [_read(path) for path in SOURCES]
        counts: Counter[str] = Counter()
        for source in self._sources:
            for session in source.sessions:
                for _, text in session:
                    counts.update(word.lower() for word in _WORD.findall(text))
        ranked = [word for word, _ in counts.most_common()]
        # The most frequent words are function words, and are not replaced.
        self._words = ranked[120:]
        self._ranks = {word: rank for rank, word in enumerate(self._words)}
        self._names: list[str] = [self._invent() for _ in range(40)]
        self.speakers = (self._invent(), self._invent())
        self._session = after
        self._number = 0

    def messages(self, count: int) -> list[dict[str, Any]]:
        """The next messages, as ``add_messages`` takes them."""
        made: list[dict[str, Any]] = []
        for message in self._endless():
            made.append(message)
            if len(made) == count:
                break
        return made

    def questions(self, messages: list[dict[str, Any]], count: int) -> list[str]:
        """Questions with words of some of the messages."""
        chance = self._asking
        asked: list[str] = []
        fit = [
            (message, words)
            for message in messages
            if len(words := self._known(message["content"])) > 1
        ]
        while fit and len(asked) < count:
            message, words = chance.choice(fit)
            names = [word for word in words if word[0].isupper()] or self._names[:40]
            word, other = chance.sample(words, 2)
            when = datetime.fromisoformat(message["timestamp"])
            asked.append(
                chance.choice(_QUESTIONS).format(
                    speaker=message["name"],
                    word=word.lower(),
                    other=other.lower(),
                    place=chance.choice(names),
                    name=chance.choice(names),
                    month=_MONTHS[when.month - 1],
                    year=when.year,
                )
            )
        return asked

    @staticmethod
    def shuffle(questions: list[str]) -> None:
        """Shuffles the questions, in the same order each time."""
        random.Random(len(questions)).shuffle(questions)

    def _known(self, text: str) -> list[str]:
        return [word for word in _WORD.findall(text) if word.lower() in self._ranks]

    def _endless(self) -> Iterator[dict[str, Any]]:
        chance = self._chance
        while True:
            source = chance.choice(self._sources)
            lines = chance.choice(source.sessions)
            names = dict(zip(source.speakers, self.speakers, strict=True))
            mapping: dict[str, str] = {}
            self._session += 1
            start = START + timedelta(hours=3 * self._session + chance.random() * 2)
            length = max(3, round(chance.gauss(self._length, self._length / 4)))
            told = set(chance.sample(range(length), 2))
            first = chance.randrange(max(1, len(lines) - length))
            for place in range(length):
                side, text = lines[(first + place) % len(lines)]
                content = self._vary(text, names, mapping)
                self._number += 1
                if place in told:
                    content = f"{content.rstrip()} {self._fact()}"
                yield {
                    "role": ("user", "assistant")[side],
                    "name": self.speakers[side],
                    "content": content,
                    "timestamp": (start + timedelta(seconds=40 * place)).isoformat(),
                    "session_id": f"session_{self._session}",
                    "message_id": f"m{self._number}",
                }

    def _vary(self, text: str, names: dict[str, str], mapping: dict[str, str]) -> str:
        def exchange(match: re.Match[str]) -> str:
            word = match[0]
            if word in names:
                return names[word]
            known = mapping.get(word)
            if known is None:
                known = mapping[word] = self._other(word)
            return known

        sentences = _SENTENCE.findall(text) or [text]
        if len(sentences) > 1 and self._chance.random() < 0.4:
            sentences.pop(self._chance.randrange(len(sentences)))
        varied = _WORD.sub(exchange, "".join(sentences))
        return _NUMBER.sub(
            lambda number: str(self._chance.randrange(1, 10 ** len(number[0]))), varied
        )

    def _other(self, word: str) -> str:
        rank = self._ranks.get(word.lower())
        if rank is None or self._chance.random() > _EXCHANGED:
            return word
        if word[0].isupper():
            return self._name()
        width = max(20, rank // 3)
        near = self._chance.randrange(max(0, rank - width), min(len(self._words), rank + width))
        return self._words[near]

    def _fact(self) -> str:
        chance = self._chance
        day = f"{chance.randrange(1, 29)} {chance.choice(_MONTHS)} {chance.randrange(2010, 2024)}"
        noun, thing = (self._words[int(len(self._words) * chance.random() ** 2)] for _ in range(2))
        return chance.choice(_FACTS).format(
            name=self._name(), place=self._name(), noun=noun, thing=thing, day=day
        )

    def _name(self) -> str:
        if self._chance.random() < 0.05:
            self._names.append(self._invent())
        return self._names[int(len(self._names) * self._chance.random() ** 1.5)]

    def _invent(self) -> str:
        chance = self._chance
        syllables = chance.choice((1, 2, 2, 2, 3))
        parts = [chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(syllables)]
        return ("".join(parts) + chance.choice(_ENDS)).capitalize()


def renamed(message: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The same message with other ids, as another message in another session."""
    return {**message, **{key: f"{prefix}-{message[key]}" for key in ("message_id", "session_id")}}


def _read(path: Path) -> _Source:
    talk = json.loads(path.read_text(encoding="utf-8"))[0]["conversation"]
    speakers = (talk["speaker_a"], talk["speaker_b"])
    sessions = []
    number = 1
    while f"session_{number}" in talk:
        turns = talk[f"session_{number}"]
        sessions.append(
            tuple(
                (int(turn["speaker"] == speakers[1]), turn["text"])
                for turn in turns
                if turn["text"].strip()
            )
        )
        number += 1
    return _Source(speakers, tuple(session for session in sessions if session))
