# SPDX-License-Identifier: Apache-2.0
"""The common part of the Python programs that bench/run runs: they take the options that it gives to
programs of Google Benchmark, and print their results in the same form."""

import argparse
import json
import re


def add_options(parser):
    """Adds the options that bench/run gives."""
    for name in ("list_tests", "filter", "format"):
        parser.add_argument(f"--benchmark_{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--benchmark_min_time", type=float, help=argparse.SUPPRESS)


def chosen(args, names):
    """Returns the names of the wanted benchmarks. If they are only to be listed, prints them and returns
    none."""
    found = [name for name in names if re.search(args.benchmark_filter or ".", name)]
    if args.benchmark_list_tests:
        print("\n".join(found))
        return []
    return found


class Lines:
    """The results of a program: lines for people, or the JSON that bench/run reads."""

    def __init__(self, args):
        self.as_json = args.benchmark_format == "json"
        if self.as_json:
            print('{"benchmarks": [')

    def text(self, line):
        """Prints a line for people."""
        if not self.as_json:
            print(line, flush=True)

    def result(self, name, seconds, iterations, **counters):
        """Prints a result for bench/run. "of_limit" is its ratio to the limit."""
        if self.as_json:
            entry = {"name": name, "real_time": seconds, "time_unit": "s", "iterations": iterations,
                     **counters}  # fmt: skip
            print(json.dumps(entry, indent=1) + ",", flush=True)
