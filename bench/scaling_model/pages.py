# SPDX-License-Identifier: Apache-2.0
"""docs/scaling.md: its tables and curves, which are made from docs/scaling.json."""

from __future__ import annotations

import os
import shlex
from typing import Any

from harness import files, machine, table
from harness.paths import ROOT, shown

from scaling_model import plot, predict, service_times
from scaling_model.inputs import DATA
from scaling_model.options import parser
from scaling_model.progress import say
from scaling_model.session import QUIET

PAGE = os.path.join(ROOT, "docs", "scaling.md")
IMAGES = os.path.join(ROOT, "docs", "_static")
MACHINES = (1, 2, 4, 8, 16, 32, 64)
ROW_BYTES = 400
LIMIT = 0.15  # errors below it are small, for docs/scaling.md
BATCHES = (((10, 25), 1000), ((15, 10, 5), 200), ((5, 5), 400))  # fanouts and seeds
MEANINGS = {
    "trainer": {
        "batch": "a mini-batch",
        "round": "a round of messages",
        "far_edge": "an edge sampled from mapped memory, for each doubling of the nodes above "
        f"{service_times.CACHED_NODES:,}",
        "far_row": "a row read from mapped memory, likewise",
        "seed": "a node whose edges are sampled from mapped memory",
        "edge": "an edge sampled there",
        "row": "a row read there, or from the row cache",
        "row_byte": "a byte of such a row",
        "request": "a request to another machine",
        "remote_seed": "a node whose edges another machine samples",
        "remote_edge": "an edge that another machine has sampled",
        "remote_row": "a row of another machine",
        "remote_byte": "a byte of such a row",
    },
    "daemon": {
        "request": "a request",
        "seed": "a node whose edges are sampled",
        "edge": "a sampled edge",
        "row": "a row",
        "byte": "a byte of a row",
    },
}


def validation_rows(run: dict[str, Any]) -> list[list[str]]:
    return [
        [
            case["title"],
            table.plain(case["measured"]),
            f"{table.plain(min(case['repeats']))} to {table.plain(max(case['repeats']))}",
            table.plain(case["predicted"]),
            f"{case['error']:+.1%}",
            case["bottleneck"],
            f"{case['disturbance']:.0%}",
        ]
        for case in run["cases"]
    ]


VALIDATION = [
    "case",
    "measured, batches/s",
    "repeats",
    "predicted",
    "error",
    "limited by",
    "others",
]


def summary(run: dict[str, Any]) -> str:
    """Says how large the errors are."""
    errors = sorted(abs(case["error"]) for case in run["cases"])
    below = sum(error < LIMIT for error in errors)
    return (
        f"{below} of {len(errors)} cases are within {100 * LIMIT:g} %; half of the errors are at most "
        f"{errors[(len(errors) - 1) // 2]:.1%}, and the largest is {errors[-1]:.1%}."
    )


def work(run: dict[str, Any]) -> list[str]:
    """Says of each case with an error of LIMIT or more how much processor time it took, and how much was
    predicted."""
    found = []
    for case in run["cases"]:
        if abs(case["error"]) < LIMIT or "processor_seconds" not in case:
            continue
        # The hosts of a case share the processors of the machine.
        said = case["core_use"] * run["cores"] / case["predicted"]
        cable = case["cable_seconds"]
        found.append(
            f"{case['title']}: a batch took {table.seconds(case['processor_seconds'])} of processors, "
            f"predicted {table.seconds(said)}"
            + (f", and the program that delays frames {table.seconds(cable)}" if cable else "")
        )
    return found


def validation_text(run: dict[str, Any]) -> str:
    """Returns the table of validate as text."""
    widths = [74, 20, 20, 10, 8, 11, 7]
    lines = [table.text_row(row, widths) for row in [VALIDATION, *validation_rows(run)]]
    return "\n".join([*lines, summary(run), *work(run)])


def validation(run: dict[str, Any]) -> str:
    load = run["load_before"][0]
    return (
        f"{summary(run)}\n\n```sh norun\n{repeatable(run)}\n```\n\n"
        f"Of {run['repeats']} repeats of {run['seconds']:g} s, those count in which "
        f"other programs used less than {100 * QUIET:g} % of the processors, or else the one in which "
        'they used least; "others" says how much, and "measured" is the median of those that count. '
        f"The load of the machine was {load:.1f} before.{congestion(run)}\n\n"
        f"{table.markdown(VALIDATION, validation_rows(run))}"
        + "".join(
            f"\n\n- {line}." if i == 0 else f"\n- {line}." for i, line in enumerate(work(run))
        )
    )


def congestion(run: dict[str, Any]) -> str:
    """Says which algorithms of TCP the hosts had, if the run has noted that."""
    found = dict.fromkeys(case["algorithm"] for case in run["cases"] if "algorithm" in case)
    return f" TCP's congestion control was {' and '.join(found)}." if found else ""


def repeatable(run: dict[str, Any]) -> str:
    """Returns the command that makes such a run."""
    words = ["sudo", "bench/scaling", "validate"]
    usual = parser().parse_args(["validate"])
    for name in ("seconds", "repeats"):
        if run[name] != getattr(usual, name):
            words += [f"--{name}", f"{run[name]:g}"]
    return shlex.join([*words, "--write_docs"])


def fit(measured: dict[str, Any]) -> str:
    """Says how well the times explain what they were fitted to."""
    off = sorted(
        abs(each[f"fitted_{part}"] / each["observed"][f"{part}_seconds"] - 1)
        for each in measured["lines"]
        for part in ("trainer", "daemon")
        if each[f"fitted_{part}"] > 0
    )
    half, most = off[(len(off) - 1) // 2], off[-1]
    return (
        f"The times explain the {len(off)} processor times of {len(measured['lines'])} cases that they "
        f"were fitted to. Half of the errors are at most {half:.1%}, and the largest is {most:.1%}."
    )


def times(run: dict[str, Any]) -> str:
    measured = run["measured"]
    rows = [
        [part, f"`{name}`", MEANINGS[part][name], table.seconds(seconds) if seconds else "0"]
        for part in ("trainer", "daemon")
        for name, seconds in measured["times"][part].items()
    ]
    rows.append(
        ["both", "`wake`", "a request, without work of a processor",
         table.seconds(measured["times"]["wake"]) if measured["times"]["wake"] else "0"]
    )  # fmt: skip
    facts = machine.rows(measured["machine"], measured["load_before"], measured["load_after"])
    about = [[name, text] for name, text in facts if name != "Pages obtained"]
    pieces = table.markdown(["of", "name", "seconds for", "time"], rows)
    return f"{pieces}\n\n{fit(measured)}\n\n{table.markdown(['property', 'value'], about)}"


def profiles(run: dict[str, Any]) -> str:
    rows = [
        [
            ",".join(map(str, each["fanouts"])),
            str(each["batch_size"]),
            ", ".join(f"{count:,.0f}" for count in each["frontier"]),
            ", ".join(f"{count:,.0f}" for count in each["edges"]),
        ]
        for each in run["measured"]["profiles"]
    ]
    return str(
        table.markdown(["fanouts", "seeds", "nodes before each hop, and inputs", "edges"], rows)
    )


def curves(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Predicts the curves of the page."""
    measured = service_times.of(run["measured"])
    standard_batches, *others = (
        predict.Batches(measured.profile(fanouts, size)) for fanouts, size in BATCHES
    )
    standard = {
        "gigabits": [10.0],
        "cuts": [None],
        "widths": [ROW_BYTES],
        "hit_rates": [0.0],
        "batches": [standard_batches],
    }
    varied: dict[str, tuple[str, dict[str, Any]]] = {
        "links": ("Rate of the links", {"gigabits": [1.0, 10.0, 100.0]}),
        "cuts": ("Cut, 10 Gbit/s", {"cuts": [0.02, 0.1, 0.3, None]}),
        "widths": ("Width of features, 10 Gbit/s", {"widths": [0, 64, 400, 1600]}),
        "hits": ("Hit rate of the row cache, 10 Gbit/s", {"hit_rates": [0.0, 0.5, 0.9]}),
        "fanouts": ("Fanouts, 10 Gbit/s", {"batches": [standard_batches, *others]}),
    }
    made = []
    for name, (title, changed) in varied.items():
        say(f"curves: {title}")
        of = predict.choices(**{**standard, **changed})
        found = predict.predict(MACHINES, of, predict.Machines(), measured.times)
        series = {
            words: [
                (float(each.machines), each.outcome.batches_per_second)
                for each in found
                if each.choice is choice
            ]
            for choice, words in zip(of, predict.names(of))
        }
        made.append({"file": f"scaling-{name}.svg", "title": title, "series": series})
    return made


def plots(run: dict[str, Any]) -> dict[str, str]:
    """Returns the curves: file name to SVG."""
    return {
        each["file"]: plot.curves(each["title"], "machines", "batches/s", each["series"])
        for each in run["curves"]
    }


BLOCKS = {"times": times, "profiles": profiles, "validation": validation}


def page(text: str, run: dict[str, Any]) -> str:
    """Returns the page with the tables between its markers made again."""
    for name, make in BLOCKS.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise RuntimeError(f"{shown(PAGE)} has no markers of '{name}'")
        text = f"{before}{begin}\n{make(run)}\n\n{end}{after}"
    return text


def compact(run: dict[str, Any]) -> dict[str, Any]:
    """Returns what the page and predict need: with curves, and without the details of each repeat."""
    cases = [
        {key: value for key, value in case.items() if key != "observed"} for case in run["cases"]
    ]
    return {**run, "cases": cases, "curves": curves(run)}


def write(run: dict[str, Any]) -> None:
    """Writes the page, its data and its curves."""
    run = compact(run)
    with open(PAGE, encoding="utf-8") as file:
        text = page(file.read(), run)
    files.write(PAGE, text)
    files.write_json(DATA, run)
    for name, svg in plots(run).items():
        files.write(os.path.join(IMAGES, name), svg)
    print(f"wrote {shown(PAGE)}, {shown(DATA)} and curves in {shown(IMAGES)}")
