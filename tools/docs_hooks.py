"""Hooks of mkdocs: lists the decisions, so that a new page needs no entry in mkdocs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Adds docs/decisions, in the order of their numbers, as the last section."""
    folder = Path(config.docs_dir) / "decisions"
    pages = [f"decisions/{page.name}" for page in sorted(folder.glob("*.md"))]
    config.nav = [*config.nav, {"Decisions": pages}]
    return config
