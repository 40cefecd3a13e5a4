"""No key, header, proxy or private text where it does not belong."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import config, remember
from loopback import Reply, Request
from model_server import ModelServer, step_of

from episodica import ConfigError, EmbeddingConfig, MemoryConfig, MemorySystem

SECRETS = ("sk-a-secret", "header-secret", "org-secret", "sk-vectors")


def told(request: Request) -> Reply | None:
    """A server whose errors, in two of the steps, repeat the key and the prompt."""
    words = (
        f"key {request.headers['authorization']} is wrong for {json.dumps(request.body)[:200]} "
        "sk-a-secret header-secret org-secret"
    )
    error = {"error": {"message": words, "code": "sk-a-secret", "type": words}}
    return Reply(error, 401) if step_of(request) in ("episode", "embedding") else None


def test_no_secret_is_shown_or_stored(
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
    store: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: Any,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(told)
    llm = config(server, headers={"X-Team": "header-secret"}, organization="org-secret")
    embedding = EmbeddingConfig(model="vectors", base_url=server.url, api_key="sk-vectors")
    settings = MemoryConfig(llm=llm, embedding=embedding, trace=True)
    memory = open_memory(config=settings)
    memory.add_messages(
        "ann",
        [{"role": "user", "content": f"my diary says {n}", "timestamp": 60 * n} for n in range(30)],
    )
    memory.flush("ann")
    memory.wait("ann", timeout=5)
    sent = server.requests[0].headers
    chat = next(request for request in server.requests if step_of(request) != "embedding").headers
    assert (chat["authorization"], chat["x-team"], chat["openai-organization"]) == (
        "Bearer sk-a-secret",
        "header-secret",
        "org-secret",
    )
    assert "Bearer sk-vectors" in {request.headers["authorization"] for request in server.requests}
    assert sent["user-agent"].startswith("episodica/")
    ids = [episode.episode_id for episode in memory.episodes("ann")]
    shown = [
        memory.health(),
        memory.stats(),
        memory.stats("ann"),
        memory.usage(),
        [memory.trace("ann", one) for one in ids],
    ]
    shown += [
        repr(memory),
        repr(settings),
        str(llm),
        repr(embedding),
        settings.to_dict(),
        memory.config.to_dict(),
    ]
    shown += [str(record.getMessage()) for record in caplog.records]
    memory.close(timeout=0)
    shown += capfd.readouterr()
    text = "\n".join(map(str, shown))
    for secret in SECRETS:
        assert secret not in text
    assert "401" in text
    assert "diary" not in str(shown[:4]), "what is shown without being asked for a record"
    kept = [
        path
        for path in store.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in SECRETS)
    ]
    assert kept == []


def test_the_key_comes_from_the_environment(
    server: ModelServer, open_memory: Callable[..., MemorySystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("EPISODICA_LLM_MODEL", "tiny")
    monkeypatch.setenv("EPISODICA_LLM_BASE_URL", server.url)
    remember(open_memory(), count=3)
    assert {request.headers["authorization"] for request in server.requests} == {
        "Bearer sk-of-openai"
    }
    assert {request.body["model"] for request in server.requests} == {"tiny"}
    monkeypatch.setenv("EPISODICA_LLM_API_KEY", "sk-own")
    before = len(server.requests)
    remember(open_memory(path=Path("other")), count=3)
    assert {request.headers["authorization"] for request in server.requests[before:]} == {
        "Bearer sk-own"
    }


@pytest.mark.parametrize("place", ["llm", "llm.fallback", "llm.fallback.fallback", "embedding"])
def test_a_key_in_a_file_is_refused_wherever_it_stands(place: str, tmp_path: Path) -> None:
    """Once, a fallback's key in a file was accepted."""
    file = tmp_path / "settings.toml"
    parents = [".".join(place.split(".")[: n + 1]) for n in range(place.count(".") + 1)]
    file.write_text(
        "".join(f'[{one}]\nmodel = "m"\n' for one in parents) + 'api_key = "sk-in-file"\n'
    )
    with pytest.raises(ConfigError, match="a key does not belong into a file") as caught:
        MemoryConfig.load(file)
    assert f"`{place}.api_key`" in str(caught.value)
    assert "sk-in-file" not in str(caught.value) + str(caught.value.hint)
