"""EpisodicaStore against LangGraph's InMemoryStore, and memory in a graph."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem
from episodica.adapters import Connection, Where
from episodica.adapters.langgraph import EpisodicaStore, memory_namespace, pre_model_hook, remember
from episodica.adapters.shared import items

# Labels that break naive joins: separators, escapes, the empty one, other scripts.
LABELS = ["a", "b", "a/b", "%", "%2F", "", "a b", "é", "家", ":", "#", "*", "\u0000", "A"]
KEYS = ["k", "k1", "0:k", "", "k/1", "家", "episodica://x", " "]
COLORS = ["red", "green", "blue"]


def random_value(rng: random.Random) -> dict[str, Any]:
    return {
        "color": rng.choice(COLORS),
        "size": rng.randint(0, 5),
        "text": rng.choice(["", "a cat", "a dog\nand a cat", "家", "%"]),
        "nested": {"deep": [rng.random(), None, True, {"x": "y"}], "tag": rng.choice("xy")},
    }


def random_filter(rng: random.Random) -> dict[str, Any] | None:
    return rng.choice(
        [
            None,
            {"color": rng.choice(COLORS)},
            {"size": {rng.choice(["$gt", "$gte", "$lt", "$lte"]): rng.randint(0, 5)}},
            {"size": {"$gte": 1, "$lt": 4}, "color": {"$ne": "red"}},
            {"nested": {"tag": "x"}},
            {"nested": {"deep": [1]}},
            {"missing": None},
            {"missing": {"$eq": 1}},
        ]
    )


def random_namespace(rng: random.Random, least: int = 1) -> tuple[str, ...]:
    labels = LABELS[: rng.choice([2, len(LABELS)])]
    return tuple(rng.choice(labels) for _ in range(rng.randint(least, 3)))


def random_op(rng: random.Random) -> Op:
    kind = rng.random()
    if kind < 0.5:
        value = None if rng.random() < 0.25 else random_value(rng)
        return PutOp(random_namespace(rng), rng.choice(KEYS), value)
    if kind < 0.7:
        return GetOp(random_namespace(rng), rng.choice(KEYS))
    if kind < 0.9:
        return SearchOp(
            random_namespace(rng, 0), random_filter(rng), rng.choice([1, 3, 100]), rng.randint(0, 2)
        )
    conditions = [
        MatchCondition(rng.choice(["prefix", "suffix"]), (*random_namespace(rng, 0), "*")[:2])
        for _ in range(rng.randint(0, 2))
    ]
    depth = rng.choice([None, 1, 2])
    return ListNamespacesOp(tuple(conditions), depth, rng.choice([2, 100]), rng.randint(0, 1))


Found = list[tuple[tuple[str, ...], str, dict[str, Any]]]


def found(items: list[Any]) -> Found:
    """What must be the same in both stores: not times, nor the order among namespaces."""
    return [(item.namespace, item.key, item.value) for item in items]


def by_namespace(items: Found) -> dict[tuple[str, ...], Found]:
    return {name: [item for item in items if item[0] == name] for name, _, _ in items}


def reference_reads(reference: InMemoryStore, op: Op) -> Any:
    """The reference's answer, without the namespaces that it holds only since somebody asked."""
    for namespace in [name for name, data in reference._data.items() if not data]:
        del reference._data[namespace]
    return reference.batch([op])[0]


@pytest.mark.parametrize("seed", range(24))
def test_random_batches_agree_with_the_reference(memory: MemorySystem, seed: int) -> None:
    rng = random.Random(seed)
    reference, ours = InMemoryStore(), EpisodicaStore(memory)
    for _ in range(25):
        ops = [random_op(rng) for _ in range(rng.randint(1, 10))]
        # Reads see the state before the batch, wherever they stand in it.
        expected: list[Any] = []
        for op in ops:
            if isinstance(op, GetOp):
                item = reference_reads(reference, op)
                expected.append(item and found([item]))
            elif isinstance(op, SearchOp):
                whole = op._replace(limit=10**6, offset=0)
                wanted = found(reference_reads(reference, whole))
                everything = found(ours.batch([whole])[0])
                assert by_namespace(everything) == by_namespace(wanted), op
                expected.append(everything[op.offset : op.offset + op.limit])
            elif isinstance(op, ListNamespacesOp):
                expected.append(reference_reads(reference, op))
            else:
                expected.append(None)
        reference.batch([op for op in ops if isinstance(op, PutOp)])
        for op, wanted, got in zip(ops, expected, ours.batch(ops), strict=True):
            if isinstance(op, GetOp):
                got = got and found([got])
            elif isinstance(op, SearchOp):
                got = found(got)
            assert got == wanted, op


def test_items_survive_a_restart(store: Path) -> None:
    first = EpisodicaStore(store)
    first.put(("a", "b"), "k", {"text": "x"})
    first.put(("a/b",), "k", {"text": "y"})
    made = first.get(("a", "b"), "k")
    first.close()
    again = EpisodicaStore(store)
    assert again.get(("a", "b"), "k") == made
    assert again.get(("a/b",), "k").value == {"text": "y"}
    assert again.list_namespaces() == [("a", "b"), ("a/b",)]
    again.close()


def test_namespaces_longer_than_a_user_id_are_kept_apart(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory)
    names = [("家" * 300, "a"), ("家" * 300, "b"), ("家" * 301,)]
    for number, name in enumerate(names):
        store.put(name, "k", {"number": number})
    assert [store.get(name, "k").value["number"] for name in names] == [0, 1, 2]
    assert store.list_namespaces() == sorted(names)
    assert len(store.search(("家" * 300,))) == 2


def test_items_are_found_by_meaning_and_others_follow_without_a_score(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory)
    store.put(("m", "alice"), "pet", {"text": "Her dog is called Pickle."})
    store.put(("m", "alice"), "home", {"text": "She lives in Lyon since March."})
    store.put(("m", "alice"), "hidden", {"text": "The dog's vet is Dr Roux."}, index=False)
    store.put(("m", "bob"), "pet", {"text": "His dog is called Waffle."})
    results = store.search(("m", "alice"), query="What is the name of the dog?")
    assert results[0].key == "pet"
    assert results[0].score > 0
    assert {item.key for item in results} == {"pet", "home", "hidden"}
    assert next(item for item in results if item.key == "hidden").score is None
    both = store.search(("m",), query="What is the name of the dog?", limit=3)
    assert {item.namespace[1] for item in both if item.key == "pet"} == {"alice", "bob"}
    assert [item.score for item in both] == sorted((item.score for item in both), reverse=True)
    assert store.search(("m",), query="dog", filter={"text": {"$ne": 1}}, limit=1, offset=3)


def test_only_the_indexed_fields_are_searched(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory, fields=["title", "tags[*].name"])
    value = {"title": "Breakfast", "tags": [{"name": "croissant"}], "body": "a secret xylophone"}
    store.put(("f",), "default", value)
    store.put(("f",), "own", value, index=["body"])
    scores = {item.key: item.score for item in store.search(("f",), query="xylophone")}
    assert scores["own"] is not None
    assert scores["default"] is None or scores["own"] > scores["default"]
    hits = memory.search("langgraph:f", "croissant", kinds=["message"])
    assert hits[0].content == "Breakfast\ncroissant"


def test_expired_items_are_gone_and_reading_keeps_them(
    memory: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    monkeypatch.setattr(items, "_now", lambda: now)
    store = EpisodicaStore(memory, ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(("t",), "read", {"n": 1})
    store.put(("t",), "left", {"n": 2})
    store.put(("t",), "kept", {"n": 3}, ttl=None)
    store.put(("t",), "peeked", {"n": 4})
    made = store.get(("t",), "read").updated_at
    now += timedelta(minutes=40)
    assert store.get(("t",), "read").updated_at == made
    assert store.get(("t",), "peeked", refresh_ttl=False)
    now += timedelta(minutes=40)
    assert store.get(("t",), "left") is None
    assert store.get(("t",), "peeked", refresh_ttl=False) is None
    assert [item.key for item in store.search(("t",))] == ["read", "kept"]
    assert len(list(memory.messages("langgraph:t"))) == 4
    assert store.sweep_ttl() == 2
    assert len(list(memory.messages("langgraph:t"))) == 2
    now += timedelta(minutes=120)
    assert [item.key for item in store.search(("t",))] == ["kept"]


def test_a_value_that_was_replaced_or_deleted_is_no_longer_on_disk(
    store: Path, on_disk: Callable[[str], bool]
) -> None:
    ours = EpisodicaStore(store)
    for secret in ("marzipan", "nougat", "caramel"):
        ours.put(("d",), "k", {"secret": secret})
    ours.delete(("d",), "k")
    ours.put(("d",), "k", {"secret": "praline"})
    ours.close()
    assert on_disk("praline")
    assert not any(map(on_disk, ("marzipan", "nougat", "caramel")))


def test_a_write_that_broke_off_leaves_the_new_value(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory)
    table = items.ItemTable(memory, "langgraph")
    store.put(("c",), "k", {"n": 0})
    for number in range(1, 10):
        # What a crash between the two steps of a write leaves behind.
        table._add(("c",), "langgraph:c", {"k": items.Draft({"n": number})})
        assert store.get(("c",), "k").value == {"n": number}
        assert [item.value["n"] for item in store.search(("c",))] == [number]
    store.put(("c",), "k", {"n": "last"})
    assert [message.metadata["value"] for message in memory.messages("langgraph:c")] == [
        {"n": "last"}
    ]


async def test_concurrent_writers_never_lose_a_key(memory: MemorySystem) -> None:
    stores = [EpisodicaStore(memory), EpisodicaStore(memory)]
    numbers = itertools.count()

    async def write(store: EpisodicaStore) -> None:
        for _ in range(20):
            await store.aput(("w",), "k", {"n": next(numbers)})
            assert await store.aget(("w",), "k") is not None

    await asyncio.gather(*(write(store) for store in stores * 2))
    assert len(await stores[0].asearch(("w",))) == 1
    assert len(list(memory.messages("langgraph:w"))) == 1


async def test_a_cancelled_batch_is_written_whole_or_not_at_all(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory)
    for number in range(20):
        ops = [PutOp(("x",), f"{number}-{part}", {"n": number}) for part in range(5)]
        task = asyncio.create_task(store.abatch(ops))
        await asyncio.sleep(number / 4000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert len(store.search(("x",), filter={"n": number}, limit=10)) in (0, 5)


async def test_an_async_system_serves_both_ways(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        ours = EpisodicaStore(memory)
        await ours.aput(("a",), "k", {"x": 1})
        assert ours.get(("a",), "k") == await ours.aget(("a",), "k")
        assert await ours.alist_namespaces() == [("a",)]
        await ours.adelete(("a",), "k")
        assert await ours.asearch(("a",)) == []


def test_what_cannot_be_stored_is_refused(memory: MemorySystem) -> None:
    store = EpisodicaStore(memory)
    for value in ({"x": object()}, {"x": float("nan")}, {"x": "\ud800"}, {1: "x"}):
        with pytest.raises(InvalidInputError, match=r"message 0: (metadata|`content`)"):
            store.put(("a",), "k", value)
    store.put(("a",), "k", {"x": 1})
    with pytest.raises(InvalidInputError, match=r"unknown operator of a filter: `\$regex`"):
        store.search(("a",), filter={"x": {"$regex": "."}})
    with pytest.raises(InvalidInputError, match="unknown operation: `str`"):
        store.batch(["get"])
    with pytest.raises(ValueError, match="periods"):
        store.put(("a.b",), "k", {"x": 1})


def embed(texts: list[str]) -> np.ndarray:
    """Vectors that follow from the text alone; no two point away from each other."""
    rows = [np.random.default_rng(list(text.encode()) or [0]).random(16) for text in texts]
    return np.array(rows, dtype=np.float32)


def test_ranking_by_vectors_agrees_with_the_reference(store: Path) -> None:
    reference = InMemoryStore(
        index={"dims": 16, "embed": lambda texts: embed(texts).tolist(), "fields": ["text"]}
    )
    rng = random.Random(5)
    with MemorySystem(store, embedding=embed) as memory:
        ours = EpisodicaStore(memory, fields=["text"], method="vector")
        for number in range(120):
            namespace, key = ("v", rng.choice("ab")), str(rng.randint(0, 60))
            value = None if rng.random() < 0.1 else {"text": f"words {number}", "n": number % 3}
            for one in (ours, reference):
                one.batch([PutOp(namespace, key, value)])
        for number in range(200):
            op = SearchOp(
                rng.choice([("v",), ("v", "a")]),
                rng.choice([None, {"n": 1}]),
                rng.choice([1, 5, 20]),
                rng.choice([0, 3]),
                f"question {number}",
            )
            (wanted,), (got,) = reference.batch([op]), ours.batch([op])
            assert found(got) == found(wanted)


def test_the_memory_of_a_user_is_a_namespace(memory: MemorySystem) -> None:
    store, name = EpisodicaStore(memory), memory_namespace("alice@example.com")
    store.put(name, "m1", {"content": "I moved to Lyon last Friday.", "role": "user"})
    store.put(name, "m1", {"content": "I moved to Lyon last Friday.", "role": "user"})
    store.put(name, "m2", {"content": "My dog is called Pickle."})
    assert [message.message_id for message in memory.messages("alice@example.com")] == ["m1", "m2"]
    assert store.get(name, "m2").value["content"] == "My dog is called Pickle."
    memory.flush("alice@example.com")
    memory.wait("alice@example.com")
    kinds = {item.value["record"] for item in store.search(name)}
    assert "episode" in kinds
    hits = store.search(name, query="Where does she live?", limit=3)
    assert hits
    assert hits[0].score > 0
    assert store.get(name, hits[0].key).key == hits[0].key
    assert store.list_namespaces() == []
    store.delete(name, "m2")
    assert store.get(name, "m2") is None


def test_a_filter_of_memories_does_not_shorten_their_list(memory: MemorySystem) -> None:
    store, name = EpisodicaStore(memory), memory_namespace("alice")
    talk = [f"On day {number} Alice planted tree {number}." for number in range(12)]
    for number, text in enumerate(talk):
        store.put(name, str(number), {"content": text, "session_id": f"s{number}"})
    memory.flush("alice")
    memory.wait("alice")
    found = store.search(name, query="tree", limit=50)
    worst = found[-1].value
    wanted = {"content": worst["content"], "record": worst["record"]}
    assert found[-1].key in {item.key for item in store.search(name, query="tree", filter=wanted)}
    one = store.search(name, query="tree", filter=wanted, limit=1)
    assert [item.value["content"] for item in one] == [worst["content"]]


async def test_every_form_of_a_memory_serves(anywhere: Where) -> None:
    store = EpisodicaStore(anywhere)
    await store.aput(("a",), "k", {"text": "She lives in Lyon."})
    assert store.search(("a",), query="Where does she live?")[0].key == "k"
    await remember(anywhere, "alice").ainvoke([HumanMessage("I live in Lyon.")])
    hook = pre_model_hook(anywhere, "alice")
    recalled = (await hook.ainvoke([HumanMessage("Where do I live?")]))["llm_input_messages"]
    assert "I live in Lyon." in recalled[0].content
    store.close()


def test_a_hook_that_recalls_gives_each_line_once(memory: MemorySystem) -> None:
    memory.add_messages("alice", [{"role": "user", "content": "I live in Lyon, near the river."}])
    hook = pre_model_hook(memory, "alice", recall=1_000)
    asked: list[Any] = [HumanMessage("Where do I live?")]
    first = hook.invoke(asked)["llm_input_messages"]
    assert "near the river" in first[0].content
    assert first[0].content.endswith("\n\nWhere do I live?")
    asked += [AIMessage("In Lyon."), HumanMessage([{"type": "text", "text": "Where do I live?"}])]
    second = hook.invoke(asked)["llm_input_messages"]
    assert second[:2] == [first[0], asked[1]]
    assert "near the river" not in str(second[2].content)
    asked += [AIMessage("", tool_calls=[{"name": "map", "args": {}, "id": "1"}])]
    asked += [ToolMessage("Lyon", tool_call_id="1")]
    assert hook.invoke(asked)["llm_input_messages"][:3] == second
    assert asked[0].content == "Where do I live?", "the graph's messages are changed"


@pytest.mark.parametrize("kind", ["reference", "ours"])
def test_a_chatbot_keeps_its_notes_in_our_store(store: Path, kind: str) -> None:
    """LangGraph's guide to long-term memory: a chatbot with a store; one line differs."""
    notes = InMemoryStore() if kind == "reference" else EpisodicaStore(store)
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello Bob!"), AIMessage("Bob.")]))
    prompts = []

    def call_model(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        kept = get_store()
        namespace = ("memories", config["configurable"]["user_id"])
        latest = state["messages"][-1]
        found = kept.search(namespace, query=str(latest.content))
        about = "\n".join(item.value["data"] for item in found)
        prompts.append(f"You talk with a user. {about}")
        if "remember" in latest.content.lower():
            kept.put(namespace, "name", {"data": "The user's name is Bob."})
        answer = model.invoke([SystemMessage(prompts[-1]), *state["messages"]])
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node(call_model)
    builder.add_edge(START, "call_model")
    graph = builder.compile(store=notes)
    for thread, text in enumerate(["Hi! Remember: my name is Bob.", "What is my name?"]):
        config: Any = {"configurable": {"thread_id": str(thread), "user_id": "1"}}
        graph.invoke({"messages": [HumanMessage(text)]}, config)
    assert prompts == ["You talk with a user. ", "You talk with a user. The user's name is Bob."]


@pytest.mark.filterwarnings("ignore:create_react_agent")
def test_the_hook_serves_the_prebuilt_agent(memory: MemorySystem) -> None:
    memory.add_messages("alice", [{"role": "user", "content": "I live in Lyon."}])
    seen: list[list[Any]] = []

    class Model(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    model = Model(messages=iter([AIMessage("In Lyon.")]))
    agent = create_react_agent(model, tools=[], pre_model_hook=pre_model_hook(memory, "alice"))
    state = agent.invoke({"messages": [HumanMessage("Where do I live?")]})
    assert "I live in Lyon." in seen[0][0].content
    assert [message.content for message in state["messages"]] == ["Where do I live?", "In Lyon."]


def test_an_id_belongs_to_its_thread(memory: MemorySystem) -> None:
    node = remember(memory, "alice")
    for thread in ("one", "two", "one"):
        config = {"configurable": {"thread_id": thread}}
        node.invoke({"messages": [HumanMessage(f"I am in {thread}.", id="1")]}, config)
    said = [one.content for one in memory.messages("alice")]
    assert said == ["I am in one.", "I am in two."]


def test_messages_without_ids_are_remembered_once(memory: MemorySystem) -> None:
    node, config = remember(memory, "alice"), {"configurable": {"thread_id": "t"}}
    talk: list[Any] = [HumanMessage("Yes."), AIMessage("Sure?"), HumanMessage("Yes.")]
    for count in (1, 2, 2, 3):
        node.invoke({"messages": talk[:count]}, config)
    assert [one.content for one in memory.messages("alice")] == ["Yes.", "Sure?", "Yes."]


def test_a_graph_remembers_and_recalls(store: Path) -> None:
    """A graph with a node that recalls and a node that remembers, in two threads."""
    model = GenericFakeChatModel(messages=iter([AIMessage("Noted."), AIMessage("In Lyon.")]))
    seen: list[list[Any]] = []

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        seen.append(state["llm_input_messages"])
        return {"messages": [model.invoke(state["llm_input_messages"])]}

    class State(MessagesState):
        llm_input_messages: list[Any]

    def graph() -> Any:
        builder = StateGraph(State)
        builder.add_node("recall", pre_model_hook(store))
        builder.add_node("answer", answer)
        builder.add_node("remember", remember(store))
        for first, second in itertools.pairwise([START, "recall", "answer", "remember", END]):
            builder.add_edge(first, second)
        return builder.compile()

    def config(thread: str) -> Any:
        return {"configurable": {"user_id": "alice", "thread_id": thread}}

    told = {"messages": [HumanMessage("I live in Lyon with my dog Pickle.", id="h1")]}
    graph().invoke(told, config("one"))
    graph().invoke({"messages": [HumanMessage("Where do I live?", id="h2")]}, config("two"))
    assert [type(message) for message in seen[0]] == [HumanMessage]
    assert isinstance(seen[1][0], SystemMessage)
    assert "Lyon" in seen[1][0].content
    with Connection(store) as connection:
        messages = list(connection.memory.messages("alice"))
    assert [(message.role, message.session_id) for message in messages] == [
        ("user", "one"),
        ("assistant", "one"),
        ("user", "two"),
        ("assistant", "two"),
    ]


async def test_the_nodes_run_beside_the_event_loop_and_only_once(memory: MemorySystem) -> None:
    node, state = remember(memory, "alice"), {"messages": [HumanMessage("I am Alice.", id="x")]}
    for _ in range(3):
        await node.ainvoke(state)
    assert len(list(memory.messages("alice"))) == 1
    hook = pre_model_hook(memory, "alice", max_tokens=50)
    added = await hook.ainvoke({"messages": [HumanMessage("Who am I?")]})
    assert "I am Alice." in added["llm_input_messages"][0].content
    with pytest.raises(InvalidInputError, match="whose memory"):
        remember(memory).invoke(state)


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("langgraph")
