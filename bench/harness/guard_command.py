# SPDX-License-Identifier: Apache-2.0
"""The command bench/guard: compares two builds by instruction counts, and by times as information."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import files, programs, request_counts, table
from harness.paths import has, program, shown
from harness.progress import say

DESCRIPTION = """\
Compares two builds by the instructions that they execute for a fixed set of kernels: hops, mini-batches
by each method, walks and negative samples on small graphs, the gathering of rows, requests in messages,
and updates of embeddings; and for hops, reads and pushes that a client requests of a daemon. valgrind
counts them, so that the load of the machine has no influence. The exit code is 1 if a kernel of BUILD_B
takes more than 3 % more instructions than in BUILD_A.

Only the benchmark's loop is counted, without the making of the graph, in its second run, when all
buffers exist; of requests, the instructions of the daemon's process and of the client's, without their
start. Valgrind shows the programs a processor without AVX-512. Times are those of a run without
valgrind, and do not influence the exit code."""
EXAMPLES = """\
examples:
  bench/guard /tmp/before/build/release build/release
  bench/guard --filter 'MiniBatch/small/uniform' build/release build/release
  bench/guard --filter 'Request/.*/daemon' /tmp/before/build/release build/release
  bench/guard --save main.json build/release        # counts one build, for later
  bench/guard main.json build/release               # compares with what was saved"""

# Program -> its kernels whose number of iterations is not fixed by their registration; valgrind runs
# each once.
KERNELS = {
    "sampling_bench": r"BM_UniformHop/nodes:20000|"
    r"BM_MiniBatch/small/(uniform|weighted|labor|temporal_recent)$|"
    r"BM_MiniBatch/typed_small/(uniform|weighted)$|BM_RandomWalk/(in|out)/small|"
    r"BM_PinSageNeighbors/small|BM_GlobalUniformNegatives/small",
    "kernel_bench": r".",
}
# Every build has this program. A build from before the others existed is compared without them.
OLDEST = "sampling_bench"
BEGIN, END = "benchmark::State::StartKeepRunning*", "benchmark::State::FinishKeepRunning*"


def parser():
    made = argparse.ArgumentParser(
        prog="bench/guard",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "builds",
        metavar="BUILD",
        nargs="+",
        help="BUILD_A and BUILD_B: build folders, or files that --save wrote",
    )
    made.add_argument("--filter", metavar="REGEX", default="", help="only kernels that match")
    made.add_argument(
        "--limit",
        metavar="PERCENT",
        type=float,
        default=3.0,
        help="more instructions than this fail; default: 3",
    )
    made.add_argument("--save", metavar="FILE", help="write the counts of the one BUILD to a file")
    made.add_argument("--no_times", action="store_true", help="count only")
    return made


def kernels(build, pattern, older):
    """Returns {path of a program: filter for its kernels that match}. Exits if there is none. With
    `older`, the build may lack the programs that were added after it."""
    found, names = {}, []
    for name, all_kernels in KERNELS.items():
        if lacks(build, name, older):
            continue
        path = program(build, name)
        those = list(programs.names([path], all_kernels))
        names += those
        if chosen := [each for each in those if re.search(pattern, each)]:
            found[path] = "|".join(f"^{re.escape(each)}$" for each in chosen)
    if not found and not any(re.search(pattern, each) for each in request_counts.names()):
        names += request_counts.names()
        sys.exit(
            f"bench/guard: no kernel matches --filter '{pattern}'; there are: " + ", ".join(names)
        )
    return found


def lacks(build, name, older):
    """Returns whether a build from before there was a program lacks it, and says so."""
    if not older or name == OLDEST or has(build, [name]):
        return False
    say("bench/guard", f"{shown(build)} has no {name}; its kernels are not compared")
    return True


def instructions(path, chosen):
    """Returns the instructions of each kernel's loop, by name."""
    with tempfile.TemporaryDirectory(prefix="graphd-guard-") as folder:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/counts",
                f"--dump-before={BEGIN}",
                f"--dump-before={END}",
                path,
                f"--benchmark_filter={chosen}",
                "--benchmark_min_time=0",
                "--benchmark_repetitions=2",
                "--benchmark_format=json",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        runs = list(programs.entries_of(done.stdout))
        failed = [run for run in runs if run.get("error_occurred")]
        if done.returncode or failed or not runs:
            sys.exit(
                f"bench/guard: {shown(path)} fails under valgrind (exit code {done.returncode}):\n"
                + "\n".join(run.get("error_message", "") for run in failed)
                + done.stderr[-2000:]
            )
        dumps = sorted(
            glob.glob(f"{folder}/counts.*"), key=lambda name: int(name.rpartition(".")[2])
        )
        ends = [count for trigger, count in map(summary, dumps) if "FinishKeepRunning" in trigger]
    # Each run of a kernel ends with one dump, which counts what was executed since its loop began.
    if len(ends) != len(runs) or any(run["iterations"] != 1 for run in runs):
        sys.exit(
            f"bench/guard: {len(ends)} loops were counted, but {len(runs)} ran once each; is "
            f"{shown(path)} linked with a libbenchmark without symbols?"
        )
    # The second repetition of a kernel replaces the first.
    return {run["run_name"]: count for run, count in zip(runs, ends)}


def summary(path):
    """Returns what made callgrind write a file, and the number of instructions in it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    trigger = re.search(r"^desc: Trigger: (.*)$", text, re.MULTILINE)
    total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    return trigger.group(1) if trigger else "", int(total.group(1)) if total else 0


def times(path, chosen):
    """Returns the seconds of an iteration of each kernel."""
    return {
        line["name"]: line["seconds"]
        for line in programs.measure([path], chosen, ["--benchmark_min_time=0.1"])
        if "seconds" in line
    }


def measured(build, args, older):
    """Returns {kernel: {"instructions": ..., "seconds": ...}} of a build folder or a saved file."""
    if os.path.isfile(build):
        return files.load(build)
    found = {}
    for path, chosen in kernels(os.path.realpath(build), args.filter, older).items():
        for name, count in instructions(path, chosen).items():
            found[name] = {"instructions": count}
        if not args.no_times:
            for name, seconds in times(path, chosen).items():
                found[name]["seconds"] = seconds
    if not lacks(build, request_counts.PROGRAM, older):
        found |= request_counts.measured(os.path.realpath(build), args.filter, not args.no_times)
    return found


def compare(before, after, limit):
    """Prints a line for each kernel of two builds; returns the names of those that got worse."""
    worse = []
    widths = [44, 14, 14, 9, 10, 10]
    print(table.text_row(["kernel", "instructions A", "B", "change", "time A", "B"], widths))
    for name in before.keys() | after.keys():
        if name not in before or name not in after:
            print(f"{name}: only in build {'A' if name in before else 'B'}; not compared")
    for name, a in before.items():
        if name not in after:
            continue
        b = after[name]
        change = 100.0 * (b["instructions"] / a["instructions"] - 1)
        mark = ""
        if change > limit:
            worse.append(name)
            mark = "  MORE"
        took = [table.seconds(each["seconds"]) if "seconds" in each else "" for each in (a, b)]
        print(
            table.text_row(
                [
                    name,
                    f"{a['instructions']:,}",
                    f"{b['instructions']:,}",
                    f"{change:+.2f} %",
                    *took,
                ],
                widths,
            )
            + mark
        )
    return worse


def main(arguments):
    args = parser().parse_args(arguments)
    if len(args.builds) != (1 if args.save else 2):
        parser().error("give BUILD_A and BUILD_B, or --save FILE and one BUILD")
    if shutil.which("valgrind") is None:
        sys.exit("bench/guard: valgrind is missing; install it with: apt-get install valgrind")
    found = [measured(build, args, older=number == 0) for number, build in enumerate(args.builds)]
    if args.save:
        files.write_json(args.save, found[0])
        print(f"wrote {args.save}: {len(found[0])} kernels")
        return 0
    if not set(found[0]) & set(found[1]):
        sys.exit("bench/guard: the two have no kernel in common; nothing was compared")
    worse = compare(*found, args.limit)
    if worse:
        say("bench/guard", f"more than {args.limit:g} % more instructions: {', '.join(worse)}")
    return 1 if worse else 0
