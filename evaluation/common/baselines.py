"""What a memory system has to beat: the whole conversation as context, plain BM25, and chance.

They take the same messages, the same questions and the same token counter, and are written without
the package's search.
"""

from __future__ import annotations

import math
import random
import re
import threading
from collections import Counter
from datetime import datetime
from typing import Any, TypeVar

import snowballstemmer

from episodica import count_tokens

from .dataset import Conversation, Question
from .ranking import verbatim
from .systems import Packed, Retrieved

Value = TypeVar("Value")
# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009): the usual
# middle of their ranges.
BM25_K1 = 1.2
BM25_B = 0.75


def rendered(message: dict[str, Any]) -> str:
    """A message as a line of context: date, speaker, words."""
    date = datetime.fromisoformat(message["timestamp"]).strftime("%Y-%m-%d %H:%M")
    return f"[{date}] {message.get('name') or message['role']}: {message['content']}"


# Conversations whose derived data a baseline keeps: LongMemEval has one for every question.
_KEPT = 16


def _keep(cache: dict[str, Value], user: str, value: Value) -> Value:
    """Puts a value into a cache whose oldest entries fall out."""
    cache[user] = value
    for oldest in list(cache)[:-_KEPT]:
        cache.pop(oldest, None)
    return value


class _Baseline:
    """Common half: nothing to build, contexts packed line by line in the order of the ranking."""

    name = ""
    budgets = True

    def __init__(self) -> None:
        self._costs: dict[str, list[int]] = {}

    def _cost(self, conversation: Conversation) -> list[int]:
        """Tokens of each message's line. A line break may be a token of its own."""
        if (known := self._costs.get(conversation.user)) is not None:
            return known
        return _keep(
            self._costs,
            conversation.user,
            [count_tokens(rendered(one)) + 1 for one in conversation.messages],
        )

    def build(self, conversation: Conversation) -> dict[str, Any]:
        """Nothing is built."""
        return {
            "messages": len(conversation.messages),
            "duplicates": 0,
            "complete": True,
            "seconds": 0.0,
        }

    def ranked(self, conversation: Conversation, question: str) -> list[int]:
        """Positions of the messages, best first.

        In the order of time where a baseline has no opinion.
        """
        return list(range(len(conversation.messages)))

    def retrieve(self, conversation: Conversation, question: Question, k: int) -> Retrieved:
        """Messages only: a baseline has no episodes."""
        order = self.ranked(conversation, question.text)[:k]
        messages = [conversation.messages[place] for place in order]
        memories = [
            {"type": "message", "timestamp": one["timestamp"], "content": rendered(one)}
            for one in messages[:10]
        ]
        return Retrieved([one["message_id"] for one in messages], None, memories)

    def context(self, conversation: Conversation, question: Question, max_tokens: int) -> Packed:
        """Takes lines by rank until the budget is used up, and shows them in order of time."""
        taken: list[int] = []
        used = 0
        costs = self._cost(conversation)
        for place in self.ranked(conversation, question.text):
            if used + costs[place] <= max_tokens:
                taken.append(place)
                used += costs[place]
            elif max_tokens - used < 8:
                break
        return packed([conversation.messages[place] for place in sorted(taken)])

    def describe(self) -> dict[str, Any]:
        """Its parameters."""
        return {}

    def close(self) -> None:
        """Nothing is held."""


def packed(messages: list[dict[str, Any]]) -> Packed:
    """Messages as a context, one line each."""
    text = "\n".join(map(rendered, messages))
    return Packed(
        text,
        count_tokens(text),
        verbatim(text, {one["message_id"]: one["content"] for one in messages}),
    )


class Bm25(_Baseline):
    """BM25 over single messages with their speaker's name, English words stemmed."""

    name = "bm25"

    def __init__(self) -> None:
        super().__init__()
        self._stemmer = snowballstemmer.stemmer("english")
        # The stemmer keeps the word it works on as its own state.
        self._lock = threading.Lock()
        self._stems: dict[str, str] = {}
        self._indexes: dict[str, tuple[list[Counter[str]], list[int], Counter[str]]] = {}

    def _terms(self, text: str) -> list[str]:
        return [self._stem(word) for word in re.findall(r"\w+", text.lower())]

    def _stem(self, word: str) -> str:
        with self._lock:
            if word not in self._stems:
                self._stems[word] = self._stemmer.stemWord(word)
            return self._stems[word]

    def _index(
        self, conversation: Conversation
    ) -> tuple[list[Counter[str]], list[int], Counter[str]]:
        if (known := self._indexes.get(conversation.user)) is not None:
            return known
        counts = [
            Counter(self._terms(f"{one.get('name') or ''} {one['content']}"))
            for one in conversation.messages
        ]
        found_in = Counter(term for count in counts for term in count)
        return _keep(
            self._indexes,
            conversation.user,
            (counts, [count.total() for count in counts], found_in),
        )

    def ranked(self, conversation: Conversation, question: str) -> list[int]:
        """By score; equal scores in the order of time."""
        counts, lengths, found_in = self._index(conversation)
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        weights = {
            term: math.log(1 + (len(counts) - found_in[term] + 0.5) / (found_in[term] + 0.5))
            for term in set(self._terms(question))
            if term in found_in
        }
        scores = [
            sum(
                weight
                * count[term]
                * (BM25_K1 + 1)
                / (count[term] + BM25_K1 * (1 - BM25_B + BM25_B * length / average))
                for term, weight in weights.items()
                if term in count
            )
            for count, length in zip(counts, lengths, strict=True)
        ]
        return sorted(range(len(scores)), key=lambda place: (-scores[place], place))

    def describe(self) -> dict[str, Any]:
        """Its parameters."""
        return {"k1": BM25_K1, "b": BM25_B, "stemmer": "snowball english"}


class Random(_Baseline):
    """Messages in an order drawn anew for every question, from a seed: what chance would give."""

    name = "random"

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        self._seed = seed

    def ranked(self, conversation: Conversation, question: str) -> list[int]:
        """The same order at every call with the same question."""
        order = list(range(len(conversation.messages)))
        random.Random(f"{self._seed}/{conversation.user}/{question}").shuffle(order)
        return order

    def describe(self) -> dict[str, Any]:
        """Its seed."""
        return {"seed": self._seed}


class FullContext(_Baseline):
    """The whole conversation, in order, whatever it costs.

    Knows no budget and no ranking, so only its context is scored.
    """

    name = "full-context"
    budgets = False

    def __init__(self) -> None:
        super().__init__()
        self._packed: dict[str, Packed] = {}

    def retrieve(self, conversation: Conversation, question: Question, k: int) -> Retrieved:
        """Nothing is ranked."""
        return Retrieved(None, None)

    def context(self, conversation: Conversation, question: Question, max_tokens: int) -> Packed:
        """Everything; ``max_tokens`` is not obeyed."""
        if (known := self._packed.get(conversation.user)) is not None:
            return known
        return _keep(self._packed, conversation.user, packed(conversation.messages))
