# SPDX-License-Identifier: Apache-2.0
"""The command bench/run: measures, prints a table, and writes run.json and report.html."""

import argparse
import os
import shlex
import sys

from harness import files, machine, page, programs, table
from harness.paths import add_build, built, has, run_folder, shown

DESCRIPTION = """\
Builds the release preset, runs the benchmark programs, and prints a line for each benchmark: its time,
its rate, the limit of this machine that was measured in the same run (random reads, memcpy, plain
sockets, a plain loop over memory), and the ratio of the two. A ratio above 1 means that a cache helped.

The results are written to run.json and report.html in a folder below build/bench. The exit code is 1 if
a benchmark fails. After Ctrl-C, what was measured is kept."""
EXAMPLES = """\
programs:
{programs}

examples:
  bench/run                                  # everything: half an hour
  bench/run sampling --filter MiniBatch/large
  bench/run transfer tls_transfer --quick    # a rough look
  bench/run --list store                     # names the benchmarks
  bench/run row_cache --quick --write_docs   # also writes a part of docs/performance.md

bench/compare measures graphd beside other systems, bench/guard compares two builds.
bench/format/partition_bench.sh times graphctl partition; it needs 10 GB in /tmp and several minutes."""


def parser():
    listed = "\n".join(
        f"  {name.removesuffix('_bench'):16} {text}" for name, text in programs.PROGRAMS.items()
    )
    made = argparse.ArgumentParser(
        prog="bench/run",
        description=DESCRIPTION,
        epilog=EXAMPLES.format(programs=listed),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("names", metavar="NAME", nargs="*", help="a program; default: all")
    made.add_argument("--filter", metavar="REGEX", default="", help="only benchmarks that match")
    made.add_argument(
        "--list",
        action="store_true",
        help="print the benchmarks' names and exit; builds programs only if one is missing",
    )
    made.add_argument(
        "--quick", action="store_true", help="measure each for 0.05 s instead of 0.5 s"
    )
    made.add_argument("--min_time", metavar="SECONDS", type=float, help="measure each for so long")
    add_build(made)
    made.add_argument("--out", metavar="DIR", help="the folder of run.json and report.html")
    made.add_argument(
        "--write_docs",
        action="store_true",
        help="write the bytes of epochs that row_cache measures to docs/performance.md",
    )
    return made


def chosen(names):
    """Returns the names of programs, which may be given without "_bench". Exits if there is none."""
    found = []
    for name in names or programs.PROGRAMS:
        full = name if name.endswith("_bench") else name + "_bench"
        if full not in programs.PROGRAMS:
            sys.exit(
                f"bench/run: there is no program '{name}'; there are: "
                + ", ".join(each.removesuffix("_bench") for each in programs.PROGRAMS)
            )
        found.append(full)
    return found


def report(run):
    """Returns the report of a run as HTML."""
    sections = []
    for name, about in programs.PROGRAMS.items():
        lines = [line for line in run["lines"] if line["program"] == name]
        if not lines:
            continue
        plotted = [
            (line["name"], line["ratio"], f"{line['ratio']:.2f} {line['ratio_to']}", 0)
            for line in lines
            if "ratio" in line
        ]
        body = table_of(lines)
        if plotted:
            body = page.bars(f"{name}: ratio to the limit", plotted, mark=1.0) + "\n" + body
        sections.append((f"{name}: {about}", body))
    return page.page(
        "Benchmarks of graphd",
        run["command"],
        machine.rows(run["machine"], run["load_before"], run["load_after"]),
        sections,
    )


def table_of(lines):
    return page.table(table.HEADINGS, [table.columns(line) for line in lines])


def write(folder, run):
    """Writes run.json and report.html."""
    files.write_json(os.path.join(folder, "run.json"), run)
    files.write(os.path.join(folder, "report.html"), report(run))


def main(arguments):
    args = parser().parse_args(arguments)
    wanted = chosen(args.names)
    compiled = [name for name in wanted if name not in programs.SCRIPTS]
    args.no_build |= args.list and has(os.path.realpath(args.build_dir), compiled)
    build = built(args, *(target for name in wanted for target in programs.targets(name)), "graphd")
    commands = [programs.command_of(build, name) for name in wanted]
    if args.list:
        for command in commands:
            for name in programs.names(command, args.filter):
                print(programs.name_of(command), name)
        return 0
    min_time = args.min_time if args.min_time is not None else 0.05 if args.quick else None
    options = [] if min_time is None else [f"--benchmark_min_time={min_time:f}"]
    folder = run_folder(args.out, "run")
    run = {
        "command": shlex.join(["bench/run", *arguments]),
        "machine": machine.describe(build),
        "load_before": machine.load(),
        "lines": [],
    }
    print(table.text_row(table.HEADINGS))
    interrupted = False
    try:
        for command in commands:
            for line in programs.measure(command, args.filter, options):
                run["lines"].append(line)
                print(table.text_row(table.columns(line)), flush=True)
    except (programs.Interrupted, KeyboardInterrupt):
        interrupted = True
        print("bench/run: interrupted; what was measured is kept", file=sys.stderr)
    run["load_after"] = machine.load()
    write(folder, run)
    print(f"wrote {shown(folder)}/run.json and report.html")
    failed = [line for line in run["lines"] if "error" in line]
    for line in failed:
        print(
            f"bench/run: {line['program']}: {line['name']} failed: {line['error']}", file=sys.stderr
        )
    if not run["lines"] and not interrupted:
        print(
            f"bench/run: no benchmark matches --filter '{args.filter}'; see --list", file=sys.stderr
        )
        return 1
    if args.write_docs and not interrupted and not failed:
        from systems import pages  # needed here alone

        pages.write_epochs(run)
    return 130 if interrupted else 1 if failed else 0
