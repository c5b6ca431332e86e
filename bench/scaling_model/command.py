# SPDX-License-Identifier: Apache-2.0
"""The command bench/scaling."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from harness import machine, table
from harness.paths import RELEASE, ROOT, WORK, build_release, has, program, run_folder, shown

from scaling_model import plot, predict, service_times
from scaling_model.service_times import Measured
from scaling_model.workload import Profile

DESCRIPTION = """\
Predicts how many mini-batches per second a cluster reaches, for 1 to 64 machines and any cut, fanouts,
width of features, hit rate of the row cache and rate of links. A simulation is fed with service times
that were measured with real daemons and trainers. docs/scaling.md explains the model, and how well it
agreed with hosts whose links tc shapes.

  measure     measures the service times on this machine: 2 minutes, root
  predict     predicts: a table, JSON, curves as SVG. Takes seconds to minutes, and needs no build
  profile     describes the mini-batches of a graph of yours for predict
  validate    measures, then compares predictions with 1 to 4 hosts in network namespaces: 10 minutes,
              root; the exit code is 1 if a prediction is off by 15 % or more"""
EXAMPLES = """\
examples:
  bench/scaling predict                                  # 1 to 64 machines, 1, 10 and 100 Gbit/s
  bench/scaling predict --gigabits 10 --cut 0.05,0.2,random --svg cuts.svg
  bench/scaling predict --machines 4,8 --row_bytes 512 --hit_rate 0,0.5,0.9 --json out.json
  bench/scaling profile data/mine.json --fanouts 15,10 --batch_size 512 > mine.profile
  bench/scaling predict --profile mine.profile --cut 0.12 --cores 32 --device 20
  sudo bench/scaling measure --out times.json            # on the machines of the cluster
  bench/scaling predict --times times.json
  sudo bench/scaling validate --write_docs               # and writes docs/scaling.md"""
LIMIT = 0.15
DATA = os.path.join(ROOT, "docs", "scaling.json")
NODES, DEGREE, OUTSIDE = 120_000, 20, 0.1


def numbers(kind: type, least: float = 0.0, most: float = float("inf")) -> Any:
    """Returns a parser of lists such as 1,10,100."""

    def parse(text: str) -> list[Any]:
        try:
            found = [kind(each) for each in text.split(",")]
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}': expected numbers, as in 1,2,4") from None
        if not all(least <= each <= most for each in found):
            raise argparse.ArgumentTypeError(
                f"'{text}': expected numbers from {least:g} to {most:g}"
            )
        return found

    return parse


def number(kind: type, least: float = 0.0, most: float = float("inf")) -> Any:
    """Returns a parser of one number."""
    several = numbers(kind, least, most)

    def parse(text: str) -> Any:
        found = several(text)
        if len(found) != 1:
            raise argparse.ArgumentTypeError(f"'{text}': expected one number")
        return found[0]

    return parse


def cuts(text: str) -> list[float | None]:
    share = numbers(float, 0, 1)
    return [None if each == "random" else share(each)[0] for each in text.split(",")]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/scaling",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_measure(verbs.add_parser("measure", help="measure the service times"))
    add_predict(verbs.add_parser("predict", help="predict the throughput of clusters"))
    profile = verbs.add_parser("profile", help="describe the mini-batches of a graph")
    profile.add_argument("part_config", help="the part config of a partitioned graph")
    add_batches(profile)
    add_build(profile)
    validate = verbs.add_parser("validate", help="compare predictions with measurements")
    add_measure(validate)
    validate.add_argument(
        "--times", metavar="FILE", help="of measure on this machine; default: measure first"
    )
    validate.add_argument(
        "--cases", metavar="TEXT", default="", help="only cases whose title has it"
    )
    validate.add_argument(
        "--write_docs",
        metavar="RUN.json",
        nargs="?",
        const="",
        help="write docs/scaling.md and its data, of this run or, predicted anew, of an earlier one",
    )
    return made


def add_build(made: argparse.ArgumentParser) -> None:
    made.add_argument("--no_build", action="store_true", help="use what is built")
    made.add_argument(
        "--build_dir",
        metavar="DIR",
        default=RELEASE,
        help="a build folder, which is not built first; default: build/release",
    )


def add_measure(made: argparse.ArgumentParser) -> None:
    add_build(made)
    made.add_argument("--seconds", type=number(float, 0.1), default=2.0, help="of each; default: 2")
    made.add_argument("--repeats", type=number(int, 1), default=3, help="of each; default: 3")
    made.add_argument(
        "--nice",
        type=number(int, -20, 19),
        default=-20,
        help="priority of what is measured, so that other work disturbs it less; default: -20",
    )
    made.add_argument("--out", metavar="FILE", help="the results; default: below build/bench")


def add_batches(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--fanouts",
        type=numbers(int, 1),
        default=[10, 25],
        help="as NeighborSampler takes them; default: 10,25",
    )
    made.add_argument("--batch_size", type=number(int, 1), default=1000, help="default: 1000")


def add_predict(made: argparse.ArgumentParser) -> None:
    made.add_argument("--machines", type=numbers(int, 1, 1024), default=[1, 2, 4, 8, 16, 32, 64])
    made.add_argument(
        "--gigabits", type=numbers(float, 1e-6), default=[1.0, 10.0, 100.0], help="of each link"
    )
    made.add_argument(
        "--cut",
        type=cuts,
        default=[None],
        help="share of edges between machines, or random (the default): (machines - 1) / machines",
    )
    made.add_argument(
        "--row_bytes", type=numbers(int), default=[400], help="of a node's features; default: 400"
    )
    made.add_argument(
        "--hit_rate", type=numbers(float, 0, 1), default=[0.0], help="of the row cache"
    )
    add_batches(made)
    made.add_argument(
        "--profile", metavar="FILE", nargs="+", help="of profile, in place of --fanouts"
    )
    made.add_argument("--cores", type=number(int, 1), default=16, help="of a machine; default: 16")
    made.add_argument("--trainers", type=number(int, 1), default=4, help="of a machine; default: 4")
    made.add_argument("--workers", type=number(int), default=2, help="of a trainer; default: 2")
    made.add_argument(
        "--latency", type=number(float), default=30.0, help="microseconds of a way; default: 30"
    )
    made.add_argument(
        "--compute", type=number(float), default=0.0, help="ms of a core in a step; default: 0"
    )
    made.add_argument(
        "--device", type=number(float), default=0.0, help="ms of a GPU in a step; default: 0"
    )
    made.add_argument(
        "--times", metavar="FILE", help="of measure; default: those of docs/scaling.json"
    )
    made.add_argument("--json", metavar="FILE", help="write the predictions")
    made.add_argument("--svg", metavar="FILE", help="write curves")


def load(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"bench/scaling: {path} can't be read: {error}")
    if not isinstance(found, dict):
        sys.exit(f"bench/scaling: {path} is no file of bench/scaling")
    return found


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def times_of(path: str | None) -> Measured:
    """Reads the service times of a file of measure or validate; the default is that of the docs."""
    values = load(path or DATA)
    try:
        return service_times.of(values.get("measured", values))
    except (KeyError, TypeError) as error:
        sys.exit(f"bench/scaling: {path or DATA} has no service times ({error}); measure them")


def profiles_of(args: argparse.Namespace, measured: Measured) -> list[Profile]:
    found = []
    for path in args.profile or []:
        try:
            found.append(Profile.read(load(path)))
        except (KeyError, TypeError):
            sys.exit(f"bench/scaling: {path} is no profile; bench/scaling profile prints one")
    if found:
        return found
    known_one = measured.profile(tuple(args.fanouts), args.batch_size)
    if known_one:
        return [known_one]
    known = "; ".join(
        f"--fanouts {','.join(map(str, each.fanouts))} --batch_size {each.batch_size}"
        for each in measured.profiles
    )
    sys.exit(
        "bench/scaling: these mini-batches have not been measured. Describe those of your graph by "
        f"bench/scaling profile, or choose one of: {known}"
    )


def run_predict(args: argparse.Namespace) -> int:
    measured = times_of(args.times)
    of = predict.choices(
        args.gigabits, args.cut, args.row_bytes, args.hit_rate, profiles_of(args, measured)
    )
    machines = predict.Machines(
        args.cores, args.trainers, args.workers, args.latency / 1e6, args.compute / 1e3,
        args.device / 1e3,
    )  # fmt: skip
    series: dict[str, list[tuple[float, float]]] = {}
    rows = []
    headings = ["machines", "batches/s", "of 1", "processors", "links", "limited by"]
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
        write(args.json, json.dumps({"predictions": rows}, indent=1) + "\n")
    if args.svg:
        title = "Mini-batches per second"
        write(args.svg, plot.curves(title, "machines", "batches/s", series))
    return 0


def built(args: argparse.Namespace) -> str:
    """Returns the folder of the build, which is built first if it is the default."""
    build = os.path.realpath(args.build_dir)
    if not args.no_build and build == RELEASE:
        build_release("graphd", "graphctl", "graphd_python")
    if not has(build, ["graphd", "graphctl"]):
        program(build, "graphd")
        program(build, "graphctl")
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
    from scaling_model.hosts import priority

    build, folder = built(args), graph_folder()
    with priority(args.nice):
        found = measured_here(args, build, folder)
    path = output(args, "measure")
    write(path, json.dumps(found, indent=1) + "\n")
    for part in ("trainer", "daemon"):
        for name, seconds in found["times"][part].items():
            print(f"{part} {name:12} {table.seconds(seconds)}")
    print(f"wrote {shown(path)}")
    return 0


def run_profile(args: argparse.Namespace) -> int:
    from scaling_model.session import described

    found = described(
        built(args), os.path.realpath(args.part_config), args.fanouts, args.batch_size
    )
    print(json.dumps(found, indent=1))
    return 0


def run_validate(args: argparse.Namespace) -> int:
    from scaling_model import pages, validate
    from scaling_model.hosts import priority

    if args.write_docs:
        pages.write(validate.predicted_again(load(args.write_docs)))
        return 0
    cases = tuple(case for case in validate.CASES if args.cases in case.title())
    if not cases:
        sys.exit(f"bench/scaling: no case has '{args.cases}' in its title")
    build, folder = built(args), graph_folder()
    with priority(args.nice):
        measured = load(args.times) if args.times else measured_here(args, build, folder)
        measured = measured.get("measured", measured)
        cores = len(os.sched_getaffinity(0))
        before = machine.load()
        found = validate.validate(
            cases, service_times.of(measured), folder, build, program(build, "graphctl"), cores,
            args.seconds, args.repeats,
        )  # fmt: skip
    run = {
        "measured": measured,
        "machine": machine.describe(build),
        "load_before": before,
        "load_after": machine.load(),
        "cores": cores,
        "seconds": args.seconds,
        "repeats": args.repeats,
        "cases": found,
    }
    path = output(args, "validate")
    write(path, json.dumps(run, indent=1) + "\n")
    print(pages.validation_text(run))
    print(f"wrote {shown(path)}")
    if args.write_docs is not None:
        pages.write(run)
    return 1 if any(abs(each["error"]) >= LIMIT for each in found) else 0


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
    try:
        return verbs[args.verb](args)
    except RuntimeError as error:
        sys.exit(f"bench/scaling: {error}")
