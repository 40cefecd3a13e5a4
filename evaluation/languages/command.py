"""Finding in eight languages, across languages and despite typos, without an LLM.

    python -m evaluation languages --out evaluation/runs/languages.json

Every file of ``evaluation/data/languages`` becomes one memory. Per file: share of the evidence
messages among the first k message hits, and share of them inside a context of 1000 tokens. Then
recall@10 of the questions with typos or other spellings, of those that use a word of the evidence
in another form, of those that share no content word with it, of those in another language, and of
two categories. Last, how well the best hit's
relevance separates the answerable questions from those that nothing answers (AUROC).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from episodica import MemorySystem
from evaluation.common.dataset import ORIGINAL
from evaluation.common.ranking import coverage, recall, verbatim
from evaluation.languages.words import asking, shared
from evaluation.locomo.data import load

DATA = Path(__file__).resolve().parent.parent / "data" / "languages"
KS = (5, 10, 20)
BUDGET = 1000
Row = dict[str, Any]
# The groups of questions that are reported beside the whole file, by recall@10.
GROUPS: dict[str, Callable[[Row], bool]] = {
    "typo": lambda row: "typo" in row["tags"] or "spelling" in row["tags"],
    "inflection": lambda row: "inflection" in row["tags"] or "compound" in row["tags"],
    "paraphrase": lambda row: row["shared"] == 0,
    "crossing": lambda row: "crossing" in row["tags"],
    "multi-hop": lambda row: row["category"] == "multi-hop",
    "temporal": lambda row: row["category"] == "temporal",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--data", type=Path, default=DATA, help="a file or a folder (default: %(default)s)"
    )
    parser.add_argument(
        "--config", type=json.loads, default={}, help="settings of the memory, as JSON"
    )
    parser.add_argument("--method", default="hybrid", help="of search (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="JSON file for the figures and every question")


def run(args: argparse.Namespace) -> int:
    """Measures, prints the table, and writes the figures."""
    files = [args.data] if args.data.is_file() else sorted(args.data.glob("*.json"))
    if not files:
        print(f"error: no data at `{args.data}`")
        return 1
    rows = {file.stem: measure(file, args.method, args.config) for file in files}
    figures = {name: figures_of(part) for name, part in rows.items()}
    if len(rows) > 1:
        figures["all"] = figures_of([row for part in rows.values() for row in part])
    print(table(figures))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"figures": figures, "questions": rows}, ensure_ascii=False, indent=1)
        args.out.write_text(content + "\n", encoding="utf-8")
    return 0


def measure(file: Path, method: Any, settings: dict[str, Any]) -> list[Row]:
    """Every question of a file, with its figures; unanswerable ones have only ``top``."""
    sample = json.loads(file.read_text(encoding="utf-8"))
    (conversation,) = load(file).conversations
    user, names = conversation.user, sample["names"]
    texts = {one["message_id"]: one["content"] for one in conversation.messages}
    common = asking([one["question"] for one in sample["qa"]], names)
    rows = []
    with tempfile.TemporaryDirectory() as store, MemorySystem(store, **settings) as memory:
        memory.add_messages(user, conversation.messages)
        memory.flush(user)
        memory.wait(user)
        for question, entry in zip(conversation.questions, sample["qa"], strict=True):
            hits = memory.search(
                user, question.text, kinds=["message"], top_k=max(KS), method=method
            )
            row: Row = {
                "question": question.text,
                "category": question.category,
                "tags": entry.get("tags", []),
                "top": max((hit.score for hit in hits), default=0.0),
            }
            if evidence := question.gold[ORIGINAL].messages:
                ranked = [one.message_id for hit in hits for one in hit.messages]
                told = memory.context(user, question.text, max_tokens=BUDGET, method=method)
                text = " ".join(texts[one] for one in evidence)
                row["evidence"] = list(evidence)
                row["shared"] = shared(question.text, text, names, common)
                row |= {f"recall@{k}": recall(ranked, evidence, k) for k in KS}
                inside = verbatim(told.text, texts)
                row[f"coverage@{BUDGET}"] = coverage(inside, evidence)
            rows.append(row)
    return rows


def figures_of(rows: Sequence[Row]) -> dict[str, float | None]:
    """The means of some questions; ``None`` where a group is empty."""
    answerable = [row for row in rows if "evidence" in row]
    names = [*(f"recall@{k}" for k in KS), f"coverage@{BUDGET}"]
    figures: dict[str, float | None] = {"questions": len(answerable)}
    figures |= {name: _mean([row[name] for row in answerable]) for name in names}
    for group, belongs in GROUPS.items():
        figures[group] = _mean([row["recall@10"] for row in answerable if belongs(row)])
    unanswerable = [row["top"] for row in rows if "evidence" not in row]
    figures["auroc"] = separation([row["top"] for row in answerable], unanswerable)
    return figures


def separation(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """Chance that a value of the first exceeds one of the second, ties half: the AUROC."""
    pairs = [(high > low) + (high == low) / 2 for high in right for low in wrong]
    return _mean(pairs)


def table(figures: dict[str, dict[str, float | None]]) -> str:
    """The figures as Markdown, one file a row."""
    columns = list(next(iter(figures.values())))
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for name, row in figures.items():
        cells = [_cell(column, row[column]) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if column == "questions" else f"{value:.3f}"


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None
