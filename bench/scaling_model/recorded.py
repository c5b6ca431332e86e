# SPDX-License-Identifier: Apache-2.0
"""Runs of bench/scaling validate that were recorded, and may be wrong by now."""

from __future__ import annotations

import dataclasses
from typing import Any

from scaling_model import checked, graph, service_times
from scaling_model.validate import Case, predict

# The properties of the machine that docs/scaling.md shows, by their types.
TEXTS = ("processor", "caches", "system", "kernel", "huge_pages", "pages_obtained", "commit")
COUNTS = ("processors", "memory_bytes", "memory_available_bytes")
BUILD = ("type", "flags", "compiler")
LOADS = ", of 1, 5 and 15 minutes"


def read_case(values: Any) -> Case:
    """Reads a case that was measured; throws checked.InvalidError."""
    names = {field.name for field in dataclasses.fields(Case)}
    found = checked.value(values, "case")
    if not isinstance(found, dict) or set(found) != names:
        raise checked.wrong("case", found, f"an object with {', '.join(sorted(names))}")
    for key in ("title", "case.row_cache"):
        checked.text(values, key)
    checked.number(values, "measured", 1e-9)
    checked.numbers(values, "repeats", least=1e-9)
    for key in ("cut", "hit_rate", "disturbance"):
        checked.number(values, key, 0, 1)
    # Runs that were recorded by earlier versions lack processor times and the algorithm.
    if "processor_seconds" in values:
        for key in ("processor_seconds", "cable_seconds"):
            checked.number(values, key)
    if "algorithm" in values:
        checked.text(values, "algorithm")
    checked.number(values, "case.hosts", 1, 1024, whole=True)
    checked.number(values, "case.batch_size", 1, whole=True)
    if found["megabits"] is not None:
        checked.number(values, "case.megabits", 1e-3, 1e8)
    checked.number(values, "case.delay", 0, 1e6)
    checked.number(values, "case.workers", 0, 64, whole=True)
    checked.number(values, "case.compute", 0, 1e6)
    checked.one_of(values, "case.feature", (None, *graph.WIDTHS))
    checked.one_of(values, "case.method", graph.METHODS)
    return Case(
        **{**found, "fanouts": checked.numbers(values, "case.fanouts", least=1, whole=True)}
    )


def check_line(values: Any) -> bool:
    """Checks a line of the measurements to which the service times were fitted; returns whether it has a
    fitted time above 0. Throws checked.InvalidError."""
    found = False
    for part in ("trainer", "daemon"):
        fitted = checked.number(values, f"fitted_{part}")
        # Only what has a fitted time is compared with it.
        checked.number(values, f"observed.{part}_seconds", 1e-12 if fitted > 0 else 0)
        found = found or fitted > 0
    return found


def check_measured(values: Any) -> None:
    """Checks what docs/scaling.md shows of the result of measure; throws checked.InvalidError."""
    service_times.of(values)
    about = checked.object_(values, "machine")
    for key in TEXTS:
        checked.text(values, f"machine.{key}")
    for key in COUNTS:
        checked.number(values, f"machine.{key}")
    for key in BUILD if "build" in about else ():
        checked.text(values, f"machine.build.{key}")
    for key in ("load_before", "load_after"):
        checked.numbers(values, key, 3, why=LOADS)
    # A list, because each line is checked.
    if not any([check_line(each) for each in checked.several(values, "lines")]):
        raise checked.wrong("lines", values["lines"], "a fitted time above 0 in one of them")


def predicted_again(run: dict[str, Any]) -> dict[str, Any]:
    """Returns a run with the predictions that the present simulation makes from what it measured;
    throws checked.InvalidError."""
    check_measured(checked.value(run, "measured"))
    measured = service_times.of(run["measured"])
    cores = checked.number(run, "cores", 1, 4096, whole=True)
    checked.number(run, "seconds")
    checked.number(run, "repeats", 1, whole=True)
    checked.numbers(run, "load_before", 3, why=LOADS)
    cases = []
    for each in checked.several(run, "cases"):
        case = read_case(each)
        outcome = predict(case, each["cut"], cores, measured, each["hit_rate"])
        found = {
            "predicted": outcome.batches_per_second,
            "core_use": outcome.core_use,
            "link_use": outcome.link_use,
            "bottleneck": outcome.bottleneck,
            "error": outcome.batches_per_second / each["measured"] - 1,
        }
        cases.append({**each, **found})
    return {**run, "cases": cases}
