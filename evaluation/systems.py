"""The systems under test: ``episodica`` itself, and the baselines.

The baselines don't use the package's search: BM25, dense vectors and their sum, each over all
messages and over the user's messages only; the whole conversation; and a random order.
"""

from __future__ import annotations

import math
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from episodica import Hit, MemorySystem, count_tokens
from evaluation.datasets import Conversation, Question
from evaluation.measures import DEPTH, Found, Packed, stands_in, unmarked

Vector = npt.NDArray[np.float64]
# The usual middle of the ranges in Robertson and Zaragoza, "The Probabilistic Relevance Framework:
# BM25 and Beyond" (2009).
BM25_K1, BM25_B = 1.2, 0.75
RRF = 60
METHODS = ("hybrid", "rrf", "vector", "bm25", "norlift")


class System:
    """A memory that stores conversations and finds their messages again."""

    name = ""
    budgets = True
    """Whether contexts obey a token budget."""

    def add(self, conversation: Conversation, start: int, end: int) -> dict[str, Any]:
        """Stores some of the messages; returns counts for the ledger."""
        return {"messages": end - start}

    def ask(self, conversation: Conversation, question: Question, said: int) -> Found:
        """Ranks the first ``said`` messages for a question."""
        raise NotImplementedError

    def pack(
        self, conversation: Conversation, question: Question, said: int, max_tokens: int
    ) -> Packed:
        """Packs a context for a question."""
        raise NotImplementedError

    def ended(self, conversation: Conversation, ids: Iterable[str]) -> bool | None:
        """Whether a fact from these messages is known and ended; ``None`` without facts."""
        return None

    def erase(self, conversation: Conversation, ids: list[str]) -> bool:
        """Deletes messages and everything derived from them; ``False`` if the system can't."""
        return False

    def everything(self, conversation: Conversation, question: Question) -> str:
        """All texts that it finds for a question, whatever the budget."""
        return ""

    def forget(self, conversation: Conversation) -> None:
        """Deletes the conversation, so that it can be added again."""

    def describe(self) -> dict[str, Any]:
        """The configuration of the system, for the manifest."""
        return {}

    def close(self) -> None:
        """Releases its resources."""


class Episodica(System):
    """``episodica`` through its public API; each conversation is a user."""

    def __init__(self, store: Path, settings: dict[str, Any], method: str = "hybrid") -> None:
        self.name = "episodica" if method == "hybrid" else f"episodica:{method}"
        self._memory = MemorySystem(store, **settings)
        self._counted: Counter[str] = Counter()
        self._method: Any = method

    def add(self, conversation: Conversation, start: int, end: int) -> dict[str, Any]:
        """Adds the messages that are new, closes the buffer and waits for the facts."""
        user = conversation.user
        added = self._memory.add_messages(user, conversation.messages[start:end])
        self._memory.flush(user)
        complete = self._memory.wait(user)
        usage, before = self._memory.usage(), self._counted
        names = ("calls", "prompt_tokens", "completion_tokens")
        self._counted = Counter({name: int(usage[name]) for name in names})
        spent = {name: self._counted[name] - before[name] for name in names}
        count = added.messages_added + added.duplicates
        return {"messages": count, "duplicates": added.duplicates, "complete": complete, **spent}

    def ask(self, conversation: Conversation, question: Question, said: int) -> Found:
        """Ranks messages by one search, and takes the best relevance of any kind from another."""
        hits = self._search(conversation, question, DEPTH, ["message"])
        best = self._search(conversation, question, 1)
        messages = [message.message_id for hit in hits for message in hit.messages]
        return Found(messages, best[0].score if best else 0.0, tuple(hits.degraded))

    def _search(
        self, conversation: Conversation, question: Question, k: int, kinds: Any = None
    ) -> Any:
        options = {"kinds": kinds} if kinds else {}
        return self._memory.search(
            conversation.user,
            question.text,
            top_k=k,
            method=self._method,
            now=question.now,
            **options,
        )

    def pack(
        self, conversation: Conversation, question: Question, said: int, max_tokens: int
    ) -> Packed:
        """Uses the package's own packing; a message counts if its own words are in the text."""
        context = self._memory.context(
            conversation.user,
            question.text,
            max_tokens=max_tokens,
            method=self._method,
            now=question.now,
        )
        text = unmarked(context.text)
        quoted = [one for one in context.messages if stands_in(one.content, text)]
        return Packed(
            context.text,
            context.token_count,
            [one.message_id for one in quoted if unmarked(one.content) in text],
            [one.message_id for one in quoted],
            [one for fact in context.facts for one in fact.source_messages],
        )

    def ended(self, conversation: Conversation, ids: Iterable[str]) -> bool | None:
        """Looks at all facts, including superseded ones."""
        wanted = set(ids)
        facts = self._memory.semantic_memories(conversation.user, include_superseded=True)
        return any(
            bool(one.superseded_by or one.valid_to) and bool(wanted & set(one.source_messages))
            for one in facts
        )

    def erase(self, conversation: Conversation, ids: list[str]) -> bool:
        """Deletes the messages by id."""
        self._memory.delete(conversation.user, ids)
        return True

    def everything(self, conversation: Conversation, question: Question) -> str:
        """Hits of all kinds, and every episode and fact of the user."""
        kinds = ["message", "episodic", "semantic"]
        hits: list[Hit] = list(self._search(conversation, question, DEPTH, kinds))
        user = conversation.user
        facts = self._memory.semantic_memories(user, include_superseded=True)
        known = [*self._memory.episodes(user), *facts]
        return "\n".join([*(hit.content for hit in hits), *(one.content for one in known)])

    def forget(self, conversation: Conversation) -> None:
        """Deletes the user."""
        self._memory.delete_user_data(conversation.user)

    def describe(self) -> dict[str, Any]:
        """All settings in use."""
        return {"method": self._method, "config": self._memory.config.to_dict()}

    def close(self) -> None:
        """Closes the store."""
        self._memory.close()


def rendered(message: dict[str, Any]) -> str:
    """A message as a line of context: date, speaker, words."""
    when = datetime.fromisoformat(message["timestamp"]).strftime("%Y-%m-%d %H:%M")
    return f"[{when}] {message.get('name') or message['role']}: {message['content']}"


def packed(messages: list[dict[str, Any]]) -> Packed:
    """Messages as a context, one line each."""
    text = "\n".join(map(rendered, messages))
    ids = [one["message_id"] for one in messages]
    return Packed(text, count_tokens(text), ids, ids, [])


class Ranking(System):
    """A system that gives each message a score, and packs the best lines in the order of time."""

    def __init__(self, users_only: bool = False) -> None:
        self.name += "-user" if users_only else ""
        self._users_only = users_only
        self._known: dict[str, Any] = {}
        self._costs: tuple[str, list[int]] = ("", [])
        self._last: tuple[str, int, list[int], float | None] = ("", 0, [], None)

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """A score for each of the first ``said`` messages."""
        raise NotImplementedError

    def top(self, scores: Vector) -> float | None:
        """The best score; ``None`` if the scores of two questions can't be compared."""
        return float(scores.max(initial=0.0))

    def _prepared(self, conversation: Conversation) -> Any:
        """Data derived once from a conversation; kept for the last conversation only."""
        if conversation.user not in self._known:
            self._known = {conversation.user: self.prepare(conversation)}
        return self._known[conversation.user]

    def prepare(self, conversation: Conversation) -> Any:
        """Derives the data of a conversation that the scores need."""

    def order(
        self, conversation: Conversation, question: Question, said: int
    ) -> tuple[list[int], float | None]:
        """Positions of the messages, best first; equal scores in the order of time."""
        if self._last[:2] != (question.key, said):
            scores = self.scores(conversation, question, said)
            if self._users_only:
                others = [one["role"] != "user" for one in conversation.messages[:said]]
                scores = np.where(others, -np.inf, scores)
            ranked = np.argsort(-scores, kind="stable")
            order = [int(place) for place in ranked if scores[place] > -np.inf]
            self._last = (question.key, said, order, self.top(scores[order]))
        return self._last[2:]

    def ask(self, conversation: Conversation, question: Question, said: int) -> Found:
        """The best messages."""
        order, top = self.order(conversation, question, said)
        return Found([conversation.messages[at]["message_id"] for at in order[:DEPTH]], top)

    def pack(
        self, conversation: Conversation, question: Question, said: int, max_tokens: int
    ) -> Packed:
        """Takes lines by rank until the budget is used up. Counts a token for each line break."""
        if self._costs[0] != conversation.user:
            costs = [count_tokens(rendered(one)) + 1 for one in conversation.messages]
            self._costs = (conversation.user, costs)
        taken: list[int] = []
        used = 0
        for at in self.order(conversation, question, said)[0]:
            cost = self._costs[1][at]
            if used + cost <= max_tokens:
                taken.append(at)
                used += cost
            elif max_tokens - used < 8:
                break
        return packed([conversation.messages[at] for at in sorted(taken)])


class Bm25(Ranking):
    """BM25 over single messages with their speaker's name; English words are stemmed."""

    name = "bm25"

    def __init__(self, users_only: bool = False) -> None:
        super().__init__(users_only)
        # Imported here, since only the baseline needs it.
        import snowballstemmer

        self._stemmer = snowballstemmer.stemmer("english")
        self._stems: dict[str, str] = {}

    def _terms(self, text: str) -> list[str]:
        found = re.findall(r"\w+", text.lower())
        for word in found:
            if word not in self._stems:
                self._stems[word] = self._stemmer.stemWord(word)
        return [self._stems[word] for word in found]

    def prepare(self, conversation: Conversation) -> list[Counter[str]]:
        """The terms of each message."""
        texts = (f"{one.get('name') or ''} {one['content']}" for one in conversation.messages)
        return [Counter(self._terms(text)) for text in texts]

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """Uses the statistics of the messages so far, or of the user's messages among them."""
        everything = self._prepared(conversation)[:said]
        mine = [
            not self._users_only or one["role"] == "user" for one in conversation.messages[:said]
        ]
        counts = [one if own else Counter[str]() for one, own in zip(everything, mine, strict=True)]
        lengths = [count.total() for count in counts]
        average = sum(lengths) / max(sum(mine), 1) or 1.0
        made = np.zeros(len(counts))
        for term in set(self._terms(question.text)):
            found_in = sum(term in count for count in counts)
            if not found_in:
                continue
            weight = math.log(1 + (sum(mine) - found_in + 0.5) / (found_in + 0.5))
            for at, (count, length) in enumerate(zip(counts, lengths, strict=True)):
                if times := count.get(term, 0):
                    damped = BM25_K1 * (1 - BM25_B + BM25_B * length / average)
                    made[at] += weight * times * (BM25_K1 + 1) / (times + damped)
        return made

    def describe(self) -> dict[str, Any]:
        """Its parameters."""
        return {"k1": BM25_K1, "b": BM25_B, "stemmer": "snowball english"}


class Dense(Ranking):
    """Cosine of vectors of all-MiniLM-L6-v2; each message has a vector, with its speaker's name."""

    name = "dense"

    def __init__(self, embedder: Any, users_only: bool = False) -> None:
        super().__init__(users_only)
        self._embedder = embedder

    def prepare(self, conversation: Conversation) -> Vector:
        """A row for each message; embeds the questions in the same call."""
        texts = [spoken(one) for one in conversation.messages]
        asked = [one.text for one in conversation.questions]
        return np.array(self._embedder([*texts, *asked])[: len(texts)])

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """Exact cosines."""
        rows: Vector = self._prepared(conversation)[:said]
        return rows @ self._embedder([question.text])[0]

    def describe(self) -> dict[str, Any]:
        """The name of its model."""
        return {"model": self._embedder.model}


def spoken(message: dict[str, Any]) -> str:
    """The text that a dense index gets: a message after its speaker, if it has one."""
    return f"{message['name']}: {message['content']}" if message.get("name") else message["content"]


class _WithDense(Ranking):
    """A ranking by words and dense, as one. Its scores are those within a question."""

    words: type[Ranking]

    def __init__(self, embedder: Any, users_only: bool = False) -> None:
        super().__init__(users_only)
        self._parts = (self.words(users_only), Dense(embedder, users_only))

    def top(self, scores: Vector) -> None:
        """None, since the scores of two questions can't be compared."""


class Sum(_WithDense):
    """The sum of BM25 and dense, each scaled to 0 to 1 over the conversation."""

    name = "sum"
    words = Bm25

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """The sum of the two scaled scores."""
        made = np.zeros(said)
        for part in self._parts:
            scores = part.scores(conversation, question, said)
            made += (scores - scores.min()) / (np.ptp(scores) or 1.0)
        return made


class Fts5(Ranking):
    """SQLite's full-text index: the words of the question joined by OR, its own ``bm25``."""

    name = "fts5"

    def prepare(self, conversation: Conversation) -> sqlite3.Connection:
        """An index in memory; a row for each message, numbered from 0."""
        index = sqlite3.connect(":memory:")
        index.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")
        rows = ((at, spoken(one)) for at, one in enumerate(conversation.messages))
        index.executemany("INSERT INTO said(rowid, text) VALUES (?, ?)", rows)
        return index

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """Messages that share no word with the question are not ranked."""
        made = np.full(said, -np.inf)
        words = " OR ".join(
            f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question.text))
        )
        if words:
            found = self._prepared(conversation).execute(
                "SELECT rowid, -bm25(said) FROM said WHERE said MATCH ? AND rowid < ?",
                (words, said),
            )
            for at, score in found:
                made[at] = score
        return made


class FusedFts5(_WithDense):
    """``fts5`` and ``dense`` fused by reciprocal ranks, ``1 / (60 + rank)``."""

    name = "fts5-dense"
    words = Fts5

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """The sum over both lists of ranks; a message that a list lacks gets nothing from it."""
        made = np.zeros(said)
        for part in self._parts:
            for rank, at in enumerate(part.order(conversation, question, said)[0], start=1):
                made[at] += 1 / (RRF + rank)
        return made


class Chance(Ranking):
    """A random order for each question, drawn from a seed."""

    name = "random"

    def scores(self, conversation: Conversation, question: Question, said: int) -> Vector:
        """The same scores each time for a question."""
        drawn = random.Random(f"1/{question.key}/{question.text}")
        return np.array([drawn.random() for _ in range(said)])


class FullContext(System):
    """The whole conversation, in order, whatever it costs. It ranks nothing."""

    name = "full-context"
    budgets = False

    def __init__(self) -> None:
        self._last: tuple[Any, Packed] = (None, packed([]))

    def ask(self, conversation: Conversation, question: Question, said: int) -> Found:
        """Ranks nothing."""
        return Found(None)

    def pack(
        self, conversation: Conversation, question: Question, said: int, max_tokens: int
    ) -> Packed:
        """All messages so far; ignores ``max_tokens``."""
        if self._last[0] != (conversation.user, said):
            self._last = ((conversation.user, said), packed(conversation.messages[:said]))
        return self._last[1]
