# SPDX-License-Identifier: Apache-2.0
"""Values of files that may be wrong: each function returns a value of an object of JSON, or says what is
wrong with it. Keys may lead through several objects: "times.trainer.edge"."""

from __future__ import annotations

import math
from typing import Any

SHOWN = 60  # characters of a wrong value


class InvalidError(ValueError):
    """A file has a value that can't be used."""


def value(values: Any, key: str) -> Any:
    """Returns whatever is at a key."""
    found = values
    for name in key.split("."):
        if not isinstance(found, dict) or name not in found:
            raise InvalidError(f"there is no '{key}'")
        found = found[name]
    return found


def wrong(key: str, found: Any, expected: str) -> InvalidError:
    text = repr(found)
    text = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return InvalidError(f"'{key}' is {text}; expected {expected}")


def is_number(found: Any, least: float, most: float, whole: bool) -> bool:
    kinds = (int,) if whole else (int, float)
    if not isinstance(found, kinds) or isinstance(found, bool):
        return False
    return math.isfinite(found) and least <= found <= most


def range_of(least: float, most: float, whole: bool) -> str:
    kind = "a whole number" if whole else "a number"
    return f"{kind} from {least:g}" + (f" to {most:g}" if math.isfinite(most) else " up")


def number(
    values: Any, key: str, least: float = 0.0, most: float = math.inf, whole: bool = False
) -> Any:
    found = value(values, key)
    if not is_number(found, least, most, whole):
        raise wrong(key, found, range_of(least, most, whole))
    return found


def several(values: Any, key: str) -> list[Any]:
    """Returns a list that is not empty."""
    found = value(values, key)
    if not isinstance(found, list) or not found:
        raise wrong(key, found, "a list that is not empty")
    return found


def numbers(
    values: Any,
    key: str,
    count: int | None = None,
    least: float = 0.0,
    most: float = math.inf,
    whole: bool = False,
) -> tuple[Any, ...]:
    """Returns so many numbers."""
    found = several(values, key)
    if count is not None and len(found) != count:
        raise wrong(key, found, f"{count} numbers, by the number of fanouts")
    for each in found:
        if not is_number(each, least, most, whole):
            raise wrong(key, found, f"each to be {range_of(least, most, whole)}, unlike {each!r}")
    return tuple(found)
