"""Draws the picture that links to the project show: docs/images/social.png (1280 x 640).

    python tools/social_picture.py

A conversation becomes episodes, and a question finds the one message. Look at it after a change.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

TARGET = Path(__file__).parents[1] / "docs" / "images" / "social.png"
INK, PAPER, INDIGO, PALE, GOLD = "#1d2333", "#fbfbfd", "#3f51b5", "#dfe3f6", "#f2b134"
# Lengths of the messages of four episodes, and which message of which episode is found.
EPISODES = ((0.8, 0.55, 0.9), (0.5, 0.85), (0.9, 0.6, 0.75, 0.4), (0.7, 0.5))
FOUND = (2, 1)


def box(axes: plt.Axes, at: tuple[float, float], size: tuple[float, float], colour: str) -> None:
    """A box with round corners."""
    axes.add_patch(
        FancyBboxPatch(
            at, *size, boxstyle="round,pad=0,rounding_size=6", facecolor=colour, linewidth=0
        )
    )


def main() -> None:
    """Draws it."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = plt.figure(figsize=(12.8, 6.4), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1280), ylim=(640, 0))
    axes.axis("off")
    axes.text(90, 200, "episodica", fontsize=66, fontweight="bold", color=INK, va="center")
    axes.text(94, 290, "Episodic memory for LLM agents", fontsize=25, color=INK, va="center")
    lines = ("Messages in, episodes and facts out,", "found again. Plain files, no server, no key.")
    for number, line in enumerate(lines):
        axes.text(94, 360 + 42 * number, line, fontsize=19, color="#5b6478", va="center")
    axes.text(94, 500, "One Python package with a Rust core", fontsize=19, color=INDIGO)
    top = 84.0
    for episode, lengths in enumerate(EPISODES):
        height = 24 + 30 * len(lengths)
        box(axes, (836, top), (360, height), PALE)
        box(axes, (836, top), (10, height), INDIGO)
        for message, length in enumerate(lengths):
            colour = GOLD if (episode, message) == FOUND else "#aab3dd"
            box(axes, (868, top + 18 + 30 * message), (300 * length, 18), colour)
        top += height + 22
    figure.savefig(TARGET, facecolor=PAPER)


if __name__ == "__main__":
    main()
