"""Makes docs/images: notebook displays in a headless Chromium and charts, light and dark.

Run it by hand after a display or a plot changed, with `chromium` on the path; then look at the
images.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

from episodica import MemorySystem
from episodica.plot import usage as plot_usage
from episodica.readers import read_conversations, with_ids

TOP = Path(__file__).parents[1]
IMAGES = TOP / "docs" / "images"
SAMPLE = TOP / "python" / "episodica" / "data" / "sample_conversation.json"
PAGES = {"light": ("#ffffff", "#1b1f24", "true"), "dark": ("#16191d", "#e8eaed", "false")}
WIDTH, HEIGHT, SCALE = 760, 1400, 1.5
TALK = [
    (
        "2024-01-08T18:00:00+01:00",
        "I live in Paris and I work as a nurse at Saint-Louis hospital. My dog Pickle needs a "
        "garden.",
    ),
    (
        "2024-03-11T09:30:00+01:00",
        "I moved to Lyon last Friday. I started as a head nurse at the Croix-Rousse hospital.",
    ),
    (
        "2024-05-02T20:15:00+02:00",
        "I signed up for a pottery class, every Tuesday evening. My sister Jeanne is allergic to "
        "peanuts.",
    ),
    (
        "2024-07-20T11:00:00+02:00",
        "Pickle is afraid of the lift, so I moved to Grenoble last week.",
    ),
]
# The question is answered by the best hit of each kind. Offline no model is asked, so the numbers
# of usage are invented.
QUESTION = "Who is Mira's boss?"
USAGE = {
    "by_phase": {
        "boundary": {"calls": 40, "prompt_tokens": 9231, "completion_tokens": 811, "seconds": 9.1},
        "episode": {
            "calls": 12,
            "prompt_tokens": 18231,
            "completion_tokens": 3211,
            "seconds": 14.2,
        },
        "extract": {
            "calls": 12,
            "prompt_tokens": 22031,
            "completion_tokens": 1911,
            "seconds": 20.7,
        },
    }
}


def main() -> None:
    """Makes all images."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, MemorySystem(Path(folder) / "store") as memory:
        memory.add_messages("demo", with_ids(read_conversations(SAMPLE)[0]))
        for number, (when, text) in enumerate(TALK):
            turn = {"role": "user", "name": "Alice", "content": text, "timestamp": when}
            memory.add_messages("alice", [turn], session_id=f"talk {number + 1}")
        memory.flush_all_buffers()
        memory.wait()
        kinds: Any = ["episodic", "semantic", "message"]
        hits = memory.search("demo", QUESTION, kinds=kinds, top_k=3, explain=True)
        displays = {
            "results": hits,
            "facts": memory.semantic_memories("alice", include_superseded=True),
            "explanation": hits[0].explain(),
        }
        for theme in PAGES:
            for name, value in displays.items():
                shoot(
                    value._repr_html_(), IMAGES / f"display-{name}-{theme}.png", theme, Path(folder)
                )
            figures = {
                "timeline": memory.plot.timeline("alice", theme=theme),
                "scores": memory.plot.scores(hits, theme=theme),
                "map": memory.plot.map("demo", theme=theme),
                "usage": plot_usage.draw(USAGE, theme),
            }
            for name, figure in figures.items():
                (IMAGES / f"plot-{name}-{theme}.png").write_bytes(figure._repr_png_()[0])


def shoot(html: str, target: Path, theme: str, folder: Path) -> None:
    """Saves an image of a fragment of HTML in a page of a theme, cut to its content."""
    page, ink, is_light = PAGES[theme]
    style = (
        f"background:{page};color:{ink};margin:14px;font:14px system-ui,'DejaVu Sans',sans-serif"
    )
    file, shot = folder / "page.html", folder / "shot.png"
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><body data-jp-theme-light="{is_light}" '
        f'style="{style}">{html}</body>',
        encoding="utf-8",
    )
    browser = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
        or "chromium"
    )
    command = [
        browser,
        "--headless=new",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--force-device-scale-factor={SCALE}",
    ]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    command += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", file.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(shot) as picture:
        drawn = picture.convert("RGB")
    box = ImageChops.difference(drawn, Image.new("RGB", drawn.size, page)).getbbox()
    bottom = min(drawn.height, (box[3] if box else 0) + int(14 * SCALE))
    drawn.crop((0, 0, drawn.width, bottom)).quantize(
        256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(target, optimize=True)


if __name__ == "__main__":
    main()
