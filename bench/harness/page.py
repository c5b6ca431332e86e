# SPDX-License-Identifier: Apache-2.0
"""Reports in HTML: one file with tables and SVG bars, which loads nothing."""

import html

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c2b40; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; font-size: 14px; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #dde4ee; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
table.facts td { text-align: left; }
.error { color: #a01c1c; } code { background: #f1f4f9; padding: .1rem .3rem; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #1c2b40; }
"""
LABEL, PLOT, VALUE, ROW = 420, 420, 160, 20
COLOURS = ("#5b7db1", "#c98b3a", "#6a9a5b", "#9a6a9a", "#4a9a9a", "#a05a5a")


def escaped(text):
    return html.escape(str(text))


def table(headings, rows):
    """Returns a table; a row whose second cell is FAILED is marked as an error."""
    out = ["<table>", "<tr>" + "".join(f"<th>{escaped(cell)}</th>" for cell in headings) + "</tr>"]
    for cells in rows:
        mark = ' class="error"' if "FAILED" in cells[1:2] else ""
        out.append(f"<tr{mark}>" + "".join(f"<td>{escaped(cell)}</td>" for cell in cells) + "</tr>")
    return "\n".join([*out, "</table>"])


def facts(rows):
    """Returns a table of names and texts."""
    out = [f"<tr><th>{escaped(name)}</th><td>{escaped(text)}</td></tr>" for name, text in rows]
    return '<table class="facts">\n' + "\n".join(out) + "\n</table>"


def bars(title, entries, mark=None):
    """Returns a plot of horizontal bars: entries of (label, value, text, colour), where the colour is
    a number. `mark` draws a vertical line at a value, for example at the limit, 1.0."""
    most = max([value for _, value, _, _ in entries] + [mark or 0]) or 1
    height = ROW * len(entries) + 8
    out = [
        f'<svg viewBox="0 0 {LABEL + PLOT + VALUE} {height}" role="img" '
        f'aria-label="{escaped(title)}">',
        f"<title>{escaped(title)}</title>",
    ]
    for i, (label, value, text, colour) in enumerate(entries):
        y = ROW * i + 4
        width = max(1.0, PLOT * value / most)
        short = label if len(label) < 64 else "..." + label[-60:]
        out.append(f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{escaped(short)}</text>')
        out.append(
            f'<rect x="{LABEL}" y="{y + 2}" width="{width:.1f}" height="{ROW - 6}" '
            f'fill="{COLOURS[colour % len(COLOURS)]}"/>'
        )
        out.append(f'<text x="{LABEL + width + 6:.1f}" y="{y + 13}">{escaped(text)}</text>')
    if mark:
        x = LABEL + PLOT * mark / most
        out.append(
            f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}" stroke="#a01c1c" '
            'stroke-dasharray="4 3"/>'
        )
    return "\n".join([*out, "</svg>"])


def page(title, command, machine_rows, sections):
    """Returns a whole page. `sections`: pairs of a heading and the HTML below it."""
    out = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f"<title>{escaped(title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{escaped(title)}</h1>",
        f"<p>Command: <code>{escaped(command)}</code></p>",
        facts(machine_rows),
    ]
    for heading, body in sections:
        out += [f"<h2>{escaped(heading)}</h2>", body]
    return "\n".join([*out, "</body>", "</html>", ""])
