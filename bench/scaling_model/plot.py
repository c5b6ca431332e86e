# SPDX-License-Identifier: Apache-2.0
"""Curves as SVG, with logarithmic axes."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from harness.page import COLOURS

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 70, 190, 40, 50
Points = Sequence[tuple[float, float]]


def ticks(least: float, most: float) -> list[float]:
    """Returns 1, 2 and 5 times the powers of ten between two values, at most some ten of them."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [f * 10.0**p for p in powers for f in factors if least <= f * 10.0**p <= most]


def label(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def curves(title: str, x_title: str, y_title: str, series: Mapping[str, Points]) -> str:
    """Returns a plot of the series; the numbers of all points must be above 0."""
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    x0, x1 = xs[0], max(xs[-1], xs[0] * 2)
    y0, y1 = min(ys) / 1.2, max(ys) * 1.2

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / x0) / math.log(x1 / x0)
        up = math.log(y / y0) / math.log(y1 / y0)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )

    def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
        said = html.escape(words)
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{said}</text>'

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#1c2b40">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 22, title, more=' font-size="14" font-weight="600"'),
    ]
    for y in ticks(y0, y1):
        _, down = at(x0, y)
        out.append(
            f'<line x1="{LEFT}" y1="{down:.1f}" x2="{WIDTH - RIGHT}" y2="{down:.1f}" stroke="#dde4ee"/>'
        )
        out.append(text(LEFT - 6, down + 4, label(y), "end"))
    for x in xs:
        across, _ = at(x, y0)
        out.append(text(across, HEIGHT - BOTTOM + 18, label(x), "middle"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(16, middle, y_title, "middle", f' transform="rotate(-90 16 {middle:.0f})"'))
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        out.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for point in points:
            across, down = at(*point)
            out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>')
        y = TOP + 10 + 20 * number
        out.append(
            f'<rect x="{WIDTH - RIGHT + 16}" y="{y - 9}" width="12" height="4" fill="{colour}"/>'
        )
        out.append(text(WIDTH - RIGHT + 34, y - 3, name))
    return "\n".join([*out, "</svg>", ""])
