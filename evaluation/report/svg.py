"""Draws charts as SVG: text in the reader's colour, so that the drawing stands on light and dark pages."""

from __future__ import annotations

import math
from html import escape

from .charts import Chart, Point

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 58, 52
# Least distance of two labels.
_ROOM = 46
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM


def render(chart: Chart, *, standalone: bool = False) -> str:
    """The chart as an ``<svg>`` element; ``standalone`` for a file of its own, with a white ground."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title)}" '
        f'font-family="system-ui, -apple-system, Segoe UI, sans-serif" font-size="12" fill="currentColor">'
    ]
    if standalone:
        parts.append(
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/><g color="#1c2024" fill="#1c2024">'
        )
    parts.append(
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{escape(chart.title)}</text>'
    )
    parts += _legend(chart)
    top = _ceiling(chart)
    parts += _y_axis(chart, top)
    parts += _lines(chart, top) if chart.kind == "line" else _bars(chart, top)
    if standalone:
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"])


def _ceiling(chart: Chart) -> float:
    """The top of the y axis: 1, or less where all values are far below."""
    highest = max(point.high for series in chart.series for point in series.points)
    return next(limit for limit in (0.1, 0.25, 0.5, 1.0) if highest <= limit or limit == 1.0)


def _legend(chart: Chart) -> list[str]:
    parts, x = [], float(LEFT)
    for series in chart.series:
        parts.append(
            f'<rect x="{x:.0f}" y="32" width="11" height="11" rx="2" fill="{series.colour}"/>'
        )
        parts.append(f'<text x="{x + 16:.0f}" y="42">{escape(series.name)}</text>')
        x += 34 + 6.8 * len(series.name)
    return parts


def _y(value: float, top: float) -> float:
    return TOP + _INNER_HEIGHT * (1 - min(value, top) / top)


def _y_axis(chart: Chart, top: float) -> list[str]:
    parts = []
    for step in range(6):
        value = top * step / 5
        y = _y(value, top)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-opacity="0.15"/>'
        )
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill-opacity="0.75">{value:.2g}</text>'
        )
    middle = TOP + _INNER_HEIGHT / 2
    label = f'<text x="16" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 16 {middle:.0f})" fill-opacity="0.75">'
    return [*parts, f"{label}{escape(chart.y_label)}</text>"]


def _lines(chart: Chart, top: float) -> list[str]:
    xs = sorted({float(point.x) for series in chart.series for point in series.points})
    scale = math.log if chart.log_x else float
    low, high = scale(xs[0]), scale(xs[-1])

    def x(value: float | str) -> float:
        share = (scale(float(value)) - low) / (high - low) if high > low else 0.5
        return LEFT + 14 + (_INNER_WIDTH - 28) * share

    parts = []
    shown = -math.inf
    for value in _ticks(xs, chart.log_x):
        if x(value) - shown > _ROOM:
            shown = x(value)
            mark = f'x="{shown:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill-opacity="0.75"'
            parts.append(f"<text {mark}>{value:,.0f}</text>")
    middle = LEFT + _INNER_WIDTH / 2
    axis = f'<text x="{middle:.0f}" y="{HEIGHT - 12}" text-anchor="middle" fill-opacity="0.75">'
    parts.append(f"{axis}{escape(chart.x_label)}{', logarithmic' if chart.log_x else ''}</text>")
    for series in chart.series:
        points = sorted(series.points, key=lambda point: float(point.x))
        if len(points) > 1:
            upper = [f"{x(point.x):.1f},{_y(point.high, top):.1f}" for point in points]
            lower = [f"{x(point.x):.1f},{_y(point.low, top):.1f}" for point in reversed(points)]
            parts.append(
                f'<polygon points="{" ".join(upper + lower)}" fill="{series.colour}" fill-opacity="0.13"/>'
            )
            line = " ".join(f"{x(point.x):.1f},{_y(point.y, top):.1f}" for point in points)
            parts.append(
                f'<polyline points="{line}" fill="none" stroke="{series.colour}" stroke-width="2"/>'
            )
        for point in points:
            if len(points) == 1:
                parts.append(_whisker(x(point.x), point, top, series.colour))
            tip = f"{escape(series.name)}: {point.y:.3f} [{point.low:.3f}, {point.high:.3f}] at {float(point.x):,.0f}"
            parts.append(
                f'<circle cx="{x(point.x):.1f}" cy="{_y(point.y, top):.1f}" r="3.6" fill="{series.colour}"><title>{tip}</title></circle>'
            )
    return parts


def _ticks(xs: list[float], log: bool) -> list[float]:
    """The values themselves where these are few and whole, else round numbers within the range, else its ends."""
    if len(xs) <= 8 and all(value == round(value) for value in xs):
        return xs
    rounded = [
        base * 10**power
        for power in range(7)
        for base in (1, 2, 5)
        if xs[0] <= base * 10**power <= xs[-1]
    ]
    return [float(one) for one in rounded] if log and len(rounded) > 1 else [xs[0], xs[-1]]


def _whisker(x: float, point: Point, top: float, colour: str) -> str:
    low, high = _y(point.low, top), _y(point.high, top)
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="1.4"/>'


def _bars(chart: Chart, top: float) -> list[str]:
    groups = list(dict.fromkeys(str(point.x) for series in chart.series for point in series.points))
    slot = _INNER_WIDTH / len(groups)
    width = min(34.0, slot * 0.8 / len(chart.series))
    parts = []
    for place, group in enumerate(groups):
        middle = LEFT + slot * (place + 0.5)
        parts.append(
            f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill-opacity="0.75">{escape(group)}</text>'
        )
        for index, series in enumerate(chart.series):
            point = next((one for one in series.points if one.x == group), None)
            if point is None:
                continue
            left = middle + width * (index - len(chart.series) / 2)
            y = _y(point.y, top)
            tip = f"{escape(series.name)}, {escape(group)}: {point.y:.3f} [{point.low:.3f}, {point.high:.3f}]"
            parts.append(
                f'<rect x="{left + 1:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{TOP + _INNER_HEIGHT - y:.1f}" '
                f'fill="{series.colour}" fill-opacity="0.85"><title>{tip}</title></rect>'
            )
            # The reader's colour, as an interval in the bar's own would vanish inside it.
            parts.append(_whisker(left + width / 2, point, top, "currentColor"))
    return parts
