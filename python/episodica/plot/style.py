"""What all charts share: figures that show themselves, rows, light and dark colours, fitted text.

Called by the other modules of this package only.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from PIL import Image

from ..errors import InvalidInputError
from ..hints import nearest_hint
from ..value import longest
from ..visible import visible

ThemeName: TypeAlias = Literal["light", "dark"]

# The length of a bar, its colour and its hatch.
Part: TypeAlias = tuple[float, str, str]

# The palette of Okabe and Ito, for every kind of colour vision; without black, for dark pages.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, YELLOW = "#D55E00", "#56B4E9", "#F0E442"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, YELLOW)

WIDTH_INCHES = 11.0
LEFT = 0.2
ROW = 0.27
SIZE = 9.0
SMALL = 8.0
# Images have 150 dots per inch, which is sharp on dense screens; notebooks show an inch as 96 dots.
_DOTS_PER_INCH = 150
_SCREEN_DOTS_PER_INCH = 96
# Fallback fonts for scripts that matplotlib's own font lacks.
_HELPERS = (
    *("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "PingFang SC"),
    *("Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Noto Sans Hebrew", "Noto Sans Arabic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Symbola", "Arial Unicode MS"),
)
_log = logging.getLogger("episodica.plot")
_MISSING = "\N{WHITE SQUARE}"
_INVISIBLE = dict.fromkeys((0x200B, 0x200C, 0x200D, 0xFE0E, 0xFE0F))


@dataclass(frozen=True, slots=True)
class Theme:
    """The neutral colours of a chart."""

    name: str
    page: str
    text: str
    faint: str
    line: str
    edge: str


_THEMES = {
    "light": Theme("light", "#ffffff", "#1b1f24", "#59626d", "#d9dee3", "#ffffff"),
    "dark": Theme("dark", "#16191d", "#e8eaed", "#a3abb5", "#383e46", "#16191d"),
}


def theme_of(name: ThemeName | None) -> Theme:
    """The theme.

    By default the theme that is nearer to matplotlib's style (``plt.style.use("dark_background")``
    is dark).
    """
    if name is None:
        page = mpl.rcParams["figure.facecolor"]
        name = "dark" if page != "none" and sum(to_rgb(page)) < 1.5 else "light"
    if name not in _THEMES:
        raise InvalidInputError(
            f"theme is unknown: `{name!s:.40}`", hint=nearest_hint(name, tuple(_THEMES))
        )
    return _THEMES[name]


def date_labels(
    locator: AutoDateLocator, zone: tzinfo, show_offset: bool = True
) -> ConciseDateFormatter:
    """Labels of an axis of time.

    Matplotlib's own labels name the month only on its first day, which may be off the axis.
    """
    formats = ["%Y", "%b", "%-d %b", "%H:%M", "%H:%M", "%S.%f"]
    first_of_unit = ["", "%Y", "%b", "%-d %b", "%H:%M", "%H:%M"]
    return ConciseDateFormatter(
        locator, tz=zone, formats=formats, zero_formats=first_of_unit, show_offset=show_offset
    )


class MemoryFigure(Figure):
    """A matplotlib figure without a window, which notebooks display by themselves."""

    def __init__(self, height_inches: float, theme: Theme) -> None:
        super().__init__(
            figsize=(WIDTH_INCHES, height_inches), dpi=_DOTS_PER_INCH, facecolor=theme.page
        )
        self.theme = theme
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        drawn, file = io.BytesIO(), io.BytesIO()
        self.savefig(drawn, format="png", facecolor=self.get_facecolor())
        # Notebooks are stored with their charts: a palette takes a third of the bytes. This method
        # keeps rare colours (a single marker), which the default one would mix with others.
        palette = (
            Image.open(drawn)
            .convert("RGB")
            .quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        )
        palette.save(file, "png", optimize=True)
        width, height = (round(_SCREEN_DOTS_PER_INCH * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}

    def axes_at(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Axes at a place in inches from the lower left corner."""
        across, up = self.get_size_inches()
        axes = self.add_axes((left / across, bottom / up, width / across, height / up))
        axes.set_facecolor("none")
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(self.theme.line)
        axes.tick_params(colors=self.theme.faint, labelsize=SMALL, length=3, which="both")
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            label.set_fontproperties(font(SMALL))
        return axes

    def write(
        self, left: float, bottom: float, words: str, width: float = 1e9, **style: Any
    ) -> Text:
        """Text at a place in inches, in the middle of its line, cut to ``width`` inches."""
        across, up = self.get_size_inches()
        prop = font(style.pop("size", SIZE), style.pop("weight", "normal"))
        style = {"color": self.theme.text, "va": "center", "parse_math": False, **style}
        shown = fit(words, width, prop)
        return self.text(left / across, bottom / up, shown, fontproperties=prop, **style)

    def heading(self, words: str, note: str) -> None:
        """The line on top of the chart."""
        up = self.get_size_inches()[1]
        title = self.write(LEFT, up - 0.25, words, 7.5, size=12, weight="bold")
        used = title.get_window_extent().width / self.dpi
        self.write(0.35 + used, up - 0.26, note, WIDTH_INCHES - used - 0.5, color=self.theme.faint)

    def rows(self, top: float, count: int, left: float = 5.4, rest: float = 0.85) -> Axes:
        """Axes with rows of one height, the first on top; ``left`` and ``rest`` are room aside."""
        axes = self.axes_at(left, top - ROW * count, WIDTH_INCHES - left - rest, ROW * count)
        axes.set_ylim(count, 0)
        axes.set_yticks([])
        axes.grid(axis="x", color=self.theme.line, linewidth=0.6)
        axes.set_axisbelow(True)
        return axes

    def label(self, axes: Axes, row: int, words: str, left: float = LEFT, **style: Any) -> Text:
        """Words on the left of a row, cut where its axes begin."""
        across, up = self.get_size_inches()
        box = axes.get_position()
        middle = box.y1 * up - ROW * (row + 0.5)
        return self.write(left, middle, words, box.x0 * across - left - 0.15, **style)

    def strike(self, words: Text) -> None:
        """A line through words."""
        across, up = self.get_size_inches() * self.dpi
        box = words.get_window_extent()
        middle = [(box.y0 + box.height * 0.45) / up] * 2
        ends = [box.x0 / across, box.x1 / across]
        self.add_artist(Line2D(ends, middle, color=words.get_color(), linewidth=0.9))

    def stack(self, axes: Axes, row: int, parts: Iterable[Part], words: str) -> float:
        """Bars end to end in a row, the words after them; returns where the last bar ends."""
        ends = {True: 0.0, False: 0.0}
        look: dict[str, Any] = {"edgecolor": self.theme.edge, "linewidth": 0.6}
        for value, colour, hatch in parts:
            left = ends[value >= 0]
            axes.barh(row + 0.5, value, 0.66, left=left, color=colour, hatch=hatch, **look)
            ends[value >= 0] += value
        axes.annotate(
            words,
            (ends[True], row + 0.5),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=self.theme.text,
            fontproperties=font(SMALL),
            annotation_clip=False,
        )
        return ends[True]

    def samples(self, looks: Iterable[tuple[str, str]]) -> list[Artist]:
        """Samples of colours with their hatches, for a legend."""
        edge = self.theme.edge
        return [
            Patch(facecolor=colour, hatch=hatch, edgecolor=edge, linewidth=0.6)
            for colour, hatch in looks
        ]

    def key(
        self,
        axes: Axes,
        handles: Sequence[Artist],
        labels: Sequence[str],
        bottom: float,
        left: float = LEFT,
        columns: int = 6,
    ) -> None:
        """The legend, its upper left corner at a place in inches."""
        across, up = self.get_size_inches()
        axes.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(left / across, bottom / up),
            bbox_transform=self.transFigure,
            ncols=columns,
            frameon=False,
            labelcolor=self.theme.text,
            prop=font(SMALL),
            borderaxespad=0,
            borderpad=0,
            handletextpad=0.5,
            columnspacing=1.6,
        )


def empty(theme: Theme, heading: str, note: str) -> MemoryFigure:
    """A chart without data, which says so."""
    figure = MemoryFigure(1.2, theme)
    figure.heading(heading, "")
    figure.write(0.2, 0.45, note, WIDTH_INCHES - 0.4, color=theme.faint)
    return figure


@lru_cache(maxsize=16)
def font(size: float, weight: str = "normal") -> FontProperties:
    """Matplotlib's sans serif font, then other installed fonts, letter by letter."""
    return FontProperties(family=list(_families()), size=size, weight=weight)


def fit(words: str, width: float, prop: FontProperties) -> str:
    """``words`` on one line in drawable letters, cut to ``width`` inches with an ellipsis."""
    line = drawable(visible(" ".join(words[:1000].split())))
    if _inches(line, prop) <= width:
        return line
    length = longest(len(line), lambda n: _inches(line[:n].rstrip() + "…", prop) <= width)
    return line[: length or 0].rstrip() + "…"


def drawable(words: str) -> str:
    """``words`` with a white square for each letter that no installed font has."""
    text = words.translate(_INVISIBLE)
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(char if _known(char) else _MISSING for char in text)
    if any(char.isalpha() and not _known(char) for char in text):
        _warn_of_fonts()
    return shown


@lru_cache(maxsize=1)
def _warn_of_fonts() -> None:
    """Warns once that letters are drawn as squares, and says which font to install."""
    _log.warning(
        "no installed font has some letters of a chart, which are drawn as squares; "
        "for Chinese, Japanese and Korean install Noto Sans CJK (Debian: fonts-noto-cjk)"
    )


@lru_cache(maxsize=4096)
def _known(char: str) -> bool:
    return char.isprintable() and any(face.get_char_index(ord(char)) for face in _faces())


@lru_cache(maxsize=1)
def _families() -> tuple[str, ...]:
    installed = set(fontManager.get_font_names())
    wanted = (*mpl.rcParams["font.sans-serif"], *_HELPERS)
    return tuple(dict.fromkeys(name for name in wanted if name in installed))


@lru_cache(maxsize=1)
def _faces() -> tuple[Any, ...]:
    return tuple(get_font(findfont(FontProperties(family=[name]))) for name in _families())


@lru_cache(maxsize=1)
def _ruler() -> Any:
    return FigureCanvasAgg(Figure(dpi=_DOTS_PER_INCH)).get_renderer()


def _inches(words: str, prop: FontProperties) -> float:
    width: float = _ruler().get_text_width_height_descent(words, prop, False)[0] if words else 0.0
    return width / _DOTS_PER_INCH
