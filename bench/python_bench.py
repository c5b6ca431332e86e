#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python costs: the same epochs of the same served graph by bench/loader_bench (C++) and by the
package, in turn, in one run.

    bench/python_bench.py [--build build/release] [--seconds 10] [--transport auto]

Lines "workers" are throughput with sampler threads, to which the caller does nothing but look at what
a trainer needs: features, labels, the structure of each block. Lines "no workers" are what a batch
costs more in Python, where everything is done in turn. The two take turns epoch by epoch and load the
same batches; what stands here are medians, of the differences between neighbouring epochs too, so
that what else goes on in the machine falls on both. "allowed" is what is asked of the difference.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
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
    """A graphd that lives as long as the file that is returned is open."""
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


class OfPython:
    def __init__(self, case):
        import torch

        from graphd.distributed import DistGraph, DistNodeDataLoader
        from graphd.sampling import NeighborSampler

        _, workers, batch_size, seeds, fanouts = case
        sampler = NeighborSampler(list(fanouts), prefetch_node_feats=["feat"],
                                  prefetch_labels=["label"])
        self.loader = DistNodeDataLoader(DistGraph(), torch.arange(seeds), sampler, shuffle=True,
                                         batch_size=batch_size, num_workers=workers, seed=0)

    def epoch(self):
        begin, rows = time.perf_counter(), 0
        for input_nodes, seeds, blocks in self.loader:
            rows += len(blocks[0].srcdata["feat"])
            blocks[-1].dstdata["label"]
            for block in blocks:
                block.csc()
        return time.perf_counter() - begin, rows


class OfCpp:
    def __init__(self, case, build):
        _, workers, batch_size, seeds, fanouts = case
        self.process = subprocess.Popen(
            [os.path.join(build, "bin", "loader_bench"),
             *map(str, (workers, batch_size, seeds, *fanouts))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def epoch(self):
        self.process.stdin.write("\n")
        seconds, rows = self.process.stdout.readline().split()
        return float(seconds), int(rows)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(case, build, seconds):
    """Seconds of each epoch: (those of C++, those of Python)."""
    sides, found = (OfCpp(case, build), OfPython(case)), ([], [])
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(found[0]) < 4:
        rows = {}
        for i in (0, 1) if len(found[0]) % 2 else (1, 0):
            taken, rows[i] = sides[i].epoch()
            found[i].append(taken)
        if rows[0] != rows[1]:
            sys.exit(f"the two did not load the same: {rows}")
    sides[0].close()
    return found[0][1:], found[1][1:]  # the first ones were to warm up


def report(case, cpp, python):
    batches = -(-case[3] // case[2])
    more = statistics.median(b - a for a, b in zip(cpp, python)) / batches * 1e6
    cpp, python = (statistics.median(side) / batches * 1e6 for side in (cpp, python))
    allowed = f"{60 + 0.05 * cpp:9.1f} us" if case[1] == 0 else ""
    print(f"{case[0]:32}{cpp:7.0f} us{python:7.0f} us{cpp / python:8.3f}{more:+9.1f} us{allowed}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"))
    parser.add_argument("--seconds", type=float, default=10, help="of each case")
    parser.add_argument("--transport", default="auto", choices=["auto", "tcp"])
    args = parser.parse_args()
    sys.path.insert(0, os.path.join(args.build, "python"))
    import graphd

    with tempfile.TemporaryDirectory(prefix="graphd-bench-") as folder:
        daemon = serve(args.build, folder, make_graph(folder))
        try:
            os.environ.update(GRAPHD_SERVER_NAME="bench", GRAPHD_TRANSPORT=args.transport,
                              GRAPHD_RUNTIME_DIR=os.path.join(folder, "run"),
                              GRAPHD_IP_CONFIG=os.path.join(folder, "ip_config.txt"))
            graphd.distributed.initialize()
            print(f"{'':32}{'C++':>10}{'Python':>10}{'ratio':>8}{'more':>12}{'allowed':>12}")
            for case in CASES:
                report(case, *compare(case, args.build, args.seconds))
        finally:
            graphd.distributed.exit_client()
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
