"""The explorer page, walked, read and used as people do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from episodica.server.keys import KeyRing
from episodica.visible import visible

from .conftest import HOSTILE, HOSTILE_NAME, HOSTILE_USER, MANY, Service, Visit, Watched, message

ALICE = "#/user/alice"
EVE = f"#/user/{quote(HOSTILE_USER, safe='')}"
WINDOWS = [
    (1280, "light", "en-GB"),
    (390, "dark", "zh-CN"),
    (390, "light", "en-US"),
    (1280, "dark", "zh-TW"),
]


def first_link(window: Watched) -> str:
    """The place of the first record of a listing."""
    found = window.page.locator("article a").first.get_attribute("href")
    assert found
    return found


@pytest.mark.parametrize(("width", "theme", "language"), WINDOWS)
def test_every_page_keeps_the_rules(
    site: Service, visit: Visit, width: int, theme: str, language: str
) -> None:
    window = visit(site, width=width, theme=theme, language=language)
    page = window.page
    window.open("#/")
    assert page.evaluate("document.documentElement.lang") == language[:2].replace("zh", "zh-CN")
    title = "用户" if language.startswith("zh") else "Users"
    expect(page.locator("h1")).to_have_text(title)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 200) == (theme == "dark")
    window.check()
    for place in ("#/usage", "#/health", ALICE):
        window.open(place)
        window.check()
    episode = first_link(window)
    for place in (episode, f"{ALICE}/facts"):
        window.open(place)
        window.check()
    window.open(first_link(window))
    window.check()
    for name in ("profile", "messages", "learning", "manage"):
        window.open(f"{ALICE}/{name}")
        window.check()
    window.open("#/user/nobody")
    expect(page.locator(".empty")).to_be_visible()
    window.check()
    window.open(f"{ALICE}/ask")
    window.check()
    page.locator("input[type=search]").fill("Where does Alice live?")
    page.keyboard.press("Enter")
    expect(page.locator("pre.pack")).to_contain_text("Lyon")
    window.check("context")
    page.locator("form button[type=button]").click()
    page.locator("details summary").first.click()
    expect(page.locator("table").first).to_be_visible()
    window.check("results")


def test_an_episode_shows_why_it_ended_and_its_three_layers(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(ALICE)
    ends = page.locator(".ended")
    expect(ends.first).to_have_text("Ended: the caller closed it")
    expect(ends.last).to_contain_text("then a pause of 62 days")
    page.locator("article h3 a").last.click()
    expect(page.locator(".layer h2")).to_have_text(["SummaryL0", "ContentL1", "MessagesL2"])
    expect(page.locator(".layer").nth(1)).to_contain_text("Monday 8 January 2024, ")
    expect(page.locator(".talk .speaker")).to_have_text(["Alice", "Bot"])
    expect(page.locator("main")).to_contain_text("the rules")


def test_a_fact_shows_its_validity_and_its_successor(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(f"{ALICE}/facts")
    texts = page.locator("article h2").all_inner_texts()
    assert "Alice lives in Lyon." in texts
    assert "Alice lives in Paris." not in texts
    page.get_by_label("Show").select_option("outdated")
    page.get_by_role("link", name="Alice lives in Paris.").click()
    expect(page.locator(".layer")).to_contain_text("from 8 Jan 2024 to 8 Mar 2024")
    expect(page.locator(".layer .chip").first).to_have_text("Outdated")
    expect(page.locator(".versions > li")).to_have_count(2)
    page.locator(".layer a").click()
    expect(page.locator(".layer")).to_contain_text("Lyon")
    expect(page.locator(".layer .chip").first).to_have_text("Current")


def test_a_quoted_fact_shows_its_message(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(f"{ALICE}/facts")
    page.get_by_role("link", name=re.compile("Jeanne is allergic")).click()
    expect(page.locator("main h2").first).to_have_text("Source messages")
    expect(page.locator(".talk")).to_contain_text("My sister Jeanne is allergic to peanuts.")
    expect(page.locator(".layer")).to_contain_text("said 2 May 2024")
    for text in ("Current", "since"):
        expect(page.locator(".layer")).not_to_contain_text(text)


def test_what_was_said_later_is_shown_and_decided(site: Service, visit: Visit) -> None:
    for day, code in (("2025-01-10", 7712), ("2025-02-10", 3390)):
        said = {"role": "user", "content": f"The gate code of the yard is {code} now."}
        said |= {"timestamp": f"{day}T10:00:00Z", "message_id": f"gate {code}"}
        site.call("POST", "/v1/users/gus/messages", {"messages": [said]})
        site.call("POST", "/v1/users/gus/flush", {})
    window = visit(site)
    page = window.page
    window.open("#/user/gus/facts")
    earlier = page.locator("article", has_text="7712")
    expect(earlier.locator(".meta")).to_contain_text("said 10 Jan 2025")
    expect(page.locator("main")).not_to_contain_text("Current")
    expect(page.get_by_role("link", name="later words")).to_have_count(1)
    window.check("facts")
    earlier.get_by_role("link", name="later words").click()
    expect(page.locator(".layer")).to_contain_text("3390")
    page.go_back()
    earlier.locator("h2 a").click()
    expect(page.locator(".layer")).to_contain_text(
        re.compile("7712.*Later words, 10 Feb 2025: The gate code of the yard is 3390", re.DOTALL)
    )
    window.check("fact")
    window.open("#/user/gus/later")
    card = page.locator("article")
    expect(card).to_contain_text(re.compile("Before.*7712.*Later.*3390", re.DOTALL))
    page.get_by_role("button", name="Keep the later").click()
    expect(card).to_contain_text("The later holds")
    assert site.call("GET", "/v1/users/gus/changes")["items"][0]["kept"] == "new"
    window.open("#/user/gus/facts")
    page.get_by_label("Show").select_option("outdated")
    expect(page.locator("article .chip").first).to_have_text("Outdated")
    window.open("#/user/gus")
    figures = page.locator(".figure")
    expect(figures.nth(1)).to_have_text("Facts2")
    expect(figures.nth(2)).to_have_text("Of them ended1")
    window.open("#/user/gus/learning")
    expect(page.locator("main")).to_contain_text("a fact of its own")
    window.open("#/user/eve/later")
    expect(page.locator("main")).to_contain_text("Nothing yet")


def test_learning_shows_changes_and_what_was_no_fact(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(f"{ALICE}/learning")
    for change in ("New", "Supersedes an older fact"):
        expect(page.locator(".chip", has_text=change).first).to_be_visible()
    page.get_by_label("Show").select_option("SUPERSEDE")
    expect(page.locator("article")).to_have_count(1)
    expect(page.locator("article del")).to_contain_text("Paris")
    reasons = page.get_by_role("region", name="Rejected sentences")
    expect(reasons).to_contain_text("not about the user")


def test_scores_are_explained_term_by_term(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(f"{ALICE}/ask")
    page.get_by_label("Question").fill("Where does Alice live?")
    page.get_by_role("checkbox", name="Message").check()
    page.get_by_role("button", name="Search").click()
    hit = page.locator("article.hit").first
    hit.locator("summary").first.click()
    rows = hit.locator("tbody tr")
    values = [float(text) for text in hit.locator("tbody td.number").all_inner_texts()]
    kinds = [row.get_attribute("class") for row in rows.all()]
    terms = [value for kind, value in zip(kinds, values, strict=True) if kind == "depth-2"]
    assert kinds[:2] == ["depth-0", "depth-1"]
    assert len(terms) > 2
    assert sum(terms) == pytest.approx(values[1], abs=0.001)
    relevance = hit.locator(".score").inner_text().removeprefix("relevance ")
    assert values[0] == pytest.approx(float(relevance), abs=0.001)
    assert hit.locator("rect").count() == len(terms)
    expect(rows.nth(2)).to_contain_text(" x ")
    expect(page.locator("#announcer")).to_have_text(re.compile(r"\d+ hits?"))


def test_a_moment_leads_to_its_episode_and_its_claims(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(f"{ALICE}/ask")
    page.get_by_label("Question").fill("Who is allergic to peanuts?")
    page.get_by_role("button", name="Search").click()
    hit = page.locator("article.hit").first
    expect(hit).to_contain_text("My sister Jeanne is allergic to peanuts.")
    expect(hit.locator("p a")).to_have_count(1)
    hit.locator("li a").click()
    expect(page.locator("h1")).to_have_text("Fact")


def test_lists_grow_by_pages_and_keep_the_place(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open("#/user/many/messages")
    rows = page.locator("main ol > li")
    expect(rows).to_have_count(40)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(80)
    expect(rows.nth(40).locator("button")).to_be_focused()
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(MANY)
    expect(page.locator(".more")).to_have_text(f"{MANY} in all")


def test_hostile_texts_are_only_seen(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open("#/")
    page.get_by_role("link", name=HOSTILE_USER, exact=True).click()
    window.drawn()
    for place in (EVE, f"{EVE}/messages", f"{EVE}/facts", f"{EVE}/learning", f"{EVE}/manage"):
        window.open(place)
        expect(page.locator("nav strong")).to_have_text(HOSTILE_USER)
        # The name of a user that has markup in it is markup nowhere.
        assert page.locator("main b, main i, main script, main img").count() == 0
        text = page.evaluate("document.body.innerText")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        window.check()
    window.open(f"{EVE}/messages")
    shown = page.locator("article .said").inner_text()
    assert shown == visible(HOSTILE, lines=True)
    expect(page.locator("article strong")).to_have_text(HOSTILE_NAME)
    window.open(f"{EVE}/ask")
    page.get_by_label("Question").fill("Who lives in EVIL?")
    page.keyboard.press("Enter")
    expect(page.locator("pre.pack")).to_contain_text("EVIL")
    window.check()
    page.get_by_role("button", name="Search").click()
    expect(page.locator("article.hit").first).to_contain_text("\\x1b[31mEVIL")
    window.check()


def test_escapes_are_those_of_the_package(site: Service, visit: Visit) -> None:
    window = visit(site)
    window.open("#/")
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    singles = [chr(code) for code in (*range(0x2100), 0xFEFF, 0xFFF9, 0x1F600, 0xE0041)]
    texts = [*singles, "a\r\nb\rc\td\ne", flag, f"{flag[0]}\U000e0067", "\u200d\u200c", "中文"]
    seen = window.page.evaluate(
        "async (texts) => (await import('/ui/js/visible.js')).visible"
        " && texts.map((await import('/ui/js/visible.js')).visible)",
        texts,
    )
    assert seen == [visible(text, lines=True) for text in texts]


def test_the_switches_are_kept(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open("#/health")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    after = page.evaluate(ground)
    assert before != after
    page.get_by_role("button", name="中文").click()
    expect(page.locator("h1")).to_have_text("状态")
    page.reload()
    expect(page.locator("h1")).to_have_text("状态")
    assert page.evaluate(ground) == after
    window.check()


def test_a_path_by_keyboard_alone(site: Service, visit: Visit) -> None:
    site.add("kim", message("2024-02-01T10:00:00Z", "I live in Porto, near the river.", "Kim"))
    window = visit(site)
    page = window.page
    window.open("#/")
    focused = page.locator(":focus")

    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if focused.count() and focused.inner_text().strip() == name:
                outline = focused.evaluate("node => getComputedStyle(node).outlineStyle")
                assert outline != "none", f"the focus on {name} can't be seen"
                return
        pytest.fail(f"{name} can't be reached")

    expect(page.locator("h1")).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    tab_to("Skip to the page")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    for name, title in (("kim", "Timeline"), ("Facts", "Facts")):
        tab_to(name)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(title)
        expect(page.locator("h1")).to_be_focused()
    tab_to('Kim: "I live in Porto, near the river."')
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Fact")
    tab_to("Delete")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    window.check("dialog")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Facts")
    expect(page.locator(".empty")).to_be_visible()
    assert site.call("GET", "/v1/users/kim/facts")["items"] == []


def test_texts_are_corrected_and_messages_deleted(site: Service, visit: Visit) -> None:
    site.add(
        "lee",
        message("2024-02-01T10:00:00Z", "I live in Porto, near the river.", "Lee"),
        message("2024-02-01T10:01:00Z", "It is raining.", "Lee"),
    )
    window = visit(site)
    page = window.page
    window.open("#/user/lee/facts")
    page.get_by_role("link", name='Lee: "I live in Porto, near the river."').click()
    page.get_by_role("button", name="Correct").click()
    save = page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    page.get_by_label("Text", exact=True).fill("Lee lives in Braga.")
    window.check("dialog")
    save.click()
    expect(page.locator(".layer .said")).to_have_text("Lee lives in Braga.")
    expect(page.locator(".versions > li")).to_have_count(2)
    window.open("#/user/lee/messages")
    page.locator("article", has_text="raining").get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("article")).to_have_count(1)
    window.open("#/user/lee")
    page.locator("article h3 a").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("h1")).to_have_text("Timeline")
    expect(page.locator(".empty")).to_be_visible()
    # The corrected fact is the words of who corrected it; those of the message are gone.
    expect(page.get_by_role("status")).to_have_text("Deleted. Messages: 1, episodes: 1, facts: 0")
    expect(page.get_by_role("status")).to_be_in_viewport()
    window.check("told")
    assert site.call("GET", "/v1/users/lee/stats")["episodes"] == 0
    facts = site.call("GET", "/v1/users/lee/facts")["items"]
    assert [fact["content"] for fact in facts] == ["Lee lives in Braga."]


@pytest.mark.parametrize("language", ["en-GB", "de-DE", "zh-CN"])
def test_a_telephone_shows_the_first_episode_at_once(
    site: Service, visit: Visit, language: str
) -> None:
    window = visit(site, width=400, language=language)
    window.open(ALICE)
    first = window.page.locator(".episodes .card h3").first.bounding_box()
    assert first is not None
    assert first["y"] + first["height"] < 700
    window.open(f"{ALICE}/manage")
    expect(window.page.locator(".tabs [aria-current=page]")).to_be_in_viewport(ratio=1)


def test_a_user_is_deleted_only_by_name(site: Service, visit: Visit) -> None:
    site.add("mo", message("2024-02-01T10:00:00Z", "I live in Porto.", "Mo"))
    window = visit(site)
    page = window.page
    window.open("#/user/mo/manage")
    page.get_by_role("button", name="Delete this user…").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    page.keyboard.type("Mo")
    page.keyboard.press("Enter")
    expect(delete).to_be_disabled()
    page.evaluate("location.hash = '#/user/alice/manage'")
    expect(page.locator("nav strong")).to_have_text("alice")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "mo" in site.call("GET", "/v1/users")["users"]
    window.open("#/user/mo/manage")
    page.get_by_role("button", name="Delete this user…").click()
    page.keyboard.type("mo")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Users")
    assert "mo" not in site.call("GET", "/v1/users")["users"]


def test_a_key_opens_what_it_may_and_stays_out_of_sight(
    serve: Callable[..., Service], visit: Visit, tmp_path: Path
) -> None:
    service = serve("serve", tmp_path / "store")
    service.add("alice", message("2024-02-01T10:00:00Z", "I live in Porto.", "Alice"))
    ring = KeyRing(tmp_path / "store.keys.json")
    reader, key = ring.create(user="alice", scopes=["read"])
    window = visit(service)
    window.expected = {401, 403}
    page = window.page
    window.open("#/")
    expect(page.locator("h1")).to_have_text("Sign in")
    expect(page.get_by_role("alert")).to_have_count(0)
    window.check()
    page.get_by_label("Key").fill("epi_wrong_key")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the key is unknown or was revoked")
    window.check()
    page.get_by_label("Key").fill(reader)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Timeline")
    expect(page.locator("nav strong")).to_have_text("alice")
    for place in (ALICE, f"{ALICE}/facts"):
        window.open(place)
        page.locator("article a").first.click()
        window.drawn()
        assert page.get_by_role("button", name=re.compile("Delete|Correct")).count() == 0
    for name in ("messages", "manage"):
        window.open(f"{ALICE}/{name}")
        assert page.get_by_role("button", name=re.compile("Delete|Correct")).count() == 0
    assert page.get_by_role("link", name="Usage").count() == 0
    refused = page.evaluate(
        "key => fetch('/v1/users/alice', {method: 'DELETE',"
        " headers: {Authorization: `Bearer ${key}`}}).then(answer => answer.status)",
        reader,
    )
    assert refused == 403
    window.open("#/user/bob")
    expect(page.get_by_role("alert")).to_contain_text("the key is for another user")
    kept = page.evaluate("JSON.stringify([location.href, document.cookie, localStorage])")
    assert key.id not in kept
    page.reload()
    window.drawn()
    ring.revoke(key.id)
    window.page.evaluate("location.hash = '#/user/alice/facts'")
    expect(page.locator("h1")).to_have_text("Sign in")
    assert page.evaluate("sessionStorage.length") == 0


def test_the_one_time_address_opens_once(
    serve: Callable[..., Service], visit: Visit, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    service = serve("ui", store, "--no-browser")
    window = visit(service)
    page = window.page
    page.goto(service.url)
    window.drawn()
    expect(page.locator(".empty")).to_contain_text("No users yet")
    assert "token" not in page.url
    window.check()
    page.reload()
    expect(page.locator("h1")).to_have_text("Users")
    late = visit(service, language="zh-CN", theme="dark", width=390)
    late.expected = {401}
    late.page.goto(service.url)
    expect(late.page.get_by_role("alert")).to_contain_text("此地址已失效")
    assert "token" not in late.page.url
    assert late.page.evaluate("sessionStorage.length") == 0
    late.check()
    window.expected = {401}
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("This address no longer works")


def test_cost_and_calls_of_models_are_shown(site: Service, visit: Visit) -> None:
    window = visit(site, width=390)
    page = window.page
    told = site.call("GET", "/v1/store")
    cost = {"calls": 40, "prompt_tokens": 9231, "completion_tokens": 811, "seconds": 9.1}
    cost |= {"cached": 3, "failures": 2, "retries": 1, "counted_locally": 0}
    more = {**cost, "prompt_tokens": 18462, "completion_tokens": 1622}
    told["usage"] = {
        **more,
        "by_phase": {"boundary": cost, "episode": more},
        "by_model": {"<b>m</b>": more},
        "by_user": {HOSTILE_USER: more},
    }
    endpoint = {"endpoint": "http://127.0.0.1:1", "breaker": "open"}
    endpoint |= {"requests": 5, "retries": 1, "failures": 2}
    told["health"] |= {
        "status": "degraded",
        "failing": ["llm"],
        "last_failure": "no \x1b[31manswer",
        "llm": {"configured": True, "model": "m", "available": False, "endpoint": endpoint},
    }
    step = {"phase": "episode", "model": "m", "system": "task <b>", "user": "material"}
    step |= {"answer": "{}", "failure": "", "cached": True, "tokens": 7}
    step |= {"at": "2024-01-01T00:00:00Z"}
    page.route("**/v1/store", lambda route: route.fulfill(json=told))
    page.route("**/facts/*/trace", lambda route: route.fulfill(json={"steps": [step]}))
    window.open("#/usage")
    rows = page.get_by_role("region", name="By step").locator("tbody tr")
    expect(rows.first).to_contain_text("18,462")
    assert [row.locator("th").inner_text() for row in rows.all()] == ["Episodes", "Boundaries"]
    expect(page.get_by_role("link", name=HOSTILE_USER)).to_have_attribute("href", EVE)
    window.check()
    window.open("#/health")
    expect(page.locator(".notice.bad")).to_contain_text("Failing now: language model")
    expect(page.locator(".notice.bad")).to_contain_text("no \\x1b[31manswer")
    expect(page.locator("main")).to_contain_text("calls are refused")
    window.check()
    window.open(f"{ALICE}/facts")
    window.open(first_link(window))
    page.get_by_text("Prompt", exact=True).click()
    expect(page.locator("pre").first).to_have_text("task <b>")
    window.check()


def test_failures_are_told_with_what_helps(site: Service, visit: Visit) -> None:
    window = visit(site)
    page = window.page
    window.open(ALICE)
    problem = {"status": 503, "kind": "busy", "detail": "too many requests", "hint": "wait <b>"}
    page.route("**/facts?*", lambda route: route.fulfill(status=503, json=problem))
    window.expected = {503}
    window.open(f"{ALICE}/facts")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Not available now")
    expect(alert).to_contain_text("Hint: wait <b>")
    window.check()
    page.unroute("**/facts?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("article").first).to_be_visible()
    window.open("#/user/..")
    expect(page.get_by_role("alert")).to_contain_text("This name can't be opened here")
    window.open("#/user/alice/nothing")
    expect(page.get_by_role("alert")).to_contain_text("This page does not exist.")
    page.route("**/v1/**", lambda route: route.abort())
    page.evaluate("location.hash = '#/health'")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    window.wrong = [one for one in window.wrong if "ERR_FAILED" not in one]
