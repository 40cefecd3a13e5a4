"""The explorer without a browser: its files, their headers, the one-time address, its endpoints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from episodica.server.app import create_app
from episodica.server.explorer import OneTimeAddress, files
from episodica.server.keys import KeyRing
from episodica.server.routes import insight
from episodica.server.settings import ServerSettings

from .conftest import MOVED, SAID, Client, opened

ALICE = "/v1/users/alice"
UI = Path(create_app.__code__.co_filename).with_name("ui")


def sources(*suffixes: str) -> dict[str, str]:
    return {name: one.content.decode() for name, one in files().items() if name.endswith(suffixes)}


# Its files


async def test_the_page_comes_with_a_strict_policy(client: Client) -> None:
    answer = await client.get("/ui/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert {"script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"} < set(
        policy
    )
    assert {"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} < set(policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    entry = await client.get("/ui")
    assert (entry.status_code, entry.headers["location"]) == (308, "ui/")


async def test_files_are_cached_until_they_change(client: Client) -> None:
    first = await client.get("/ui/js/main.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    again = await client.get("/ui/js/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = await client.get("/ui/js/main.js", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200
    personal = await client.get(f"{ALICE}/stats")
    assert personal.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/ui/..%2Fapp.py", "/ui/%2e%2e/app.py", "/ui/js", "/ui/nothing.js", "/ui//etc/passwd"]
)
async def test_nothing_but_the_page_is_served(client: Client, path: str) -> None:
    assert (await client.get(path)).status_code == 404


def test_every_file_of_the_page_is_served_and_short() -> None:
    on_disk = {path.relative_to(UI).as_posix() for path in UI.rglob("*") if path.is_file()}
    assert set(files()) == on_disk
    for name, text in sources(".js", ".css", ".html").items():
        assert len(text.splitlines()) <= 500, name


def test_no_text_becomes_markup_and_nothing_is_inline() -> None:
    for name, text in sources(".js").items():
        assert not re.search(r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write", text), (
            name
        )
        assert not re.search(r"\beval\b|new Function|setTimeout\(\s*[\"'`]", text), name
        assert ".style" not in text, name
    for name, text in sources(".js", ".css", ".html").items():
        found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text.replace("http://www.w3.org/", ""))
        assert not found, (name, found)
    (page,) = sources(".html").values()
    assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:", page)
    assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>", page)


def strings(language: str) -> dict[str, str]:
    text = sources(".js")[f"js/strings/{language}.js"]
    return dict(re.findall(r'^  "([^"]+)": (.+?|\{$.+?^  \}),$', text, re.MULTILINE | re.DOTALL))


def test_both_languages_have_every_text_that_is_used() -> None:
    english, chinese = strings("en"), strings("zh")
    code = "\n".join(text for name, text in sources(".js").items() if "strings/" not in name)
    named = set(re.findall(r'\bt\(\s*"([^"]+)"', code))
    assert len(named) > 100
    for table in (english, chinese):
        assert named <= set(table)
    groups = set(re.findall(r'\bword\("(\w+)"', code))
    for name in set(english) | set(chinese):
        # Names of the service without a translation are shown as they are.
        if name.partition(".")[0] not in groups:
            assert name in english, name
            assert name in chinese, name
    for name in set(english) & set(chinese):
        for table in (english, chinese):
            places = set(re.findall(r"\{(\w+)\}", table[name]))
            assert places == set(re.findall(r"\{(\w+)\}", english[name])), name


# The one-time address


def test_a_token_is_good_once_and_for_some_minutes() -> None:
    now = 0.0
    address = OneTimeAddress(lambda: now)
    assert not address.opens("")
    assert address.exchange("wrong") is None
    assert address.exchange("é") is None
    credential = address.exchange(address.token)
    assert credential is not None
    assert credential != address.token
    assert address.opens(credential)
    assert not address.opens(address.token)
    assert address.exchange(address.token) is None, "it was used"
    late = OneTimeAddress(lambda: now)
    now = 601.0
    assert late.exchange(late.token) is None


async def test_only_the_credential_opens_and_only_to_the_page_itself(store: Path) -> None:
    settings = ServerSettings(store=str(store))
    KeyRing(settings.keys_path).create(scopes=["read", "admin"])
    address = OneTimeAddress()
    async with opened(settings, address) as client:
        refused = await client.json("GET", "/v1/users", 401)
        assert refused["kind"] == "one_time_address"
        assert "episodica ui" in refused["hint"]
        body = {"token": address.token}
        for headers in (
            {"Host": "evil.example"},
            {"Origin": "https://evil.example"},
            {"Origin": "http://127.0.0.1:3000"},
            {"Origin": "null"},
        ):
            await client.json("POST", "/ui/session", 403, json=body, headers=headers)
        own = {"Origin": "http://127.0.0.1"}
        answer = await client.json("POST", "/ui/session", json=body, headers=own)
        bearer = {"Authorization": f"Bearer {answer['credential']}"}
        dead = await client.json("POST", "/ui/session", 401, json=body, headers=own)
        assert dead["kind"] == "one_time_address"
        assert await client.json("GET", "/v1/users", headers=bearer) == {
            "users": [],
            "next_cursor": None,
            "total": 0,
        }
        for headers in ({"Host": "evil.example"}, {"Origin": "http://127.0.0.1:3000"}):
            await client.json("GET", "/v1/users", 403, headers={**bearer, **headers})
        token = {"Authorization": f"Bearer {address.token}"}
        await client.json("GET", "/v1/users", 401, headers=token)


async def test_a_service_with_keys_has_no_one_time_address(client: Client) -> None:
    await client.json("POST", "/ui/session", 404, json={"token": "x"})


def test_the_command_prints_an_address_that_works_once(store: Path, tmp_path: Path) -> None:
    missing = subprocess.run(
        [sys.executable, "-m", "episodica", "ui", "--no-browser", "--store", str(store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert missing.returncode == 1
    assert "there is no store" in missing.stderr
    store.mkdir()
    command = [sys.executable, "-m", "episodica", "ui", "--no-browser", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode().strip()
            found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/ui/#token=([\w-]{40,})", line)
            assert found, line
            asked = urllib.request.Request(
                f"{found[1]}/ui/session",
                json.dumps({"token": found[2]}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert json.load(answer)["credential"]
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(asked, timeout=30)
            for path in ("/v1/key", "/metrics"):
                refused = httpx.get(f"{found[1]}{path}", timeout=30)
                assert refused.status_code in (401, 404)
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_the_command_opens_a_browser(store: Path, tmp_path: Path) -> None:
    store.mkdir()
    opened_with = tmp_path / "address"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > "{opened_with}.new"\nmv "{opened_with}.new" "{opened_with}"\n'
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "episodica", "ui", "--json", "--store", str(store)]
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout is not None
            lines = b"".join(process.stdout.readline() for _ in range(3))
            deadline = time.monotonic() + 30
            while not opened_with.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert opened_with.read_text() == json.loads(lines)["address"]
        finally:
            process.kill()


# Its endpoints


async def test_a_key_tells_what_it_opens(store: Path) -> None:
    settings = ServerSettings(store=str(store))
    text, _ = KeyRing(settings.keys_path).create(user="alice", scopes=["read"])
    async with opened(settings) as client:
        bearer = {"Authorization": f"Bearer {text}"}
        opens = await client.json("GET", "/v1/key", headers=bearer)
        assert opens == {"tenant": "default", "user": "alice", "scopes": ["read"]}
        await client.json("GET", "/v1/store", 403, headers=bearer)
        await client.json("GET", "/v1/users/bob/learning", 403, headers=bearer)


def _reasons() -> set[str]:
    """The reasons for which sentences are turned down."""
    root = Path(__file__).parents[3]
    source = root / "src/episodica-core/src/generate/facts/candidate.rs"
    return set(re.findall(r'Self::\w+ => "(\w+)"', source.read_text(encoding="utf-8")))


def test_every_reason_has_a_text_in_both_languages() -> None:
    assert len(_reasons()) >= 10
    for language in ("en", "zh"):
        assert {f"reject.{one}" for one in _reasons()} <= set(strings(language))


async def test_learning_tells_its_decisions_and_their_reasons(client: Client) -> None:
    for batch in (SAID, MOVED, [{**MOVED[0], "timestamp": "2024-03-12T09:30:00Z"}]):
        await client.json(
            "POST", f"{ALICE}/messages", 201, json={"messages": batch, "wait": "facts"}
        )
    told = (await client.json("GET", f"{ALICE}/learning"))["events"]
    assert [one["event"] for one in told] == ["ADD", "ADD", "ADD"]
    assert "Paris" in told[-1]["statement"], "the latest first"
    assert all(one["reason"] for one in told)
    only = (await client.json("GET", f"{ALICE}/learning?change=ADD&limit=1"))["events"]
    assert [one["event"] for one in only] == ["ADD"]
    refused = (await client.json("GET", f"{ALICE}/learning?change=REJECT"))["events"]
    messages = (await client.json("GET", f"{ALICE}/messages"))["items"]
    assert refused
    assert all(one["reason"] in _reasons() for one in refused)
    assert {one["id"] for one in refused} <= {one["id"] for one in messages}
    await client.json("GET", f"{ALICE}/learning?change=NONE", 400)
    await client.json("GET", f"{ALICE}/learning?cursor=none", 400)


async def test_a_long_history_of_learning_is_read_in_parts(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in (SAID, MOVED):
        await client.json(
            "POST", f"{ALICE}/messages", 201, json={"messages": batch, "wait": "facts"}
        )
    whole = await client.json("GET", f"{ALICE}/learning")
    assert whole["next_cursor"] is None
    monkeypatch.setattr(insight, "_PART", 2)
    path, found, parts = f"{ALICE}/learning?limit=1", [], 0
    cursor = ""
    while cursor is not None:
        query = f"{path}&cursor={quote(cursor)}" if cursor else path
        page = await client.json("GET", query)
        assert len(page["events"]) <= 1
        found, parts, cursor = [*page["events"], *found], parts + 1, page["next_cursor"]
    assert parts > 2
    assert found == whole["events"]


async def test_records_tell_how_they_came_about(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"})
    (episode,) = (await client.json("GET", f"{ALICE}/episodes"))["items"]
    assert episode["boundary"]["reason"] == "flush"
    assert episode["provenance"]["method"] == "offline"
    path = f"{ALICE}/episodes/{episode['id']}"
    await client.json("PATCH", path, json={"content": "Alice talked about her flat."})
    versions = (await client.json("GET", f"{path}/history"))["versions"]
    assert [one["content"] for one in versions][-1] == "Alice talked about her flat."
    assert len(versions) == 2
    assert await client.json("GET", f"{path}/trace") == {"steps": []}
    (fact,) = (await client.json("GET", f"{ALICE}/facts"))["items"]
    kinds = {"personal_info": 1, "goal": 0}
    assert fact["kind"] == "personal_info"
    for kind, count in kinds.items():
        page = await client.json("GET", f"{ALICE}/facts?kind={kind}")
        assert len(page["items"]) == count
    await client.json("GET", f"{ALICE}/facts/{episode['id']}/trace", 404)


async def test_a_stated_value_ends_the_one_before(client: Client) -> None:
    for home in ("Oslo", "Bergen"):
        body = {"statement": f"I live in {home}.", "attribute": "home", "value": home}
        await client.json("POST", f"{ALICE}/facts", 201, json=body)
    body = {"statement": "Rex lives in Oslo.", "subject": "Rex", "attribute": "home"}
    await client.json("POST", f"{ALICE}/facts", 201, json={**body, "value": "Oslo"})
    facts = (await client.json("GET", f"{ALICE}/facts"))["items"]
    assert {fact["content"] for fact in facts} == {"I live in Bergen.", "Rex lives in Oslo."}
    for wrong in ({"attribute": "home"}, {"value": "Oslo"}, {"attribute": "", "value": "Oslo"}):
        await client.json("POST", f"{ALICE}/facts", 400, json={"statement": "x", **wrong})


async def test_the_store_tells_counts_health_and_cost(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"})
    told: dict[str, Any] = await client.json("GET", "/v1/store")
    assert told["stats"]["users"] == 1
    assert isinstance(told["stats"]["rejected_statements"], dict)
    assert told["health"]["status"] == "ok"
    assert told["usage"]["by_phase"] == {}


async def test_a_record_named_like_a_way_up_does_not_lead_to_its_user(client: Client) -> None:
    """Clients turn `/v1/users/alice/messages/..` into `/v1/users/alice/`."""
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    await client.json("DELETE", f"{ALICE}/", 404)
    assert (await client.json("GET", f"{ALICE}/stats"))["messages"] == 2
