"""EpisodicaMemoryProvider under Hermes's own MemoryManager and plugin discovery."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent.memory_manager import MemoryManager
from agent.memory_provider import MemoryProvider

from episodica import InvalidInputError, MemorySystem
from episodica.adapters import Connection, Where
from episodica.adapters.hermes import EpisodicaMemoryProvider, install

DOCS = Path(__file__).parents[2] / "docs" / "adapters"


def manager(provider: EpisodicaMemoryProvider, home: Path, **kwargs: Any) -> MemoryManager:
    made = MemoryManager()
    made.add_provider(provider)
    options = {"hermes_home": str(home), "platform": "cli", **kwargs}
    made.initialize_all("s1", **options)
    return made


def said(memory: MemorySystem, user: str = "alice") -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.messages(user)]


def test_hermes_recalls_an_earlier_session(memory: MemorySystem, tmp_path: Path) -> None:
    """What Hermes's agent does around each turn, in two sessions."""
    first = manager(EpisodicaMemoryProvider(memory, user_id="alice"), tmp_path)
    assert first.prefetch_all("Hello!") == ""
    first.sync_all("I moved to Lyon last week.", "Lovely!", session_id="s1")
    first.queue_prefetch_all("I moved to Lyon last week.", session_id="s1")
    assert first.flush_pending(timeout=10)
    first.on_session_end([])
    first.shutdown_all()
    assert not memory.closed
    second = manager(EpisodicaMemoryProvider(memory, user_id="alice"), tmp_path)
    assert "I moved to Lyon last week" in second.prefetch_all("Where do I live?", session_id="s2")
    assert "episodica" in second.build_system_prompt()
    second.shutdown_all()
    assert said(memory) == [("user", "I moved to Lyon last week."), ("assistant", "Lovely!")]
    assert [episode.message_count for episode in memory.episodes("alice")] == [2]


def test_a_turn_is_remembered_with_its_tools_and_once(memory: MemorySystem) -> None:
    provider = EpisodicaMemoryProvider(memory, user_id="alice")
    provider.initialize("s1")
    call = {"id": "1", "function": {"name": "weather", "arguments": '{"city": "Lyon"}'}}
    messages = [
        {"role": "user", "content": "Earlier."},
        {"role": "tool", "content": "an older result"},
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "22 degrees"},
        {"role": "assistant", "content": "Warm."},
    ]
    for _ in range(3):
        provider.sync_turn("How is the weather?", "Warm.", session_id="s1", messages=messages)
    assert said(memory) == [
        ("user", "How is the weather?"),
        ("assistant", '[tool call: weather({"city": "Lyon"})]'),
        ("tool", "22 degrees"),
        ("assistant", "Warm."),
    ]
    # The same words later in the conversation are another turn.
    again = [*messages, {"role": "user", "content": "How is the weather?"}]
    provider.sync_turn("How is the weather?", "Warm.", session_id="s1", messages=again)
    assert said(memory)[4:] == [("user", "How is the weather?"), ("assistant", "Warm.")]


def test_a_turn_without_its_messages_is_told_by_its_number(memory: MemorySystem) -> None:
    provider = EpisodicaMemoryProvider(memory, user_id="alice")
    provider.initialize("s1")
    for turn in (1, 1, 2):
        provider.on_turn_start(turn, "Yes.")
        for _ in range(2):
            provider.sync_turn("Yes.", "Good.", session_id="s1")
    provider.sync_turn("Yes.", "Good.", session_id="s2")
    assert said(memory) == [("user", "Yes."), ("assistant", "Good.")] * 3


def test_the_whole_protocol_is_there() -> None:
    named = {name for name in vars(MemoryProvider) if not name.startswith("_")}
    # Nothing is fetched ahead, and there are no settings to write.
    assert named - set(vars(EpisodicaMemoryProvider)) == {"queue_prefetch", "save_config"}


def test_the_tools_search_and_remember(memory: MemorySystem, tmp_path: Path) -> None:
    hermes = manager(EpisodicaMemoryProvider(memory, user_id="alice"), tmp_path)
    assert hermes.get_all_tool_names() == {"episodica_search", "episodica_remember"}
    call = hermes.handle_tool_call
    for _ in range(2):
        assert json.loads(call("episodica_remember", {"text": "Alice likes figs."})) == {
            "remembered": "Alice likes figs."
        }
    assert said(memory) == [("user", "Alice likes figs.")]
    found = json.loads(call("episodica_search", {"query": "What does she like?", "limit": 1}))
    (result,) = found["results"]
    assert "figs" in result["content"]
    assert set(result) == {"kind", "date", "content"}
    for name, wrong in [
        ("episodica_search", {}),
        ("episodica_search", {"query": "x", "limit": 0}),
        ("episodica_remember", {}),
        ("episodica_remember", {"text": " "}),
    ]:
        assert "error" in json.loads(call(name, wrong)), (name, wrong)
    provider = hermes.get_provider("episodica")
    assert "unknown tool" in provider.handle_tool_call("other", {})


def test_subagents_and_jobs_leave_nothing(memory: MemorySystem) -> None:
    for context in ("subagent", "cron", "flush"):
        provider = EpisodicaMemoryProvider(memory, user_id="alice")
        provider.initialize("s1", agent_context=context)
        provider.sync_turn("Hello", "Hi.")
        provider.on_memory_write("add", "user", "Alice likes figs.")
        provider.on_session_end([])
        answer = provider.handle_tool_call("episodica_remember", {"text": "Alice likes figs."})
        assert "remember nothing" in json.loads(answer)["error"]
    assert memory.users() == []


def test_sessions_switch_and_other_writes_are_mirrored(memory: MemorySystem) -> None:
    provider = EpisodicaMemoryProvider(memory, user_id="alice")
    provider.initialize("s1")
    provider.sync_turn("Hello", "Hi.")
    provider.on_session_switch("s2", reset=True)
    assert len(list(memory.episodes("alice"))) == 1
    for _ in range(2):
        provider.on_memory_write("add", "user", "Alice likes figs.")
    provider.on_memory_write("remove", "user", "Alice likes figs.")
    provider.on_delegation("Count the files.", "There are 7.", child_session_id="c")
    assert [(one.content, one.session_id) for one in memory.messages("alice")] == [
        ("Hello", "s1"),
        ("Hi.", "s1"),
        ("Alice likes figs.", "s2"),
        ("Count the files.", "s2"),
        ("There are 7.", "s2"),
    ]
    asked = [{"role": "user", "content": "What does Alice like?"}]
    assert "figs" in provider.on_pre_compress(asked)
    assert provider.on_pre_compress([]) == ""


def test_the_profile_has_a_memory_of_its_own(tmp_path: Path) -> None:
    provider = EpisodicaMemoryProvider()
    assert provider.is_available()
    with pytest.raises(InvalidInputError, match="not initialized"):
        provider.sync_turn("Hello", "Hi.")
    provider.initialize("s1", hermes_home=str(tmp_path / "home"), user_id="bob")
    provider.sync_turn("Hello", "Hi.")
    provider.shutdown()
    provider.shutdown()
    with Connection(tmp_path / "home" / "episodica") as connection:
        assert connection.memory.users() == ["bob"]
    assert provider.backup_paths() == []
    assert EpisodicaMemoryProvider("/elsewhere").backup_paths() == ["/elsewhere"]
    assert provider.get_config_schema() == []


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    provider = EpisodicaMemoryProvider(anywhere, user_id="alice")
    provider.initialize("s1")
    provider.sync_turn("I live in Lyon.", "Lovely!")
    assert "I live in Lyon." in provider.prefetch("Where do I live?")
    provider.shutdown()


def test_hermes_finds_the_installed_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the page, where `provider` named another memory before."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    page = (DOCS / "hermes.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "config.yaml").write_text(settings, encoding="utf-8")
    assert install() == tmp_path / "plugins" / "episodica" / "__init__.py"
    from hermes_cli.config import load_config
    from plugins.memory import discover_memory_providers, load_memory_provider

    provider = load_memory_provider(load_config()["memory"]["provider"])
    assert isinstance(provider, MemoryProvider)
    assert provider.name == "episodica"
    assert ("episodica", True) in [(name, ready) for name, _, ready in discover_memory_providers()]


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("hermes")
