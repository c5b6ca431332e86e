# SPDX-License-Identifier: Apache-2.0
"""Curves as SVG, with logarithmic axes."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from harness.page import COLOURS

PLOT, LEAST_HEIGHT, LEFT, TOP, BOTTOM = 500, 380, 70, 40, 50
# To the right of the plot are the names of curves: an indent, and so much for each letter.
LEAST_RIGHT, INDENT, LETTER, LINE = 190, 34, 7, 20
DASHES = ("", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 3"')  # after each round of colours
LEAST_TICKS = 3
Points = Sequence[tuple[float, float]]


def ticks(least: float, most: float) -> list[float]:
    """Returns 1, 2 and 5 times the powers of ten between two values; of values that are near each
    other, the multiples of such a number. There are at least three of them and at most some ten."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    found = [f * 10.0**p for p in powers for f in factors if least <= f * 10.0**p <= most]
    if len(found) >= LEAST_TICKS:
        return found
    power = math.floor(math.log10(most - least))
    steps = [f * 10.0**p for p in (power, power - 1) for f in (5, 2, 1)]
    step = next(each for each in steps if most // each - math.ceil(least / each) + 1 >= LEAST_TICKS)
    return [step * i for i in range(math.ceil(least / step), math.floor(most / step) + 1)]


def label(value: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:.6g}"


def curves(title: str, x_title: str, y_title: str, series: Mapping[str, Points]) -> str:
    """Returns a plot of the series; the numbers of all points must be above 0."""
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    x0, x1 = xs[0], max(xs[-1], xs[0] * 2)
    right = max(LEAST_RIGHT, INDENT + LETTER * max(map(len, series)))
    width = LEFT + PLOT + right
    height = max(LEAST_HEIGHT, TOP + LINE * len(series) + BOTTOM)
    y0, y1 = min(ys) / 1.2, max(ys) * 1.2

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / x0) / math.log(x1 / x0)
        up = math.log(y / y0) / math.log(y1 / y0)
        return (
            LEFT + across * (PLOT),
            height - BOTTOM - up * (height - TOP - BOTTOM),
        )

    def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
        said = html.escape(words)
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{said}</text>'

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#1c2b40">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        text(LEFT, 22, title, more=' font-size="14" font-weight="600"'),
    ]
    for y in ticks(y0, y1):
        _, down = at(x0, y)
        out.append(
            f'<line x1="{LEFT}" y1="{down:.1f}" x2="{LEFT + PLOT}" y2="{down:.1f}" stroke="#dde4ee"/>'
        )
        out.append(text(LEFT - 6, down + 4, label(y), "end"))
    for x in xs:
        across, _ = at(x, y0)
        out.append(text(across, height - BOTTOM + 18, label(x), "middle"))
    out.append(text((2 * LEFT + PLOT) / 2, height - 10, x_title, "middle"))
    middle = (TOP + height - BOTTOM) / 2
    out.append(text(16, middle, y_title, "middle", f' transform="rotate(-90 16 {middle:.0f})"'))
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        dashes = DASHES[number // len(COLOURS) % len(DASHES)]
        places = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        out.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        )
        for point in points:
            across, down = at(*point)
            out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>')
        y = TOP + 10 + LINE * number
        x = LEFT + PLOT + 16
        out.append(
            f'<line x1="{x}" y1="{y - 7}" x2="{x + 14}" y2="{y - 7}" stroke="{colour}" '
            f'stroke-width="4"{dashes}/>'
        )
        out.append(text(LEFT + PLOT + INDENT, y - 3, name))
    return "\n".join([*out, "</svg>", ""])
