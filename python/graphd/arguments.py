# SPDX-License-Identifier: Apache-2.0
"""Arguments as they are needed: a function returns one, or says by name what is wrong with it."""
import math
import operator
import os

from .errors import InvalidError, NotFoundError

FORMS = ("uv", "eid", "all")  # of edges()
_PART_CONFIG = "the path of a part config, as 'parts/mine.json', which partition_graph returns"
_MOST_DRAWS = 1 << 27  # 2 GiB of neighbours and their edges' ids


def whole_number(value, what):
    """`value` as an int. Raises InvalidError where that would change it, or takes over 63 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or abs(number) >> 63:
        raise InvalidError(f"{what} {value!r}: expected a whole number, of 63 bits at most")
    return number


def whole_number_in(value, what, first, last):
    """`value` as an int of first..last."""
    number = whole_number(value, what)
    if not first <= number <= last:
        raise InvalidError(f"{what} {number}: expected {first} to {last}")
    return number


def finite(value, what, expected="a number"):
    """`value` as a float."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return number


def not_negative(value, what):
    """`value` as a float, finite and 0 or more."""
    number = finite(value, what, "a number, 0 or more")
    if number < 0:
        raise InvalidError(f"{what} {value!r}: expected a number, 0 or more")
    return number


def one_of(value, what, choices):
    """`value`, if it is among them."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidError(f"{what} {value!r}: use {', '.join(map(repr, choices[:-1]))} or "
                           f"{choices[-1]!r}")
    return value


def text(value, what, expected="a str"):
    """`value`, if it is a str."""
    if not isinstance(value, str):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return value


def path(value, what, expected):
    """`value` as a str, if it is a path."""
    try:
        given = os.fsdecode(value)
    except TypeError:
        given = ""
    if not given:
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return given


def part_config_path(value):
    """A part config's path as a str; with servers it need not be there."""
    return path(value, "part_config", _PART_CONFIG)


def part_config_file(value):
    """The path of one that exists."""
    given = part_config_path(value)
    if not os.path.exists(given):
        raise NotFoundError(f"part_config {given!r} does not exist; expected {_PART_CONFIG}")
    return given


def graph_of(g):
    """`g`, if it is a DistGraph."""
    if not hasattr(g, "types") or not hasattr(g, "session"):
        raise InvalidError(f"g {g!r}: expected a DistGraph, as DistGraph(\"products\") gives it")
    return g


def column_of(name, what="prob"):
    """The name of an edge feature, or "" for None."""
    return "" if name is None else needed_column(name, what)


def needed_column(name, what):
    """The name of an edge feature."""
    return text(name, what, "the name of an edge feature")


def fanout_number(fanout, what="fanout"):
    """As the extension takes it."""
    number = whole_number(fanout, what)
    if not -1 <= number < 1 << 31:
        raise InvalidError(f"{what} {number}: expected -1 (all neighbours), or 0 to {2**31 - 1}")
    return number


def check_draws(count, each, what):
    """Refuses what would have to draw so much that memory ends before it does."""
    if each > 0 and count * each > _MOST_DRAWS:
        raise InvalidError(f"{what} {each} for {count} seeds: {count * each} draws at once, of "
                           f"{_MOST_DRAWS} at most; take a smaller {what}, or fewer seeds")
