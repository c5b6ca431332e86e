# SPDX-License-Identifier: Apache-2.0
"""The command bench/compare: measures graphd beside other systems in one run."""

import argparse
import json
import os
import shlex
import subprocess
import sys

from systems import environment, limits, pages, results
from systems.rows import SYSTEMS
from systems.sessions import LOCAL, Sessions

from harness import machine, table
from harness.paths import RELEASE, ROOT, WORK, build_release, program, run_folder, shown

DESCRIPTION = """\
Measures graphd beside DGL 2.1 (its distributed layer, its local loader, and GraphBolt), PyG and
graphlearn-torch on the same graph, in one run: partitioning, start, attach, sampling, rows, embeddings,
loaders, an epoch of GraphSAGE, memory, disk and wire. The limits of the machine are measured in the same
run.

The first run installs the systems from PyPI into build/bench/environments (some 5 GB, and 10 to 40
minutes, most of which is the compilation of torch-sparse), and makes the graph and its partitions in
build/bench (12 GB). Later runs at scale 1 take a quarter of an hour, and need 16 GB of free memory and
root, because DGL's servers need a /dev/shm of their own. Other programs should not run meanwhile.

A system that fails is shown as "failed", and its error is in results.json and the report."""
EXAMPLES = """\
examples:
  bench/compare                              # everything, on the whole graph
  bench/compare --scale 0.05 --seconds 0.5   # a rough look in a few minutes
  bench/compare --only graphd,pyg --scale 0.1
  bench/compare --prepare                    # installs, and makes the graph, for a later run
  bench/compare --write_docs                 # measures, and writes docs/performance.md
  bench/compare --write_docs RUN.json        # writes the page from the results of an earlier run"""

SLUGS = dict(zip(("dgl", "dgl_local", "graphbolt", "pyg", "graphlearn", "graphd"), SYSTEMS))
MODULES = {"dgl_local": "dgl_local", "graphbolt": "graphbolt", "pyg": "pyg"}
PAGE = os.path.join(ROOT, "docs", "performance.md")
PAGE_DATA = os.path.join(ROOT, "docs", "performance.json")


def parser():
    made = argparse.ArgumentParser(
        prog="bench/compare",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="the size of the graph; 1, the default, is that of ogbn-products",
    )
    made.add_argument(
        "--only",
        metavar="SYSTEM,...",
        default=",".join(SLUGS),
        help=f"measure only these; there are {', '.join(SLUGS)}",
    )
    made.add_argument("--seconds", type=float, default=2.0, help="of each repetition; default: 2")
    made.add_argument(
        "--build_dir",
        metavar="DIR",
        default=RELEASE,
        help="a build folder, which is not built first; default: build/release",
    )
    made.add_argument("--no_build", action="store_true", help="measure what is built")
    made.add_argument("--out", metavar="DIR", help="the folder of results.json and report.html")
    made.add_argument("--prepare", action="store_true", help="do not measure")
    made.add_argument(
        "--write_docs",
        metavar="RUN.json",
        nargs="?",
        const="",
        help="write docs/performance.md and docs/performance.json",
    )
    return made


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_docs(run):
    """Writes the page and its data."""
    write(PAGE_DATA, json.dumps(run, indent=1) + "\n")
    write(PAGE, pages.markdown(run))
    print(f"wrote {shown(PAGE)} and {shown(PAGE_DATA)}")


def graph_folder(python, scale):
    """Returns the folder of the graph, which is made at the first call."""
    folder = os.path.join(WORK, "graphs", f"scale-{scale:g}")
    if not os.path.exists(os.path.join(folder, "graph.json")):
        environment.say(f"making the graph of scale {scale:g}")
        subprocess.run(
            [python, "-m", "systems.graph", folder, str(scale)],
            check=True,
            cwd=os.path.join(ROOT, "bench"),
        )
    return folder


def measure(sessions, chosen):
    """Measures the chosen systems, and returns the limits."""
    environment.say("limits")
    known, lines = limits.from_programs(sessions.build)
    for line in lines:
        if "error" in line:
            environment.say(f"{line['name']}: {line['error']}")
    for slug in ("graphd", "dgl"):
        if slug in chosen:
            environment.say(SLUGS[slug])
            sessions.served(
                SLUGS[slug], "graphd_trainer" if slug == "graphd" else "dgl_distributed"
            )
    if "graphd" in chosen:
        sessions.guarded(SLUGS["graphd"], ["restart"], sessions.restart)
        folder = os.path.dirname(sessions.partitioned(1, "native"))
        files = limits.files_below(folder)
        limits.evict(folder)
        known["read_cold"], known["read_warm"] = (
            limits.read_seconds(files),
            limits.read_seconds(files),
        )
        known["partition"] = sessions.partitioning("graphd", sessions.graph, "partition")
    for slug in ("graphd", "dgl"):
        if slug in chosen:
            known["partition_fifth"] = sessions.partitioning(
                SLUGS[slug], sessions.fifth, "partition_fifth"
            )
    for slug, module in MODULES.items():
        if slug in chosen:
            environment.say(SLUGS[slug])
            sessions.measure(SLUGS[slug], module, LOCAL)
    if "graphlearn" in chosen:
        environment.say(SLUGS["graphlearn"])
        sessions.measure(SLUGS["graphlearn"], "graphlearn", ["sample_2", "sample_3", "rows_local"])
    return known


def repeatable(args):
    """Returns the command that measures the same on another machine: without folders of this one."""
    words = ["bench/compare"]
    for name in ("scale", "seconds", "only"):
        if getattr(args, name) != parser().get_default(name):
            words += [f"--{name}", f"{getattr(args, name)}"]
    return shlex.join([*words, "--write_docs"])


def show(run):
    """Prints the results as a table."""
    headings = results.headings(run)
    rows = [results.cells(run, row) for row in run["rows"]]
    widths = [max(map(len, column)) for column in zip(headings, *rows)]
    for cells in (headings, *rows):
        print(table.text_row(cells, widths))
    for kind, row, system, text in results.failures(run):
        if kind == "error":
            print(f"bench/compare: {system}: {row['title']}: {text}", file=sys.stderr)


def main(arguments):
    args = parser().parse_args(arguments)
    if args.write_docs:
        write_docs(load(args.write_docs))
        return 0
    chosen = args.only.split(",")
    unknown = [each for each in chosen if each not in SLUGS]
    if unknown:
        parser().error(f"--only: there is no '{unknown[0]}'; there are {', '.join(SLUGS)}")
    build = os.path.realpath(args.build_dir)
    if not args.no_build and build == RELEASE:
        build_release(
            "graphd",
            "graphctl",
            "graphd_python",
            "sampling_bench",
            "transfer_bench",
            "tensor_bench",
        )
    program(build, "graphd")
    environment_folder = os.path.join(WORK, "environments", "peers")
    optional = environment.create(environment_folder)
    python = os.path.join(environment_folder, "bin", "python3")
    folder = run_folder(args.out, "compare")
    os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
    work = os.path.join(WORK, "graphs", f"partitions-{args.scale:g}")
    os.makedirs(work, exist_ok=True)
    sessions = Sessions(
        build,
        python,
        graph_folder(python, args.scale),
        graph_folder(python, args.scale / 5),
        work,
        os.path.join(folder, "logs"),
        args.seconds,
    )
    for kind in [kind for kind, slug in (("native", "graphd"), ("dgl", "dgl")) if slug in chosen]:
        for parts in (1, 2):
            environment.say(f"partitions: {kind}, {parts}")
            sessions.partitioned(parts, kind)
    if args.prepare:
        return 0
    description, before = machine.describe(build), machine.load()
    known = measure(sessions, chosen)
    systems = [SLUGS[slug] for slug in SLUGS if slug in chosen]
    results.fill(sessions.results, systems)
    run = results.made(
        sessions.results,
        known,
        systems,
        command=repeatable(args),
        scale=args.scale,
        machine=description,
        load_before=before,
        load_after=machine.load(),
        graph=load(os.path.join(sessions.graph, "graph.json")),
        packages=environment.versions(environment_folder),
        optional_packages=optional,
    )
    write(os.path.join(folder, "results.json"), json.dumps(run, indent=1) + "\n")
    write(os.path.join(folder, "all.json"), json.dumps(sessions.results, indent=1) + "\n")
    write(os.path.join(folder, "report.html"), pages.report(run))
    show(run)
    print(f"wrote {shown(folder)}/results.json and report.html")
    if args.write_docs is not None:
        write_docs(run)
    ours = sessions.results.get(SLUGS["graphd"], {})
    return 1 if any("error" in result for result in ours.values()) else 0
