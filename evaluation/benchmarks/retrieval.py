"""How well each method finds the evidence, by category, and what each term of the default adds.

    python -m evaluation bench retrieval DATA [DATA ...]

DATA are files in LoCoMo's format. Figures are turn-level recall of the audited evidence (categories
1-4) among the first k message hits, and coverage inside a context of N tokens, with 95 % bootstrap
intervals over questions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from episodica import MemorySystem
from evaluation.common.dataset import CORRECTED, ORIGINAL, Conversation, Question
from evaluation.common.intervals import bootstrap
from evaluation.common.ranking import coverage, recall
from evaluation.locomo.data import load

Method: TypeAlias = Literal["bm25", "vector", "rrf", "norlift", "hybrid"]
METHODS: tuple[Method, ...] = ("bm25", "vector", "rrf", "norlift", "hybrid")
TERMS = ("words", "tokens", "vector", "speaker", "date", "statement", "answer")
WEIGHTS = (2.5, 0.7, 0.3, 1.0, 1.5, 1.0, 0.2)
KS = (5, 10, 20, 50)
BUDGETS = (1000, 2000)

# Turn-level recall@10 on all ten LoCoMo conversations, measured in November 2026 with MiniLM
# vectors: other conversations than those of any file given here, so for orientation only.
PEERS = {
    "mem0 (dense)": 0.451,
    "MemPalace": 0.535,
    "engram-search": 0.544,
    "cogito-mem": 0.565,
    "RRF of BM25 and dense": 0.571,
}
PEERS |= {
    "BM25 with stemming": 0.611,
    "taosMD MaxSim": 0.660,
    "hand-mixed sums, MaxSim, session": 0.789,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One question's figures under one variant."""

    group: str
    values: dict[str, float]


def measure(
    conversations: Sequence[Conversation], method: Method, contexts: bool, **settings: Any
) -> list[Row]:
    """Ingests the conversations into a fresh store and asks every question that has evidence."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, MemorySystem(folder, **settings) as memory:
        for conversation in conversations:
            memory.add_messages(conversation.user, conversation.messages)
            memory.flush(conversation.user)
            memory.wait(conversation.user)
            for question, evidence in _scored(conversation):
                hits = memory.search(
                    conversation.user,
                    question.text,
                    kinds=["message"],
                    top_k=max(KS),
                    method=method,
                )
                ranked = [hit.id for hit in hits]
                values = {f"r@{k}": recall(ranked, evidence, k) for k in KS}
                for budget in BUDGETS if contexts else ():
                    context = memory.context(
                        conversation.user, question.text, max_tokens=budget, method=method
                    )
                    values[f"c@{budget}"] = coverage(
                        [message.message_id for message in context.messages], evidence
                    )
                rows.append(Row(str(question.category), values))
    return rows


def _scored(conversation: Conversation) -> Iterator[tuple[Question, tuple[str, ...]]]:
    for question in conversation.questions:
        gold = question.gold.get(CORRECTED) or question.gold.get(ORIGINAL)
        if question.kind == "answerable" and gold and gold.messages:
            yield question, gold.messages


def print_table(title: str, variants: dict[str, list[Row]], by_category: bool) -> None:
    """Markdown: a row a variant (and category), a column a metric."""
    metrics = list(next(iter(variants.values()))[0].values)
    print(f"\n### {title}\n\n| variant | n | " + " | ".join(metrics) + " |")
    print("|---" * (len(metrics) + 2) + "|")
    for name, rows in variants.items():
        groups = sorted({row.group for row in rows}) if by_category else []
        for group in [None, *groups]:
            part = [row.values for row in rows if group in (None, row.group)]
            cells = []
            for metric in metrics:
                one = bootstrap([values[metric] for values in part])
                cells.append(f"{one.mean:.3f} [{one.low:.2f}, {one.high:.2f}]")
            print(
                f"| {name if group is None else '&nbsp;&nbsp;' + group} | {len(part)} | "
                + " | ".join(cells)
                + " |",
                flush=True,
            )


def print_ablation(full: list[Row], ablated: dict[str, list[Row]]) -> None:
    """Differences to the default, question by question."""
    metrics = list(full[0].values)
    print(
        "\n### What each term adds: difference to the default without it\n\n| without | "
        + " | ".join(metrics)
        + " |"
    )
    print("|---" * (len(metrics) + 1) + "|")
    for name, rows in ablated.items():
        cells = []
        for metric in metrics:
            one = bootstrap(
                [
                    after.values[metric] - before.values[metric]
                    for before, after in zip(full, rows, strict=True)
                ]
            )
            cells.append(f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument(
        "--embedding",
        help="a local sentence-transformers folder instead of the embedder in the package",
    )
    parser.add_argument("--out", type=Path, help="also write the means as JSON")


def run(arguments: argparse.Namespace) -> int:
    """The command."""
    settings = {"embedding": {"path": arguments.embedding}} if arguments.embedding else {}
    summary = {}
    for data in arguments.data:
        conversations = load(data).conversations
        print(f"\n## {data.name}")
        variants: dict[str, list[Row]] = {
            method: measure(conversations, method, contexts=method == "hybrid", **settings)
            for method in METHODS
        }
        recalls = {
            name: [
                Row(row.group, {k: v for k, v in row.values.items() if k[0] == "r"}) for row in rows
            ]
            for name, rows in variants.items()
        }
        print_table("Methods", recalls, by_category=True)
        full = variants["hybrid"]
        print_table("Default, with contexts", {"hybrid": full}, by_category=True)
        ablated = {}
        for number, term in enumerate(TERMS):
            weights = tuple(0.0 if at == number else weight for at, weight in enumerate(WEIGHTS))
            ablated[term] = measure(
                conversations, "hybrid", contexts=True, message_weights=weights, **settings
            )
        print_ablation(full, ablated)
        summary[data.name] = {
            metric: bootstrap([row.values[metric] for row in full]).mean
            for metric in full[0].values
        }
    print("\n### For orientation: recall@10 of others on all ten LoCoMo conversations\n")
    for name, value in PEERS.items():
        print(f"* {name}: {value:.3f}")
    if arguments.out:
        arguments.out.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return 0
