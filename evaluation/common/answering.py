"""Answers from contexts, and the multiple choice between a trap and "not mentioned"."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from .chat import ChatClient, ChatError, Reply
from .dataset import ADVERSARIAL
from .journal import Journal
from .prompts import Prompt, prompt
from .stages import context_of, in_parallel

NOT_MENTIONED = "Not mentioned in the conversation"
_ABSTAINS = re.compile(
    r"\bnot (?:mentioned|stated|specified|known|given|provided|said|discussed|available|clear"
    r"|possible to)\b"
    r"|\b(?:no|without) (?:information|mention|record|indication|evidence|details?)\b"
    r"|\b(?:do|does|did)(?:n['\u2019]t| not) "
    r"(?:know|say|mention|state|specify|contain|hold|provide|include|appear)\b"
    r"|\b(?:can(?:['\u2019]t|not)|can not|could(?:n['\u2019]t| not)) (?:be )?"
    r"(?:answer|determine|find|tell|say|know)"
    r"|\bunknown\b|\bunanswerable\b|\bno answer\b",
    re.IGNORECASE,
)


def abstains(response: str) -> bool:
    """Whether an answer says, in one of the usual phrases, that the answer is not known.

    A rule: exact, repeatable, and coarse.
    """
    return bool(_ABSTAINS.search(response))


def trap_comes_first(key: str) -> bool:
    """The order of the two choices: drawn for each question, so that always "(a)" gains nothing."""
    return random.Random(f"choice/{key}").random() < 0.5


def answer(
    rows: list[dict[str, Any]], folder: Path, client: ChatClient, *, workers: int = 4
) -> dict[str, dict[str, Any]]:
    """Answers every question of a system from its context.

    Failed calls are kept as failures, and tried again by a rerun.
    """
    tasks = [(row["key"], row, False) for row in rows]
    tasks += [
        (f"{row['key']}#choice", row, True)
        for row in rows
        if row["kind"] == ADVERSARIAL and row["trap"]
    ]
    with Journal(folder / "answers.jsonl") as journal:
        missing = [task for task in tasks if (journal.get(task[0]) or {"failure": True})["failure"]]

        def work(task: tuple[str, dict[str, Any], bool]) -> None:
            key, row, choice = task
            journal.append(
                {
                    "key": key,
                    **(_choose if choice else _answer)(row, context_of(row, folder), client),
                }
            )

        in_parallel(
            f"answer {folder.name}",
            missing,
            work,
            workers=workers,
            total=len(tasks),
            done=len(tasks) - len(missing),
        )
        return {row["key"]: row for row in journal.rows()}


def _answer(row: dict[str, Any], context: str, client: ChatClient) -> dict[str, Any]:
    today = f"\nToday is {row['asked_at']}.\n" if row.get("asked_at") else ""
    template = prompt("answer")
    return _asked(
        client, template, template.fill(context=context, question=row["question"], today=today)
    )


def _choose(row: dict[str, Any], context: str, client: ChatClient) -> dict[str, Any]:
    template = prompt("choice")
    options = (
        (row["trap"], NOT_MENTIONED)
        if trap_comes_first(row["key"])
        else (NOT_MENTIONED, row["trap"])
    )
    made = _asked(
        client,
        template,
        template.fill(context=context, question=row["question"], a=options[0], b=options[1]),
    )
    letter = chosen(made["response"])
    right = letter is not None and options["ab".index(letter)] == NOT_MENTIONED
    return {**made, "choice": letter, "knows_not_choice": float(right)}


def chosen(response: str) -> str | None:
    """The letter that a reply names, ``None`` if it names none or both."""
    letters = set(re.findall(r"\(([ab])\)", response.lower())) or set(
        re.findall(r"^\W*([ab])\W*$", response.lower())
    )
    return letters.pop() if len(letters) == 1 else None


def _asked(client: ChatClient, template: Prompt, text: str) -> dict[str, Any]:
    try:
        return {
            "response": (reply := client.ask(text)).text,
            **told(reply),
            "prompt_version": template.stamp,
            "failure": None,
        }
    except ChatError as error:
        return {
            "response": "",
            "model": client.model,
            "prompt_version": template.stamp,
            "failure": f"answer: {error}",
        }


def told(reply: Reply) -> dict[str, Any]:
    """What a row keeps of a reply besides its text."""
    return {
        "model": reply.model,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": reply.seconds,
        "calls": reply.calls,
    }
