"""Answers from contexts, by any OpenAI-compatible endpoint, and their judges.

Their figures never share a table with figures measured without a model. An unreadable reply counts
as wrong, and is listed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from evaluation.datasets import Dataset
from evaluation.journal import Journal, in_parallel, note, rows_of, write
from evaluation.measures import f1, wilson, words

ATTEMPTS = 3
RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})
LONGEST_WAIT_SECONDS = 60.0
JUDGES = ("strict", "lenient")
LEAST_RUNS = 3
KINDS = ("right", "vague", "specific", "date_off_by_one")
# The prompt with which the lenient judge marks a type of LongMemEval. The prompts state the set's
# published rules in our words.
RULES = {
    "temporal-reasoning": "longmemeval_temporal",
    "knowledge-update": "longmemeval_update",
    "single-session-preference": "longmemeval_preference",
}
_ABSTAINS = re.compile(
    r"\bnot (?:mentioned|stated|specified|known|given|provided|said|discussed|available|clear"
    r"|possible to|in context)\b"
    r"|\b(?:no|without) (?:information|mention|record|indication|evidence|details?)\b"
    r"|\b(?:do|does|did)(?:n['\u2019]t| not) "
    r"(?:know|say|mention|state|specify|contain|hold|provide|include|appear)\b"
    r"|\b(?:can(?:['\u2019]t|not)|can not|could(?:n['\u2019]t| not)) (?:be )?"
    r"(?:answer|determine|find|tell|say|know)"
    r"|\bunknown\b|\bunanswerable\b|\bno answer\b",
    re.IGNORECASE,
)
_MONTHS = re.findall(
    r"\w+", "January February March April May June July August September October November December"
)
_MONTH = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}}) ({_MONTH}),? (\d{{4}})\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (\d{{1,2}}),? (\d{{4}})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(19|20)\d\d\b")
Row = dict[str, Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the models that answer and judge. Without models a run needs no network."""
    add = parser.add_argument
    add("--answer-model", metavar="NAME", help="answers from the contexts")
    add("--judge-model", metavar="NAME", help="marks the answers")
    add("--base-url", metavar="URL", help="the endpoint ($OPENAI_BASE_URL; key: $OPENAI_API_KEY)")
    add(
        "--judge-base-url",
        metavar="URL",
        help="endpoint of the judge, if different (key: $JUDGE_API_KEY)",
    )
    add(
        "--llm-options",
        type=json.loads,
        default={"temperature": 0, "seed": 1},
        metavar="JSON",
        help="options of each call (default: temperature 0, seed 1)",
    )
    add("--budget", type=int, default=2000, help="tokens of an answer's context (default: 2000)")
    add(
        "--judge-runs",
        type=_judge_runs,
        default=LEAST_RUNS,
        metavar="N",
        help="times each judge is asked, 3 or more (default: 3)",
    )
    add("--calibration", type=int, default=40, metavar="N", help="questions (default: 40)")
    add(
        "--prices",
        type=json.loads,
        metavar="JSON",
        help='dollars for a million tokens, {"prompt": 0.15, "completion": 0.6}',
    )
    add("--workers", type=int, default=4, metavar="N", help="calls at a time (default: 4)")


def _judge_runs(text: str) -> int:
    if int(text) < LEAST_RUNS:
        raise argparse.ArgumentTypeError(
            f"a judge must run at least {LEAST_RUNS} times, since its verdicts vary"
        )
    return int(text)


class ChatError(RuntimeError):
    """A call that failed for good. Its text names no key and no prompt."""


@dataclass(frozen=True, slots=True)
class ChatClient:
    """Sends one prompt at a time; several threads may use it.

    Every request contains ``options`` unchanged (``temperature``, ``seed``, ...).
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    options: dict[str, Any] = field(default_factory=lambda: {"temperature": 0, "seed": 1})
    timeout_seconds: float = 120.0
    pause: Callable[[float], None] = time.sleep

    def ask(self, prompt: str, *, run: int = 0) -> Row:
        """Returns text, model, tokens (as counted by the endpoint), seconds and number of calls.

        ``run`` > 0 asks for another sample: it is added to the seed. Network errors and the
        statuses 408, 409, 429 and 5xx are tried three times.
        """
        options = dict(self.options)
        if "seed" in options:
            options["seed"] += run
        said = [{"role": "user", "content": prompt}]
        body = {"model": self.model, "messages": said, **options}
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        started = time.perf_counter()
        problem = ""
        for attempt in range(1, ATTEMPTS + 1):
            wait = 2 ** (attempt - 1) * random.uniform(0.9, 1.1)
            try:
                answer = httpx.post(url, json=body, headers=headers, timeout=self.timeout_seconds)
                answer.raise_for_status()
                told = _told(answer.json(), self.model)
            except httpx.HTTPStatusError as error:
                problem = f"HTTP status {error.response.status_code}"
                if error.response.status_code not in RETRYABLE:
                    raise ChatError(problem) from None
                wait = _retry_after(error.response.headers.get("Retry-After"), wait)
            except (httpx.HTTPError, ValueError) as error:
                problem = type(error).__name__
            else:
                seconds = round(time.perf_counter() - started, 3)
                return {**told, "seconds": seconds, "calls": attempt}
            if attempt < ATTEMPTS:
                self.pause(wait)
        raise ChatError(f"{problem} after {ATTEMPTS} attempts")


def _told(answer: Any, model: str) -> Row:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ChatError("the answer is not in the format of a chat completion") from None
    usage = answer.get("usage") or {}
    tokens = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    return {"text": (text or "").strip(), "model": str(answer.get("model") or model), **tokens}


def _retry_after(value: str | None, default: float) -> float:
    try:
        return min(float(value or default), LONGEST_WAIT_SECONDS)
    except ValueError:
        return default


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template with ``{placeholders}``. ``stamp`` contains its name, version and checksum."""

    template: str
    stamp: str

    def fill(self, **values: str) -> str:
        """Returns the prompt. Values are inserted unchanged, also values with braces."""
        return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.template)


@cache
def prompt(name: str) -> Prompt:
    """Reads a prompt.

    The checksum in the stamp reveals a template that was changed although its version was not.
    """
    text = (Path(__file__).parent / "prompts" / f"{name}.txt").read_text(encoding="utf-8")
    head, _, template = text.partition("\n")
    template = template.strip()
    digest = hashlib.sha256(template.encode()).hexdigest()[:8]
    return Prompt(template, f"{name}/{head.removeprefix('version: ')}/{digest}")


def make_client(args: argparse.Namespace, role: str) -> ChatClient | None:
    """The client for ``answer`` or ``judge``, added to the manifest; ``None`` without a model."""
    model = getattr(args, f"{role}_model")
    if not model:
        return None
    judge_url = args.judge_base_url if role == "judge" else None
    url = judge_url or args.base_url or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise SystemExit("error: --base-url is missing, and $OPENAI_BASE_URL is not set")
    key = os.environ.get("JUDGE_API_KEY") if judge_url else os.environ.get("OPENAI_API_KEY")
    note(args.out, "models", role, {"model": model, "options": args.llm_options})
    return ChatClient(url, model, key, args.llm_options)


def answer_all(args: argparse.Namespace, dataset: Dataset, measured: dict[str, Any]) -> None:
    """Answers every question of every system, judges the answers, and calibrates the judges."""
    reader, judge = make_client(args, "answer"), make_client(args, "judge")
    if reader:
        note(
            args.out, "models", "context", {"tokens": args.budget, "prompt": prompt("answer").stamp}
        )
    answered = False
    for name, rows in measured.items():
        folder = args.out / name.replace(":", "-")
        if reader:
            answer(rows.values(), folder, reader, args.workers)
        given = {row["key"]: row for row in rows_of(folder / "answers.jsonl")}
        answered = answered or bool(given)
        if judge and given:
            tasks = _judgements(rows.values(), given, args.judge_runs)
            ask_judges(f"judge {name}", tasks, folder / "judgements.jsonl", judge, args.workers)
        if given and dataset.name == "LongMemEval":
            _write_hypotheses(folder, rows, given)
    if judge and answered:
        calibrate(list(next(iter(measured.values())).values()), args.out, judge, args)


def answer(rows: Iterable[Row], folder: Path, client: ChatClient, workers: int) -> None:
    """Answers each question from its context. Records failed calls; a rerun tries them again."""
    template = prompt("answer")
    with Journal(folder / "answers.jsonl") as journal:

        def work(row: Row) -> None:
            today = f"\nToday is {row['asked_at']}.\n" if row.get("asked_at") else ""
            context = row["context"]
            if row.get("context_file"):
                context = (folder / row["context_file"]).read_text(encoding="utf-8")
            text = template.fill(context=context or "", question=row["question"], today=today)
            base = {"key": row["key"], "prompt": template.stamp, "failure": None}
            try:
                told = client.ask(text)
                journal.append({**base, "response": told.pop("text"), **told})
            except ChatError as error:
                failed = {"response": "", "model": client.model, "failure": f"answer: {error}"}
                journal.append({**base, **failed})

        missing = [row for row in rows if journal.lacks(row["key"]) and not row["failure"]]
        in_parallel(f"answer {folder.name}", missing, work, workers)


def abstains(response: str) -> bool:
    """Whether an answer says, in one of the usual phrases, that it is not known."""
    return bool(_ABSTAINS.search(response))


def verdict(text: str) -> bool | None:
    """The last CORRECT, WRONG or INCORRECT of a reply; ``None`` without one."""
    found = re.findall(r"\b(correct|wrong|incorrect)\b", text.lower())
    return found[-1] == "correct" if found else None


def rule(row: Row, judge: str) -> str:
    """The name of the prompt by which a judge marks a row.

    A preference has no single right answer, so both judges mark it by the preference's description.
    """
    if not row["answerable"]:
        return "judge_abstention"
    if judge == "strict" and row["category"] != "single-session-preference":
        return "judge_strict"
    longmemeval = row["category"] in RULES or row["category"].startswith("single-session")
    return RULES.get(row["category"], "longmemeval_default" if longmemeval else "judge_lenient")


def _judgements(rows: Iterable[Row], given: dict[str, Row], runs: int) -> list[tuple[Any, ...]]:
    found = []
    for row in rows:
        one = given.get(row["key"])
        if one and not row["failure"] and not one["failure"]:
            judges = JUDGES if row["answerable"] else ("abstention",)
            response = one["response"]
            found += [(row, response, judge, run, "") for judge in judges for run in range(runs)]
    return found


def ask_judges(
    label: str, tasks: list[tuple[Any, ...]], path: Path, client: ChatClient, workers: int
) -> None:
    """Does the judgements that are missing, have failed, or belong to an earlier answer."""
    with Journal(path) as journal:

        def key_of(task: tuple[Any, ...]) -> str:
            row, _, judge, run, kind = task
            return f"{row['key']}/{judge}/{run}" + (f"/{kind}" if kind else "")

        def stale(task: tuple[Any, ...]) -> bool:
            known = journal.get(key_of(task)) or {"failure": True}
            return bool(known["failure"]) or known["response"] != task[1]

        def work(task: tuple[Any, ...]) -> None:
            row, response, judge, run, kind = task
            template = prompt(rule(row, judge))
            base = {"key": key_of(task), "question": row["key"], "judge": judge, "run": run}
            base |= {"kind": kind, "response": response, "prompt": template.stamp}
            base |= {"label": 0.0, "failure": None, "unreadable": None}
            gold = row["gold"] or "the conversation does not say"
            text = template.fill(question=row["question"], gold=gold, response=response)
            try:
                told = client.ask(text, run=run)
            except ChatError as error:
                journal.append({**base, "model": client.model, "failure": f"judge: {error}"})
                return
            marked, said = verdict(told["text"]), told.pop("text")
            if marked is None:
                base["unreadable"] = f"judge: unreadable verdict `{said[:60]}`"
            journal.append({**base, "label": float(bool(marked)), "said": said[:200], **told})

        in_parallel(label, [task for task in tasks if stale(task)], work, workers)


def scored(rows: dict[str, Row], folder: Path) -> dict[str, dict[str, float]]:
    """The scores of the answers by question; a failed answer or an unreadable verdict scores 0."""
    given = {row["key"]: row for row in rows_of(folder / "answers.jsonl")}
    marks: dict[tuple[str, str], list[float]] = {}
    for one in {row["key"]: row for row in rows_of(folder / "judgements.jsonl")}.values():
        marks.setdefault((one["question"], one["judge"]), []).append(one["label"])
    made = {}
    for key, row in rows.items() if given else ():
        one = given.get(key, {"response": "", "failure": "answer: none was given"})
        wrong = bool(row["failure"] or one["failure"])
        scores = {}
        if row["answerable"]:
            scores["f1"] = 0.0 if wrong else f1(one["response"], row.get("gold", ""))
            scores["abstained"] = float(not wrong and abstains(one["response"]))
            names = {judge: f"judge_{judge}" for judge in JUDGES}
        else:
            scores["knows_not_rule"] = float(not wrong and abstains(one["response"]))
            names = {"abstention": "knows_not_judge"}
        for judge, name in names.items() if marks else ():
            labels = marks.get((key, judge))
            scores[name] = statistics.fmean(labels) if labels and not wrong else 0.0
        made[key] = scores
    return made


def failures(rows: dict[str, Row], folder: Path) -> list[tuple[str, str]]:
    """The failed searches, answers and judgements; each counts as wrong."""
    listed = [(key, row["failure"]) for key, row in rows.items() if row["failure"]]
    for name in ("answers", "judgements"):
        last = {row["key"]: row for row in rows_of(folder / f"{name}.jsonl")}.values()
        listed += [
            (one.get("question", one["key"]), what)
            for one in last
            if (what := one["failure"] or one.get("unreadable"))
        ]
    return listed


def vague(row: Row) -> str:
    """An answer on the question's topic without content."""
    if "temporal" in row["category"]:
        return "Some time ago; they talked about it around then."
    topic = next((word for word in reversed(words(row["question"])) if len(word) > 4), "it")
    return f"It came up when they talked about {topic}, and it clearly mattered to them."


def specific(row: Row, others: list[Row]) -> str | None:
    """The answer to another question of the category, without a word of this question's answer."""
    mine = set(words(row["gold"]))
    fitting = [
        one["gold"]
        for one in others
        if one["category"] == row["category"] and not mine & set(words(one["gold"]))
    ]
    return random.Random(f"specific/{row['key']}").choice(fitting) if fitting else None


def date_off_by_one(answer: str) -> str | None:
    """The answer with its first date a day later, or its first bare year a year later."""
    if found := _DAY_FIRST.search(answer):
        moved = _later(int(found[3]), found[2], int(found[1]))
        changed = moved and f"{moved.day} {_MONTHS[moved.month - 1]} {moved.year}"
    elif found := _MONTH_FIRST.search(answer):
        moved = _later(int(found[3]), found[1], int(found[2]))
        changed = moved and f"{_MONTHS[moved.month - 1]} {moved.day}, {moved.year}"
    elif found := _YEAR.search(answer):
        changed = str(int(found[0]) + 1)
    else:
        return None
    return answer[: found.start()] + changed + answer[found.end() :] if changed else None


def _later(year: int, month: str, day: int) -> date | None:
    try:
        return date(year, _MONTHS.index(month.capitalize()) + 1, day) + timedelta(days=1)
    except ValueError:
        return None


def calibrate(rows: list[Row], out: Path, client: ChatClient, args: argparse.Namespace) -> None:
    """Judges known answers to a random sample of questions, to see which ones a judge accepts."""
    asked = [row for row in rows if row["answerable"] and row.get("gold")]
    sample = random.Random("calibration").sample(asked, min(args.calibration, len(asked)))
    tasks = []
    for row in sample:
        right = row["gold"]
        known = (right, vague(row), specific(row, asked), date_off_by_one(right))
        for kind, text in zip(KINDS, known, strict=True):
            if text:
                runs = range(args.judge_runs)
                tasks += [(row, text, judge, run, kind) for judge in JUDGES for run in runs]
    ask_judges("calibrate judges", tasks, out / "calibration.jsonl", client, args.workers)


def calibrated(path: Path) -> dict[str, Any]:
    """The rate at which most runs of a judge accept known answers, by judge and kind of answer."""
    marks: dict[tuple[str, str, str], list[float]] = {}
    for row in {row["key"]: row for row in rows_of(path)}.values():
        marks.setdefault((row["judge"], row["kind"], row["question"]), []).append(row["label"])
    made: dict[str, Any] = {}
    for judge in JUDGES if marks else ():
        for kind in KINDS:
            accepted = [
                sum(runs) * 2 > len(runs)
                for (name, one, _), runs in marks.items()
                if (name, one) == (judge, kind)
            ]
            made.setdefault(judge, {})[kind] = wilson(sum(accepted), len(accepted)).to_dict()
    return made


def _write_hypotheses(folder: Path, rows: dict[str, Row], given: dict[str, Row]) -> None:
    """``hypotheses.jsonl``, the input of LongMemEval's own scorer, with a line per question."""
    lines = [
        json.dumps(
            {
                "question_id": key.rpartition("/")[0],
                "hypothesis": given.get(key, {}).get("response", ""),
            },
            ensure_ascii=False,
        )
        for key in rows
    ]
    write(folder / "hypotheses.jsonl", "\n".join(lines) + "\n")
