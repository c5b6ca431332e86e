# SPDX-License-Identifier: Apache-2.0
"""The command bench/scaling."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness import machine, paths, table
from harness.files import write, write_json
from harness.paths import WORK, program, run_folder, shown

from scaling_model import apart, inputs, plot, predict, service_times
from scaling_model.options import MOST_VALUES, parser
from scaling_model.predict import Batches
from scaling_model.progress import say
from scaling_model.service_times import Measured

if TYPE_CHECKING:
    from scaling_model.validate import Case

NODES, DEGREE, OUTSIDE = 120_000, 20, 0.1


def batches(args: argparse.Namespace, measured: Measured) -> list[Batches]:
    """Returns the mini-batches that options name."""
    if args.profile:
        return [inputs.batches_of(path) for path in dict.fromkeys(args.profile)]
    return [Batches(measured.profile(args.fanouts, args.batch_size))]


def run_predict(args: argparse.Namespace) -> int:
    measured = inputs.times_of(args.times)
    varied = (
        args.gigabits, args.cut, args.row_bytes, args.hit_rate, batches(args, measured)
    )  # fmt: skip
    # Each combination takes memory, so that they are counted before they are made.
    count = math.prod(len(set(each)) for each in (args.machines, *varied) if each is not None)
    if count > MOST_VALUES:
        parser().error(
            f"the options have {count} combinations; give fewer values, so that there are at most "
            f"{MOST_VALUES}, and run it again for others"
        )
    of = predict.choices(*varied)
    machines = predict.Machines(
        args.cores, args.trainers, args.workers, args.latency / 1e6, args.compute / 1e3,
        args.device / 1e3,
    )  # fmt: skip
    series: dict[str, list[tuple[float, float]]] = {}
    rows = []
    headings = [
        "machines",
        "batches/s",
        f"of {min(args.machines)}",
        "processors",
        "links",
        "limited by",
    ]
    widths = [44, 12, 8, 11, 8, 12]
    print(table.text_row(headings, widths))
    for choice, name in zip(of, predict.names(of)):
        first = None
        for count in sorted(set(args.machines)):
            (found,) = predict.predict([count], [choice], machines, measured.times)
            outcome = found.outcome
            first = first or outcome.batches_per_second
            cells = [f"{count} x {name}", table.plain(outcome.batches_per_second),
                     f"{outcome.batches_per_second / first:.2f}", f"{outcome.core_use:.0%}",
                     f"{outcome.link_use:.0%}", outcome.bottleneck]  # fmt: skip
            print(table.text_row(cells, widths), flush=True)
            rows.append(found.row())
            series.setdefault(name, []).append((float(count), outcome.batches_per_second))
    if args.json:
        write_json(args.json, {"predictions": rows})
    if args.svg:
        title = "Mini-batches per second"
        write(args.svg, plot.curves(title, "machines", "batches/s", series))
    return 0


def built(args: argparse.Namespace) -> str:
    """Returns the folder of the build, which is built first if it is the default."""
    build = paths.built(args, "graphd", "graphctl", "graphd_python")
    for name in ("graphd", "graphctl"):
        program(build, name)
    return str(build)


def graph_folder() -> str:
    """Returns the folder of the graph that is measured, which is made at the first call."""
    from scaling_model import graph

    folder = os.path.join(WORK, "graphs", "scaling")
    graph.make(folder, NODES, DEGREE, OUTSIDE)
    return folder


def output(args: argparse.Namespace, kind: str) -> str:
    return str(args.out or os.path.join(run_folder(None, kind), "scaling.json"))


def measured_here(args: argparse.Namespace, build: str, folder: str) -> dict[str, Any]:
    from scaling_model import measure

    before = machine.load()
    found = measure.measure(folder, build, program(build, "graphctl"), args.seconds, args.repeats)
    return {
        **found,
        "machine": machine.describe(build),
        "load_before": before,
        "load_after": machine.load(),
    }


def run_measure(args: argparse.Namespace) -> int:
    from scaling_model import pages

    build, folder = built(args), graph_folder()

    def work() -> int:
        found = measured_here(args, build, folder)
        path = output(args, "measure")
        write_json(path, found)
        for part in ("trainer", "daemon"):
            for name, seconds in found["times"][part].items():
                print(f"{part} {name:12} {table.seconds(seconds)}")
        print(pages.fit(found))
        print(f"wrote {shown(path)}")
        return 0

    return apart.run(args.nice, lambda: reported(work))


def run_profile(args: argparse.Namespace) -> int:
    from scaling_model.session import described

    found = described(
        built(args), os.path.realpath(args.part_config), args.fanouts, args.batch_size
    )
    print(json.dumps(found, indent=1))
    return 0


def run_validate(args: argparse.Namespace) -> int:
    from scaling_model import pages, recorded, validate

    if args.write_docs:
        remedy = "give a file of bench/scaling validate, or docs/scaling.json"
        pages.write(inputs.read(args.write_docs, recorded.predicted_again, remedy))
        return 0
    if args.cases and args.write_docs is not None:
        parser().error("the page shows all cases; give --write_docs without --cases")
    cases = tuple(case for case in validate.CASES if args.cases in case.title())
    if not cases:
        titles = "; ".join(case.title() for case in validate.CASES)
        parser().error(f"no case has '{args.cases}' in its title; there are: {titles}")
    build, folder = built(args), graph_folder()

    def work() -> int:
        run = compared(args, cases, build, folder)
        path = output(args, "validate")
        write_json(path, run)
        print(pages.validation_text(run))
        print(f"wrote {shown(path)}")
        if args.write_docs is not None:
            pages.write(run)
        return exit_code(run["cases"], args.within)

    return apart.run(args.nice, lambda: reported(work))


def compared(
    args: argparse.Namespace, cases: Sequence[Case], build: str, folder: str
) -> dict[str, Any]:
    """Measures, and compares predictions with it."""
    from scaling_model import recorded, validate

    # The page shows more of the file than its service times, so more of it is checked.
    check = service_times.of if args.write_docs is None else recorded.check_measured
    measured = (
        inputs.measured_values(args.times, check)
        if args.times
        else measured_here(args, build, folder)
    )
    cores = len(os.sched_getaffinity(0))
    before = machine.load()
    found = validate.validate(
        tuple(cases), service_times.of(measured), folder, build, program(build, "graphctl"), cores,
        args.seconds, args.repeats,
    )  # fmt: skip
    return {
        "measured": measured,
        "load_before": before,
        "load_after": machine.load(),
        "cores": cores,
        "seconds": args.seconds,
        "repeats": args.repeats,
        "cases": found,
    }


def exit_code(cases: list[dict[str, Any]], within: float | None) -> int:
    """Returns 1 if a prediction is off by more than so many percent, and says which."""
    limit = float("inf") if within is None else within / 100
    off = [each for each in cases if abs(each["error"]) > limit]
    for each in off:
        say(f"{each['title']} is off by {each['error']:+.1%}, more than {within:g} %")
    return 1 if off else 0


def interrupted(number: int, _: object) -> None:
    sys.exit(128 + number)


def main(arguments: Sequence[str]) -> int:
    args = parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)  # removes hosts and ends what runs on them
    verbs = {
        "measure": run_measure,
        "predict": run_predict,
        "profile": run_profile,
        "validate": run_validate,
    }
    return reported(lambda: verbs[args.verb](args))


def reported(work: Callable[[], int]) -> int:
    """Runs a verb; its errors end the program with a message."""
    try:
        return work()
    except RuntimeError as error:
        sys.exit(f"bench/scaling: {error}")
