"""A browser, a service with a filled store, and pages that report what goes wrong in them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

SECONDS = 30.0
# A new profile, and no request to other servers.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RULES = Path(__file__).with_name("rules.js").read_text(encoding="utf-8")
HOSTILE_USER = "<b>eve</b>/../x"
HOSTILE_NAME = "<i>Eve</i>"
HOSTILE = (
    "I live in \x1b[31mEVIL\x1b]0;t\x07 \u202eabc\u202c \x9b2J "
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> $\\alpha$ " + "x" * 3_000
)
MANY = 90


def message(when: str, text: str, name: str = "Alice", role: str = "user") -> dict[str, Any]:
    return {"role": role, "name": name, "content": text, "timestamp": when}


TALKS = [
    [
        message("2024-01-08T18:00:00+01:00", "I live in Paris and I work as a nurse."),
        message("2024-01-08T18:00:20+01:00", "How nice!", "Bot", "assistant"),
    ],
    [message("2024-03-11T09:30:00+01:00", "I moved to Lyon last Friday.")],
    [message("2024-03-12T09:30:00+01:00", "I moved to Lyon last Friday.")],
    [message("2024-05-02T20:15:00+02:00", "My sister Jeanne is allergic to peanuts.")],
]

HOMES = [
    {"statement": "Alice lives in Paris.", "value": "Paris", "valid_from": "2024-01-08T18:00:00Z"},
    {"statement": "Alice lives in Lyon.", "value": "Lyon", "valid_from": "2024-03-08T18:00:00Z"},
]


# For one module only: while the browser is open, its event loop runs in this thread, and coroutines
# of other tests can't.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium; `make setup` installs it")
        pytest.skip("there is no Chromium")
    home = tmp_path_factory.mktemp("browser")
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=ARGUMENTS, env={**os.environ, "HOME": str(home)}
        )
        yield browser
        browser.close()


class Service:
    """`episodica serve` or `episodica ui` in a process of its own."""

    def __init__(self, command: str, store: Path, *args: str) -> None:
        self.log = store.with_suffix(f".{command}.log")
        port = "0"
        if command == "serve":
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = str(probe.getsockname()[1])
        line = [sys.executable, "-m", "episodica", command, "--store", str(store), "--port", port]
        with self.log.open("wb") as file:
            self.process = subprocess.Popen([*line, *args], stdout=file, stderr=file)
        self.url = self._address() if command == "ui" else f"http://127.0.0.1:{port}/ui/"
        self.origin = self.url.partition("/ui/")[0]
        self.call("GET", "/health")

    def _address(self) -> str:
        def read() -> str | None:
            text = self.log.read_text()
            return text.splitlines()[0] if "\n" in text else None

        return self._until(read)

    def _until(self, attempt: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if (found := attempt()) is not None:
                return found
            time.sleep(0.05)
        pytest.fail(f"the service did not start: {self.log.read_text()}")

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.origin}{path}", data, headers, method=method)

        def attempt() -> Any:
            try:
                with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                    return json.load(answer)
            except ConnectionError:
                return None
            except urllib.error.HTTPError:
                raise
            except urllib.error.URLError:
                return None

        return self._until(attempt)

    def add(self, user: str, *messages: dict[str, Any], wait: str = "facts") -> None:
        path = f"/v1/users/{urllib.request.quote(user, safe='')}/messages"
        self.call("POST", path, {"messages": messages, "wait": wait})

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without keys, with users of every kind."""
    service = Service("serve", tmp_path_factory.mktemp("site") / "store")
    try:
        for talk in TALKS:
            service.add("alice", *talk)
        for home in HOMES:
            service.call("POST", "/v1/users/alice/facts", {**home, "attribute": "home"})
        service.add(HOSTILE_USER, message("2024-07-20T11:00:00Z", HOSTILE, HOSTILE_NAME))
        many = (message("2024-07-20T11:00:00Z", f"Number {n}.") for n in range(MANY))
        service.add("many", *many, wait="stored")
        yield service
    finally:
        service.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service that ends with the test."""
    running: list[Service] = []

    def start(command: str, store: Path, *args: str) -> Service:
        running.append(Service(command, store, *args))
        return running[-1]

    yield start
    for one in running:
        one.stop()


class Watched:
    """A page and what it must not do."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        # Statuses that a test provokes: the browser reports them on its console.
        self.expected: set[int] = set()
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _console(self, said: Any) -> None:
        known = any(f"status of {status}" in said.text for status in self.expected)
        if said.type in ("error", "warning") and not known:
            self.wrong.append(f"console: {said.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(f"{self.origin}/"):
            self.wrong.append(f"request: {request.url}")

    def open(self, place: str) -> None:
        """Goes to a place of the page and waits until it is drawn."""
        if self.page.url.startswith(self.origin):
            before = self.page.locator("h1").element_handle()
            if self.page.evaluate("place => location.hash === place", place):
                return
            self.page.evaluate("place => { location.hash = place; }", place)
            if before is not None:
                before.wait_for_element_state("hidden", timeout=SECONDS * 1000)
        else:
            self.page.goto(f"{self.origin}/ui/{place}")
        self.drawn()

    def drawn(self) -> None:
        self.page.wait_for_selector("main:not([aria-busy]) h1", state="attached")
        expect(self.page.locator(".working")).to_have_count(0)

    def check(self, where: str = "") -> None:
        """Checks the rules of every page."""
        assert self.page.evaluate(RULES) == [], where or self.page.url
        assert self.wrong == []


Visit = Callable[..., Watched]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a window of its own: width, theme and language."""
    contexts: list[BrowserContext] = []
    windows: list[Watched] = []

    def start(
        service: Service, *, width: int = 1280, theme: Any = "light", language: str = "en-GB"
    ) -> Watched:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            locale=language,
            reduced_motion="reduce",
        )
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        windows.append(Watched(context.new_page(), service.origin))
        return windows[-1]

    yield start
    for context in contexts:
        context.close()
    assert [one.wrong for one in windows if one.wrong] == []
