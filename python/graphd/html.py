# SPDX-License-Identifier: Apache-2.0
"""HTML tables, which notebooks show for graphs, blocks and data."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table with a caption, unless that is empty. Every text is escaped. Numbers have
    separators and are aligned to the right. The parts of a canonical edge type are joined."""

    def cell(value: Any) -> str:
        if isinstance(value, int):
            return f'<td style="text-align: right">{value:,}</td>'
        text = " : ".join(value) if isinstance(value, tuple) else value
        return f'<td style="text-align: left">{html.escape(text)}</td>'

    names = "".join(f'<th style="text-align: left">{html.escape(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    title = f'<caption style="text-align: left">{html.escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
