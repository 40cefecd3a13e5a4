"""Building blocks of the notebook display: escaped HTML and one style sheet.

Lines, fills and faint text are mixed from the colour of the surrounding text, so they fit any
theme. Only the few hues differ between light and dark themes: the notebook's own attribute
(JupyterLab, VS Code, Material, Colab) decides, else the system. The tags are semantic, so a viewer
that strips style sheets still shows readable text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..value import clip
from ..visible import escaped, visible

MAX_ROWS = 20
_MAX_CELL = 240
MAX_PARAGRAPH = 1200
_MAX_VERBATIM = 6000
# The second and third class keep notebooks from reading dollar signs as formulas.
_CLASSES = "episodica mathjax_ignore tex2jax_ignore"

# Blue and vermilion of Okabe and Ito, for every kind of colour vision, adjusted for contrast.
_STYLE = """\
.episodica{--ep-up:light-dark(#0072b2,#56b4e9);--ep-down:light-dark(#b34700,#f0894a);\
--ep-warn:light-dark(#8a5a00,#e6b34c);\
--ep-line:color-mix(in srgb,currentColor 18%,transparent);--ep-fill:color-mix(in srgb,\
currentColor 6%,transparent);\
--ep-faint:color-mix(in srgb,currentColor 68%,transparent);color-scheme:light dark;color:inherit;\
max-width:62rem;\
font-size:.92em;line-height:1.45;overflow-wrap:anywhere}
body[data-jp-theme-light="true"] .episodica,body[data-vscode-theme-kind$="light"] .episodica,\
[data-md-color-scheme="default"] .episodica,html[theme="light"] .episodica{color-scheme:light}
body[data-jp-theme-light="false"] .episodica,body[data-vscode-theme-kind="vscode-dark"] .episodica,\
body[data-vscode-theme-kind="vscode-high-contrast"] .episodica,\
[data-md-color-scheme="slate"] .episodica,\
html[theme="dark"] .episodica{color-scheme:dark}
.episodica p{margin:.3em 0}
.episodica .ep-faint{color:var(--ep-faint)}
.episodica .ep-warn{color:var(--ep-warn)}
.episodica .ep-tag{display:inline-block;margin:0 .35em .25em 0;padding:0 .5em;\
border:1px solid var(--ep-line);border-radius:1em;\
font-size:.9em}
.episodica table.ep-table{display:table;width:auto;max-width:100%;margin:.4em 0;\
border-collapse:collapse;border:0;font-size:1em;\
background:none;color:inherit}
.episodica .ep-table tr{background:none!important}
.episodica .ep-table th,.episodica .ep-table td{min-width:0;padding:.2em .9em .2em 0;border:0;\
border-bottom:1px solid var(--ep-line);\
text-align:start;vertical-align:top;background:none;color:inherit;white-space:normal}
.episodica .ep-table th{color:var(--ep-faint);font-weight:600}
.episodica .ep-table .ep-number{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}
.episodica .ep-table .ep-short{white-space:nowrap;overflow-wrap:normal}
.episodica .ep-bars{display:block;position:relative;width:7em;height:.7em;margin-top:.35em;\
background:var(--ep-fill)}
.episodica .ep-bars i{position:absolute;top:0;bottom:0;background:var(--ep-up)}
.episodica .ep-bars i.ep-minus{background:var(--ep-down)}
.episodica pre{margin:.4em 0;padding:.6em .8em;max-height:28em;overflow:auto;border:0;\
border-radius:.3em;background:var(--ep-fill);\
color:inherit;font-size:.95em;line-height:1.4;white-space:pre-wrap}
.episodica summary{cursor:pointer;color:var(--ep-faint)}
.episodica details{margin:.3em 0}
@media print{.episodica pre{max-height:none}}"""


def page(*parts: str) -> str:
    """A whole display: the parts inside the element that the style sheet applies to."""
    return f'<div class="{_CLASSES}"><style>{_STYLE}</style>{"".join(parts)}</div>'


def plain(text: str, limit: int = _MAX_CELL) -> str:
    """``text`` on one line, cut, escaped, with its own writing direction."""
    return f'<bdi dir="auto">{_escaped(clip(text, limit))}</bdi>'


def title(text: str, note: str = "") -> str:
    """The title line with a note."""
    beside = f' <span class="ep-faint">{_escaped(clip(note, _MAX_CELL))}</span>' if note else ""
    return f"<p><strong>{plain(text)}</strong>{beside}</p>"


def paragraph(text: str, style: str = "") -> str:
    """A paragraph; an empty string for blank text."""
    if not text.strip():
        return ""
    kind = f' class="{style}"' if style else ""
    return f'<p dir="auto"{kind}>{_escaped(clip(text, MAX_PARAGRAPH))}</p>'


def verbatim(text: str) -> str:
    """Text with its line breaks in a scrolling box."""
    shown = text[:_MAX_VERBATIM]
    rest = f"\n… and {len(text) - len(shown):,} more characters" if len(shown) < len(text) else ""
    return f'<pre dir="auto">{_escaped(shown + rest)}</pre>'


def tags(words: Iterable[str], limit: int = 12) -> str:
    """Words in small frames."""
    some = list(words)
    shown = "".join(f'<span class="ep-tag">{plain(word, 60)}</span>' for word in some[:limit])
    return f"<p>{shown}{more(len(some) - limit)}</p>" if some else ""


def folded(label: str, body: str) -> str:
    """A section that opens at a click; an empty string for empty content."""
    return f"<details><summary>{_escaped(label)}</summary>{body}</details>" if body else ""


def more(count: int) -> str:
    """The number of hidden items."""
    return f'<span class="ep-faint">and {count:,} more</span>' if count > 0 else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], total: int, kinds: str) -> str:
    """Rows of cells that are HTML already.

    ``kinds`` has a letter for each column: ``n`` a number, ``s`` short, ``t`` text.
    """
    style = [{"n": ' class="ep-number"', "s": ' class="ep-short"'}.get(kind, "") for kind in kinds]
    lines = [
        "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(style, row, strict=True))
        for row in rows
    ]
    names = "".join(
        f"<th{kind}>{_escaped(name)}</th>" for kind, name in zip(style, head, strict=True)
    )
    top = f"<thead><tr>{names}</tr></thead>" if any(head) else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    rest = f"<p>{more(total - len(lines))}</p>" if total > len(lines) else ""
    return f'<table class="ep-table">{top}<tbody>{body}</tbody></table>{rest}'


def bar(value: float, low: float, high: float) -> str:
    """A bar from zero to ``value`` on an axis from ``low`` to ``high``.

    Negative values point the other way, in another colour.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    width = high - low
    if not 0 < width < float("inf"):
        return '<span class="ep-bars"></span>'
    start, end = sorted(100 * (min(max(point, low), high) - low) / width for point in (0.0, value))
    kind = ' class="ep-minus"' if value < 0 else ""
    place = f"left:{start:.1f}%;width:{end - start:.1f}%"
    return f'<span class="ep-bars"><i{kind} style="{place}"></i></span>'


def _escaped(text: str) -> str:
    """The text, escaped for HTML and its attributes."""
    return escaped(visible(text, lines=True))
