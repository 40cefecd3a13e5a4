"""Command-line options that the stages share."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .baselines import Bm25, FullContext, Random
from .chat import ChatClient
from .dataset import Dataset
from .judging import LEAST_RUNS
from .manifest import note, open_manifest
from .systems import Episodica, System

SYSTEMS = ("episodica", "bm25", "random", "full-context")
Loader = Callable[[Path, Path | None], Dataset]


def add_run(made: argparse.ArgumentParser) -> None:
    """Adds the options that say what is measured and where results go."""
    made.add_argument(
        "--data", type=Path, required=True, help="the dataset's file, or a folder of such files"
    )
    made.add_argument(
        "--corrections",
        type=Path,
        help="audited answers and evidence (default: <data>_corrections.json if it exists)",
    )
    made.add_argument(
        "--out",
        type=Path,
        default=Path("evaluation/runs/latest"),
        help="folder of the run (default: %(default)s)",
    )
    made.add_argument("--limit", type=int, metavar="N", help="only the first N conversations")
    made.add_argument(
        "--questions", type=int, metavar="N", help="at most N questions of each conversation"
    )
    made.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="conversations, questions or calls at a time (default: 1)",
    )
    made.add_argument(
        "--config",
        type=_settings,
        default={},
        metavar="JSON",
        help="fields of MemoryConfig, as JSON or a JSON file",
    )


def add_systems(made: argparse.ArgumentParser) -> None:
    """Which systems, and how ``episodica`` searches."""
    made.add_argument(
        "--systems",
        type=_systems,
        default=list(SYSTEMS),
        metavar="A,B",
        help=f"of {', '.join(SYSTEMS)} (default: all)",
    )
    made.add_argument(
        "--method",
        default="hybrid",
        choices=("hybrid", "rrf", "vector", "bm25", "norlift"),
        help="search method of episodica",
    )
    made.add_argument(
        "--top-k", type=int, default=10, help="episodes and facts a question (default: 10)"
    )
    made.add_argument(
        "--budget",
        type=int,
        default=2000,
        help="tokens of the context that answers are given from (default: 2000)",
    )


def add_models(made: argparse.ArgumentParser) -> None:
    """Which models answer and judge. Without them the run needs no network."""
    made.add_argument(
        "--answer-model",
        metavar="NAME",
        help="answers from the contexts; without it there are no answers to score",
    )
    made.add_argument("--judge-model", metavar="NAME", help="marks the answers")
    made.add_argument(
        "--base-url",
        metavar="URL",
        help="OpenAI-compatible endpoint (default: $OPENAI_BASE_URL); key: $OPENAI_API_KEY",
    )
    made.add_argument(
        "--judge-base-url",
        metavar="URL",
        help="the judge's endpoint, if it is another; key: $JUDGE_API_KEY",
    )
    made.add_argument(
        "--llm-options",
        type=_json_object,
        metavar="JSON",
        help='sent with each call (default: {"temperature": 0, "seed": 1})',
    )
    made.add_argument(
        "--judge-runs",
        type=_judge_runs,
        default=3,
        metavar="N",
        help="times each judge is asked, 3 or more (default: 3)",
    )
    made.add_argument(
        "--calibration",
        type=int,
        default=40,
        metavar="N",
        help="questions for the judges' calibration (default: 40)",
    )


def make_client(args: argparse.Namespace, role: str) -> ChatClient | None:
    """The client for ``answer`` or ``judge``, noted in the manifest.

    ``None`` where no model was named.
    """
    model = getattr(args, f"{role}_model")
    if not model:
        return None
    judge_url = args.judge_base_url if role == "judge" else None
    url = judge_url or args.base_url or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise SystemExit("error: --base-url is missing, and $OPENAI_BASE_URL is not set")
    key = os.environ.get("JUDGE_API_KEY") if judge_url else os.environ.get("OPENAI_API_KEY")
    options = {"temperature": 0, "seed": 1} if args.llm_options is None else args.llm_options
    note(args.out, "models", role, {"model": model, "options": options})
    return ChatClient(url, model, key, options)


def _judge_runs(text: str) -> int:
    if int(text) < LEAST_RUNS:
        raise argparse.ArgumentTypeError(f"one judge run is a coin toss: at least {LEAST_RUNS}")
    return int(text)


def _systems(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"unknown system `{', '.join(unknown)}`: there are {', '.join(SYSTEMS)}"
        )
    return names


def _settings(text: str) -> dict[str, Any]:
    """Settings of the memory. They end in the manifest, so they hold no secret."""
    settings = _json_object(text)
    rest: list[Any] = [settings]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if secret := {"api_key", "headers", "proxy", "organization"} & part.keys():
                raise argparse.ArgumentTypeError(
                    f"{min(secret)} would be published with the run: keys come from $OPENAI_API_KEY"
                )
            rest.extend(part.values())
    return settings


def _json_object(text: str) -> dict[str, Any]:
    source = Path(text).read_text(encoding="utf-8") if not text.lstrip().startswith("{") else text
    value = json.loads(source)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value


def prepare(args: argparse.Namespace, load: Loader) -> Dataset:
    """Reads the data and opens the run's folder.

    Exits with a message when the data can't be read or the folder belongs to another run.
    """
    try:
        dataset = load(args.data, args.corrections).limited(args.limit, args.questions)
        open_manifest(
            args.out,
            dataset,
            args.config,
            {"conversations": args.limit, "questions": args.questions},
        )
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(f"error: {error}") from error
    return dataset


def make_system(name: str, args: argparse.Namespace) -> System:
    """A system under test. ``episodica`` keeps its store in the run's folder."""
    system: System
    if name == "episodica":
        method, top_k = getattr(args, "method", "hybrid"), getattr(args, "top_k", 10)
        system = Episodica(args.out / "memories", args.config, method=method, top_k=top_k)
    else:
        system = {"bm25": Bm25, "random": Random, "full-context": FullContext}[name]()
    return system


def present_systems(out: Path, wanted: Sequence[str] = SYSTEMS) -> list[str]:
    """The systems that were searched in this run."""
    return [name for name in wanted if (out / name / "search.jsonl").exists()]
