"""Contexts of one conversation that only grow, so that a prompt cache keeps the prompt before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack
from zlib import crc32

from . import _native
from .errors import InvalidInputError
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.options import KINDS, ContextOptions, context_options, spelled_out
from .queries import packed_context
from .results import Context
from .store import OpenStore
from .value import quoted

# A question may add an eighth of the tokens that are left, at least a twentieth of all, and a line
# of this many tokens: so thirty questions start over once at most.
_SHARE = 8
_LEAST = 20
_LINE = 100
# How often a context is packed again if its lines have more tokens in this form.
_ATTEMPTS = 4
_GAP = "[…] "
# Further lines of a piece begin with a space.
_START = re.compile(r"\n(?! )")


class Recall:
    """What one conversation was given of a memory: a text that only grows.

    Made by :meth:`MemorySystem.recall`.

    Examples
    --------
    >>> recall = memory.recall("alice", max_tokens=4000)
    >>> print(recall.add("Where does Alice live?"))
    # Mon 11 Mar 2024
    Alice: I moved to Lyon last Friday [8 March 2024].
    assistant: How do you like it there?
    >>> recall.add("And in which city does Alice live?")
    ''
    >>> recall.token_count <= 4000
    True
    """

    __slots__ = ("_ask", "_awaiter", "_given", "_known", "_max_tokens", "_restarts", "_text")

    def __init__(
        self,
        ask: Callable[[str, int], Context],
        known: Callable[[str], bool],
        max_tokens: int,
        state: Mapping[str, Any] | None = None,
        awaiter: object = None,
    ) -> None:
        self._awaiter = awaiter
        self._ask, self._known, self._max_tokens = ask, known, max_tokens
        self._text = ""
        self._restarts = 0
        self._given: dict[str, _Given] = {}
        if state is not None:
            self._resume(state)

    @property
    def text(self) -> str:
        """All lines that were given, in the order of the questions."""
        return self._text

    @property
    def token_count(self) -> int:
        """Tokens of :attr:`text` (o200k_base)."""
        return _native.count_tokens(self._text)

    @property
    def restarts(self) -> int:
        """How often the text began anew, because ``max_tokens`` was reached."""
        return self._restarts

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        size = f"{self.token_count} of {self._max_tokens} tokens, {len(self._given)} records"
        return f"<Recall {size}: {quoted(self._text)}>"

    def add(self, question: str) -> str:
        """The lines that answer a question and were not given before; they are added to the text.

        A record that was deleted since, and a line that got a mark such as ``[outdated since …]``,
        get a line of their own: what was given stays as it is. If the new lines don't fit into
        ``max_tokens``, the text begins anew with them.

        Parameters
        ----------
        question
            The question, up to 32,768 characters.

        Returns
        -------
        str
            The new lines; empty if there are none, and for a greeting.

        Raises
        ------
        InvalidInputError
            For an empty question or one that is too long.

        Examples
        --------
        >>> recall = memory.recall("alice")
        >>> recall.add("Thanks!")
        ''
        """
        asked = check.query(question)
        gone = self._deleted()
        left = self._max_tokens - self.token_count
        most = self._share(left)
        lines, given = self._lines(asked, most)
        new = "\n".join(filter(None, (gone, lines)))
        if self._text and new and self._cost(new) > self._max_tokens:
            # The lines of before are no longer in the prompt.
            self._text, self._given = "", {}
            self._restarts += 1
            new, given = self._lines(asked, self._share(self._max_tokens))
        self._given |= given
        self._text = f"{self._text}\n{new}" if self._text and new else self._text + new
        return new

    @property
    def state(self) -> dict[str, Any]:
        """All of it as plain JSON types, to go on later: ``memory.recall(user, state=state)``."""
        given = {
            name: [one.head, one.speaker, sorted(one.lines), one.whole, one.deleted]
            for name, one in self._given.items()
        }
        return {"text": self._text, "given": given, "restarts": self._restarts}

    def _resume(self, state: Mapping[str, Any]) -> None:
        try:
            self._text = check.text(state["text"], "text")
            self._restarts = int(state["restarts"])
            for name, (head, speaker, lines, whole, deleted) in state["given"].items():
                one = _Given(str(head), str(speaker), set(map(str, lines)), whole, deleted)
                self._given[str(name)] = one
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                "state is none of `recall.state`", hint="pass back what it was, unchanged"
            ) from error

    def _share(self, left: int) -> int:
        """What one question may add."""
        return min(max(left // _SHARE, self._max_tokens // _LEAST, _LINE), self._max_tokens)

    def _cost(self, new: str) -> int:
        return _native.count_tokens(f"{self._text}\n{new}" if self._text else new)

    def _lines(self, question: str, most: int) -> tuple[str, dict[str, _Given]]:
        """The new lines for a question, at most ``most`` tokens, and the records in them."""
        length = most
        for _ in range(_ATTEMPTS):
            packed = self._ask(question, length)
            text, given = self._written(packed)
            over = _native.count_tokens(text) - most
            if over <= 0:
                return text, given
            length -= over
            if length < 1:
                break
        return "", {}

    def _written(self, packed: Context) -> tuple[str, dict[str, _Given]]:
        written: list[str] = []
        given: dict[str, _Given] = {}
        under, gap = "", False
        for piece in _pieces(packed):
            known = self._given.get(piece.name)
            if known is not None and known.has(piece):
                gap = True
                continue
            if piece.head != under:
                written.append(piece.head)
                under, gap = piece.head, False
            written.append(f"{_GAP}{piece.line}" if gap and piece.speaker else piece.line)
            gap = False
            lines = {piece.key} | (known.lines if known else set())
            given[piece.name] = _Given(piece.head, piece.speaker, lines, not piece.part)
        return "\n".join(written), given

    def _deleted(self) -> str:
        """A line for each record that was given and is deleted since."""
        written: list[str] = []
        for name, one in list(self._given.items()):
            if one.deleted or self._known(name):
                continue
            place = (one.head, one.speaker)
            same = [known for known, at in self._given.items() if (at.head, at.speaker) == place]
            mark = f"[deleted: number {same.index(name) + 1} of these above]"
            written += [one.head, f"{one.speaker}: {mark}" if one.speaker else f"- {mark}"]
            one.deleted = True
        return "\n".join(written)


@dataclass(slots=True)
class _Given:
    """The digests of the lines given of a record, and whether one of them is whole."""

    head: str
    speaker: str
    lines: set[str]
    whole: bool
    deleted: bool = False

    def has(self, piece: _Piece) -> bool:
        return piece.key in self.lines or (self.whole and piece.part and not piece.mark)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A record in a context under a heading: its line and its further lines."""

    name: str
    head: str
    line: str
    part: bool = False

    @property
    def speaker(self) -> str:
        """The speaker without marks; empty for facts and summaries."""
        return "" if self.line.startswith("- ") else self._start.partition(" [")[0]

    @property
    def mark(self) -> str:
        """A mark between speaker and words."""
        return self._start.partition(" [")[2]

    @property
    def _start(self) -> str:
        return self.line.partition(": ")[0]

    @property
    def key(self) -> str:
        """Tells this line from others of the record."""
        return f"{crc32(self.line.encode('utf-8', 'surrogatepass')):08x}"


def _pieces(packed: Context) -> Iterator[_Piece]:
    """The pieces of a context in the form "lines", whose pieces begin in the first column."""
    parts = frozenset(packed.excerpts)
    facts, messages, head = iter(packed.facts), iter(packed.messages), ""
    for text in _START.split(packed.text):
        if text.startswith("# "):
            head = text
        elif text.startswith("- "):
            # Facts stand before summaries.
            fact = next(facts, None)
            name = fact.memory_id if fact else f"summary {crc32(text.encode()):08x}"
            yield _Piece(name, head, text)
        elif text:
            name = next(messages).message_id
            yield _Piece(name, head, text.removeprefix(_GAP), name in parts)


@forgiving('memory.recall("alice", max_tokens=4000)')
@spelled_out(ContextOptions)
def recall(
    self: OpenStore,
    user_id: str,
    max_tokens: int = 4000,
    *,
    state: Mapping[str, Any] | None = None,
    **options: Unpack[ContextOptions],
) -> Recall:
    """Contexts for the questions of one conversation, each without the lines given before.

    The prompt before a new question then stays byte for byte, so that a prompt cache keeps it. Each
    line stands under the heading of its day, in the form of :meth:`context`.

    Parameters
    ----------
    user_id
        User id. For an unknown user nothing is recalled.
    max_tokens
        Most tokens of the whole text, 1 or more. One question may add an eighth of what is left, at
        least a twentieth of all and 100 tokens.
    state
        :attr:`Recall.state` of a conversation to go on with.
    method, since, until, session_id, agent_id, where, fact_kinds
        As for :meth:`search`.
    min_importance, about, threshold, explain, now
        As for :meth:`search`.

    Returns
    -------
    Recall
        Nothing is given yet; :meth:`Recall.add` gives the lines for a question.

    Raises
    ------
    InvalidInputError
        As for :meth:`search`, for ``max_tokens`` below 1, and for a ``state`` that is none.

    Examples
    --------
    >>> recall = memory.recall("alice")
    >>> "Lyon" in recall.add("Where does Alice live?")
    True
    >>> again = memory.recall("alice", state=recall.state)
    >>> again.text == recall.text, again.add("Where does Alice live?")
    (True, '')
    """
    user, most = check.user(user_id), check.whole(max_tokens, "max_tokens", 1)
    checked = context_options(options, kinds=KINDS, zone=self._zone)

    def ask(question: str, length: int) -> Context:
        return packed_context(self, user, question, length, "lines", checked)

    def known(name: str) -> bool:
        return name.startswith("summary ") or self._engine.get(user, name) is not None

    return Recall(ask, known, most, state, self._awaiter)
