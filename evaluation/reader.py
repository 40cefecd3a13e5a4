"""Blind tests with people or models as readers: makes packs of contexts and scores the answers.

    python -m evaluation reader make OUT locomo --data locomo10.json --arm other=env/bin/python
    python -m evaluation reader judge OUT
    python -m evaluation reader score OUT

`make` draws questions of every category. Its packs have a context of each system for each question,
shuffled and without the names of the systems. Readers follow OUT/reader.md and write
answers_N.json. `judge` writes the answers next to the right ones, again without names; judges
follow OUT/judge.md and write verdicts.json. `score` prints the mean mark of each arm with its
interval, and the arms' differences question by question. `--arm` adds the package of another Python
environment, so that the same readers compare two versions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from evaluation import runner, table
from evaluation.datasets import Dataset, Question, read
from evaluation.journal import write
from evaluation.measures import bootstrap, paired

ROOT = Path(__file__).resolve().parents[1]
NOT_ANSWERABLE = "NOT ANSWERABLE: the talk does not say this"
MARKS = (0, 0.5, 1)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    made = steps.add_parser("make", help="packs for readers")
    made.add_argument("out", type=Path, help="a new folder")
    made.add_argument("set", choices=list(runner.SETS))
    runner.add_data(made, "languages")
    made.add_argument("--systems", default="episodica,bm25", type=runner.names, metavar="A,B")
    made.add_argument("--config", type=json.loads, default={}, metavar="JSON")
    made.add_argument("--tokens", type=int, default=1000, help="tokens per context (default: 1000)")
    made.add_argument("--asked", type=int, default=60, help="questions drawn (default: 60)")
    made.add_argument("--packs", type=int, default=2, help="number of readers (default: 2)")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="adds episodica of another environment, named NAME",
    )
    made.set_defaults(step=make)
    for name, step, about in (
        ("judge", judge, "answers next to the right ones, without names"),
        ("score", score, "marks by arm, with intervals"),
        ("contexts", contexts, "what `make --arm` asks another environment for"),
    ):
        one = steps.add_parser(name, help=about)
        one.add_argument("out", type=Path, help="the folder of `make`")
        one.set_defaults(step=step)


def run(args: argparse.Namespace) -> int:
    """Does a step."""
    try:
        status: int = args.step(args)
    except (OSError, ValueError) as error:
        print(f"error: {error}")
        return 1
    return status


def make(args: argparse.Namespace) -> int:
    """Draws questions, packs contexts, shuffles them, and writes packs, key and protocol."""
    if (args.out / "key.json").exists():
        raise ValueError(f"{args.out} has packs already: name another folder")
    dataset = runner.data_of(args.set, args)
    chosen = draw(dataset.questions, args.asked, args.seed)
    about = {name: getattr(args, name) for name in ("set", "tokens", "config", "key")}
    about |= {
        name: str(value.resolve()) if (value := getattr(args, name)) else None
        for name in ("data", "talks", "corrections")
    }
    write(args.out / "chosen.json", about | {"questions": [one.key for one in chosen]})
    rows = []
    for name in runner.systems_of(args.systems, dataset):
        rows += _contexts(dataset, chosen, name, args.config, args.tokens)
    for arm in args.arm:
        name, _, python = arm.partition("=")
        command = [python, "-m", "evaluation", "reader", "contexts", str(args.out.resolve())]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"arm {name} failed: {done.stderr.strip()[-300:]}")
        rows += [{**row, "arm": name} for row in json.loads(done.stdout)]
    random.Random(args.seed).shuffle(rows)
    ids = {f"q{number:03d}": row for number, row in enumerate(rows)}
    hidden = {key: {k: v for k, v in row.items() if k != "context"} for key, row in ids.items()}
    write(args.out / "key.json", hidden)
    size = -(-len(rows) // args.packs)
    for number in range(args.packs):
        part = list(ids.items())[number * size : (number + 1) * size]
        pack = [
            {"id": key, "question": row["question"], "context": row["context"]} for key, row in part
        ]
        write(args.out / f"pack_{number}.json", pack)
    for page in ("reader.md", "judge.md"):
        shutil.copy(Path(__file__).parent / "prompts" / page, args.out / page)
    print(f"{len(rows)} contexts of {len(chosen)} questions in {args.packs} packs: {args.out}")
    return 0


def draw(questions: list[Question], number: int, seed: int) -> list[Question]:
    """A sample in which each category has its share, and at least one question."""
    by_category: dict[str, list[Question]] = defaultdict(list)
    for one in questions:
        if one.messages or not one.answerable:
            by_category[one.category].append(one)
    total = sum(map(len, by_category.values()))
    drawn = []
    for category, part in sorted(by_category.items()):
        share = max(1, round(number * len(part) / total))
        drawn += random.Random(f"{seed}/{category}").sample(part, min(share, len(part)))
    return drawn


def _contexts(
    dataset: Dataset, chosen: list[Question], name: str, config: dict[str, Any], tokens: int
) -> list[dict[str, Any]]:
    rows = []
    wanted = {one.key for one in chosen}
    with tempfile.TemporaryDirectory() as folder:
        system = runner.make_system(name, Path(folder), config)
        for talk in dataset.conversations:
            done, whole = 0, len(talk.messages)
            mine = [one for one in talk.questions if one.key in wanted]
            for one in sorted(mine, key=lambda asked: asked.after or whole):
                stop = one.after or whole
                if stop > done:
                    system.add(talk, done, stop)
                    done = stop
                rows.append(
                    {
                        "arm": name,
                        "key": one.key,
                        "category": one.category,
                        "question": one.text,
                        "gold": one.answer if one.answerable else NOT_ANSWERABLE,
                        "context": system.pack(talk, one, stop, tokens).text,
                    }
                )
        system.close()
    return rows


def contexts(args: argparse.Namespace) -> int:
    """Prints the contexts of this environment's package for the drawn questions."""
    about = read(args.out / "chosen.json")
    paths = {name: about[name] and Path(about[name]) for name in ("data", "talks", "corrections")}
    limits = dict.fromkeys(("only", "limit", "questions", "half"))
    options = argparse.Namespace(**paths, **limits, key=about["key"])
    dataset = runner.data_of(about["set"], options)
    wanted = set(about["questions"])
    chosen = [one for one in dataset.questions if one.key in wanted]
    rows = _contexts(dataset, chosen, table.SUBJECT, about["config"], about["tokens"])
    sys.stdout.write(json.dumps(rows))
    return 0


def judge(args: argparse.Namespace) -> int:
    """Writes ``judge.json`` from all answers."""
    key, given = read(args.out / "key.json"), {}
    for file in sorted(args.out.glob("answers_*.json")):
        given |= read(file)
    unknown = sorted(given.keys() - key.keys())
    if unknown or not given:
        raise ValueError(f"answers to no question of these packs: {', '.join(unknown) or 'none'}")
    rows = [
        {"id": one, "question": key[one]["question"], "gold": key[one]["gold"]}
        | {"answer": answer["answer"] if isinstance(answer, dict) else str(answer)}
        for one, answer in given.items()
    ]
    random.Random(len(rows)).shuffle(rows)
    write(args.out / "judge.json", rows)
    print(f"{len(rows)} of {len(key)} answers")
    return 0


def score(args: argparse.Namespace) -> int:
    """Prints the marks by arm and category, the pairs of arms, and the missing verdicts."""
    key = read(args.out / "key.json")
    judges = [read(file) for file in sorted(args.out.glob("verdicts*.json"))]
    wrong = [one for marks in judges for one, mark in marks.items() if mark not in MARKS]
    if wrong or not judges:
        raise ValueError(f"marks are 0, 0.5 or 1: {', '.join(wrong) or 'no verdicts.json'}")
    arms: dict[str, dict[str, float]] = defaultdict(dict)
    categories = {row["key"]: row["category"] for row in key.values()}
    missing = 0
    for one, row in key.items():
        marks = [verdicts[one] for verdicts in judges if one in verdicts]
        missing += not marks
        # A context without an answer or a verdict counts as wrong.
        arms[row["arm"]][row["key"]] = statistics.fmean(marks) if marks else 0.0
    answerable = {row["key"] for row in key.values() if row["gold"] != NOT_ANSWERABLE}
    groups = {"all": set(categories), "answerable": answerable}
    for name in sorted(set(categories.values())):
        groups[name] = {one for one, of in categories.items() if of == name}
    rows = [
        [
            name,
            str(len(group)),
            *(
                table.cell(bootstrap([marks[k] for k in group if k in marks]).to_dict())
                for marks in arms.values()
            ),
        ]
        for name, group in groups.items()
    ]
    print(table.markdown("Mean mark", ["questions", "n", *arms], rows))
    pairs = []
    for before, after in itertools.combinations(arms, 2):
        made = paired(arms[before], arms[after])
        pairs.append([f"{after} minus {before}", str(made.n), table.changed(made.to_dict())])
    print(table.markdown("Question by question", ["arms", "n", "difference"], pairs, table.NOTE))
    if len(judges) > 1:
        both = judges[0].keys() & judges[1].keys()
        agreed = statistics.fmean(judges[0][one] == judges[1][one] for one in both)
        print(f"Two judges agree in {agreed:.0%} of {len(both)}.")
    print(f"{missing} of {len(key)} contexts have no verdict and count as 0.")
    return 0
