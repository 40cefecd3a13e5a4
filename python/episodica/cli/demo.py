"""``episodica demo``: remembers a sample, shows episodes and facts, answers questions."""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from heapq import nlargest
from importlib import resources
from operator import attrgetter
from typing import Any

from ..readers import Conversation, Question, read_conversations
from ..results import Hit
from ..system import MemorySystem
from ..value import day
from .output import Output, printable
from .stores import settings_of
from .transfers import remember

_SAMPLE = "data/sample_conversation.json"
_SAMPLE_QUESTIONS = (
    "What is Mira's dog called?",
    "Which food is dangerous for Oskar?",
    "What was the greyhound's name when she was racing?",
    "What is the English title of the lighthouse novel?",
    "How many loaves went over the counter on day one?",
    "Why couldn't they take the old van to Portugal?",
)
_LINES = 12
_importance, _since = attrgetter("importance"), attrgetter("valid_from")
_LINES_OF_FILE, _QUESTIONS_OF_FILE = 3, 3
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
        results = [_show(memory, one, args.file is None, out) for one in conversations]
    if out.as_json:
        out.json(results)
    elif not args.store:
        out.note("\nthe store was temporary; `episodica demo --store memories` keeps it")


def _show(
    memory: MemorySystem, conversation: Conversation, is_sample: bool, out: Output
) -> dict[str, Any]:
    user = conversation.user_id or conversation.name
    lines = _LINES if is_sample else _LINES_OF_FILE
    questions = conversation.questions
    if is_sample:
        by_text = {question.text: question for question in questions}
        questions = tuple(by_text[text] for text in _SAMPLE_QUESTIONS)
    else:
        questions = questions[:_QUESTIONS_OF_FILE]

    counts = remember(memory, user, conversation)
    episodes = list(memory.episodes(user))
    facts = list(memory.semantic_memories(user))
    if not out.as_json:
        _print_counts(conversation, counts, len(episodes), len(facts), out)
        out.heading(f"Episodes ({len(episodes)})")
        rows = ((day(one.timestamp), one.message_count, one.title) for one in episodes[:lines])
        out.table(("date", "messages", "title"), rows, indent=2)
        _print_rest(len(episodes) - lines, out)
        out.heading(f"Facts ({len(facts)})")
        shown = sorted(nlargest(lines, facts, _importance), key=_since)
        out.table(
            ("since", "kind", "fact"),
            ((day(one.valid_from)[:10], one.kind, one.content) for one in shown),
            indent=2,
        )
        _print_rest(len(facts) - lines, out)
        if questions:
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
    return {
        **counts,
        "episode_titles": [one.title for one in episodes],
        "facts": [one.content for one in facts],
        "questions": answers,
    }


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
    about = f"{len(messages):,} messages of {speakers} in {sessions} sessions"
    out.heading(printable(f"{conversation.name}: {about}"))
    out.line(
        f"  remembered {added:,} in {seconds:.2f} s{rate}: {episodes:,} episodes, {facts:,} facts"
    )


def _print_rest(count: int, out: Output) -> None:
    if count > 0:
        out.line(out.style(f"  and {count:,} more", "dim"))


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
        for hit in proofs or hits[:2]:
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
