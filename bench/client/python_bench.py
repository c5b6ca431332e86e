#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of Python: the same epochs of the same served graph, loaded alternately by
bench/client/loader_bench (C++) and by the package in one run.

    bench/client/python_bench.py [--build build/release] [--seconds 4] [--processes 5] [--transport auto]

Lines "workers" give the throughput with sampler threads; the caller only reads what a trainer needs:
features, labels and the structure of each block. Lines "no workers" give the additional time of a batch
in Python if everything is done in sequence. Python's "for" keeps a batch until the next one is made,
so two successive batches use different memory. C++ is measured with two loops: one that also keeps the
batch ("holding"), to which "more" and "allowed" refer, and one that does not.

The two languages alternate by epoch and load the same batches. The random placement of a process's
memory changes the time by more than the difference that is measured; a line is therefore the median of
several processes of each language, and of their epochs.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from harness import script  # noqa: E402

NODES, DEGREE, COLUMNS = 200_000, 20, 100

# name, workers, batch size, seeds, fanouts
CASES = (("2 workers, 1000 seeds, 10,25", 2, 1000, 50_000, (10, 25)),
         ("no workers, 1000 seeds, 10,25", 0, 1000, 20_000, (10, 25)),
         ("no workers, 100 seeds, 5,5", 0, 100, 50_000, (5, 5)),
         ("no workers, 10 seeds, 2,2", 0, 10, 20_000, (2, 2)))


def make_graph(folder):
    import numpy as np

    from graphd.distributed import partition_graph

    draw = np.random.default_rng(1)
    src = draw.integers(0, NODES, NODES * DEGREE)
    dst = np.arange(NODES).repeat(DEGREE)
    return partition_graph((src, dst), "bench", 1, os.path.join(folder, "parts"),
                           part_method="hash",
                           ndata={"feat": draw.random((NODES, COLUMNS), np.float32),
                                  "label": draw.integers(0, 50, NODES)})


def serve(build, folder, config):
    """Starts a graphd that runs as long as the returned file is open."""
    log = os.path.join(folder, "graphd.log")
    with open(log, "w") as out:
        process = subprocess.Popen(
            [os.path.join(build, "bin", "graphd"), "--server_name", "bench", "--part_config",
             config, "--part_id", "0", "--listen", "127.0.0.1:0", "--runtime_dir",
             os.path.join(folder, "run"), "--state_dir", os.path.join(folder, "state")],
            stdout=out, stderr=out)
    while process.poll() is None:
        with open(log) as text:
            if "serving" in text.read():
                break
        time.sleep(0.01)
    port = next(iter(os.listdir(os.path.join(folder, "run", "bench")))).split(".")[0]
    with open(os.path.join(folder, "ip_config.txt"), "w") as out:
        out.write(f"127.0.0.1 {port}\n")
    return process


class Epochs:
    """A process that runs an epoch for each line of its input."""

    def __init__(self, command, line=""):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.line = line + "\n"

    def epoch(self):
        self.process.stdin.write(self.line)
        seconds, rows = self.process.stdout.readline().split()
        return float(seconds), int(rows)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_epochs(case):
    """Does in Python what loader_bench does, in a separate process."""
    import torch

    import graphd
    from graphd.distributed import DistGraph, DistNodeDataLoader
    from graphd.sampling import NeighborSampler

    graphd.distributed.initialize()
    _, workers, batch_size, seeds, fanouts = case
    sampler = NeighborSampler(list(fanouts), prefetch_node_feats=["feat"],
                              prefetch_labels=["label"])
    loader = DistNodeDataLoader(DistGraph(), torch.arange(seeds), sampler, shuffle=True,
                                batch_size=batch_size, num_workers=workers, seed=0)
    for _ in sys.stdin:
        begin, rows = time.perf_counter(), 0
        for _input_nodes, _seeds, blocks in loader:
            rows += len(blocks[0].srcdata["feat"])
            blocks[-1].dstdata["label"]
            for block in blocks:
                block.csc()
        print(time.perf_counter() - begin, rows, flush=True)
    graphd.distributed.exit_client()


def measure(number, build, seconds):
    """Returns the microseconds of a batch in C++, in C++ that holds batches, and in Python, and the
    difference of the last two; all are medians of the epochs of a process of each kind."""
    _, workers, batch_size, seeds, fanouts = CASES[number]
    cpp = [os.path.join(build, "bin", "loader_bench"),
           *map(str, (workers, batch_size, seeds, *fanouts))]
    sides = (Epochs(cpp), Epochs(cpp, "hold"),
             Epochs([sys.executable, os.path.abspath(__file__), "--build", build, "--side",
                     str(number)]))
    for side in sides:
        side.epoch()  # warms up
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(found) < 4:
        taken = [side.epoch() for side in (sides if len(found) % 2 else sides[::-1])]
        if len({rows for _, rows in taken}) != 1:
            sys.exit(f"they did not load the same: {taken}")
        found.append([each for each, _ in (taken if len(found) % 2 else taken[::-1])])
    for side in sides:
        side.close()
    scale = 1e6 / -(-seeds // batch_size)
    medians = [statistics.median(side) * scale for side in zip(*found)]
    more = statistics.median(python - holding for _, holding, python in found) * scale
    return *medians, more


def name_of(case):
    """Returns the name of a case in bench/run."""
    _, workers, _, seeds, fanouts = case
    return f"Epoch/workers:{workers}/seeds:{seeds}/fanouts:{','.join(map(str, fanouts))}"


def report(number, build, seconds, processes, lines):
    cpp, holding, python, more = map(
        statistics.median, zip(*(measure(number, build, seconds) for _ in range(processes))))
    allowed = f"{60 + 0.05 * holding:9.1f} us" if CASES[number][1] == 0 else ""
    lines.text(f"{CASES[number][0]:32}{cpp:7.0f} us{holding:7.0f} us{python:7.0f} us"
               f"{cpp / python:8.3f}{more:+9.1f} us{allowed}")
    lines.result(name_of(CASES[number]), python / 1e6, processes,
                 **{"batches/s": 1e6 / python, "of_limit": holding / python})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "release"))
    parser.add_argument("--seconds", type=float, default=4, help="of each round of the three")
    parser.add_argument("--processes", type=int, default=5, help="of each kind, for a case: rounds")
    parser.add_argument("--transport", default="auto", choices=["auto", "tcp"])
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    script.add_options(parser)
    args = parser.parse_args()
    sys.path.insert(0, os.path.join(args.build, "python"))
    if args.side is not None:
        return run_epochs(CASES[args.side])
    cases = {name_of(case): number for number, case in enumerate(CASES)}
    if not (names := script.chosen(args, cases)):
        return None
    if args.benchmark_min_time is not None:  # bench/run --quick
        args.seconds, args.processes = args.benchmark_min_time, 1
    with tempfile.TemporaryDirectory(prefix="graphd-bench-") as folder:
        daemon = serve(args.build, folder, make_graph(folder))
        try:
            os.environ.update(GRAPHD_SERVER_NAME="bench", GRAPHD_TRANSPORT=args.transport,
                              GRAPHD_RUNTIME_DIR=os.path.join(folder, "run"),
                              GRAPHD_IP_CONFIG=os.path.join(folder, "ip_config.txt"))
            lines = script.Lines(args)
            lines.text(f"{'':32}{'C++':>10}{'holding':>10}{'Python':>10}{'ratio':>8}{'more':>12}"
                       f"{'allowed':>12}")
            for name in names:
                report(cases[name], args.build, args.seconds, args.processes, lines)
        finally:
            daemon.terminate()
            daemon.wait()
    return None


if __name__ == "__main__":
    main()
