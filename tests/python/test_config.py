"""Settings: defaults as in the engine, precedence of sources, hints in errors, no keys shown."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from episodica import ConfigError, EmbeddingConfig, LLMConfig, MemoryConfig, MemorySystem, _native


def test_defaults_are_those_of_the_engine() -> None:
    table = {row["name"]: row["default"] for row in _native.settings()["memory"]}
    assert json.loads(MemoryConfig()._engine_json()) == table


@pytest.mark.parametrize("cls", [LLMConfig, EmbeddingConfig])
def test_defaults_of_endpoints_are_those_of_the_engine(cls: type[Any]) -> None:
    defaults = {one.name: one.default for one in dataclasses.fields(cls)}
    for row in _native.settings()["endpoint"]:
        assert defaults[row["name"]] == row["default"], row["name"]


def test_what_is_written_from_the_table_is_up_to_date(root: Path) -> None:
    """``python tools/settings.py`` writes it."""
    command = [sys.executable, str(root / "tools" / "settings.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({"buffer_size_max": -1}, "buffer_size_max must be between 1 and 1000: `-1`"),
        ({"buffer_size_max": 10**5000}, "must be between 1 and 1000: `a number of thousands of"),
        ({"time_gap_minutes": 0}, "time_gap_minutes must be above 0: `0.0`"),
        ({"time_gap_minutes": 10**400}, "time_gap_minutes must be a finite number: `inf`"),
        ({"rrf_k": float("nan")}, "rrf_k must be a finite number: `nan`"),
        ({"min_confidence": 1.5}, "min_confidence must be between 0 and 1: `1.5`"),
        ({"layer_weights": (1, -1, 1)}, "layer_weights must be at least 0: `-1.0`"),
        ({"llm_concurrency": 0}, "llm_concurrency must be at least 1: `0`"),
        ({"llm": {"model": "m", "max_attempts": 11}}, "llm.max_attempts must be between 1 and 10"),
        (
            {"embedding": {"model": "m", "timeout_seconds": 0}},
            "embedding.timeout_seconds must be between 0.001 and 3600: `0.0`",
        ),
    ],
)
def test_bounds_are_named(overrides: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        MemoryConfig(**overrides)


@pytest.mark.parametrize(
    ("keywords", "name"),
    [({"embedding": "text-embedding-3-small"}, "EmbeddingConfig"), ({"llm": "gpt-4"}, "LLMConfig")],
)
def test_a_bare_model_name_gets_the_class_that_takes_it(
    store: Path, keywords: dict[str, Any], name: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        MemorySystem(store, **keywords)
    model = next(iter(keywords.values()))
    assert f'{name}("{model}")' in str(caught.value)


def test_the_engine_gets_the_settings(store: Path) -> None:
    with MemorySystem(store, buffer_size_max=7, layer_weights=[1, 1, 2]) as memory:
        assert memory.config.buffer_size_max == 7
        settings = json.loads(memory._engine.config())
    assert settings["buffer_size_max"] == 7
    assert settings["layer_weights"] == [1.0, 1.0, 2.0]


def test_precedence(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "episodica.toml"
    file.write_text(
        "time_gap_minutes = 10\nbuffer_size_max = 11\nmin_confidence = 0.5\n[llm]\nmodel = "
        '"a"\nbase_url = "http://a"\n'
    )
    monkeypatch.setenv("EPISODICA_CONFIG", str(file))
    monkeypatch.setenv("EPISODICA_BUFFER_SIZE_MAX", "12")
    monkeypatch.setenv("EPISODICA_MIN_CONFIDENCE", "0.55")
    monkeypatch.setenv("EPISODICA_LLM_MODEL", "b")
    config = MemoryConfig.load(min_confidence=0.9)
    assert (
        config.time_gap_minutes,
        config.buffer_size_max,
        config.min_confidence,
        config.min_importance,
    ) == (10.0, 12, 0.9, 0.5)
    assert config.llm == LLMConfig("b", base_url="http://a")
    file.write_text("time_gap_minutes = 10")
    monkeypatch.delenv("EPISODICA_LLM_MODEL")
    with MemorySystem(store, buffer_size_max=13) as memory:
        assert (memory.config.buffer_size_max, memory.config.time_gap_minutes) == (13, 10.0)


def test_a_config_object_is_taken_as_it_is(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPISODICA_BUFFER_SIZE_MAX", "12")
    with MemorySystem(store, config=MemoryConfig(time_gap_minutes=5), min_importance=0.1) as memory:
        assert (
            memory.config.buffer_size_max,
            memory.config.time_gap_minutes,
            memory.config.min_importance,
        ) == (25, 5.0, 0.1)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("EPISODICA_TRACE", "Yes", "trace", True),
        ("EPISODICA_LLM_CACHE", "0", "llm_cache", False),
        ("EPISODICA_BOUNDARY_MODE", "heuristic", "boundary_mode", "heuristic"),
        ("EPISODICA_LAYER_WEIGHTS", "0.1, 0.2, 0.7", "layer_weights", (0.1, 0.2, 0.7)),
        ("EPISODICA_EMBEDDING_PATH", "/m", "embedding", EmbeddingConfig(path="/m")),
        ("EPISODICA_LLM_CONCURRENCY", "3", "llm_concurrency", 3),
    ],
)
def test_environment_values(variable: str, text: str, name: str, value: Any) -> None:
    assert getattr(MemoryConfig.load(env={variable: text}), name) == value


@pytest.mark.parametrize(
    ("overrides", "text", "hint"),
    [
        (
            {"bufer_size_max": 3},
            "unknown setting: `bufer_size_max`",
            "did you mean `buffer_size_max`?",
        ),
        ({"xyzzy": 3}, "unknown setting: `xyzzy`", None),
        ({"buffer_size_max": "3"}, "buffer_size_max must be an integer, not `str`", None),
        ({"buffer_size_max": True}, "buffer_size_max must be an integer, not `bool`", None),
        ({"trace": 1}, "trace must be a boolean, not `int`", None),
        (
            {"boundary_mode": "heuristics"},
            "boundary_mode is unknown: `heuristics`",
            "did you mean `heuristic`?",
        ),
        ({"preset": 3}, "preset is unknown: `3`", "known are `default`, `cortex`, `memo`"),
        ({"layer_weights": [1, 2]}, "layer_weights must be a list of numbers, not `list`", None),
        ({"llm": {"modle": "x"}}, "unknown setting: `llm.modle`", "did you mean `llm.model`?"),
        ({"llm": {}}, "an LLM needs a model: `llm.model` is missing", None),
        ({"llm": "gpt"}, "llm must be a section, not `str`", 'write `llm=LLMConfig("gpt")`'),
        (
            {"embedding": {}},
            "an embedding needs either `model` (of an endpoint) or `path` (of a local folder)",
            None,
        ),
    ],
)
def test_wrong_settings(overrides: dict[str, Any], text: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        MemoryConfig.load(env={}, **overrides)
    assert caught.value.message == text
    assert caught.value.hint == hint


def test_bounds_are_checked_by_the_engine(store: Path) -> None:
    with pytest.raises(ConfigError, match="buffer_size_min"):
        MemorySystem(store, buffer_size_min=30)


def test_unknown_variables_and_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="EPISODICA_BUFER_SIZE_MAX") as caught:
        MemoryConfig.load(env={"EPISODICA_BUFER_SIZE_MAX": "3"})
    assert caught.value.hint == "did you mean `EPISODICA_BUFFER_SIZE_MAX`?"
    with pytest.raises(ConfigError, match="did you mean `EPISODICA_BUFFER_SIZE_M"):
        MemoryConfig.load(env={"EPISODICA_BUFER": "3"})
    with pytest.raises(ConfigError, match="EPISODICA_TRACE is no boolean: `maybe`"):
        MemoryConfig.load(env={"EPISODICA_TRACE": "maybe"})
    with pytest.raises(ConfigError, match="cannot read the settings"):
        MemoryConfig.load(tmp_path / "none.toml")
    file = tmp_path / "a.toml"
    file.write_text("tracee = true")
    with pytest.raises(ConfigError, match="unknown setting: `tracee` in ") as caught:
        MemoryConfig.load(file)
    assert (caught.value.path, caught.value.hint) == (str(file), "did you mean `trace`?")
    file.write_text("trace = ")
    with pytest.raises(ConfigError, match="not valid TOML"):
        MemoryConfig.load(file)


@pytest.mark.parametrize(
    ("models", "own"),
    [
        ({"llm": LLMConfig("gpt-x")}, "EPISODICA_LLM_API_KEY"),
        ({"llm": LLMConfig("gpt-x", base_url="https://api.openai.com/v1/")}, "OPENAI_API_KEY"),
        ({"embedding": EmbeddingConfig("text-x")}, "EPISODICA_EMBEDDING_API_KEY"),
        (
            {"llm": LLMConfig("m", base_url="http://127.0.0.1:9/v1", fallback=LLMConfig("gpt-x"))},
            "OPENAI_API_KEY",
        ),
    ],
)
def test_a_missing_key_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: Any, own: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=r"has no API key for https://api\.openai\.com") as caught:
        MemorySystem(tmp_path / "store", **models)
    assert {"OPENAI_API_KEY", own} <= set(re.findall(r"\w+_API_KEY", caught.value.hint or ""))
    assert "base_url=" in (caught.value.hint or "")
    assert not (tmp_path / "store").exists()
    # Other servers, and another header, may need none.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    MemorySystem(tmp_path / "other", llm=LLMConfig("gpt-x")).close()
    monkeypatch.delenv("OPENAI_BASE_URL")
    headers = {"Authorization": "Bearer abc"}
    MemorySystem(tmp_path / "other", llm=LLMConfig("gpt-x", headers=headers)).close()


def test_no_key_is_ever_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    config = MemoryConfig(
        llm=LLMConfig("m", api_key="sk-1"), embedding=EmbeddingConfig("e", api_key="sk-2")
    )
    for shown in (repr(config), str(config.to_dict()), config._engine_json()):
        assert "sk-" not in shown
    pickled = pickle.dumps(config)
    assert b"sk-" not in pickled
    assert pickle.loads(pickled) == MemoryConfig(llm=LLMConfig("m"), embedding=EmbeddingConfig("e"))


@pytest.mark.parametrize("make", [LLMConfig, EmbeddingConfig])
def test_copies_keep_the_key(make: Any) -> None:
    fallback = {"fallback": LLMConfig("n", api_key="sk-2")} if make is LLMConfig else {}
    headers = {"X-Key": "sk-3"}
    config = make("m", base_url="http://h/v1?key=sk-4", api_key="sk-1", headers=headers, **fallback)
    section = {"llm" if make is LLMConfig else "embedding": config}
    copies = [copy.copy(config), copy.deepcopy(config), dataclasses.replace(config)]
    for one in (*copies, getattr(copy.deepcopy(MemoryConfig(**section)), next(iter(section)))):
        assert one == config
        assert (one.api_key, one.headers["X-Key"]) == ("sk-1", "sk-3")
        assert one.base_url == config.base_url
        assert not fallback or one.fallback.api_key == "sk-2"
    assert copies[1].headers is not config.headers


@pytest.mark.parametrize("name", ["max_open_files", "memory_budget_bytes", "snapshot_threshold"])
@pytest.mark.parametrize("number", [2**63, 10**30, 10**5000], ids=["63 bits", "1e30", "1e5000"])
def test_numbers_that_nothing_can_count_are_named(name: str, number: int) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at most"):
        MemoryConfig(**{name: number})


def test_openai_variables_fill_what_an_endpoint_leaves_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy/v1")
    spec = LLMConfig("m")._native()
    endpoint = json.loads(spec["settings"])["endpoint"]
    assert (spec["kind"], endpoint["base_url"], endpoint["api_key"]) == (
        "endpoint",
        "http://proxy/v1",
        "sk-env",
    )
    own = json.loads(LLMConfig("m", base_url="http://own", api_key="k")._native()["settings"])
    assert own["endpoint"]["api_key"] == "k"
    # A key in the environment alone must not make the package send anything.
    assert MemoryConfig.load().llm is None


def test_a_local_folder_crosses_as_an_absolute_path() -> None:
    assert EmbeddingConfig(path=Path("m"))._native() == {
        "kind": "local_folder",
        "path": str(Path("m").absolute()),
    }
