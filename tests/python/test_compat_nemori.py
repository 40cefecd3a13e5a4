"""Scripts written for Nemori run on `episodica`."""

from __future__ import annotations

import dataclasses
import doctest
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from episodica import EpisodicaError
from episodica import MemorySystem as Store
from episodica.compat import nemori
from episodica.compat.nemori import MemoryConfig, MemorySystem, NemoriMemory, classes, facade
from episodica.compat.nemori import config as nemori_config

TALK = [
    {
        "role": "Nuria",
        "content": "I adopted a tortoise called Bolt.",
        "timestamp": "2024-02-01T10:00:00",
        "metadata": {"n": 1},
    },
    {
        "role": "Pavel",
        "content": "Mine would eat the whole balcony.",
        "timestamp": "2024-02-01T10:00:00",
    },
    {"role": "Nuria", "content": "I work as a baker in Brno.", "timestamp": "no date"},
]
EPISODIC = (
    "type score episode_id title content original_messages boundary_reason timestamp created_at "
    "message_count search_method"
)
SEMANTIC = (
    "type score memory_id content knowledge_type confidence related_episodes created_at "
    "search_method"
)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(nemori_config, "_reported", set())
    before = dict(sys.modules)
    yield
    for name in [name for name in sys.modules if name == "nemori" or name.startswith("nemori.")]:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in before.items() if name not in sys.modules})
    assert not classes._open, "a store was left open"


@pytest.fixture
def config(tmp_path: Path) -> MemoryConfig:
    return MemoryConfig.from_dict(
        {"storage_path": str(tmp_path / "memories"), "buffer_size_min": 2, "buffer_size_max": 20}
    )


def test_the_facade_from_messages_to_hits(config: MemoryConfig) -> None:
    with NemoriMemory(config) as memory:
        added = memory.add_messages("nuria_0", TALK)
        assert (added["status"], added["messages_added"], added["buffer_size_before"]) == (
            "success",
            3,
            0,
        )
        assert memory.flush("nuria_0") is not None
        assert memory.wait_for_semantic("nuria_0", timeout=30)
        found = memory.search(
            "nuria_0",
            "What is the tortoise called?",
            top_k_episodes=5,
            top_k_semantic=5,
            search_method="hybrid",
        )
        assert set(found) == {"episodic", "semantic"}
        first = found["episodic"][0]
        assert set(EPISODIC.split()) <= set(first)
        assert first["type"] == "episodic"
        assert first["original_messages"][0] == {
            "role": "Nuria",
            "content": "I adopted a tortoise called Bolt.",
            "timestamp": "2024-02-01T10:00:00+00:00",
            "metadata": {"n": 1},
        }
        assert all(set(SEMANTIC.split()) <= set(hit) for hit in found["semantic"])
        assert (
            len(
                memory.search("nuria_0", "tortoise", top_k_episodes=1, top_k_semantic=0)["episodic"]
            )
            == 1
        )
        assert memory.stats("nuria_0")["user"]["messages"] == 3


def test_flush_names_an_episode_also_where_nothing_is_left_to_close(config: MemoryConfig) -> None:
    with NemoriMemory(config) as memory:
        assert memory.flush("nobody") is None
        memory.add_messages("a", TALK)
        first = memory.flush("a")
        assert first
        assert memory.flush("a") == first


@pytest.mark.parametrize("method", ["vector", "bm25", "text", "hybrid", "norlift", "anything"])
def test_search_methods(config: MemoryConfig, method: str) -> None:
    with NemoriMemory(config) as memory:
        memory.add_messages("a", TALK)
        memory.flush("a")
        found = memory.search("a", "tortoise", search_method=method)
        assert found["episodic"][0]["search_method"] == method


async def test_asearch(config: MemoryConfig) -> None:
    with NemoriMemory(config) as memory:
        memory.add_messages("a", TALK)
        assert await memory.asearch("a", "tortoise") == memory.search("a", "tortoise")


def test_the_core_class(config: MemoryConfig) -> None:
    system = MemorySystem(config, "en")
    system.add_messages("a", TALK)
    made = system.force_episode_creation("a")
    assert made
    assert {"episode_id", "title", "message_count", "boundary_reason"} == set(made)
    assert system.wait_for_semantic_generation("a", timeout=30.0)
    assert system.get_semantic_generation_status("a") == {
        "active_tasks": 0,
        "total_tasks": 0,
        "tasks": [],
    }
    assert {"system", "performance", "config", "user"} == set(system.get_stats("a"))
    assert system.search_all("a", "baker", top_k_episodes=2, top_k_semantic=2)["episodic"]
    assert system.search_all("a", "  ") == {"episodic": [], "semantic": []}
    assert all(system.delete_user_data("a").values())
    assert system.search_all("a", "baker")["episodic"] == []
    system.close()
    system.close()


def test_many_memories_share_one_store(config: MemoryConfig) -> None:
    memories = [NemoriMemory(config) for _ in range(3)]
    memories[0].add_messages("a", TALK)
    memories[0].close()
    assert memories[1].flush("a")
    memories[1].close()
    assert memories[2].search("a", "tortoise")["episodic"]
    memories[2].close()
    with NemoriMemory(config) as again:
        assert again.search("a", "tortoise")["episodic"]


def test_a_bad_message_is_a_status(config: MemoryConfig) -> None:
    with NemoriMemory(config) as memory:
        assert memory.add_messages("a", [{"role": "user"}])["status"] == "error"
        assert memory.add_messages("a", [{"role": "user", "content": " "}])["messages_added"] == 0


def test_unknown_settings_are_reported_once(tmp_path: Path) -> None:
    data = {
        "storage_path": str(tmp_path),
        "dsn": "postgresql://localhost/nemori",
        "llm_model": "some-model",
        "cache_size": 3,
    }
    with pytest.warns(UserWarning, match="no effect in episodica: cache_size, dsn, llm_model$"):
        config = MemoryConfig.from_dict(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MemoryConfig.from_dict(data).dsn == config.dsn == "postgresql://localhost/nemori"
    with pytest.raises(AttributeError, match="no `nonsense`"):
        _ = config.nonsense


@pytest.mark.filterwarnings("ignore:OPENAI_API_KEY is set")
def test_settings_are_translated_and_keys_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    config = MemoryConfig.from_dict(
        {"buffer_size_max": 9, "batch_threshold": 20, "enable_semantic_memory": False}
    )
    assert config.overrides() == {
        "buffer_size_max": 9,
        "boundary_window_messages": 9,
        "semantic_memory": False,
    }
    assert MemoryConfig().overrides() == {}
    assert config.openai_api_key == "sk-secret"
    assert "sk-secret" not in repr(config) + str(config.to_dict())
    assert config.validate()
    assert not MemoryConfig(buffer_size_min=5, buffer_size_max=5).validate()


def test_import_nemori_after_install(config: MemoryConfig) -> None:
    nemori.install()
    from nemori.api.facade import NemoriMemory as Facade  # type: ignore[import-not-found,unused-ignore]

    import nemori as theirs  # type: ignore[import-not-found,unused-ignore]

    assert theirs.NemoriMemory is Facade is NemoriMemory
    with theirs.NemoriMemory(config) as memory:
        assert memory.add_messages("a", TALK)["status"] == "success"


def test_scripts_of_the_first_version_find_src_and_storage(config: MemoryConfig) -> None:
    nemori.install()
    from src.config import MemoryConfig as Config  # type: ignore[import-not-found,unused-ignore]
    from src.core.memory_system import MemorySystem as System  # type: ignore[import-not-found,unused-ignore]

    assert Config is MemoryConfig
    with System(config) as system:
        system.add_messages("Ann_0", TALK)
        system.force_episode_creation("Ann_0")
        assert system.wait_for_semantic_generation("Ann_0")
        system.load_user_data_and_indices_for_method("Ann_0", "vector")
        assert len(system.storage["episode"].list_user_items("Ann_0")) > 0
        facts = system.storage["semantic"].list_user_items("Ann_0")
        assert len(facts) == system.get_stats("Ann_0")["user"]["semantic_count"]


def test_a_folder_on_the_path_stands_for_nemori(tmp_path: Path) -> None:
    shim = Path(nemori.__file__).parent / "shim"
    script = tmp_path / "seed.py"
    script.write_text(
        "from src.config import MemoryConfig\n"
        "from src.core.memory_system import MemorySystem\n"
        "from nemori import NemoriMemory\n"
        "print(MemorySystem.__module__, NemoriMemory.__name__, MemoryConfig.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(shim)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == [
        "episodica.compat.nemori.classes",
        "NemoriMemory",
        "MemoryConfig",
    ], done.stderr


def test_named_models_thresholds_and_workers_take_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.warns(UserWarning, match="no effect"):
        offline = MemoryConfig(embedding_model="text-embedding-3-small", episode_cache_ttl=7)
    assert offline.overrides() == {}
    config = MemoryConfig(
        llm_model="m",
        llm_base_url="http://localhost:9/v1",
        embedding_model="e",
        embedding_dimension=64,
        batch_size=500,
        max_workers=3,
        boundary_confidence_threshold=0.4,
        episode_max_messages=12,
    )
    made = config.overrides()
    assert (made["llm"].model, made["embedding"].model) == ("m", "e")
    assert (made["embedding"].dimension, made["embedding"].batch_size) == (64, 100)
    assert made["embedding"].base_url == "http://localhost:9/v1"
    assert (made["llm_concurrency"], made["buffer_size_max"]) == (3, 12)
    assert made["boundary_confidence_threshold"] == 0.4


def test_a_key_without_a_named_model_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once, scripts worked offline and did not say so."""
    for name in ("LLM_API_KEY", "OPENROUTER_API_KEY", "LLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(nemori_config, "_told_offline", [])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with pytest.warns(UserWarning, match="OPENAI_API_KEY is set, but no field names a model"):
        config = MemoryConfig(storage_path=str(tmp_path))
    assert config.llm() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MemoryConfig(storage_path=str(tmp_path))
        # Fields that are set later count, too.
        config.llm_model = "some-model"
    named = config.llm()
    assert named is not None
    assert named.model == "some-model"
    assert config.overrides()["llm"] == named


def test_the_variables_of_the_later_versions_reach_model_and_embedder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "LLM_API_KEY": "sk-1",
        "LLM_BASE_URL": "http://localhost:1/v1",
        "EMBEDDING_API_KEY": "sk-2",
        "EMBEDDING_BASE_URL": "http://localhost:2/v1",
    }.items():
        monkeypatch.setenv(name, value)
    config = MemoryConfig(llm_model="m", llm_timeout=7.0, llm_retries=2, embedding_model="e")
    made = config.overrides()
    assert (made["llm"].base_url, made["llm"].api_key) == ("http://localhost:1/v1", "sk-1")
    assert (made["llm"].timeout_seconds, made["llm"].max_attempts) == (7.0, 2)
    assert (made["embedding"].base_url, made["embedding"].api_key) == (
        "http://localhost:2/v1",
        "sk-2",
    )
    assert (config.llm_api_key, config.llm_base_url) == ("sk-1", "http://localhost:1/v1")
    # A server without a key is reached by its address alone.
    for name in ("LLM_API_KEY", "EMBEDDING_API_KEY", "LLM_BASE_URL", "EMBEDDING_BASE_URL"):
        monkeypatch.delenv(name)
    with pytest.warns(UserWarning, match="no effect in episodica: llm_model$"):
        assert MemoryConfig(llm_model="m").llm() is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:3/v1")
    assert MemoryConfig(llm_model="m").llm() is not None


def test_every_setting_of_nemori_is_in_one_group_and_in_the_docs() -> None:
    used = {*nemori_config.TRANSLATED, *nemori_config.OBEYED}
    used.update(*nemori_config.MODEL.values(), *nemori_config.EMBEDDING.values())
    without_effect = set(nemori_config.WITHOUT_EFFECT)
    assert not used & without_effect
    page = (Path(__file__).parents[2] / "docs" / "nemori.md").read_text(encoding="utf-8")
    assert used <= set(re.findall(r"`(\w+)`", page))
    assert {field.name for field in dataclasses.fields(MemoryConfig)} >= without_effect


def test_segmentation_and_agents_take_effect() -> None:
    assert MemoryConfig(enable_batch_segmentation=False).overrides() == {"boundary_mode": "message"}
    assert MemoryConfig(enable_smart_boundary=False).overrides() == {"boundary_mode": "heuristic"}
    assert MemoryConfig(enable_batch_segmentation=True).overrides() == {}
    assert MemoryConfig(agent_id="coach").overrides() == {"tenant": "coach"}


async def test_the_asynchronous_facade(config: MemoryConfig) -> None:
    async with NemoriMemory(config) as memory:
        assert (await memory.health()).healthy
        await memory.add_messages("Nuria_0", TALK)
        picture = "data:image/png;base64,iVBORw0KGgo="
        await memory.add_multimodal_message("Nuria_0", "Bolt in the garden", [picture])
        made = await memory.flush("Nuria_0")
        assert made[-1]["source_messages"][-1]["content"].startswith("Bolt in the garden")
        found = await memory.search("Nuria_0", "tortoise", top_k_semantic=5, search_method="text")
        assert set(found) == {"episodes", "semantic_memories"}
        first = found["episodes"][0]
        assert {"id", "title", "content", "source_messages", "created_at"} <= set(first)
        assert first["created_at"].startswith("2024-02-01")
        assert memory._system._orchestrator.stats.total_requests == 0
        counts = await memory.stats("Nuria_0")
        assert counts["episode_count"] >= len(made)
        await memory.delete_episode("Nuria_0", first["id"])
        await memory.delete_user("Nuria_0")
        assert (await memory.search("Nuria_0", "tortoise"))["episodes"] == []
        with pytest.raises(EpisodicaError):
            await memory.add_messages("Nuria_0", [{"role": "user", "content": 7}])


@pytest.mark.parametrize("user", ["Nuria_0", "Ada.B", "..x", "María 3", "张三_0", "a%b"])
def test_scripts_find_a_users_files_under_the_names_of_nemori(
    user: str, config: MemoryConfig
) -> None:
    """`Nuria_0` is `^nuria_0` on disk: without links, scripts say that nothing was saved."""
    root = Path(config.storage_path)
    with NemoriMemory(config) as memory:
        memory.add_messages(user, TALK)
        memory.flush(user)
        assert memory.wait_for_semantic(user)
        path = root / "episodes" / f"{user}_episodes.jsonl"
        assert path.is_file()
        assert "tortoise" in path.read_text(encoding="utf-8")
        assert (root / "semantic" / f"{user}_semantic.jsonl").is_file()
    assert not [path for path in root.rglob("*") if path.is_symlink()]
    with Store(root) as store:
        assert store.users() == [user]
        assert store.verify().problems == ()


def test_a_name_for_scripts_makes_room_for_another_users_log(config: MemoryConfig) -> None:
    """The name of one user may be the file of another; where case is folded, `Ann` and `ann`."""
    with NemoriMemory(config) as memory:
        memory.add_messages("^ann", TALK)
        memory.flush("^ann")
        link = Path(config.storage_path) / "episodes" / "^ann_episodes.jsonl"
        assert link.is_symlink()
        memory.add_messages("Ann", TALK)
        memory.flush("Ann")
        assert link.is_file()
        assert not link.is_symlink()
    with Store(config.storage_path) as store:
        assert store.users() == ["Ann", "^ann"]
        assert [store.stats(user)["messages"] for user in store.users()] == [3, 3]


def test_a_search_by_vectors_falls_back_to_words(
    config: MemoryConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, scripts that ask for vectors alone found nothing while the embedder was away."""
    monkeypatch.setenv("no_proxy", "*")
    config.llm_base_url, config.embedding_model = "http://127.0.0.1:9/v1", "none"
    config.enable_semantic_memory = False
    monkeypatch.setattr(MemoryConfig, "llm", lambda _: None)
    with NemoriMemory(config) as memory:
        memory.add_messages("a", TALK)
        memory.flush("a")
        assert memory.search("a", "tortoise", search_method="vector")["episodic"]


def test_the_search_and_the_counter_of_the_first_versions(
    config: MemoryConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    nemori.install()
    from src.core.lightweight_search_system import LightweightSearchSystem  # type: ignore[import-not-found,unused-ignore]
    from src.models import Message  # type: ignore[import-not-found,unused-ignore]
    from src.utils.token_counter import TokenCounter  # type: ignore[import-not-found,unused-ignore]

    message = Message(role="user", content="I play the viola.", metadata={"n": 1})
    with MemorySystem(config) as system:
        system.add_messages("a", [vars(message)], metadata={"session_date": "today"})
        system.force_episode_creation("a")
        assert system.get_stats()["system"]["messages_processed"] == 1
    with LightweightSearchSystem(config, preload_data=True) as search:
        assert search.batch_preload_users(["a", "b"], max_workers=2) == {"a": True, "b": False}
        (found,) = search.search_vector("a", "viola")["episodic"]
        assert found["original_messages"][0]["metadata"] == {"n": 1, "session_date": "today"}
        assert search.get_memory_usage()["total_episodes"] == 1
    counter = TokenCounter()
    counter.reset()
    counter.print_summary(title="Tokens")
    assert capsys.readouterr().out.splitlines()[1] == "Tokens"


def test_a_script_runs_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import json, sys\n"
        "import helper\n"
        "from nemori import NemoriMemory, MemoryConfig\n"
        "memory = NemoriMemory(config=MemoryConfig.from_dict({'storage_path': sys.argv[1]}))\n"
        f"memory.add_messages('u', {TALK!r})\n"
        "memory.flush('u')\n"
        "print(json.dumps([hit['message_count'] for hit in memory.search('u', "
        "helper.QUERY)['episodic']]))\n"
        "memory.close()\n"
    )
    (tmp_path / "helper.py").write_text("QUERY = 'tortoise'\n")
    done = run(script, tmp_path / "memories")
    assert (done.returncode, done.stdout.strip()) in {(0, "[3]"), (0, "[2, 1]"), (0, "[1, 2]")}, (
        done.stderr
    )
    assert (run().returncode, run("--help").returncode, run(tmp_path / "none.py").returncode) == (
        2,
        0,
        2,
    )


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "episodica.compat.nemori", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_examples() -> None:
    for module in (facade, classes, nemori_config):
        done = doctest.testmod(module)
        assert done.attempted > 0, module.__name__
        assert done.failed == 0, module.__name__
