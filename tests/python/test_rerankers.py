"""A reranker orders the best hits of a search; one that fails leaves their order."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from episodica import (
    AsyncMemorySystem,
    ConfigError,
    LightweightSearchSystem,
    MemorySystem,
    RerankEndpoint,
    SearchResults,
)
from episodica.cli.app import main
from episodica.server.memories import Memories
from episodica.server.settings import ServerSettings

TALK = [
    ("Ann", "We bought a house in Lyon."),
    ("Ben", "The house needs a new roof."),
    ("Ann", "Our old house was sold in May."),
    ("Ben", "I prefer boats to any house."),
]


def fill(memory: MemorySystem) -> None:
    memory.add_messages(
        "u", [{"role": "user", "name": name, "content": text} for name, text in TALK]
    )


def texts(found: SearchResults) -> list[str]:
    return [hit.content for hit in found]


def prefer_boats(query: str, candidates: list[str]) -> list[float]:
    assert query == "house"
    return [10.0 if "boats" in text else -float(place) for place, text in enumerate(candidates)]


def test_a_reranker_decides_the_order_before_the_hits_are_cut(tmp_path: Path) -> None:
    with MemorySystem(tmp_path) as memory:
        fill(memory)
        plain = memory.search("u", "house", kinds=["message"])
    with MemorySystem(tmp_path, reranker=prefer_boats) as memory:
        found = memory.search("u", "house", kinds=["message"], top_k=2)
        there = memory.in_timezone("Asia/Tokyo").search("u", "house", top_k={"message": 1})
        empty = memory.search("nobody", "house")
    boats = "I prefer boats to any house."
    rest = [text for text in texts(plain) if text != boats]
    assert plain[0].content != boats
    assert texts(found) == [boats, rest[0]]
    assert [hit.rank for hit in found] == [1, 2]
    assert found[0].scores["rerank"] == 10.0
    assert 0 <= found[0].score <= 1
    assert texts(there) == [boats]
    assert (len(empty), empty.degraded) == (0, ())


def test_readers_and_coroutines_rerank_too(tmp_path: Path) -> None:
    async def ask() -> SearchResults:
        async with AsyncMemorySystem(tmp_path, reranker=prefer_boats) as memory:
            return await memory.search("u", "house", kinds=["message"], top_k=1)

    with MemorySystem(tmp_path) as memory:
        fill(memory)
    with LightweightSearchSystem(tmp_path, reranker=prefer_boats) as reader:
        assert texts(reader.search("u", "house", kinds=["message"], top_k=1)) == [
            "I prefer boats to any house."
        ]
    assert texts(asyncio.run(ask())) == ["I prefer boats to any house."]


@pytest.mark.parametrize(
    ("reranker", "note"),
    [
        (lambda _, candidates: [1.0], "reranker: ValueError: 1 scores for 4 texts"),
        (lambda _, candidates: [float("nan")] * 4, "reranker: ValueError: a score is not finite"),
        (lambda _, candidates: None, "reranker: TypeError: 'NoneType' object is not iterable"),
        (lambda _, candidates: 1 / 0, "reranker: ZeroDivisionError: division by zero"),
    ],
)
def test_a_reranker_that_fails_leaves_the_order(tmp_path: Path, reranker: Any, note: str) -> None:
    with MemorySystem(tmp_path) as memory:
        fill(memory)
        plain = memory.search("u", "house", kinds=["message"], top_k=3)
    with MemorySystem(tmp_path, reranker=reranker) as memory:
        found = memory.search("u", "house", kinds=["message"], top_k=3)
    assert texts(found) == texts(plain)
    assert found.degraded == (note,)


class Endpoint(BaseHTTPRequestHandler):
    """Prefers boats; `/list` answers with a bare list, `/down` fails, `/elsewhere` redirects."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Endpoint.asked.append({**asked, "key": self.headers["Authorization"]})
        name = "score" if self.path == "/list" else "relevance_score"
        scores = prefer_boats(asked["query"], asked["documents"])
        results: list[dict[str, Any]] = [
            {"index": index, name: score} for index, score in enumerate(scores)
        ]
        body = json.dumps(results[::-1] if self.path == "/list" else {"results": results}).encode()
        self.send_response({"/down": 500, "/elsewhere": 302}.get(self.path, 200))
        self.send_header("Location", "/v1/rerank")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    Endpoint.asked.clear()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.mark.parametrize("path", ["/v1/rerank", "/list"])
def test_an_endpoint_reranks(tmp_path: Path, server: str, path: str) -> None:
    endpoint = RerankEndpoint(server + path, model="m", api_key="secret")
    assert "secret" not in repr(endpoint)
    with MemorySystem(tmp_path, reranker=endpoint) as memory:
        fill(memory)
        found = memory.search("u", "house", kinds=["message"], top_k=1)
    assert texts(found) == ["I prefer boats to any house."]
    (asked,) = Endpoint.asked
    assert (asked["model"], asked["key"]) == ("m", "Bearer secret")
    assert "Ben: I prefer boats to any house." in asked["documents"]


@pytest.mark.parametrize(("path", "status"), [("/down", 500), ("/elsewhere", 302)])
def test_an_endpoint_that_does_not_answer_is_named(
    tmp_path: Path, server: str, path: str, status: int
) -> None:
    with MemorySystem(tmp_path, reranker=RerankEndpoint(server + path)) as memory:
        fill(memory)
        found = memory.search("u", "house", kinds=["message"])
    assert len(found) == 4
    assert found.degraded == (f"reranker: OSError: the endpoint answered with status {status}",)
    assert len(Endpoint.asked) == 1


def test_wrong_rerankers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="callable or a RerankEndpoint") as refused:
        MemorySystem(tmp_path, reranker="http://localhost/rerank")  # type: ignore[arg-type]
    assert refused.value.hint == 'write `reranker=RerankEndpoint("http://localhost/rerank")`'
    with pytest.raises(ConfigError, match="must begin with http"):
        RerankEndpoint("ftp://localhost")
    with pytest.raises(ConfigError, match="above 0"):
        RerankEndpoint("http://localhost", timeout_seconds=0)


def test_search_and_service_take_an_endpoint(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EPISODICA_RERANK_API_KEY", "secret")
    with MemorySystem(tmp_path / "store") as memory:
        fill(memory)
    common = ["--store", str(tmp_path / "store"), "--json", "search", "u", "house"]
    asked = [*common, "-k", "1", "--kind", "message"]
    assert main([*asked, "--rerank", server + "/v1/rerank", "--rerank-model", "m"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["content"] == "I prefer boats to any house."

    async def ask() -> SearchResults:
        told = {"store": str(tmp_path / "store"), "rerank_url": server + "/list"}
        memory = await Memories(ServerSettings.load(told, env={})).of("default")
        async with memory:
            return await memory.search("u", "house", kinds=["message"], top_k=1)

    assert texts(asyncio.run(ask())) == ["I prefer boats to any house."]
    assert [one["key"] for one in Endpoint.asked] == ["Bearer secret"] * 2
    assert [one.get("model") for one in Endpoint.asked] == ["m", None]
    assert main([*common, "--rerank-model", "m"]) == 1
    assert "a reranker's model needs its address: `m`" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="must begin with http"):
        ServerSettings.load({"rerank_url": "localhost:8000"}, env={})
