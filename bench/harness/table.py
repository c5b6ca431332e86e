# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables as text."""

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value, digits=3):
    """Returns a number with so many significant digits, and a prefix if it is large: 12.3 M."""
    for scale, prefix in PREFIXES:
        if abs(value) >= scale:
            return f"{plain(value / scale, digits)} {prefix}"
    return plain(value, digits)


def plain(value, digits=3):
    """Returns a number with so many significant digits, without an exponent."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text and abs(value) >= 1 else text


def seconds(value):
    """Returns a time with its unit: 12.3 ms."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(value) >= scale:
            return f"{plain(value / scale)} {unit}"
    return f"{plain(value / 1e-9)} ns"


def quantity(value, unit):
    """Returns a value with its unit: 12.3 M edges/s, 4.56 s, 3.21 GB, 4.2 B."""
    if unit == "s":
        return seconds(value)
    if unit == "B" and abs(value) >= 1e3:
        return number(value) + unit
    return f"{number(value)} {unit}"


def columns(line):
    """Returns the cells of a line of harness.programs: name, time, rate, limit, ratio."""
    name = line["name"] + (f" ({line['label']})" if "label" in line else "")
    if "error" in line:
        return [name, "FAILED", line["error"].split("\n")[0][:80], "", ""]
    rate = quantity(line["rate"], line["unit"]) if "rate" in line else ""
    limit = ""
    if "limit" in line:
        limit = quantity(line["limit"], line.get("unit", "s"))
    ratio = f"{line['ratio']:.2f} {line['ratio_to']}" if "ratio" in line else ""
    return [name, seconds(line["seconds"]), rate, limit, ratio]


HEADINGS = ["benchmark", "time", "rate", "limit", "ratio"]
WIDTHS = [78, 10, 18, 18, 20]


def markdown(headings, rows):
    """Returns a table in Markdown."""

    def line(cells):
        return f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |"

    return "\n".join([line(headings), "|" + "---|" * len(headings), *map(line, rows)])


def text_row(cells, widths=None):
    """Returns cells as a line of text: the first to the left, the others to the right."""
    widths = widths or WIDTHS
    first, *others = (
        f"{cell:{'<' if i == 0 else '>'}{width}}"
        for i, (cell, width) in enumerate(zip(cells, widths))
    )
    return " ".join([first, *others]).rstrip()
