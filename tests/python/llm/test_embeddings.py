"""Vectors from an endpoint: batched, paid for once, and made up for after an outage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import talk, until, vectors
from loopback import Reply, Request
from model_server import DIMENSION, ModelServer, vector

from episodica import MemorySystem


def test_vectors_come_in_batches_and_each_text_once(
    server: ModelServer, open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    memory = open_memory(embedding=vectors(server, batch_size=50))
    memory.add_messages("ann", talk(120))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    sizes = [len(request.body["input"]) for request in server.requests]
    assert max(sizes) == 50
    texts = [text for request in server.requests for text in request.body["input"]]
    assert len(texts) == len(set(texts))
    assert memory.stats("ann")["pending_vectors"] == 0
    assert memory.verify("ann").errors == 0
    hit = memory.search("ann", "kite7 hill7 string7", kinds=["message"], method="vector", top_k=1)[
        0
    ]
    assert hit.messages[0].message_id == "ann-7"
    usage = memory.usage()["by_phase"]["embedding"]
    assert (usage["calls"], usage["prompt_tokens"]) == (
        server.answered["embedding"],
        server.tokens["embedding"],
    )
    memory.close()
    # The vectors are on disk: after opening again, only the question is embedded.
    asked = len(server.requests)
    again = open_memory(embedding=vectors(server))
    assert again.wait(timeout=60)
    assert (
        again.search("ann", "kite7 hill7 string7", kinds=["message"], method="vector", top_k=1)[0]
        .messages[0]
        .message_id
        == "ann-7"
    )
    assert len(server.requests) == asked + 1


@pytest.mark.requirement("RET-7")
def test_an_outage_of_vectors_leaves_words_and_is_made_good(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    down = [True]
    server = serve(lambda request: Reply({"error": {}}, 503) if down[0] else None)
    memory = open_memory(embedding=vectors(server))
    memory.add_messages("ann", talk(30))
    memory.flush("ann")
    found = memory.search("ann", "kite7", kinds=["message"], top_k=1)
    assert found[0].messages[0].message_id == "ann-7"
    assert any("vector" in leg for leg in found.degraded)
    assert memory.stats("ann")["episodes"] > 0
    down[0] = False
    until(lambda: memory.stats("ann")["pending_vectors"] == 0)
    assert memory.retry_pending("ann") == 0
    assert memory.wait("ann", timeout=60)
    assert memory.search("ann", "kite7", kinds=["message"], top_k=1).degraded == ()
    assert memory.verify("ann").errors == 0


def test_vectors_of_another_length_are_no_answer(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    def short(request: Request) -> Reply | None:
        data = [
            {"index": n, "embedding": vector(text)[: DIMENSION - n % 2]}
            for n, text in enumerate(request.body["input"])
        ]
        return Reply({"data": data})

    memory = open_memory(embedding=vectors(serve(short), breaker_seconds=3_600))
    memory.add_messages("ann", talk(4))
    memory.flush("ann")
    assert (
        memory.search("ann", "kite2", kinds=["message"], top_k=1)[0].messages[0].message_id
        == "ann-2"
    )
    assert memory.stats("ann")["vectors"]["messages"] == 0


def test_a_message_without_a_vector_is_not_pushed_down(
    open_memory: Callable[..., MemorySystem],
) -> None:
    """Once, it was ranked as if it were the least similar of all, by far."""
    import numpy as np

    def embed(texts: list[str]) -> Any:
        if any("kite40 flew" in text for text in texts):
            raise RuntimeError("not now")
        # As sentence embedders do: everything is somewhat similar to everything.
        return 1 + 0.1 * np.array([vector(text) for text in texts], dtype="float32")

    memory = open_memory(embedding=embed)
    memory.add_messages("ann", talk(40))
    memory.add_messages("ann", talk(1, first=40))
    found = memory.search("ann", "kite40", kinds=["message"], top_k=3)
    assert found.degraded
    assert found[0].messages[0].message_id == "ann-40"
