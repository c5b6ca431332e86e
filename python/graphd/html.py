# SPDX-License-Identifier: Apache-2.0
"""HTML tables and curves, which notebooks show for graphs, blocks, data and histories."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table, with a caption unless `caption` is empty. Every text is escaped. Numbers
    have separators and are aligned to the right. The parts of a canonical edge type are joined."""

    def cell(value: Any) -> str:
        if isinstance(value, int):
            return f'<td style="text-align: right">{value:,}</td>'
        text = " : ".join(value) if isinstance(value, tuple) else value
        return f'<td style="text-align: left">{html.escape(text)}</td>'

    names = "".join(f'<th style="text-align: left">{html.escape(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    title = f'<caption style="text-align: left">{html.escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def properties(caption: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Returns a table of an object's properties; their values are shown as `repr` returns them,
    except for texts and whole numbers."""
    return table(
        caption,
        ("property", "value"),
        [
            (n, v if isinstance(v, (int, str)) and not isinstance(v, bool) else repr(v))
            for n, v in rows
        ],
    )


def curve(label: str, xs: Sequence[float], ys: Sequence[float]) -> str:
    """Returns a small picture (SVG) of a curve, with a label, the last value, and the least and the
    largest one. There is one point at least; all numbers are finite. Of very many points, only as
    many are drawn as can be told apart."""
    width, height, margin = 200, 60, 6

    def scaled(values: Sequence[float], size: int) -> list[float]:
        low, extent = min(values), max(values) - min(values)
        return [
            margin + (size - 2 * margin) * ((v - low) / extent if extent else 0.5) for v in values
        ]

    every = zip(scaled(xs, width), (height - y for y in scaled(ys, height)))
    points = _thinned(list(every), width)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    name = html.escape(label)
    ranges = f"{name}: {min(ys):.4g} to {max(ys):.4g}"
    return (
        '<span style="display: inline-block; margin: 0 1.5em 0.5em 0">'
        f"{name}: {ys[-1]:.4g}<br/>"
        f'<svg width="{width}" height="{height}" role="img" style="border: 1px solid #8884">'
        f"<title>{ranges}</title>"
        f'<polyline points="{line}" fill="none" stroke="#2a6fbb" stroke-width="1.5"/>'
        f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="2.5" fill="#2a6fbb"/>'
        "</svg></span>"
    )


def _thinned(points: list[tuple[float, float]], runs: int) -> list[tuple[float, float]]:
    """Returns all points of a curve. If there are very many, divides them into `runs` runs and
    returns the lowest and the highest point of each run, and the last point."""
    if len(points) <= 2 * runs:
        return points
    kept = {len(points) - 1}
    for run in range(runs):
        numbers = range(run * len(points) // runs, (run + 1) * len(points) // runs)
        kept.add(min(numbers, key=lambda i: points[i][1]))
        kept.add(max(numbers, key=lambda i: points[i][1]))
    return [points[i] for i in sorted(kept)]
