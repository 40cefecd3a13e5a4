"""The report as one HTML file without scripts or network, for phones, dark mode and paper."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from .tables import Table

STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1c2024;--soft:#5c6570;--line:#dfe3e8;
--panel:#f6f8fa;--mark:#0b63c4;--good:#1d7a46;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ground:#14171a;--ink:#e6e8eb;--soft:#9aa4af;--line:#30363d;
--panel:#1d2126;--mark:#6aa9f4;--good:#5cc98b;--bad:#f28b82}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 80px}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:20px;margin:44px 0 8px;padding-top:14px;border-top:1px solid var(--line)}
h3{font-size:15px;margin:22px 0 6px}
p{margin:6px 0 10px;max-width:78ch}.soft{color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:6px 16px;margin:14px 0;font-size:14px}a{color:var(--mark)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:10px;margin:18px 0}
.tile{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.tile b{display:block;font-size:22px;font-variant-numeric:tabular-nums}
.tile span{font-size:13px;color:var(--soft)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums;margin:4px 0}
th,td{padding:4px 14px 4px 0;text-align:right;border-bottom:1px solid var(--line);
white-space:nowrap}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}
table.text th,table.text td{text-align:left;white-space:normal;vertical-align:top}
tr:last-child td{border-bottom:0}small{color:var(--soft);font-size:12px}
.charts{display:grid;gap:16px;margin:14px 0;
grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr))}
figure{margin:0;background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:10px}
svg{width:100%;height:auto;display:block}
details{border-bottom:1px solid var(--line);padding:6px 0}summary{cursor:pointer}
summary small{margin-left:8px}
ul{margin:4px 0 10px;padding-left:20px}li{margin:2px 0}
.hit{color:var(--good)}.miss{color:var(--bad)}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px;
overflow-x:auto;font-size:12.5px}
@media print{main{max-width:none}details{break-inside:avoid}}
"""
# Tables whose cells are texts rather than figures.
_TEXT_HEADS = {"what"}


def page(title: str, body: list[str]) -> str:
    """A whole document."""
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    head += f"<title>{escape(title)}</title>"
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<style>{STYLE}</style></head>"
    return "\n".join([head, "<body><main>", *body, "</main></body></html>", ""])


def table(made: Table) -> str:
    """A table; intervals stand smaller than their figures."""
    kind = ' class="text"' if _TEXT_HEADS & set(made.head) else ""
    head = "".join(f"<th>{escape(one)}</th>" for one in made.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(one)}</td>" for one in row) + "</tr>" for row in made.rows
    )
    note = f'<p class="soft">{escape(made.note)}</p>' if made.note else ""
    heading = f"<h3>{escape(made.title)}</h3>" if made.title else ""
    return f'{heading}<div class="scroll"><table{kind}><tr>{head}</tr>{rows}</table></div>{note}'


def _cell(text: str) -> str:
    figure, bracket, interval = text.partition(" [")
    return (
        f"{escape(figure)} <small>[{escape(interval)}</small>"
        if bracket and figure[:1] in "+-0123456789"
        else escape(text)
    )


def tiles(entries: list[tuple[str, str]]) -> str:
    """A row of figures with their names."""
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><b>{escape(b)}</b><span>{escape(s)}</span></div>'
            for b, s in entries
        )
        + "</div>"
    )


def charts(drawings: list[str]) -> str:
    """Drawings side by side where there is room."""
    return (
        '<div class="charts">' + "".join(f"<figure>{one}</figure>" for one in drawings) + "</div>"
    )


def question(entry: dict[str, Any]) -> str:
    """One of the worst questions, folded."""
    evidence = "".join(_evidence(*one) for one in entry["evidence"])
    found = "".join(
        f'<li class="{"hit" if hit else ""}">{escape(one)}: {escape(text)}</li>'
        for one, hit, text in entry["retrieved"]
    )
    said = (
        f"<p>Given answer: <b>{escape(entry['response'] or '(none)')}</b></p>"
        if entry["response"]
        else ""
    )
    failure = f'<p class="miss">{escape(entry["failure"])}</p>' if entry["failure"] else ""
    note = f"{entry['key']}, {entry['category']}, recall@10 {entry['recall']:.2f}"
    head = f"{escape(entry['question'])}<small>{escape(note)}</small>"
    right = f"<p>Right answer: <b>{escape(entry['answer'])}</b></p>"
    return (
        f"<details><summary>{head}</summary>{right}{said}{failure}<h3>Evidence</h3><ul>{evidence}</ul>"
        f"<h3>Retrieved, best first</h3><ol>{found}</ol></details>"
    )


def _evidence(one: str, place: int | None, text: str) -> str:
    where = (
        f'<span class="hit">rank {place}</span>' if place else '<span class="miss">not found</span>'
    )
    return f"<li>{escape(one)} ({where}): {escape(text)}</li>"


def data(value: Any) -> str:
    """JSON as text."""
    return f"<pre>{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>"
