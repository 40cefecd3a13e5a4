"""Nothing unknown is ignored: parameters of queries, filters, and what a deletion names."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

from .conftest import MOVED, SAID, Client

ALICE = "/v1/users/alice"
# A run and an agent each have messages of their own; one fact is stated to the agent.
RUNS = {
    "s1": ("a1", "I adopted a cat named Miso."),
    "s2": ("a2", "My sister Ann lives in Porto."),
    "s3": (None, "I live in Oslo."),
}


async def add_runs(client: Client) -> None:
    for n, (run, (agent, content)) in enumerate(RUNS.items()):
        said = {
            "role": "user",
            "name": "Alice",
            "content": content,
            "timestamp": f"2024-01-0{n + 1}T10:00:00Z",
            "metadata": {"n": n, "channel": "sms" if n else "mail"},
        }
        body = {"messages": [said], "session_id": run, "agent_id": agent, "wait": "facts"}
        added = await client.json("POST", f"{ALICE}/messages", 201, json=body)
        assert added["facts"], "each run has a fact"


async def contents(client: Client) -> list[str]:
    listed = await client.json("GET", f"{ALICE}/messages")
    return [one["content"] for one in listed["items"]]


async def test_every_route_refuses_an_unknown_parameter(client: Client) -> None:
    paths = (await client.json("GET", "/openapi.json"))["paths"]
    routes = [(method, path) for path, one in paths.items() for method in one]
    routes += [("get", "/openapi.json"), ("get", "/ui"), ("get", "/ui/js/main.js")]
    assert len(routes) > 45
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    for method, path in routes:
        place = path.replace("{user}", "alice")
        place = re.sub(r"\{\w+\}", "x", place)
        told = await client.json(method.upper(), f"{place}?user_id=alice&zzz=1", 400)
        assert "unknown query parameter" in told["detail"], place
    assert await contents(client) == [one["content"] for one in SAID], "nothing was deleted"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("offset=10", "cursor"),
        ("page=2", "cursor"),
        ("sinse=2024-01-01", "since"),
        ("run_id=s1", None),
        ("newest-first=true", "newest_first"),
    ],
)
async def test_an_unknown_parameter_is_told_the_right_one(
    client: Client, query: str, hint: str | None
) -> None:
    told = await client.json("GET", f"{ALICE}/messages?limit=10&{query}", 400)
    assert hint is None or f"`{hint}`" in told["hint"]


async def test_a_body_where_none_is_read_is_refused(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    for method, path in (
        ("DELETE", "/memories?user_id=alice"),
        ("DELETE", ALICE),
        ("DELETE", f"{ALICE}/messages?since=1990-01-01"),
        ("GET", f"{ALICE}/messages"),
    ):
        await client.json(method, path, 400, json={"run_id": "s1"})
    assert len(await contents(client)) == 2


async def test_a_parameter_that_is_given_twice_is_refused(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    for path in ("/memories?user_id=bo&user_id=alice", f"{ALICE}/messages?since=1990&since=1991"):
        await client.json("DELETE", path, 400)
    assert len(await contents(client)) == 2


@pytest.mark.parametrize("name", ["run_id", "agent_id", "session_id"])
async def test_a_whole_user_is_deleted_by_a_route_without_filters_only(
    client: Client, name: str
) -> None:
    await add_runs(client)
    await client.json("DELETE", f"{ALICE}?{name}=s1", 400)
    assert len(await contents(client)) == 3
    gone = await client.json("DELETE", ALICE)
    assert (gone["messages"], gone["episodes"]) == (3, 3)
    assert await contents(client) == []


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("run_id=s1", ["s2", "s3"]),
        ("agent_id=a2", ["s1", "s3"]),
        ("run_id=s1&agent_id=a2", ["s1", "s2", "s3"]),
        ("run_id=unknown", ["s1", "s2", "s3"]),
        ("agent_id=unknown", ["s1", "s2", "s3"]),
    ],
)
async def test_the_paths_of_mem0_delete_the_run_and_agent_that_they_name(
    client: Client, query: str, left: list[str]
) -> None:
    await add_runs(client)
    path = f"/memories?user_id=alice&{query}"
    kept = {RUNS[run][1] for run in left}
    preview = await client.json("DELETE", f"{path}&dry_run=true")
    assert len(await contents(client)) == 3, "a preview deletes nothing"
    gone = (await client.json("DELETE", path))["deleted"]
    assert set(await contents(client)) == kept
    assert gone["messages"] == len(gone["message_ids"]) == 3 - len(left)
    assert gone["semantic_memories"] == len(gone["fact_ids"]) == 3 - len(left)
    assert {**gone, "files": 0, "dry_run": True} == preview["deleted"]
    listed = await client.json("GET", "/memories?user_id=alice")
    assert listed["total"] == len(listed["results"]) == len(left)


async def test_a_fact_that_was_stated_to_an_agent_goes_with_the_agent(client: Client) -> None:
    await add_runs(client)
    for agent, statement in (("a1", "Alice likes tea."), ("a2", "Alice likes milk.")):
        body = {"statement": statement, "agent_id": agent}
        await client.json("POST", f"{ALICE}/facts", 201, json=body)
    gone = (await client.json("DELETE", "/memories?user_id=alice&agent_id=a1"))["deleted"]
    assert gone["semantic_memories"] == 2
    listed = (await client.json("GET", "/memories?user_id=alice"))["results"]
    assert "Alice likes milk." in [one["memory"] for one in listed]
    assert "Alice likes tea." not in [one["memory"] for one in listed]


@pytest.mark.parametrize(("query", "left"), [("run_id=s1", 1), ("agent_id=a2", 1), ("", 3)])
async def test_the_paths_of_mem0_list_the_run_and_agent_that_they_name(
    client: Client, query: str, left: int
) -> None:
    await add_runs(client)
    listed = await client.json("GET", f"/memories?user_id=alice&{query}")
    assert (len(listed["results"]), listed["total"]) == (left, left)


async def test_the_paths_of_mem0_have_pages(client: Client) -> None:
    await add_runs(client)
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        more = "" if cursor is None else f"&cursor={cursor}"
        page = await client.json("GET", f"/memories?user_id=alice&limit=1{more}")
        assert page["total"] == 3
        seen += [one["id"] for one in page["results"]]
        cursor = page["next_cursor"]
    assert cursor is None
    whole = await client.json("GET", "/memories?user_id=alice")
    assert seen == [one["id"] for one in whole["results"]]


@pytest.mark.parametrize("resource", ["messages", "episodes", "facts"])
async def test_some_records_are_deleted_by_filters_after_a_preview(
    client: Client, resource: str
) -> None:
    await add_runs(client)
    await client.json("DELETE", f"{ALICE}/{resource}", 400)
    path = f"{ALICE}/{resource}?session_id=s2"
    preview = await client.json("DELETE", f"{path}&dry_run=true")
    assert len(await contents(client)) == 3
    gone = await client.json("DELETE", path)
    assert {**gone, "files": 0, "dry_run": True} == preview
    assert gone["semantic_memories"] == 1
    assert len(await contents(client)) == (3 if resource == "facts" else 2)
    facts = (await client.json("GET", f"{ALICE}/facts?include_superseded=true"))["items"]
    assert gone["fact_ids"][0] not in [one["id"] for one in facts]


async def test_previews_of_a_record_and_a_user_say_what_goes(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"})
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": MOVED, "wait": "facts"})
    messages = (await client.json("GET", f"{ALICE}/messages"))["items"]
    for path in (f"{ALICE}/messages/{messages[0]['id']}", ALICE):
        preview = await client.json("DELETE", f"{path}?dry_run=true")
        gone = await client.json("DELETE", path)
        assert {**gone, "files": 0, "dry_run": True} == preview, path
        assert gone["semantic_memories"] >= 1


async def test_filters_reach_facts_through_their_messages(client: Client) -> None:
    body = {
        "messages": [{"role": "user", "content": RUNS["s1"][1]}],
        "user_id": "alice",
        "metadata": {"n": 5},
    }
    await client.json("POST", "/memories", json=body)
    cases: list[tuple[dict[str, Any], int]] = [
        ({"n": 5}, 1),
        ({"n": 6}, 0),
        ({"n": {"gte": 5}}, 1),
        ({"n": {"ne": 5}}, 0),
        ({"AND": [{"n": {"gt": 4}}, {"user_id": "alice"}]}, 1),
        ({"OR": [{"n": 1}, {"n": {"in": [5]}}]}, 1),
        ({"NOT": [{"n": 5}]}, 0),
        ({"n": "*"}, 1),
        ({"m": "*"}, 0),
    ]
    for filters, count in cases:
        asked = {"query": "cat", "user_id": "alice", "filters": filters}
        found = await client.json("POST", "/search", json=asked)
        assert len(found["results"]) == count, filters
    for filters, hint in (
        ({"n": {"between": [1, 9]}}, "$gte"),
        ({"n": {"=>": 3}}, "$gte"),
        ({"created_at": {"gte": "2024-01-01"}}, "since"),
        ({"OR": [{"run_id": "s1"}]}, None),
        ({"user_id": 5}, None),
        ({"user_id": "bo"}, None),
        ({"AND": [{"run_id": "s1"}, {"run_id": "s2"}]}, None),
    ):
        asked = {"query": "cat", "user_id": "alice", "filters": filters}
        told = await client.json("POST", "/search", 400, json=asked)
        assert hint is None or hint in told["hint"], filters


async def test_conditions_mean_the_same_for_all_doors(client: Client, tmp_path: Path) -> None:
    await add_runs(client)
    wanted = {"AND": [{"n": {"gte": 1}}, {"channel": "sms"}]}
    body = {"query": "Alice", "where": wanted, "kinds": ["semantic"]}
    over_http = await client.json("POST", f"{ALICE}/search", json=body)
    with MemorySystem(tmp_path / "own") as memory:
        for n, (_, content) in enumerate(RUNS.values()):
            channel = "sms" if n else "mail"
            said = {"role": "user", "name": "Alice", "content": content}
            memory.add_messages("alice", [{**said, "metadata": {"n": n, "channel": channel}}])
            memory.flush("alice")
        own = memory.search("alice", "Alice", where=wanted, kinds=["semantic"])
        for where in ({"n": {"ne": 1}}, {"NOT": [{"n": 1}]}, {"n": {"nin": [1]}}):
            for kind in ("semantic", "episodic", "message"):
                found = memory.search("alice", "Porto", where=where, kinds=[kind])
                assert not any("Porto" in one.content for one in found), (where, kind)
    assert {one["content"] for one in over_http["hits"]} == {one.content for one in own}
    assert len(own) == 2


async def test_lists_say_how_many_there_are(client: Client) -> None:
    await add_runs(client)
    for path in ("messages", "episodes", "facts", "timeline", "sessions"):
        page = await client.json("GET", f"{ALICE}/{path}?limit=2")
        assert (len(page["items"]), page["total"]) == (2, 3), path
        page = await client.json("GET", f"{ALICE}/{path}?limit=2&cursor={page['next_cursor']}")
        assert (len(page["items"]), page["total"], page["next_cursor"]) == (1, 3, None), path
    page = await client.json("GET", f"{ALICE}/messages?session_id=s1")
    assert page["total"] == 1


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("search", {"query": "cat", "limit": 2}, "did you mean `top_k`?"),
        ("search", {"query": "cat", "filters": {}}, "did you mean `where`?"),
        ("context", {"query": "cat", "budget": 9}, "did you mean `max_tokens`?"),
        ("messages", {"mesages": []}, "did you mean `messages`?"),
        ("facts", {"statment": "Alice skis."}, "did you mean `statement`?"),
    ],
)
async def test_an_unknown_key_of_a_body_is_told_the_right_one(
    client: Client, path: str, body: dict[str, Any], hint: str
) -> None:
    told = await client.json("POST", f"{ALICE}/{path}", 400, json=body)
    assert told["hint"] == hint


async def test_a_text_is_one_message(client: Client) -> None:
    for path, body in (
        (f"{ALICE}/messages", {"messages": "I moved to Lyon."}),
        ("/memories", {"messages": "I like jazz.", "user_id": "alice"}),
    ):
        await client.json("POST", path, 201 if path != "/memories" else 200, json=body)
    assert await contents(client) == ["I moved to Lyon.", "I like jazz."]


@pytest.mark.parametrize(
    ("zone", "day", "count"),
    [
        (None, "2024-03-11", 1),
        (None, "2024-03-12", 0),
        ("Asia/Tokyo", "2024-03-11", 0),
        ("Asia/Tokyo", "2024-03-12", 1),
        ("America/New_York", "2024-03-11", 1),
        ("Pacific/Kiritimati", "2024-03-12", 1),
    ],
)
async def test_a_day_without_a_time_is_a_day_of_the_zone_that_is_shown(
    client: Client, zone: str | None, day: str, count: int
) -> None:
    said = {"role": "user", "content": "I bought a bike.", "timestamp": "2024-03-11T23:30:00Z"}
    body = {"messages": [said], "wait": "facts"}
    await client.json("POST", f"{ALICE}/messages", 201, json=body)
    shown = {} if zone is None else {"timezone": zone}
    days = {"since": day, "until": day, **shown}
    query = "&".join(f"{key}={value}" for key, value in days.items())
    for kind in ("messages", "episodes", "timeline"):
        page = await client.json("GET", f"{ALICE}/{kind}?{query}")
        assert len(page["items"]) == page["total"] == count, kind
        if count:
            assert page["items"][0]["timestamp"][:10] == day
    asked = {"query": "bike", "kinds": ["message"], **days}
    found = await client.json("POST", f"{ALICE}/search", json=asked)
    assert len(found["hits"]) == count
    packed = await client.json("POST", f"{ALICE}/context", json={**asked, "fence": False})
    assert bool(packed["messages"]) == bool(count)


IMPORTS = Path(__file__).parents[2] / "fixtures" / "imports"


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, (IMPORTS / name).read_bytes())
        archive.writestr("picture.jpg", b"?")
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "media", "query", "messages"),
    [
        (zipped("chatgpt.json"), "application/zip", "", 7),
        (zipped("whatsapp_ios.txt"), "application/octet-stream", "?format=whatsapp", None),
        ((IMPORTS / "chat.csv").read_bytes(), "text/csv", "?format=csv", 2),
        (b"Alice: I ski.\nBen: I row.\n", "application/octet-stream", "?format=text", 2),
        (b'{"role": "user", "content": "a"}\n{"role": \n', "application/x-ndjson", "", 1),
    ],
)
async def test_a_file_of_any_format_is_imported_once(
    client: Client, body: bytes, media: str, query: str, messages: int | None
) -> None:
    headers = {"Content-Type": media}
    path = f"{ALICE}/import{query}"
    first = await client.json("POST", path, content=body, headers=headers)
    again = await client.json("POST", path, content=body, headers=headers)
    assert first["messages"] == again["known"] > 0
    assert messages in (None, first["messages"])
    assert again["messages"] == 0
    assert first["left_out"] == again["left_out"]
    assert first["skipped"] == len(first["left_out"])
    if b"picture.jpg" in body:
        assert "1 file `.jpg`: no text" in first["left_out"]
    if b"ndjson" in media.encode():
        assert first["left_out"] == ["line 2: not valid JSON"]


async def test_a_format_that_is_not_the_files_is_refused(client: Client) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    for query, text in (("whatsap", "format is unknown"), ("telegram", "")):
        path = f"{ALICE}/import?format={query}"
        told = await client.json("POST", path, 400, content=b"Alice: I ski.\n", headers=headers)
        assert text in told["detail"]
        assert "/tmp" not in str(told)
    assert await contents(client) == []
