"""A hook of mkdocs that lists decisions and lab pages, so that a new page needs no entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Adds docs/decisions and docs/lab, sorted by name, as the last section."""
    top = Path(config.docs_dir)
    pages = [
        {title: [f"{folder}/{page.name}" for page in sorted((top / folder).glob("*.md"))]}
        for title, folder in (("Decisions", "decisions"), ("Lab", "lab"))
    ]
    config.nav = [*config.nav, {"Background": pages}]
    return config
