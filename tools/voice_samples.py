"""What the network of ``train_voice.py`` learns from: texts with their answer to each score."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np

from voice_talk import Parts, Texts, bare, shown

SCORES = ("announces", "invents", "asks", "names", "states")

Array = np.ndarray[Any, Any]
Samples = dict[str, list[tuple[list[str], int, float]]]


class Sampler:
    """The texts of parts, in the lists that the scores learn from."""

    def __init__(self, parts: Parts) -> None:
        drawn = random.Random(1)
        self.parts, self.drawn = parts, drawn
        self.other, self.own = flat(parts.other), flat(parts.own)
        self.invented = flat(parts.invented) + flat(parts.jokes)
        self.true, self.requests = flat(parts.true), flat(parts.requests)
        self.said, self.small = self._some(parts.said, 500), self._some(parts.small, 300)
        # "Tom, I moved."
        for language, some in parts.said.items():
            called = parts.names.get(language, parts.names["en"])
            for text in drawn.sample(some, len(some) // 4):
                self.said.append(f"{drawn.choice(called)}, {text[:1].lower()}{text[1:]}")
        self.names, self.unnamed = self._lower(flat(parts.names)), self._lower(parts.labels)
        self.told, self.untold = clauses(parts, drawn)
        self.tags = flat(parts.asking["tag"])
        self.label_own, self.label_other = flat(parts.label_own), flat(parts.label_other)

    def _some(self, texts: Texts, most: int) -> list[str]:
        return [
            text
            for some in texts.values()
            for text in self.drawn.sample(some, min(most, len(some)))
        ]

    def _lower(self, texts: list[str]) -> list[str]:
        return texts + [text.lower() for text in self.drawn.sample(texts, len(texts) // 4)]

    def samples(self) -> Samples:
        """For each score, lists of texts with their answer and their weight. Of several weights of
        a text the first counts for a yes, the last for a no.
        """
        chats = self.parts.chats
        asking = [text for text in self.small if text[-1:] in "?？"]
        telling = [text for text in self.small if text[-1:] not in "?？"]
        short_other, short_own = labels(self.other), labels(self.own)
        return {
            "announces": [
                *[(self.label_other, 1, 8.0), (self.other, 1, 2.0), (short_other, 1, 1.0)],
                *[(self.own, 0, 2.0), (short_own, 0, 2.0), (self.true, 0, 1.0)],
                *[(self.invented, 0, 0.3), (self.said, 0, 0.7), (self.small, 0, 0.7)],
                *[(self.requests, 0, 1.0), (self.names, 0, 0.3), (chats, 0, 1.0)],
                *[(self.label_own, 0, 8.0)],
            ],
            "invents": [
                *[(self.invented, 1, 4.0), (self.true, 0, 2.0), (self.said, 0, 3.0)],
                *[(self.small, 0, 0.7), (self.requests, 0, 0.7), (self.own, 0, 0.3)],
                *[(chats, 0, 2.0)],
            ],
            "asks": [
                *[(self.requests, 1, 3.0), (self.said, 0, 1.0), (self.true, 0, 1.0)],
                *[(self.invented, 0, 0.5), (asking, 1, 0.5), (telling, 0, 0.5)],
                *[(self.names, 0, 0.3), (self.own, 0, 0.2), (self.tags, 0, 60.0)],
            ],
            "names": [
                *[(self.names, 1, 2.0), (self.unnamed, 0, 2.0), (short_other, 0, 1.0)],
                *[(short_own, 0, 1.0), (self.said, 0, 0.3)],
                *[(self.label_own, 0, 4.0), (self.label_other, 0, 2.0)],
            ],
            "states": [
                *[(self.told, 1, 1.0), (self.true, 1, 0.5), (self.said, 1, 0.5)],
                *[(self.untold, 0, 2.0), (self.requests, 0, 2.0), (asking, 0, 1.0)],
                *[(telling, 0, 0.5), (self.tags, 0, 5.0), (self.invented, 0, 0.5)],
                *[(self.names, 0, 0.3), (self.other, 0, 0.5), (self.own, 0, 0.5)],
            ],
        }


def flat(texts: Texts) -> list[str]:
    """The texts of all languages."""
    return [text for some in texts.values() for text in some]


def labels(texts: list[str]) -> list[str]:
    """The short ones, without the mark at their end."""
    return [bare(text) for text in texts if len(text) < 40]


def clauses(parts: Parts, drawn: random.Random) -> tuple[list[str], list[str]]:
    """Clauses before or after a question that tell something, and those that do not."""
    told, untold = [], []
    for language, texts in parts.said.items():
        some = [bare(text).rstrip("。") for text in drawn.sample(texts, min(300, len(texts)))]
        some = [text if drawn.random() < 0.4 else text[:1].lower() + text[1:] for text in some]
        told += some
        told += [f"{one}, {other}" for one, other in zip(some[::4], some[1::4], strict=False)]
        for code, found in (("told", told), ("if", untold)):
            for frame in parts.asking[code].get(language, []):
                texts = drawn.sample(some, min(40, len(some)))
                found += [frame.replace("{}", text) for text in texts]
    for some in (*parts.requests.values(), *parts.small.values()):
        untold += [text.rstrip("?？ ") for text in some if text[-1:] in "?？"]
    return told, untold


def targets(parts: Parts) -> tuple[list[str], Array, Array]:
    """Texts, their answers to each score, and how much these count; yes and no count the same."""
    answers: dict[str, list[int]] = defaultdict(lambda: [0] * len(SCORES))
    counts: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(SCORES))
    for at, some in enumerate(Sampler(parts).samples().values()):
        total = [
            sum(len(texts) * much for texts, yes, much in some if yes == is_) for is_ in (0, 1)
        ]
        for texts, yes, much in some:
            for text in filter(None, map(shown, texts)):
                # A text in two lists counts as yes.
                if not answers[text][at]:
                    answers[text][at], counts[text][at] = yes, much / total[yes]
    texts = list(answers)
    return (
        texts,
        np.array([answers[text] for text in texts]),
        np.array([counts[text] for text in texts]),
    )
