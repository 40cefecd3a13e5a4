"""The evaluation's prompts: files with a version; rows name the version and a checksum."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "prompts"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template with ``{placeholders}``."""

    name: str
    version: str
    template: str

    @property
    def stamp(self) -> str:
        """Name, version and checksum: changed words show even where the version was forgotten."""
        return (
            f"{self.name}/{self.version}/{hashlib.sha256(self.template.encode()).hexdigest()[:8]}"
        )

    def fill(self, **values: str) -> str:
        """The prompt. Values are put in as they are: braces in them mean nothing."""
        return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.template)


@cache
def prompt(name: str) -> Prompt:
    """Reads a prompt from its file."""
    head, _, template = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").partition("\n")
    return Prompt(name, head.removeprefix("version: "), template.strip())
