"""Hooks of mkdocs: lists the decisions, so that a new page needs no entry in mkdocs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Lists docs/decisions, in the order of their numbers, at the end of the section on design."""
    folder = Path(config.docs_dir) / "decisions"
    pages = [f"decisions/{page.name}" for page in sorted(folder.glob("*.md"))]
    for section in config.nav:
        if "Design" in section:
            section["Design"] = [*section["Design"], {"Decisions": pages}]
    return config
