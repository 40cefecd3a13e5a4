"""How fast the package is: eight figures for one user, in a folder or a database.

    python -m evaluation speed [--sizes 1k,10k,100k] [--place postgresql://… | --embedding static]

Prints a table with a column for each number of messages; ``--page docs/performance.md`` writes it
between the page's comments ``<!-- measured: NAME -->`` and ``<!-- end -->``. Times on a shared
machine vary: compare medians within one run, and processor times.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from episodica import MemorySystem

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [
    ROOT / "python/episodica/data/sample_conversation.json",
    *sorted((ROOT / "tests/fixtures/conversations").glob("*.json")),
]
USER = "user"
BATCH = 4_096
SESSION = 10
START = datetime(2019, 1, 1, 8, tzinfo=UTC)
EVERYTHING: Any = ("episodic", "semantic", "message")
_WORD = re.compile(r"[A-Za-z][a-z]{3,}")
_BLOCK = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Figures = dict[str, str]


class Talk:
    """Messages of two people without end: real sentences, a third of their words exchanged.

    Random words do not behave like language: all their postings are alike. The same seed gives the
    same talk on every machine.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        talks = [
            json.loads(path.read_text(encoding="utf-8"))[0]["conversation"] for path in SOURCES
        ]
        self._lines = [
            turn["text"]
            for talk in talks
            for name, turns in talk.items()
            if re.fullmatch(r"session_\d+", name)
            for turn in turns
        ]
        self._words = sorted({word.lower() for line in self._lines for word in _WORD.findall(line)})
        self._seed, self._count = seed, 0

    def messages(self, count: int) -> list[dict[str, Any]]:
        """The next messages, as ``add_messages`` takes them; ten in a row are of one session."""
        return [self._message() for _ in range(count)]

    def question(self, message: dict[str, Any]) -> str:
        """A question with words of a message."""
        words = _WORD.findall(message["content"]) or self._words
        first, second = (self._chance.choice(words) for _ in range(2))
        return f"What did {message['name']} say about {first} and {second}?"

    def _message(self) -> dict[str, Any]:
        number = self._count
        self._count += 1
        session, place = divmod(number, SESSION)
        line = self._lines[(7 * session + place) % len(self._lines)]
        when = START + timedelta(hours=3 * session, seconds=40 * place)
        return {
            "role": ("user", "assistant")[number % 2],
            "name": ("Mina", "Oskar")[number % 2],
            "content": _WORD.sub(self._exchanged, line),
            "timestamp": when.isoformat(),
            "session_id": f"{self._seed}-{session}",
            "message_id": f"{self._seed}-{number}",
        }

    def _exchanged(self, found: re.Match[str]) -> str:
        return found[0] if self._chance.random() > 0.35 else self._chance.choice(self._words)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--sizes", default="1k,10k,100k", help="messages of the user")
    parser.add_argument("--runs", type=int, default=500, help="searches, and other repetitions")
    parser.add_argument("--embedding", help="`static` for the token table")
    parser.add_argument("--place", default="", help="address of a database; else a folder")
    parser.add_argument("--page", type=Path, help="a page to fill")


def run(options: argparse.Namespace) -> int:
    """The command."""
    begun = time.monotonic()
    columns = {}
    for text in options.sizes.split(","):
        with tempfile.TemporaryDirectory(prefix="episodica-bench-") as folder:
            # Each size has a schema of its own in a database.
            place = f"{options.place}?schema=b{uuid.uuid4().hex[:20]}" if options.place else folder
            columns[text] = dict(_shown(measured(place, _size(text), options)))
    texts = {"machine": _machine(begun), "figures": _table(columns)}
    print("\n".join(texts.values()))
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        filled = _BLOCK.sub(lambda one: f"{one[1]}{texts[one[2]]}\n{one[3]}", page)
        options.page.write_text(filled, encoding="utf-8")
    return 0


def measured(place: str, count: int, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The name of each figure and its value with its unit."""
    talk, questions, rates = Talk(seed=1), [], []
    with MemorySystem(place, embedding=options.embedding) as memory:
        for start in range(0, count, BATCH):
            messages = talk.messages(min(BATCH, count - start))
            rates.append(len(messages) * 1000 / _milliseconds(memory.add_messages, USER, messages))
            questions += [talk.question(one) for one in messages[:: max(1, len(messages) // 100)]]
        yield "adding in batches, median", f"{statistics.median(rates):,.0f} /s"
        memory.flush(USER)
        memory.wait(USER)
    opened = [_opened(place, questions[0], options.embedding) for _ in range(min(3, options.runs))]
    answered, megabytes = (statistics.median(one[at] for one in opened) for at in (0, 1))
    yield "opening in a new process, to the first answer", f"{answered:,.0f} ms"
    yield "highest resident memory of that process", f"{megabytes:,.0f} MB"
    with MemorySystem(place, embedding=options.embedding) as memory:
        asked = [questions[number % len(questions)] for number in range(options.runs)]
        memory.search(USER, questions[0])
        yield from _times("search", partial(memory.search, USER, kinds=EVERYTHING), asked)
        context = partial(memory.context, USER, max_tokens=2_000)
        yield from _times("context of 2,000 tokens", context, asked)
        new = Talk(seed=2)
        sessions = [new.messages(SESSION) for _ in range(max(2, options.runs // 10))]
        yield from _times("adding a session, to its episode", partial(_told, memory), sessions)
        for clients in (1, 16):
            rate = _single_additions(memory, clients, max(4, options.runs // clients))
            yield f"adding single messages, {clients} at a time", f"{rate:,.0f} /s"


def _told(memory: MemorySystem, messages: list[dict[str, Any]]) -> None:
    memory.add_messages(USER, messages)
    memory.flush(USER)


def _single_additions(memory: MemorySystem, clients: int, each: int) -> float:
    """Additions a second, each client for a user of its own."""
    lists = [Talk(seed=100 + number).messages(each) for number in range(clients)]

    def add(number: int) -> None:
        for message in lists[number]:
            memory.add_messages(f"client-{number}", [message])

    with ThreadPoolExecutor(clients) as pool:
        spent = _milliseconds(lambda: list(pool.map(add, range(clients))))
    return clients * each * 1000 / spent


def _opened(place: str, question: str, embedding: str | None) -> tuple[float, float]:
    """Milliseconds to the first answer in a new process, and its memory in megabytes."""
    command = [
        sys.executable,
        "-m",
        "evaluation.speed",
        place,
        question,
        *filter(None, [embedding]),
    ]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment())
    milliseconds, megabytes = json.loads(told.stdout)
    return milliseconds, megabytes


def _environment() -> dict[str, str]:
    """The environment in which another process finds the package and this module."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path]))}


def main(place: str, question: str, embedding: str | None = None) -> None:
    """The new process of :func:`_opened`."""
    started = time.perf_counter()
    with MemorySystem(place, embedding=embedding) as memory:
        memory.search(USER, question)
        answered = 1000 * (time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps([answered, peak]))


def _times(
    name: str, call: Callable[[Any], object], inputs: Iterable[Any]
) -> Iterator[tuple[str, str]]:
    """Median, with processor time in brackets, and 99th percentile of a call with each input."""
    walls, cpus = [], []
    for one in inputs:
        worked = time.process_time()
        walls.append(_milliseconds(call, one))
        cpus.append(1000 * (time.process_time() - worked))
    yield f"{name}, p50", f"{statistics.median(walls):.2f} ms ({statistics.median(cpus):.2f})"
    yield f"{name}, p99", f"{quantile(walls, 0.99):.2f} ms"


def _milliseconds(call: Callable[..., object], *arguments: Any) -> float:
    started = time.perf_counter()
    call(*arguments)
    return 1000 * (time.perf_counter() - started)


def quantile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    return sorted(values)[round(share * (len(values) - 1))]


def _shown(figures: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Prints each figure as soon as it is known."""
    for name, value in figures:
        print(f"  {name:48} {value}", file=sys.stderr, flush=True)
        yield name, value


def _size(text: str) -> int:
    """``100k`` as a number."""
    units = {"k": 1_000, "m": 1_000_000}
    last = text[-1:].lower()
    return round(float(text[:-1]) * units[last]) if last in units else int(text)


def _machine(begun: float) -> str:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    models = re.findall(r"model name\s*: (.*)", info)
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return (
        f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, {gigabytes:.0f} "
        f"GB, {platform.system()} {platform.release()}, Python {platform.python_version()}; "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {(time.monotonic() - begun) / 60:.1f} minutes; "
        f"load at the end {os.getloadavg()[0]:.2f}."
    )


def _table(columns: dict[str, Figures]) -> str:
    heads = ["measured, with processor time in brackets", *columns]
    rows = [
        [name, *(figures[name] for figures in columns.values())]
        for name in next(iter(columns.values()))
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
