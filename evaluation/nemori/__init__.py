"""Runs Nemori's own evaluation scripts with `episodica` in place of Nemori.

    git clone https://github.com/nemori-ai/nemori
    python -m venv env
    env/bin/pip install -e . openai tqdm jinja2 python-dotenv pandas nltk snowballstemmer matplotlib
    env/bin/python -m evaluation nemori --scripts nemori

The scripts are copied into a temporary folder and run there unchanged, in the order of their
`run.sh`: add, search, evals, generate_scores, and the scripts for LongMemEval. A scripted model on
the loopback interface answers the scripts and the engine, so the scores mean nothing; the test is
that each script gets the data that it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from statistics import fmean

from evaluation.nemori.server import StandIn

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "python" / "episodica" / "compat" / "nemori" / "shim"
# In the order of Nemori's `run.sh`, with the scripts' own defaults.
SCRIPTS = (
    "locomo/add.py",
    "locomo/search.py",
    "locomo/evals.py",
    "locomo/generate_scores.py",
    "longmemeval/add.py",
    "longmemeval/search.py",
)
_LONGMEMEVAL = "dataset/longmemeval_s.json"
_SHOWN_LINES = 12
_TIMEOUT_SECONDS = 600


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--scripts", type=Path, required=True, help="a checkout of Nemori, of any version"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT / "python/episodica/data/sample_conversation.json",
        help="conversations in LoCoMo's format (default: the sample)",
    )
    parser.add_argument(
        "--longmemeval",
        type=Path,
        default=ROOT / "tests/fixtures/longmemeval_sample.json",
        help="questions in LongMemEval's format (default: the sample of the tests)",
    )
    parser.add_argument("--out", type=Path, help="folder that keeps the scripts and their outputs")


def run(args: argparse.Namespace) -> int:
    """Runs the scripts; returns the number of scripts that failed."""
    source = args.scripts / "evaluation"
    if not (source / "locomo" / "add.py").is_file():
        sys.stderr.write(f"error: no evaluation scripts of Nemori in `{args.scripts}`\n")
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or Path(temporary)
        place = folder / "evaluation"
        shutil.copytree(source, place, dirs_exist_ok=True)
        (place / "dataset").mkdir(exist_ok=True)
        shutil.copy(args.data, place / "dataset" / "locomo10.json")
        shutil.copy(args.longmemeval, place / _LONGMEMEVAL)
        for benchmark in ("locomo", "longmemeval"):
            # Some versions are published without the settings file that their scripts read.
            config = place / benchmark / "config.json"
            if not config.exists():
                config.write_text('{"storage_path": "./evaluation_memories"}', encoding="utf-8")
        server = StandIn()
        try:
            failed = sum(not _run(place, script, server) for script in SCRIPTS)
        finally:
            server.close()
    sys.stdout.write(f"{len(SCRIPTS) - failed} of {len(SCRIPTS)} scripts succeeded\n")
    sys.stdout.write(f"requests: {server.summary()}\n")
    return failed


def _run(place: Path, script: str, server: StandIn) -> bool:
    """Runs one script, shows the end of its output, and returns whether it succeeded."""
    arguments = [sys.executable, script, *_arguments(place, script)]
    started = time.monotonic()
    done = subprocess.run(
        arguments,
        cwd=place,
        env=_environment(server.url),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    seconds = time.monotonic() - started
    said = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode:
        said += done.stderr.splitlines()[-_SHOWN_LINES:]
    sys.stdout.write(f"== {script}: exit {done.returncode}, {seconds:.1f} s\n")
    sys.stdout.writelines(f"   {line}\n" for line in said[-_SHOWN_LINES:])
    (place / f"{script}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode or not script.endswith("search.py"):
        return done.returncode == 0
    found = _found(place / script.replace("search.py", "results.json"))
    sys.stdout.write(f"   {len(found)} questions, {fmean(found):.1f} memories for each\n")
    return min(found) > 0


def _arguments(place: Path, script: str) -> list[str]:
    """The arguments that a script of the later versions needs for LongMemEval."""
    search = (place / "longmemeval/search.py").read_text(encoding="utf-8")
    if not script.startswith("longmemeval/") or '"--data"' not in search:
        return []
    if script == "longmemeval/search.py":
        return ["--data", _LONGMEMEVAL, "--output", "longmemeval/results.json"]
    # Without this it would add to another store than the one that its search reads from the
    # settings.
    config = json.loads((place / "longmemeval/config.json").read_text(encoding="utf-8"))
    takes_path = '"--storage_path"' in (place / script).read_text(encoding="utf-8")
    return ["--storage_path", config["storage_path"]] if takes_path else []


def _found(path: Path) -> list[int]:
    """The number of memories for each question, in the result format of any version."""
    results = json.loads(path.read_text(encoding="utf-8"))
    rows = chain(*results.values()) if isinstance(results, dict) else results
    counted = ("num_episodic_memories", "num_semantic_memories")
    return [
        len(row.get("memories") or row.get("speaker_1_memories") or ())
        + sum(row.get(name, 0) for name in counted)
        for row in rows
    ]


def _environment(url: str) -> dict[str, str]:
    """Puts the shim and the stand-ins on the path, and sends all requests to the scripted model."""
    path = [SHIM, Path(__file__).parent / "standins", ROOT / "python"]
    parties = ("OPENAI", "LLM", "EMBEDDING")
    return {
        **os.environ,
        **{f"{party}_API_KEY": "none" for party in parties},
        **{f"{party}_BASE_URL": url for party in parties},
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONIOENCODING": "utf-8",
        "no_proxy": "*",
    }
