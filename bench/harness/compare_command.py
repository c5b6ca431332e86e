# SPDX-License-Identifier: Apache-2.0
"""The command bench/compare: measures graphd beside other systems in one run."""

import argparse
import functools
import os
import shlex
import shutil
import subprocess
import sys

from systems import environment, limits, pages, results
from systems.rows import EMBEDDING_ROWS, EMBEDDING_STEPS, SYSTEMS
from systems.sessions import LOCAL, Sessions

from harness import machine, table
from harness.files import load, write, write_json
from harness.paths import ROOT, WORK, add_build, built, program, run_folder, shown

DESCRIPTION = """\
Measures graphd beside DGL 2.1 (its distributed layer, its local loader, and GraphBolt), PyG and
graphlearn-torch on the same graph, in one run: partitioning, start, attach, sampling, rows, embeddings,
loaders, an epoch of GraphSAGE, memory, disk and wire. The limits of the machine are measured in the same
run.

The first run installs the systems from PyPI into build/bench/environments (some 10 GB, and 10 to 40
minutes, most of which is the compilation of torch-sparse), and makes the graph and its partitions in
build/bench (20 GB). Later runs at scale 1 take a quarter of an hour, and need 16 GB of free memory and
root, because DGL's servers need a /dev/shm of their own. Other programs should not run meanwhile.

A system that fails is shown as "failed", and its error is in results.json and the report. After Ctrl-C,
what was measured is kept."""
EXAMPLES = """\
examples:
  bench/compare                              # everything, on the whole graph
  bench/compare --scale 0.05 --seconds 0.5   # a rough look in a few minutes
  bench/compare --only graphd,pyg --scale 0.1
  bench/compare --prepare                    # installs, and makes the graph, for a later run
  bench/compare --write_docs                 # measures, and writes docs/performance.md
  bench/compare --write_docs RUN.json        # writes the page from the results of an earlier run"""

SLUGS = dict(zip(("dgl", "dgl_local", "graphbolt", "pyg", "graphlearn", "graphd"), SYSTEMS))
# The systems without servers, by the names of their modules, and what each can measure.
MEASURES = {
    **dict.fromkeys(("dgl_local", "graphbolt", "pyg"), LOCAL),
    "graphlearn": ("sample_2", "sample_3", "rows_local"),
}
PROGRAMS = ("sampling_bench", "transfer_bench", "tensor_bench")


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
    add_build(made)
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


def measure(sessions, chosen, known):
    """Measures the chosen systems, and adds the limits to `known`."""
    environment.say("limits")
    found, lines = limits.from_programs(sessions.build)
    known.update(found)
    known["trip"], known["trip_tcp"] = limits.trip_seconds(False), limits.trip_seconds(True)
    known["touch"] = limits.touch_seconds(sessions.embedding_bytes())
    known["cold_rows"] = EMBEDDING_ROWS * (EMBEDDING_STEPS // 4)
    known.update(limits.edges_per_line(sessions.python, sessions.graph))
    if kernel := known.pop("kernel", None):
        sessions.put(SLUGS["graphd"], "sample_kernel", value=kernel)
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
        sessions.guarded(SLUGS["graphd"], ["least_per_edge"], sessions.without_original_ids)
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
            limit = sessions.partitioning(SLUGS[slug], sessions.fifth, "partition_fifth")
            known.setdefault("partition_fifth", limit)
    for slug, measures in MEASURES.items():
        if slug in chosen:
            environment.say(SLUGS[slug])
            act = functools.partial(sessions.measure, SLUGS[slug], slug, measures)
            sessions.guarded(SLUGS[slug], measures, act)


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
    rows = results.table_rows(run)
    widths = [max(map(len, column)) for column in zip(headings, *rows)]
    for cells in (headings, *rows):
        print(table.text_row(cells, widths))
    for kind, title, system, text in results.failures(run):
        if kind == "error":
            print(f"bench/compare: {system}: {title}: {text}", file=sys.stderr)


def chosen_systems(text):
    """Returns the short names of the systems to measure. Exits if one of them is unknown."""
    chosen = text.split(",")
    unknown = [each for each in chosen if each not in SLUGS]
    if unknown:
        parser().error(f"--only: there is no '{unknown[0]}'; there are {', '.join(SLUGS)}")
    return [slug for slug in SLUGS if slug in chosen]


def environments_of(chosen):
    """Returns the environments of some systems. The first one's Python makes the graph, too."""
    return [environment.PEERS, *([environment.GRAPHLEARN] if "graphlearn" in chosen else [])]


def prepared(args, build, chosen, logs):
    """Installs the systems, and makes the graph and its partitions; returns the sessions.

    The graph and DGL's partitions are kept for later runs. graphd's are made each time, because its
    format is its own.
    """
    for each in environments_of(chosen):
        environment.create(each)
    python = environment.PEERS.python
    whole, fifth = (graph_folder(python, scale) for scale in (args.scale, args.scale / 5))
    work = os.path.join(WORK, "graphs", f"partitions-{args.scale:g}")
    os.makedirs(work, exist_ok=True)
    for parts in (1, 2):
        shutil.rmtree(os.path.join(work, f"native-{parts}"), ignore_errors=True)
    sessions = Sessions(build, python, whole, fifth, work, logs, args.seconds)
    sessions.pythons["graphlearn"] = environment.GRAPHLEARN.python
    for slug, kind in (("graphd", "native"), ("dgl", "dgl")):
        for parts in (1, 2) if slug in chosen else ():
            environment.say(f"partitions: {kind}, {parts}")
            sessions.partitioned(parts, kind)
    return sessions


def write_run(folder, run, measured):
    """Writes the results, with all that was measured, and the report."""
    write_json(os.path.join(folder, "results.json"), run)
    write_json(os.path.join(folder, "measured.json"), measured)
    write(os.path.join(folder, "report.html"), pages.report(run))
    print(f"wrote {shown(folder)}/results.json and report.html")


def main(arguments):
    args = parser().parse_args(arguments)
    if args.write_docs:
        pages.write_comparison(load(args.write_docs))
        return 0
    chosen = chosen_systems(args.only)
    before = machine.load()  # the preparations below are a load, too
    build = built(args, "graphd", "graphctl", "graphd_python", *PROGRAMS)
    program(build, "graphd")
    folder = run_folder(args.out, "compare")
    logs = os.path.join(folder, "logs")
    os.makedirs(logs, exist_ok=True)
    sessions = prepared(args, build, chosen, logs)
    if args.prepare:
        return 0
    wanted = (1 + 15 * args.scale) * 2**30
    if machine.memory("MemAvailable") < wanted:
        environment.say(
            f"less than {wanted / 2**30:.0f} GiB of memory is free; a system may be killed"
        )
    description, known, interrupted = machine.describe(build), {}, False
    try:
        measure(sessions, chosen, known)
    except KeyboardInterrupt:
        interrupted = True
        environment.say("interrupted; what was measured is kept")
    systems, environments = [SLUGS[slug] for slug in chosen], environments_of(chosen)
    results.fill(sessions.results, systems, {"absent": "interrupted"} if interrupted else None)
    run = results.made(
        sessions.results,
        known,
        systems,
        command=repeatable(args),
        scale=args.scale,
        machine=description,
        load_before=before,
        load_after=machine.load(),
        settings={name: pages.SETTINGS[name] for name in systems},
        graph=load(os.path.join(sessions.graph, "graph.json")),
        packages=environment.versions_of_all(environments),
        optional_packages={
            package: state
            for each in environments
            for package, state in environment.create(each).items()
        },
    )
    show(run)
    write_run(folder, run, sessions.results)
    if interrupted:
        return 130
    if args.write_docs is not None:
        pages.write_comparison(run)
    ours = sessions.results.get(SLUGS["graphd"], {})
    return 1 if any("error" in result for result in ours.values()) else 0
