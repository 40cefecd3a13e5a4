"""The public surface, written out: every name, signature and field that users may rely on."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import typing

import pytest

import episodica
from episodica import InvalidInputError, LightweightSearchSystem, MemorySystem

NAMES = {
    "AddResult",
    "AsyncMemorySystem",
    "Context",
    "DeleteReport",
    "EmbeddingConfig",
    "Episode",
    "EpisodicaError",
    "Hit",
    "LLMConfig",
    "LightweightSearchSystem",
    "MemoryConfig",
    "MemorySystem",
    "Message",
    "RebuildReport",
    "SearchResults",
    "SemanticMemory",
    "VerifyReport",
    "count_tokens",
}

FILTERS = "since=None until=None session_id=None"
QUESTION = f"method='hybrid' {FILTERS} where=None threshold=None explain=False now=None"
SEARCH = f"{QUESTION} include_superseded=False"
LISTING = f"user_id {FILTERS} limit=None"
# Parameters before `*` are positional, the others keyword-only; a method may have more of these.
METHODS = {
    "__init__": "path='memories' * config=None tenant='default' llm=None embedding=None",
    "add_messages": "user_id messages * session_id=None",
    "flush": "user_id",
    "flush_all_buffers": "",
    "close_session": "user_id session_id",
    "wait": "user_id=None timeout=None",
    "search": f"user_id query top_k=10 * kinds=None {SEARCH}",
    "context": f"user_id query max_tokens=2000 * kinds {QUESTION}",
    "episodes": f"user_id * {LISTING}",
    "semantic_memories": f"user_id * {LISTING}",
    "messages": f"user_id * {LISTING}",
    "get": "user_id id",
    "update": "user_id id content",
    "delete": "user_id id",
    "history": "user_id id",
    "delete_user_data": "user_id",
    "users": "",
    "stats": "user_id=None",
    "health": "",
    "usage": "",
    "verify": "user_id=None",
    "rebuild_indices": "user_id=None",
    "load_user_data_and_indices": "user_id",
    "close": "timeout=30.0",
}

FIELDS = {
    "AddResult": "messages_added duplicates buffered episodes pending_semantic",
    "Context": "text hits messages facts token_count",
    "DeleteReport": "messages episodes semantic_memories files episodes_rewritten "
    "semantic_memories_rewritten",
    "Episode": "episode_id user_id title summary content original_messages message_count "
    "boundary_reason timestamp created_at session_id topics entities metadata tags uri",
    "Hit": "kind id uri score rank content title timestamp messages scores snippet",
    "Message": "role content name timestamp session_id metadata message_id",
    "SemanticMemory": "memory_id user_id content kind confidence importance valid_from valid_to "
    "superseded_by source_episodes created_at updated_at metadata revision_count uri",
    "VerifyReport": "total indexed skipped errors problems",
}


def test_all_is_complete_and_true() -> None:
    assert set(episodica.__all__) >= NAMES
    assert sorted(episodica.__all__) == list(episodica.__all__)
    public = {
        name
        for name, item in vars(episodica).items()
        if not name.startswith("_") and getattr(item, "__module__", "") == "episodica"
    }
    assert public == set(episodica.__all__) - {"__version__"}


@pytest.mark.parametrize("name", episodica.__all__)
def test_every_public_item_is_documented(name: str) -> None:
    item = getattr(episodica, name)
    assert inspect.getdoc(item)
    if not isinstance(item, type):
        return
    for member, value in inspect.getmembers(item):
        if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.requirement("API")
def test_signatures(method: str) -> None:
    actual = inspect.signature(getattr(MemorySystem, method)).parameters
    by_keyword = False
    for word in METHODS[method].split():
        if word == "*":
            by_keyword = True
            continue
        name, _, default = word.partition("=")
        parameter = actual[name]
        if default:
            assert repr(parameter.default).replace(" ", "") == default
        if by_keyword and name != "user_id":
            assert parameter.kind is parameter.KEYWORD_ONLY
    positional = [
        name
        for name, one in actual.items()
        if name != "self" and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    assert positional == [
        word.partition("=")[0] for word in METHODS[method].partition("*")[0].split()
    ]


@pytest.mark.parametrize("cls", FIELDS)
def test_fields(cls: str) -> None:
    actual = {field.name for field in dataclasses.fields(getattr(episodica, cls))}
    assert set(FIELDS[cls].split()) <= actual


@pytest.mark.parametrize("name", ["search", "context", "preload", "episodes", "close"])
def test_the_lightweight_system_has_its_methods(name: str) -> None:
    assert callable(getattr(LightweightSearchSystem, name))


@pytest.mark.parametrize(
    "cls", [MemorySystem, LightweightSearchSystem, episodica.AsyncMemorySystem]
)
def test_type_hints_can_be_evaluated(cls: type) -> None:
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            assert typing.get_type_hints(method)


def test_version() -> None:
    assert episodica.__version__.count(".") == 2


@pytest.mark.parametrize("cls", [MemorySystem, episodica.AsyncMemorySystem])
def test_help_shows_every_option(cls: type) -> None:
    shown = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    assert "method: 'Method' = 'hybrid', since: 'TimeLike | None' = None" in shown
    assert "newest_first: 'bool' = False, limit: 'int | None' = None" in shown
    assert "**options" not in shown


def test_an_unknown_option_is_refused_like_any_unknown_keyword(memory: MemorySystem) -> None:
    with pytest.raises(InvalidInputError, match="`sesion_id`\nhint: did you mean `session_id`"):
        memory.search("alice", "Lyon", sesion_id="s1")  # type: ignore[call-arg]
    for name in ("k", "limit"):
        with pytest.raises(InvalidInputError, match=f"`{name}`\nhint: did you mean `top_k`"):
            memory.search("alice", "Lyon", **{name: 3})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`newest`"):
        memory.episodes("alice", newest=True)  # type: ignore[call-arg]
