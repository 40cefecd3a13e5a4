"""The stages that need no LLM: build and search.

Each row is on disk as soon as it is finished; a rerun goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from episodica import EpisodicaError

from . import retrieval
from .dataset import KEYS, Conversation, Dataset, Question
from .journal import Journal, write_json
from .progress import Progress
from .systems import Packed, System

Item = TypeVar("Item")
# Longer contexts are kept once, in a file that is named after their content.
LONG_CONTEXT = 32_000


def in_parallel(
    label: str,
    items: list[Item],
    work: Callable[[Item], None],
    *,
    workers: int,
    total: int,
    done: int,
) -> None:
    """Does the work on each item, with a progress bar.

    The first error ends it, after the work under way.
    """
    with Progress(label, total, done) as bar, ThreadPoolExecutor(max(1, workers)) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
                bar.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def build(
    dataset: Dataset, system: System, folder: Path, *, workers: int = 1
) -> list[dict[str, Any]]:
    """Takes every conversation in.

    Finished ones are skipped; one that was cut off is completed, its messages not doubled.
    """
    with Journal(folder / "build.jsonl") as journal:
        missing = [one for one in dataset.conversations if one.user not in journal]

        def work(conversation: Conversation) -> None:
            journal.append(
                {"key": conversation.user, "system": system.name, **system.build(conversation)}
            )

        done = len(dataset.conversations) - len(missing)
        in_parallel(
            f"build {system.name}",
            missing,
            work,
            workers=workers,
            total=len(dataset.conversations),
            done=done,
        )
        return journal.rows()


def search(
    dataset: Dataset, system: System, folder: Path, *, budget: int = 2000, workers: int = 1
) -> list[dict[str, Any]]:
    """Asks every question of the memory, and scores what comes back.

    Questions that failed before are tried again.
    """
    conversations = {one.user: one for one in dataset.conversations}
    sessions = {
        user: {m["message_id"]: m["session_id"] for m in one.messages}
        for user, one in conversations.items()
    }
    with Journal(folder / "search.jsonl") as journal:
        missing = [
            one
            for one in dataset.questions
            if (journal.get(one.key) or {"failure": True})["failure"]
        ]

        def work(question: Question) -> None:
            journal.append(
                _search_row(
                    system,
                    conversations[question.user],
                    question,
                    sessions[question.user],
                    budget,
                    folder,
                )
            )

        total = len(dataset.questions)
        in_parallel(
            f"search {system.name}",
            missing,
            work,
            workers=workers,
            total=total,
            done=total - len(missing),
        )
        order = {question.key: place for place, question in enumerate(dataset.questions)}
        return sorted(
            (row for row in journal.rows() if row["key"] in order),
            key=lambda row: order[row["key"]],
        )


def _search_row(
    system: System,
    conversation: Conversation,
    question: Question,
    session_of: dict[str, str],
    budget: int,
    folder: Path,
) -> dict[str, Any]:
    row: dict[str, Any] = {**_about(question), "system": system.name, "failure": None}
    try:
        started = time.perf_counter()
        found = system.retrieve(conversation, question, retrieval.DEPTH)
        searched = time.perf_counter()
        contexts = _contexts(system, conversation, question, budget)
        packed = time.perf_counter()
    except EpisodicaError as error:
        names = [
            name
            for name in retrieval.metric_names()
            if not name.endswith("@everything") or not system.budgets
        ]
        return {
            **row,
            "failure": f"{type(error).__name__}: {error}",
            "scores": retrieval.failed(question, names),
            "context": "",
        }
    shown = contexts[budget if system.budgets else "everything"]
    scored = {
        name: context
        for name, context in contexts.items()
        if name in retrieval.BUDGETS or name == "everything"
    }
    return {
        **row,
        "ranked_messages": found.messages,
        "ranked_episodes": found.episodes,
        "memories": found.memories,
        "degraded": found.degraded,
        "inside": {str(name): context.inside for name, context in contexts.items()},
        "tokens": {str(name): context.tokens for name, context in contexts.items()},
        **_kept(shown, folder),
        "context_tokens": shown.tokens,
        "search_seconds": round(searched - started, 6),
        "context_seconds": round(packed - searched, 6),
        "scores": {
            key: _rounded(scores)
            for key, scores in retrieval.score(question, found, scored, session_of).items()
        },
    }


def _contexts(
    system: System, conversation: Conversation, question: Question, budget: int
) -> dict[int | str, Packed]:
    if not system.budgets:
        return {"everything": system.context(conversation, question, budget)}
    return {
        one: system.context(conversation, question, one)
        for one in dict.fromkeys((*retrieval.BUDGETS, budget))
    }


def _about(question: Question) -> dict[str, Any]:
    """The question as the file asks it, and what counts as right."""
    return {
        "key": question.key,
        "conversation": question.conversation,
        "user": question.user,
        "question": question.text,
        "answer": question.gold["original"].answer,
        "category": question.category_code,
        "category_name": question.category,
        "kind": question.kind,
        "evidence": list(question.cited),
        "gold": {
            key: {
                "answer": gold.answer,
                "messages": list(gold.messages),
                "sessions": list(gold.sessions),
            }
            for key, gold in question.gold.items()
        },
        "trap": question.trap,
        "asked_at": question.asked_at,
        "correction": question.correction,
    }


def _kept(context: Packed, folder: Path) -> dict[str, Any]:
    if len(context.text) <= LONG_CONTEXT:
        return {"context": context.text}
    name = hashlib.sha256(context.text.encode()).hexdigest()[:16] + ".txt"
    path = folder / "contexts" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(context.text, encoding="utf-8")
    return {"context": None, "context_file": f"contexts/{name}"}


def context_of(row: dict[str, Any], folder: Path) -> str:
    """The text that the row's answer is given from."""
    if row.get("context_file"):
        return (folder / row["context_file"]).read_text(encoding="utf-8")
    return row["context"] or ""


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in scores.items()}


def write_results(
    folder: Path, rows: Iterable[dict[str, Any]], answers: dict[str, dict[str, Any]]
) -> None:
    """Writes ``results.json`` in the shape of LoCoMo scripts: rows by conversation index."""
    by_conversation: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        answer = answers.get(row["key"], {})
        by_conversation.setdefault(str(row["conversation"]), []).append(
            {
                "question": row["question"],
                "answer": row["answer"],
                "category": row["category"],
                "evidence": row["evidence"],
                "response": answer.get("response", ""),
                "memories": row.get("memories", []),
                "key": row["key"],
                "system": row["system"],
                "corrected_answer": row["gold"][KEYS[1]]["answer"],
                "context": row["context"],
                "context_file": row.get("context_file"),
                "context_tokens": row.get("context_tokens"),
                "search_seconds": row.get("search_seconds"),
                "failure": row["failure"] or answer.get("failure"),
                **{
                    name: answer.get(name)
                    for name in (
                        "model",
                        "prompt_version",
                        "prompt_tokens",
                        "completion_tokens",
                        "seconds",
                    )
                },
            }
        )
    write_json(folder / "results.json", by_conversation)
