#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures graphd.spark on a standalone cluster of Spark on this machine: the processor time, the bytes
shuffled and the disk space per edge, and the memory of a task. Also prints the time that graphctl
partition takes for the same graph, and the time of copying the output.

usage: PYTHONPATH=BUILD/python build/python/bin/python3 bench/format/spark_bench.py --bin BUILD/bin
           [--nodes N] [--edges E] [--features F] [--parts P] [--method METHOD] [--scratch DIR]
"""

import argparse
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/python"))

import numpy as np
import pyarrow
from pyarrow import parquet

import graphd.spark
import spark_cluster
from graphd.spark.job import Job


def write_graph(folder, args):
    """Writes a random graph as Parquet files of a million rows."""
    draw = np.random.default_rng(0)
    piece = 1 << 20
    for first in range(0, args.nodes, piece):
        rows = min(piece, args.nodes - first)
        columns = {"id": np.arange(first, first + rows)}
        if args.features:
            values = draw.random(rows * args.features, np.float32)
            offsets = np.arange(rows + 1, dtype=np.int32) * args.features
            columns["feat"] = pyarrow.ListArray.from_arrays(offsets, values)
        os.makedirs(f"{folder}/nodes", exist_ok=True)
        parquet.write_table(pyarrow.table(columns), f"{folder}/nodes/{first:012}.parquet")
    for first in range(0, args.edges, piece):
        rows = min(piece, args.edges - first)
        ends = draw.integers(0, args.nodes, (2, rows))
        columns = {"src": ends[0], "dst": ends[1], "number": np.arange(first, first + rows)}
        os.makedirs(f"{folder}/edges", exist_ok=True)
        parquet.write_table(pyarrow.table(columns), f"{folder}/edges/{first:012}.parquet")


def size_of(folder):
    paths = glob.glob(f"{folder}/**", recursive=True)
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


def processor_seconds(cluster):
    """Returns the processor time of the cluster's processes and of their children that have ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    groups = {process.pid for process in cluster.processes}
    total = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) in groups:  # the session
            total += sum(map(int, fields[11:15]))
    return total / ticks


def task_metrics(folder):
    """Sums the metrics of all tasks in Spark's log of events."""
    sums = {"shuffled": 0, "spilled": 0, "java": 0.0, "tasks": 0}
    for path in glob.glob(f"{folder}/*"):
        with open(path) as file:
            for line in file:
                event = json.loads(line)
                metrics = event.get("Task Metrics")
                if event["Event"] != "SparkListenerTaskEnd" or not metrics:
                    continue
                sums["tasks"] += 1
                sums["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                sums["spilled"] += metrics["Disk Bytes Spilled"]
                sums["java"] += metrics["Executor CPU Time"] / 1e9
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--method", default="random")
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        write_graph(scratch, args)
        os.mkdir(f"{scratch}/events")
        results, kept = [], []
        graphd_write = Job.write

        def write(job, *rest):
            found = graphd_write(job, *rest)
            results.extend(found)
            stored = job.spark.sparkContext._jsc.sc().getRDDStorageInfo()
            kept.append(sum(each.diskSize() for each in stored))
            return found

        Job.write = write
        cluster = spark_cluster.Cluster(scratch, memory="1500m")
        try:
            spark = cluster.session(
                **{
                    "spark.executor.memory": "1g",
                    "spark.driver.extraJavaOptions": "",
                    "spark.executor.extraJavaOptions": "",
                    "spark.sql.codegen.wholeStage": "true",
                    "spark.sql.codegen.factoryMode": "FALLBACK",
                    "spark.sql.shuffle.partitions": "8",
                    "spark.eventLog.enabled": "true",
                    "spark.eventLog.dir": f"file://{scratch}/events",
                }
            )
            nodes = spark.read.parquet(f"file://{scratch}/nodes")
            edges = spark.read.parquet(f"file://{scratch}/edges")
            spark.range(1000).selectExpr("sum(id)").collect()
            before, begin = processor_seconds(cluster), time.monotonic()
            graphd.spark.partition_graph(
                nodes,
                edges,
                "g",
                args.parts,
                f"{scratch}/out",
                part_method=args.method,
                edge_id="number",
            )
            wall = time.monotonic() - begin
            used = processor_seconds(cluster) - before
            spark.stop()
        finally:
            cluster.stop()
        sums = task_metrics(f"{scratch}/events")
        output = size_of(f"{scratch}/out")
        print(f"{args.nodes:,} nodes, {args.edges:,} edges, {args.features} features, {args.method}")
        print(f"time                       {wall:8.1f} s (load {os.getloadavg()[0]:.1f})")
        print(f"processor time             {used:8.1f} s, {args.edges / used:,.0f} edges/s/core")
        print(f"of it, of Java's tasks     {sums['java']:8.1f} s ({sums['tasks']} tasks)")
        print(f"shuffled                   {sums['shuffled'] / args.edges:8.1f} bytes per edge")
        print(f"kept on disks              {kept[0] / args.edges:8.1f} bytes per edge")
        print(f"spilled                    {sums['spilled'] / args.edges:8.1f} bytes per edge")
        print(f"output                     {output / args.edges:8.1f} bytes per edge")
        writing = sum(row.seconds for row in results)
        peak = max(row.peak_bytes for row in results) / 2**20
        print(f"writing, of all tasks      {writing:8.1f} s; at most {peak:.0f} MiB in Python")
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        before, begin = children.ru_utime + children.ru_stime, time.monotonic()
        subprocess.run(
            [
                *(f"{args.bin}/graphctl", "partition", "--python", sys.executable),
                *("--edges", f"{scratch}/edges", "--nodes", f"_N={scratch}/nodes"),
                *("--feat_cols", "feat", "--graph_name", "g", "--num_parts", str(args.parts)),
                *("--part_method", "random", "--output", f"{scratch}/ctl"),
            ],
            check=True,
            capture_output=True,
        )
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = children.ru_utime + children.ru_stime - before
        print(f"graphctl partition         {time.monotonic() - begin:8.1f} s, {used:.1f} s of processor")
        begin = time.monotonic()
        subprocess.run(["cp", "-r", f"{scratch}/out", f"{scratch}/copy"], check=True)
        subprocess.run(["sync", "-f", f"{scratch}/copy"], check=True)
        print(f"copying the output         {time.monotonic() - begin:8.1f} s")


if __name__ == "__main__":
    main()
