"""docs/requirements.md is true: every id has a line, every test on it exists, and each id has a
test that is marked with it. The examples and numbers run here."""

from __future__ import annotations

import ast
import re
import shutil
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
IDS = [
    *("BUF-1", "BUF-2", "BND-1", "BND-2", "EPI-1", "EPI-2", "EPI-3"),
    *(f"SEM-{number}" for number in range(1, 8)),
    *(f"RET-{number}" for number in range(1, 9)),
    *(f"STO-{number}" for number in range(1, 6)),
    *(f"RES-{number}" for number in range(1, 7)),
    *("API", "SURFACES", "NEXT", "NUMBERS"),
]


@cache
def lines() -> dict[str, tuple[str, str, str]]:
    """The columns of the page for each id: the decision, its place, its tests."""
    rows = re.findall(
        r"^\| ([A-Z]+(?:-\d)?) \| (.*) \| (.*) \| (.*) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {name: (decided, where, tests) for name, decided, where, tests in rows}


@cache
def marked() -> dict[str, set[str]]:
    """The tests that are marked with each id."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.requirement(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            for name in _marks(node):
                assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                found.setdefault(name, set()).add(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def _marks(node: ast.AST) -> list[str]:
    decorators = getattr(node, "decorator_list", [])
    calls = (one for one in decorators if isinstance(one, ast.Call))
    return [
        argument.value
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def test_the_page_has_a_line_for_every_id() -> None:
    assert list(lines()) == IDS
    assert all(len(decided) > 60 for decided, _, _ in lines().values())


@pytest.mark.parametrize("name", IDS)
def test_every_id_has_a_test_of_its_own_and_names_tests_that_exist(name: str) -> None:
    named = re.findall(r"`([^`]+)::(\w+)`", lines()[name][2])
    assert named
    for place, test in named:
        path = (
            ROOT / place if place.startswith(("src/", "tests/")) else ROOT / "tests/python" / place
        )
        assert path.is_file(), place
        keyword = "fn" if path.suffix == ".rs" else "def"
        source = path.read_text(encoding="utf-8")
        assert re.search(rf"\b{keyword} {test}\b", source), f"{place} has no {test}"
    assert marked().get(name), f"no test is marked with {name}"


# The last line names things that are not there.
@pytest.mark.parametrize("name", [one for one in IDS if one != "NEXT"])
def test_what_a_line_names_is_in_the_sources(name: str) -> None:
    decided, places, _ = lines()[name]
    sources = all_sources()
    # Methods that are named like `SimHash`, settings and functions.
    named = re.findall(r"\b[A-Z][a-z]+[A-Z]\w*", decided)
    named += re.findall(r"`(\w+)(?:\(\))?`", decided)
    assert [one for one in named if one.lower() not in sources] == []
    for place in re.findall(r"`([\w/.]+\.(?:rs|py))`", places):
        found = [ROOT / top / place for top in ("src/episodica-core/src", "python/episodica", ".")]
        assert any(path.is_file() for path in found), place


@cache
def all_sources() -> str:
    paths = [*(ROOT / "src").rglob("*.rs"), *(ROOT / "python").rglob("*.py")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths).lower()


def test_no_test_is_marked_with_an_unknown_id() -> None:
    assert set(marked()) == set(IDS)


def said(*texts: str, start: int = 1_700_000_000, gap: int = 60) -> list[dict[str, Any]]:
    return [
        {"role": "user", "name": "Ann", "content": text, "timestamp": start + gap * number}
        for number, text in enumerate(texts)
    ]


@pytest.mark.requirement("BUF-1")
def test_buf_1_every_message_is_in_one_episode_of_a_sound_size(store: Path) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("ann", said(*(f"Note {n} about kites." for n in range(60))))
        waiting = memory.stats("ann").buffered
    with MemorySystem(store) as memory:
        assert memory.stats("ann").buffered == waiting > 0
        memory.flush("ann")
        sizes = [episode.message_count for episode in memory.episodes("ann")]
        assert sum(sizes) == 60
        assert all(2 <= size <= 25 for size in sizes)
        assert memory.stats("ann").buffered == 0


@pytest.mark.requirement("BND-1")
def test_bnd_1_a_boundary_says_reason_confidence_topic_and_method(memory: MemorySystem) -> None:
    memory.add_messages("ann", said("I saw a kite.", "It was red."))
    memory.add_messages("ann", said("Good morning.", "I baked bread.", start=1_700_090_000))
    memory.flush("ann")
    first, last = memory.episodes("ann")
    assert first.boundary["reason"] == "time_gap"
    assert first.boundary["should_end"] is True
    assert 0 < first.boundary["confidence"] <= 1
    assert first.boundary["detection_method"] == "heuristic"
    assert "kite" in first.boundary["topic_summary"]
    assert last.boundary["reason"] == "flush"


@pytest.mark.requirement("BND-2")
def test_bnd_2_keywords_decide_where_the_model_fails(store: Path) -> None:
    def broken(messages: list[dict[str, Any]]) -> str:
        raise RuntimeError("no model today")

    with MemorySystem(store, llm=broken) as memory:
        memory.add_messages("ann", said(*(f"Kites fly high, number {n}." for n in range(30))))
        memory.flush("ann")
        methods = {episode.boundary["detection_method"] for episode in memory.episodes("ann")}
    assert methods <= {"keyword_overlap", "heuristic", "forced"}
    assert "window" not in methods


@pytest.mark.requirement("EPI-3")
def test_epi_3_a_merged_episode_answers_to_both_ids(store: Path) -> None:
    with MemorySystem(store, merge_episodes=True, merge_similarity_threshold=0.2) as memory:
        memory.add_messages("ann", said("The red kite flies.", "The red kite is high."))
        memory.flush("ann")
        later = said("The red kite flies again.", "The red kite fell.", start=1_700_000_600)
        memory.add_messages("ann", later)
        [merged] = memory.flush("ann")
        assert merged.message_count == 4
        [former] = merged.metadata["merged_from"]
        assert memory.get("ann", former) == memory.get("ann", merged.episode_id) == merged


@pytest.mark.requirement("SEM-1")
def test_sem_1_a_model_is_shown_what_is_known(store: Path) -> None:
    prompts: list[str] = []

    def model(messages: list[dict[str, Any]]) -> str:
        prompts.append(str(messages[-1]["content"]))
        return "no answer"

    with MemorySystem(store) as memory:
        memory.add_messages("ann", said("I bought a zither in Oslo.", "It is 40 years old."))
        memory.flush("ann")
        known = [fact.content for fact in memory.semantic_memories("ann")]
    with MemorySystem(store, llm=model, boundary_mode="heuristic") as memory:
        later = said("I played the zither today.", "It sounded fine.", start=1_700_900_000)
        memory.add_messages("ann", later)
        memory.flush("ann")
        memory.wait("ann", timeout=20)
    assert known
    assert any(known[0] in prompt for prompt in prompts)


@pytest.mark.requirement("SEM-2")
def test_sem_2_categories_and_importance_filter_everywhere(memory: MemorySystem) -> None:
    """Cortex-Mem's categories and labels, Memo-RS's gate."""
    kinds = (
        *("personal_info", "work_history", "preference", "relationship", "goal"),
        *("entity", "event", "case", "decision", "procedure"),
    )
    for number, kind in enumerate(kinds):
        memory.remember("ann", f"Statement {number} about kites.", kind=kind)  # type: ignore[arg-type]
    for kind in kinds:
        assert [fact.kind for fact in memory.semantic_memories("ann", kind=kind)] == [kind]  # type: ignore[arg-type]
        hits = memory.search("ann", "kites", fact_kinds=[kind])  # type: ignore[list-item]
        assert [hit.record.kind for hit in hits] == [kind]  # type: ignore[union-attr]
    assert len(memory.search("ann", "kites", min_importance="high")) == 10
    assert len(memory.search("ann", "kites", min_importance="critical")) == 0
    assert len(memory.semantic_memories("ann", min_importance=0.9)) == 0
    assert "kites" in memory.context("ann", "kites", fact_kinds="goal").text
    assert memory.delete_where("ann", fact_kinds=["goal", "event"]).semantic_memories == 2
    assert memory.config.min_importance == 0.5
    assert memory.config.min_confidence == 0.6


@pytest.mark.requirement("SEM-4")
def test_sem_4_what_becomes_of_a_statement_is_reported(memory: MemorySystem) -> None:
    """ADD, UPDATE and SUPERSEDE; only the same words are a repeat, which changes nothing."""
    cursor = memory.events("latest").cursor
    told = [
        memory.remember("ann", f"I live in {town}.", attribute="home", value=town)
        for town in ("Paris", "Paris", "Lyon")
    ]
    assert [one.outcome for one in told] == ["added", "repeats", "ends"]
    events = memory.events(cursor, user_id="ann").events
    assert [event.change for event in events] == ["ADD", "SUPERSEDE"]
    assert events[-1].previous == "I live in Paris."
    memory.update("ann", told[-1].memory_id, "I live in Lyon, near the station.")
    [event] = memory.events(events[-1].cursor, user_id="ann").events
    assert (event.change, event.previous) == ("UPDATE", "I live in Lyon.")


@pytest.mark.requirement("SEM-5")
def test_sem_5_facts_that_differ_in_a_word_are_both_kept(memory: MemorySystem) -> None:
    google = memory.remember("ann", "I work at Google.", valid_from="2020-01-01")
    meta = memory.remember("ann", "I work at Meta.", valid_from="2024-01-01")
    assert google.memory_id != meta.memory_id
    current = [fact.content for fact in memory.semantic_memories("ann")]
    assert current == ["I work at Google.", "I work at Meta."]


@pytest.mark.requirement("RET-1")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The zither was tuned yesterday.", "tuning zithers"),
        ("林晓禾在杭州学习古筝。", "古筝"),
        ("Das Haus am See gehört Anja.", "Haus Anja"),
        ("Я играю на балалайке.", "балалайке"),
    ],
)
def test_ret_1_one_document_is_found_in_any_script(
    memory: MemorySystem, text: str, query: str
) -> None:
    memory.add_messages("ann", said(text))
    for method in ("hybrid", "bm25"):
        hits = memory.search("ann", query, method=method, kinds=["message"])  # type: ignore[arg-type]
        assert [hit.content for hit in hits] == [text]
    memory.delete("ann", next(memory.messages("ann")).message_id)
    assert len(memory.search("ann", query)) == 0


@pytest.mark.requirement("RET-2")
def test_ret_2_episodes_are_scored_at_three_layers(lyon: MemorySystem) -> None:
    assert lyon.config.layer_weights == (0.0, 0.2, 0.5)
    [hit] = lyon.search("alice", "Lyon", kinds=["episodic"], explain=True)
    assert hit.messages[0].content == "I moved to Lyon last Friday."
    names: list[str] = []
    pending = [hit.explain()]
    while pending:
        one = pending.pop()
        names.append(one.name)
        pending += one.children
    assert {"L0", "L1", "L2"} <= set(names)


@pytest.mark.requirement("RET-4")
def test_ret_4_presets_rank_and_cut_as_their_systems_do(store: Path) -> None:
    with MemorySystem(store) as memory:
        memory.remember("ann", "Ann has a red kite.")
        memory.remember("ann", "Ann is fond of soup.")
        assert len(memory.search("ann", "kite", kinds=["semantic"])) == 2
    with MemorySystem(store, preset="cortex") as memory:
        near = memory.search("ann", "Ann has a red kite", kinds=["semantic"])
        assert [hit.content for hit in near] == ["Ann has a red kite."]
        far = memory.search("ann", "quantum tax law", kinds=["semantic"])
        assert len(far) == 2
        assert "threshold: nothing above 0.4, so none was applied" in far.degraded
    with MemorySystem(store, preset="memo") as memory:
        hit = memory.search("ann", "red kite", kinds=["semantic"], explain=True)[0]
        [raw] = hit.explain().children
        terms = {term.name: term for term in raw.children}
        assert set(terms) == {"similarity", "importance"}
        assert terms["importance"].value == pytest.approx(0.3 * 0.8)


@pytest.mark.requirement("RET-5")
@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("张三", "entity"),
        ("Rust", "entity"),
        ("yesterday", "temporal"),
        ("What happened last week?", "temporal"),
        ("What did we do in 2024?", "temporal"),
        ("When did we meet?", "temporal"),
        ("我们什么时候见面的", "temporal"),
        ("How is Ann related to Ben?", "relational"),
        ("Who is the manager of the store?", "factual"),
        ("tell me something about kites please", "general"),
    ],
)
def test_ret_5_questions_have_their_intents(lyon: MemorySystem, question: str, intent: str) -> None:
    assert lyon.search("alice", question).intent == intent


@pytest.mark.requirement("STO-1")
def test_sto_1_caches_can_be_lost(store: Path) -> None:
    with MemorySystem(store, snapshot_threshold=1) as memory:
        memory.add_messages("ann", said("I saw a red kite.", "It fell into the lake."))
        memory.flush("ann")
        before = [(hit.id, hit.kind) for hit in memory.search("ann", "kite lake")]
    assert [path.name for path in (store / "segments").iterdir()] == ["ann.segment"]
    for _ in range(2):
        shutil.rmtree(store / "segments")
        with MemorySystem(store, snapshot_threshold=1) as memory:
            assert memory.verify("ann").errors == 0
            assert [(hit.id, hit.kind) for hit in memory.search("ann", "kite lake")] == before


@pytest.mark.requirement("STO-3")
def test_sto_3_ids_are_the_same_each_time(tmp_path: Path) -> None:
    ids = []
    for folder in ("one", "two"):
        with MemorySystem(tmp_path / folder) as memory:
            memory.add_messages("Ann", said("I live in Paris.", "It rains."))
            memory.flush("Ann")
            [episode], facts = memory.episodes("Ann"), list(memory.semantic_memories("Ann"))
            assert memory.get("Ann", episode.uri) == episode
            messages = [message.message_id for message in memory.messages("Ann")]
            ids.append((episode.episode_id, messages, [fact.memory_id for fact in facts]))
            assert memory.get("ann", episode.uri) is None
    assert ids[0] == ids[1]
    assert all(re.fullmatch(r"[0-9a-f-]{36}", one) and one[14] == "8" for one in ids[0][2])


@pytest.mark.requirement("NEXT")
def test_next_what_is_open_is_said() -> None:
    opened = {name for name, (decided, _, _) in lines().items() if "**open**" in decided.lower()}
    assert opened == {"NEXT"}


@pytest.mark.requirement("NUMBERS")
def test_the_numbers_are_kept_by_far(store: Path) -> None:
    """Counted in seconds of the processor: other programs take no part."""
    started = time.process_time()
    with MemorySystem(store) as memory:
        assert time.process_time() - started < 5
        texts = [f"Note {n}: kite {n % 7} flew over hill {n % 11}." for n in range(400)]
        started = time.process_time()
        memory.add_messages("ann", said(*texts))
        assert time.process_time() - started < 4
        times = []
        for number in range(20):
            started = time.process_time()
            memory.search("ann", f"which kite flew over hill {number}?")
            times.append(time.process_time() - started)
    assert sorted(times)[18] < 0.2
