# SPDX-License-Identifier: Apache-2.0
"""The options of bench/scaling."""

from __future__ import annotations

import argparse
import os
from typing import Any

from harness.paths import add_build

from scaling_model.predict import Machines

DESCRIPTION = """\
Predicts how many mini-batches per second a cluster reaches, for 1 to 64 machines and any cut, fanouts,
width of features, hit rate of the row cache and rate of links. A simulation is fed with service times
that were measured with real daemons and trainers. docs/scaling.md explains the model, and how well it
agreed with hosts whose links tc shapes.

  measure     measures the service times on this machine: 2 minutes, root
  predict     predicts: a table, JSON, curves as SVG. Takes seconds to minutes, and needs no build
  profile     describes the mini-batches of a graph of yours for predict
  validate    measures, then compares predictions with 1 to 4 hosts in network namespaces: 10 minutes,
              root. It reports the errors; with --within PERCENT, the exit code is 1 if one is larger

The exit code is 1 after an error, and 2 if options can't be understood."""
EXAMPLES = """\
examples:
  bench/scaling predict                                  # 1 to 64 machines, 1, 10 and 100 Gbit/s
  bench/scaling predict --gigabits 10 --cut 0.05,0.2,random --svg cuts.svg
  bench/scaling predict --machines 4,8 --row_bytes 512 --hit_rate 0,0.5,0.9 --json out.json
  bench/scaling profile data/mine.json --fanouts 15,10 --batch_size 512 > mine.profile
  bench/scaling predict --profile mine.profile --cores 32 --device 20
  sudo bench/scaling measure --out times.json            # on the machines of the cluster
  bench/scaling predict --times times.json
  sudo bench/scaling validate --repeats 5 --write_docs   # and writes docs/scaling.md"""
# The time and memory of a simulation grow with the bounds of numbers below.
MOST_VALUES = 1024
USUAL = Machines()


def split(text: str) -> list[str]:
    """Returns the values of a list, if there are not too many."""
    found = text.split(",")
    if len(found) > MOST_VALUES:
        raise argparse.ArgumentTypeError(
            f"{len(found)} values; give at most {MOST_VALUES}, and run it again for others"
        )
    return found


def numbers(kind: type, least: float, most: float) -> Any:
    """Returns a parser of lists such as 1,10,100."""

    def parse(text: str) -> list[Any]:
        values = split(text)
        try:
            found = [kind(each) for each in values]
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}': expected numbers, as in 1,2,4") from None
        if not all(least <= each <= most for each in found):
            raise argparse.ArgumentTypeError(
                f"'{text}': expected numbers from {least:.12g} to {most:.12g}"
            )
        return found

    return parse


def number(kind: type, least: float, most: float) -> Any:
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
    return [None if each == "random" else share(each)[0] for each in split(text)]


def new_file(text: str) -> str:
    """Returns the path of a file that is written at the end; its folder must be there now."""
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"'{text}': {folder} is not a folder that you may write to")
    return text


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
        "--within",
        metavar="PERCENT",
        type=number(float, 0.1, 1000),
        help="exit with 1 if a prediction is off by more; default: only report",
    )
    validate.add_argument(
        "--write_docs",
        metavar="RUN.json",
        nargs="?",
        const="",
        help="write docs/scaling.md and its data, of this run or, predicted again, of an earlier one",
    )
    return made


def add_measure(made: argparse.ArgumentParser) -> None:
    add_build(made)
    made.add_argument(
        "--seconds", type=number(float, 0.1, 600), default=2.0, help="of each; default: 2"
    )
    made.add_argument("--repeats", type=number(int, 1, 1000), default=3, help="of each; default: 3")
    made.add_argument(
        "--nice",
        type=number(int, -20, 19),
        default=-20,
        help="priority of what is measured, so that other work disturbs it less; default: -20",
    )
    made.add_argument(
        "--out", metavar="FILE", type=new_file, help="the results; default: below build/bench"
    )


def add_batches(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--fanouts",
        type=numbers(int, 1, 1_000_000),
        default=[10, 25],
        help="as NeighborSampler takes them; default: 10,25",
    )
    made.add_argument(
        "--batch_size", type=number(int, 1, 1 << 31), default=1000, help="default: 1000"
    )


def add_predict(made: argparse.ArgumentParser) -> None:
    made.add_argument("--machines", type=numbers(int, 1, 1024), default=[1, 2, 4, 8, 16, 32, 64])
    made.add_argument(
        "--gigabits",
        type=numbers(float, 1e-3, 1e5),
        default=[1.0, 10.0, 100.0],
        help="of each link",
    )
    made.add_argument(
        "--cut",
        type=cuts,
        help="share of edges between machines, or random: (machines - 1) / machines; default: that of "
        "the profile if it is of several partitions, else random",
    )
    made.add_argument(
        "--row_bytes",
        type=numbers(int, 0, 1 << 20),
        default=[400],
        help="of a node's features; default: 400",
    )
    made.add_argument(
        "--hit_rate", type=numbers(float, 0, 1), default=[0.0], help="of the row cache"
    )
    add_batches(made)
    made.add_argument(
        "--profile", metavar="FILE", nargs="+", help="of profile, in place of --fanouts"
    )
    made.add_argument(
        "--cores",
        type=number(int, 1, 4096),
        default=USUAL.cores,
        help="of a machine; default: %(default)s",
    )
    made.add_argument(
        "--trainers",
        type=number(int, 1, 64),
        default=USUAL.trainers,
        help="of a machine; default: %(default)s",
    )
    made.add_argument(
        "--workers",
        type=number(int, 0, 64),
        default=USUAL.workers,
        help="of a trainer; default: %(default)s",
    )
    made.add_argument(
        "--latency",
        type=number(float, 0, 1e7),
        default=USUAL.latency * 1e6,
        help="microseconds of a way; default: %(default)g",
    )
    made.add_argument(
        "--compute",
        type=number(float, 0, 1e6),
        default=USUAL.compute * 1e3,
        help="ms of a core in a step; default: %(default)g",
    )
    made.add_argument(
        "--device",
        type=number(float, 0, 1e6),
        default=USUAL.device * 1e3,
        help="ms of a GPU in a step; default: %(default)g",
    )
    made.add_argument(
        "--times", metavar="FILE", help="of measure; default: those of docs/scaling.json"
    )
    made.add_argument("--json", metavar="FILE", type=new_file, help="write the predictions")
    made.add_argument("--svg", metavar="FILE", type=new_file, help="write curves")
