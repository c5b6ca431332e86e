# SPDX-License-Identifier: Apache-2.0
"""Values of files that may be wrong: each function returns a value of an object of JSON, or says what is
wrong with it. Keys may lead through several objects: "times.trainer.edge"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

SHOWN = 60  # characters of a wrong value
MOST = 1e15  # numbers above it are mistakes


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


def shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def wrong(key: str, found: Any, expected: str) -> InvalidError:
    return InvalidError(f"'{key}' is {shown(found)}; expected {expected}")


def object_(values: Any, key: str) -> dict[str, Any]:
    """Returns an object."""
    found = value(values, key)
    if not isinstance(found, dict):
        raise wrong(key, found, "an object")
    return found


def text(values: Any, key: str) -> str:
    found = value(values, key)
    if not isinstance(found, str):
        raise wrong(key, found, "a text")
    return found


def one_of(values: Any, key: str, known: Sequence[str | None]) -> Any:
    """Returns one of some texts; None is null."""
    found = value(values, key)
    if found not in known:
        names = ", ".join("null" if each is None else f"'{each}'" for each in known)
        raise wrong(key, found, f"one of {names}")
    return found


def is_number(found: Any, least: float, most: float, whole: bool) -> bool:
    kinds = (int,) if whole else (int, float)
    if not isinstance(found, kinds) or isinstance(found, bool):
        return False
    # math.isfinite can't take whole numbers of any length.
    return least <= found <= most and found not in (math.inf, -math.inf)


def range_of(least: float, most: float, whole: bool) -> str:
    kind = "a whole number" if whole else "a number"
    return f"{kind} from {least:.12g}" + (f" to {most:.12g}" if math.isfinite(most) else " up")


def number(
    values: Any, key: str, least: float = 0.0, most: float = MOST, whole: bool = False
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
    most: float = MOST,
    whole: bool = False,
    why: str = "",
) -> tuple[Any, ...]:
    """Returns a list of numbers: `count` of them, if that is given. `why` ends the sentence that says
    how many are expected."""
    found = several(values, key)
    if count is not None and len(found) != count:
        raise wrong(key, found, f"a list of {count} numbers{why}")
    for each in found:
        if not is_number(each, least, most, whole):
            raise wrong(key, found, f"each to be {range_of(least, most, whole)}, unlike {shown(each)}")
    return tuple(found)
