#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times how graphctl partition reads the same edges as Parquet and as CSV, and compares it with bare
reads on this machine: pyarrow decodes the Parquet file, and the CSV's bytes are read.

    build/python/bin/python3 bench/format/parquet_bench.py [--edges N] [--build DIR] [--work DIR]

The edges (default 10 million, with a tenth as many nodes) have a feature of float32. The files
are in a temporary folder in --work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy

try:
    import pyarrow
    from pyarrow import csv, dataset, parquet
except ImportError:
    pyarrow = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from harness import script

# The names in bench/run.
NAMES = {"Read/parquet": "edges.parquet", "Read/csv": "edges.csv"}
QUICK_EDGES = 1_000_000


def write_edges(folder, edges):
    """Writes edges.parquet and edges.csv."""
    draw = numpy.random.default_rng(1)
    nodes = max(edges // 10, 1)
    table = pyarrow.table({
        "src": draw.integers(0, nodes, edges),
        "dst": draw.integers(0, nodes, edges),
        "weight": (draw.integers(0, 1000, edges) / 1000).astype(numpy.float32),
    })
    parquet.write_table(table, os.path.join(folder, "edges.parquet"))
    csv.write_csv(table, os.path.join(folder, "edges.csv"))


def timed(function):
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def read_seconds(graphctl, folder, name):
    """Returns the seconds in which graphctl reads a file, and its peak memory."""
    command = [graphctl, "partition", "--input", os.path.join(folder, name), "--graph_name", "g",
               "--num_parts", "2", "--part_method", "random", "--force", "--json",
               "--python", sys.executable, "--output", os.path.join(folder, "out")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    summary = json.loads(done.stdout)
    return summary["read_seconds"], summary["peak_memory_bytes"]


def read_bytes(path):
    """Reads a file and does nothing with it."""
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def read_batches(path):
    """Decodes a Parquet file."""
    for _ in dataset.dataset(path).to_batches():
        pass


def main():
    """Writes the files, and prints a line per measurement."""
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--edges", type=int, default=10_000_000)
    options.add_argument("--build", default="build/release")
    options.add_argument("--work", default="/tmp")
    script.add_options(options)
    given = options.parse_args()
    if not (names := script.chosen(given, NAMES)):
        return
    if pyarrow is None:
        sys.exit("parquet_bench needs pyarrow, which scripts/setup installs in build/python")
    if given.benchmark_min_time is not None:  # bench/run --quick
        given.edges = QUICK_EDGES
    graphctl, lines, taken = os.path.join(given.build, "bin", "graphctl"), script.Lines(given), {}
    with tempfile.TemporaryDirectory(prefix="parquet_bench.", dir=given.work) as folder:
        write_edges(folder, given.edges)
        files = {name: os.path.join(folder, name) for name in ("edges.parquet", "edges.csv")}

        def show(what, seconds, name, more=""):
            size = os.path.getsize(files[name]) / 1e6
            rate = given.edges / seconds / 1e6
            lines.text(f"{what:34} {seconds:7.2f} s {rate:8.1f} M rows/s  {size:5.0f} MB{more}")

        for name in files:
            taken[name], peak = read_seconds(graphctl, folder, name)
            show(f"graphctl partition reads {name[6:]}", taken[name], name,
                 f", peak {peak / 1e6:.0f} MB")
        limits = {"edges.parquet": timed(lambda: read_batches(files["edges.parquet"])),
                  "edges.csv": timed(lambda: read_bytes(files["edges.csv"]))}
        show("limit: pyarrow decodes parquet", limits["edges.parquet"], "edges.parquet")
        show("limit: read(2) of csv", limits["edges.csv"], "edges.csv")
        for name in names:
            seconds, limit = taken[NAMES[name]], limits[NAMES[name]]
            lines.result(name, seconds, 1,
                         **{"rows/s": given.edges / seconds, "of_limit": limit / seconds})


if __name__ == "__main__":
    main()
