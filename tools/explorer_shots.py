"""Makes the images of docs/ui.md: the explorer page in a headless Chromium, light and dark.

Run it by hand after the page changed; then look at the images.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from episodica import MemorySystem
from episodica.readers import read_conversations, with_ids
from screenshots import SAMPLE, TALK

IMAGES = Path(__file__).parents[1] / "docs" / "images"
QUESTION = "Who is Mira's boss?"


def main() -> None:
    """Makes all images."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memories"
        fill(store)
        command = [sys.executable, "-m", "episodica", "ui", "--no-browser", "--store", str(store)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=browser_path, args=["--no-sandbox"] if os.geteuid() == 0 else []
                )
                page = browser.new_page(device_scale_factor=1.25)
                page.goto(address)
                page.wait_for_selector("nav")
                shoot(page, "ui-timeline-light", "light", (1100, 800), timeline)
                shoot(page, "ui-ask-dark", "dark", (1100, 900), ask)
                shoot(page, "ui-fact-light", "light", (1100, 900), fact)
                shoot(page, "ui-narrow-dark", "dark", (390, 844), episode)
                browser.close()
            process.terminate()


def fill(store: Path) -> None:
    """The sample conversation, and a person who moves."""
    with MemorySystem(store) as memory:
        memory.add_messages("demo", with_ids(read_conversations(SAMPLE)[0]))
        for number, (when, text) in enumerate(TALK):
            turn = {"role": "user", "name": "Alice", "content": text, "timestamp": when}
            memory.add_messages("alice", [turn], session_id=f"talk {number + 1}")
        memory.flush_all_buffers()
        memory.wait()
        for home, since in (("Paris", "2024-01-08"), ("Lyon", "2024-03-08")):
            text = f"Alice lives in {home}."
            memory.remember("alice", text, valid_from=since, attribute="home", value=home)


def go(page: Page, place: str) -> None:
    """Opens a place of the page."""
    page.evaluate("place => { location.hash = place; }", place)
    page.wait_for_timeout(700)
    page.wait_for_selector(".working", state="detached")


def timeline(page: Page) -> None:
    """Episodes and why they ended."""
    go(page, "#/user/alice")


def ask(page: Page) -> None:
    """The context for a question."""
    go(page, "#/user/demo/ask")
    page.fill("input[type=search]", QUESTION)
    page.keyboard.press("Enter")
    page.locator("pre.pack").evaluate(
        "node => scrollTo(0, node.getBoundingClientRect().top + scrollY - 90)"
    )


def fact(page: Page) -> None:
    """An outdated fact."""
    go(page, "#/user/alice/facts")
    page.select_option("select[name=which]", "outdated")
    page.get_by_role("link", name="Alice lives in Paris.").click()
    page.wait_for_selector(".versions")


def episode(page: Page) -> None:
    """An episode on a small screen."""
    go(page, "#/user/demo")
    page.locator("article h3 a").first.click()
    page.wait_for_selector(".talk")


def shoot(
    page: Page, name: str, theme: str, size: tuple[int, int], show: Callable[[Page], None]
) -> None:
    """Saves an image of a window of this size."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    show(page)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(200)
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").save(IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
