"""The report as Markdown: the same tables, the plots as files."""

from __future__ import annotations

from .tables import Table


def table(made: Table) -> str:
    """A table in GitHub's form."""
    lines = [
        f"### {made.title}",
        "",
        _row(made.head),
        _row(["---", *["---:"] * (len(made.head) - 1)]),
    ]
    lines += [_row(row) for row in made.rows]
    return "\n".join([*lines, *(["", made.note] if made.note else [])])


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(one.replace("|", "\\|").replace("\n", " ") for one in cells) + " |"
