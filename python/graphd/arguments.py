# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: functions that convert a value, or raise an error that names it."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any

from .errors import InvalidError, NotFoundError

FORMS = ("uv", "eid", "all")  # values of the argument `form` of edges()
_PART_CONFIG = "the path of a part config, as 'parts/mine.json', which partition_graph returns"
_MOST_DRAWS = 1 << 27  # takes 2 GiB for neighbours and edge ids


def whole_number(value: Any, what: str) -> int:
    """Returns `value` as an int. Raises InvalidError if it is not whole or exceeds 63 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or abs(number) >> 63:
        raise InvalidError(f"{what} {value!r}: expected a whole number, of 63 bits at most")
    return number


def whole_number_in(value: Any, what: str, first: int, last: int) -> int:
    """Returns `value` as an int in first..last."""
    number = whole_number(value, what)
    if not first <= number <= last:
        raise InvalidError(f"{what} {number}: expected {first} to {last}")
    return number


def finite(value: Any, what: str, expected: str = "a number") -> float:
    """Returns `value` as a finite float."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return number


def not_negative(value: Any, what: str) -> float:
    """Returns `value` as a finite float, 0 or more."""
    number = finite(value, what, "a number, 0 or more")
    if number < 0:
        raise InvalidError(f"{what} {value!r}: expected a number, 0 or more")
    return number


def one_of(value: Any, what: str, choices: Sequence[str]) -> str:
    """Returns `value` if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidError(
            f"{what} {value!r}: use {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        )
    return value


def true_or_false(value: Any, what: str) -> bool:
    """Returns `value` if it is a bool; "no" and the like would count as True."""
    if not isinstance(value, bool):
        raise InvalidError(f"{what} {value!r}: expected True or False")
    return value


def text(value: Any, what: str, expected: str = "a str") -> str:
    """Returns `value` if it is a str."""
    if not isinstance(value, str):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return value


def path(value: Any, what: str, expected: str) -> str:
    """Returns a path as a str."""
    try:
        given = os.fsdecode(value)
    except TypeError:
        given = ""
    if not given:
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return given


def part_config_path(value: Any) -> str:
    """Returns the path of a part config as a str; with servers the file need not exist here."""
    return path(value, "part_config", _PART_CONFIG)


def part_config_file(value: Any) -> str:
    """Returns the path of a part config that exists."""
    given = part_config_path(value)
    if not os.path.exists(given):
        raise NotFoundError(f"part_config {given!r} does not exist; expected {_PART_CONFIG}")
    return given


def column_of(name: Any, what: str = "prob") -> str:
    """Returns the name of an edge feature, or "" for None."""
    return "" if name is None else needed_column(name, what)


def method_for(column: str) -> str:
    """Returns the sampling method for an edge feature with weights, which column_of returned."""
    return "weighted" if column else "uniform"


def needed_column(name: Any, what: str) -> str:
    """Returns the name of an edge feature."""
    return text(name, what, "the name of an edge feature")


def fanout_number(fanout: Any, what: str = "fanout") -> int:
    """Returns one fanout in the form that the extension module takes."""
    number = whole_number(fanout, what)
    if not -1 <= number < 1 << 31:
        raise InvalidError(f"{what} {number}: expected -1 (all neighbours), or 0 to {2**31 - 1}")
    return number


def check_draws(count: int, each: int, what: str) -> None:
    """Raises InvalidError if a call would draw more than memory can hold."""
    if each > 0 and count * each > _MOST_DRAWS:
        raise InvalidError(
            f"{what} {each} for {count} seeds: {count * each} draws at once, of "
            f"{_MOST_DRAWS} at most; take a smaller {what}, or fewer seeds"
        )
