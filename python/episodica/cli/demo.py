"""``episodica demo``: remembers a sample, answers questions, shows facts and episodes."""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from heapq import nlargest
from importlib import resources
from operator import attrgetter
from typing import Any

from ..changes import Change
from ..readers import Conversation, Question, read_conversations
from ..records import Episode, SemanticMemory
from ..results import Hit
from ..system import MemorySystem
from ..value import day
from .output import Output, counted, printable
from .stores import settings_of
from .transfers import remember

_SAMPLE = "data/sample_conversation.json"
# What a visitor asks first, with the turns that prove the answer.
_SAMPLE_QUESTIONS = (
    Question("Where does Mira live?", "In Bonfim, a part of Porto", ("D9:13",)),
    Question("Who is Mira's boss?", "Teresa", ("D12:8",)),
    Question("Is Oskar allergic to anything?", "Walnuts", ("D2:3",)),
    Question("How did Mira break her ankle?", "Carrying her dog downstairs", ("D3:3",)),
    Question("What's Mira's dog called?", "Pickle", ("D1:11", "D1:12", "D1:15")),
    Question("What's the name of Lena's baby?", "Juno Beatrix", ("D10:1",)),
)
_FACTS, _EPISODES = 10, 5
# A number or a name inside a sentence: such words tell something to people who were not there.
_CONCRETE = re.compile(r"\d|[^.!?:\"“\s] (?!I\b)[A-Z]\w")
_since, _said = attrgetter("valid_from"), attrgetter("timestamp")
_score = attrgetter("score")
_LINES_OF_FILE, _QUESTIONS_OF_FILE = 3, 3
# Length of a context for a question of one's own, in tokens.
_TOKENS = 200
# The evidence of an answer is searched among this many hits.
_DEPTH = 10


def demo(args: argparse.Namespace, out: Output) -> None:
    """Runs the demonstration.

    The store is temporary unless ``--store`` names one: a trial must not mix with real memories.
    """
    with ExitStack() as stack:
        path = args.store or stack.enter_context(tempfile.TemporaryDirectory(prefix="episodica-"))
        if args.file:
            conversations = read_conversations(args.file)
        else:
            with resources.as_file(resources.files("episodica").joinpath(_SAMPLE)) as sample:
                conversations = read_conversations(sample)
        memory = stack.enter_context(MemorySystem(path, tenant=args.tenant, **settings_of(args)))
        results = [_show(memory, one, args, out) for one in conversations]
    if not out.printed_json(results) and not args.store and not args.ask:
        out.note("\nthe store was temporary; `episodica demo --store memories` keeps it")


def _show(
    memory: MemorySystem, conversation: Conversation, args: argparse.Namespace, out: Output
) -> dict[str, Any]:
    user = conversation.user_id or conversation.name
    counts = remember(memory, user, conversation)
    episodes = list(memory.episodes(user))
    facts = list(memory.semantic_memories(user))
    if not out.as_json and not args.ask:
        _print_counts(conversation, counts, len(episodes), len(facts), out)
    asked: dict[str, Any]
    if args.ask:
        asked = {"contexts": _contexts(memory, user, args.ask, out)}
    elif args.file:
        questions = conversation.questions[:_QUESTIONS_OF_FILE]
        asked = {"questions": _answers(memory, user, questions, out)}
    else:
        asked = {"questions": _answers(memory, user, _SAMPLE_QUESTIONS, out)}
    if not out.as_json and not args.ask:
        of_file = args.file is not None
        _print_facts(facts, _LINES_OF_FILE if of_file else _FACTS, out)
        _print_change(memory.changes(user), out)
        _print_episodes(episodes, facts, _LINES_OF_FILE if of_file else _EPISODES, out)
    return {
        **counts,
        "episode_titles": [one.title for one in episodes],
        "facts": [one.content for one in facts],
        **asked,
    }


def _answers(
    memory: MemorySystem, user: str, questions: Sequence[Question], out: Output
) -> list[dict[str, Any]]:
    if questions and not out.as_json:
        out.heading(f"Questions ({len(questions)})")
    answers = [_answer(memory, user, question, out) for question in questions]
    if answers and not out.as_json:
        found = sum(answer["rank"] is not None for answer in answers)
        spent = sorted(answer["milliseconds"] for answer in answers)[len(answers) // 2]
        out.line()
        out.line(
            f"  {found} of {len(answers)} answers proved by a message among the first {_DEPTH} "
            f"hits; median search {spent:.2f} ms"
        )
    return answers


def _contexts(
    memory: MemorySystem, user: str, questions: Sequence[str], out: Output
) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    for question in questions:
        if made and not out.as_json:
            out.line()
        made.append(_context(memory, user, question, out))
    return made


def _context(memory: MemorySystem, user: str, question: str, out: Output) -> dict[str, str]:
    """The context that a prompt with this question would get."""
    packed = memory.context(user, question, max_tokens=_TOKENS)
    text = packed.text
    if not out.as_json:
        out.line(out.style(printable(question), "bold"))
        for line in text.splitlines() or ["nothing bears on this question"]:
            out.line(f"  {printable(line)}")
        out.note(f"  ({packed.token_count} tokens of at most {_TOKENS})")
    return {"question": question, "context": text}


def _telling(fact: SemanticMemory) -> tuple[bool, float]:
    """How much a fact tells to somebody who does not know the talk."""
    return _CONCRETE.search(fact.content) is not None, fact.importance


def _print_facts(facts: list[SemanticMemory], count: int, out: Output) -> None:
    out.heading(f"Worth knowing ({min(count, len(facts))} of {len(facts)} facts)")
    shown = sorted(nlargest(count, facts, _telling), key=_since)
    rows = ((day(one.valid_from)[:10], one.content) for one in shown)
    out.table(("said", "fact"), rows, indent=2)


def _print_change(changes: list[Change], out: Output) -> None:
    """The words that most surely have later ones, with the mark that contexts give them."""
    surest = max(changes, key=_score, default=None)
    if surest is not None:
        old, new = surest.sides
        surest_of = ", the surest" if len(changes) > 1 else ""
        out.heading(f"Said later (1 of {len(changes)}{surest_of})")
        said = f"{day(old.timestamp)[:10]}  {old.speaker}: {old.content}"
        mark = f'[later, {day(new.timestamp)[:10]}: "{new.content}"]'
        out.paragraph(f"{said} {mark}", indent=2, max_lines=4)


def _print_episodes(
    episodes: list[Episode], facts: list[SemanticMemory], count: int, out: Output
) -> None:
    def telling(episode: Episode) -> tuple[bool, float]:
        told = episode.title.removesuffix("…").rpartition(": ")[2]
        return max(
            (_telling(one) for one in facts if told in (one.quote or "")), default=(False, 0)
        )

    shown = sorted(nlargest(count, episodes, telling), key=_said)
    out.heading(f"Episodes ({len(episodes)})")
    rows = ((day(one.timestamp), one.message_count, one.title) for one in shown)
    out.table(("date", "messages", "title"), rows, indent=2)
    if len(episodes) > len(shown):
        out.line(out.style(f"  and {len(episodes) - len(shown):,} more episodes", "dim"))


def _print_counts(
    conversation: Conversation, counts: dict[str, Any], episodes: int, facts: int, out: Output
) -> None:
    messages = conversation.messages
    sessions = len({message.get("session_id") for message in messages})
    speakers = " and ".join(
        dict.fromkeys(str(message.get("name") or message.get("role")) for message in messages[:20])
    )
    added, seconds = counts["messages_added"], counts["seconds"]
    rate = f", {added / seconds:,.0f} messages/s" if seconds and added else ""
    about = f"{counted(len(messages), 'message')} of {speakers} in {counted(sessions, 'session')}"
    out.heading(printable(f"{conversation.name}: {about}"))
    out.line(
        f"  remembered {added:,} in {seconds:.2f} s{rate}: "
        f"{counted(episodes, 'episode')}, {counted(facts, 'fact')}"
    )


def _answer(memory: MemorySystem, user: str, question: Question, out: Output) -> dict[str, Any]:
    """Searches, and finds the evidence that the file names among the hits."""
    started = time.perf_counter()
    hits = memory.search(user, question.text, kinds=["message"], top_k=_DEPTH)
    milliseconds = 1000 * (time.perf_counter() - started)
    proofs = [hit for hit in hits if _turn(hit) in question.evidence]
    if not out.as_json:
        out.line()
        asked, answer = printable(question.text), printable(question.answer)
        out.line(f"  {out.style(asked, 'bold')}  {out.style(answer, 'green')}")
        if not proofs:
            out.line(
                out.style(f"    not among the first {_DEPTH} messages; the first are", "yellow")
            )
        for hit in proofs[:1] or hits[:2]:
            message = hit.messages[0]
            note = f"(hit {hit.rank}, {milliseconds:.2f} ms)" if proofs else ""
            out.paragraph(
                f"{day(message.timestamp)}  {message.speaker}: {message.content} {note}",
                indent=4,
                max_lines=4,
            )
    return {
        "question": question.text,
        "answer": question.answer,
        "rank": proofs[0].rank if proofs else None,
        "milliseconds": round(milliseconds, 3),
        "messages": [message.to_dict() for hit in proofs for message in hit.messages],
    }


def _turn(hit: Hit) -> object:
    metadata = hit.messages[0].metadata
    return metadata.get("dia_id") if isinstance(metadata, dict) else None
