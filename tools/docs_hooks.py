"""Hooks of mkdocs: decisions need no entry, and pages may link to other files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# An error is shown by its name and description alone, except the one that has the attributes.
ERROR = re.compile(r"^::: episodica\.(?!EpisodicaError$)\w+$", re.MULTILINE)
PLAIN = "{inherited_members: false, separate_signature: false, show_signature: false}"


def on_config(config: Any) -> Any:
    """Adds docs/decisions, sorted by name, as the last section."""
    top = Path(config.docs_dir)
    pages = [f"decisions/{page.name}" for page in sorted((top / "decisions").glob("*.md"))]
    config.nav = [*config.nav, {"Decisions": pages}]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Shows errors plainly, and turns links to files that the site does not have into text."""
    if page.file.src_uri == "reference/errors.md":
        markdown = ERROR.sub(rf"\g<0>\n    options: {PLAIN}", markdown)
    folder = Path(page.file.abs_src_path).parent

    def one(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        return link[0] if target.is_relative_to(config.docs_dir) else f"`{link[1]}`"

    return re.sub(r"\[([^]\n]+)\]\((\.\./[^)\s#]+)\)", one, markdown)
