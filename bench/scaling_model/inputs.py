# SPDX-License-Identifier: Apache-2.0
"""The files that bench/scaling reads. A wrong one ends the program, which says the file, the key, the
value and the remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from harness import files
from harness.paths import ROOT

from scaling_model import checked, service_times
from scaling_model.predict import Batches
from scaling_model.progress import say
from scaling_model.service_times import Measured
from scaling_model.workload import Profile

DATA = os.path.join(ROOT, "docs", "scaling.json")
Read = TypeVar("Read")


def read(path: str, parse: Callable[[Any], Read], remedy: str) -> Read:
    """Reads a file of JSON."""
    values = files.load(path)
    try:
        return parse(values)
    except checked.InvalidError as error:
        sys.exit(f"bench/scaling: {path}: {error}; {remedy}")


def measured_part(values: Any) -> Any:
    """Returns the part of a file of validate that measure would have written."""
    return values.get("measured", values) if isinstance(values, dict) else values


def measured_values(
    path: str, check: Callable[[Any], object] = service_times.of
) -> dict[str, Any]:
    """Returns the result of measure in a file of measure or validate. `check` checks it: at least the
    service times."""

    def parse(values: Any) -> dict[str, Any]:
        found = measured_part(values)
        check(found)
        return dict(found)

    return read(path, parse, "give a file of bench/scaling measure or validate")


def times_of(path: str | None) -> Measured:
    """Reads the service times of a file of measure or validate; the default is that of the docs."""
    return service_times.of(measured_values(path or DATA))


def batches_of(path: str) -> Batches:
    """Reads a profile, and the cut of the graph that it describes."""

    def parse(values: Any) -> Batches:
        profile = Profile.read(values)
        cut = values.get("cut")
        if cut is not None:
            checked.number(values, "cut", 0, 1)
        return Batches(profile, path, cut)

    found = read(path, parse, "make it again by bench/scaling profile")
    if found.cut is not None:
        say(f"{path} has a cut of {found.cut:.3g}, which all numbers of machines get without --cut")
    return found
