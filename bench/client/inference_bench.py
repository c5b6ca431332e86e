#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures inference over all nodes: layerwise() with a GraphSAGE of two layers, against the bare
gather of inputs and computation of outputs for the same batches, alternately in one run.

    bench/client/inference_bench.py [--build build/release] [--rounds 5] [--transport auto]

The bare loop has its batches sampled beforehand, and keeps no outputs. layerwise() samples them, and
writes the rows of both layers to the server. A run that can be resumed also writes its progress after
each batch. The last column is the time in relation to that of the bare loop; 1.3 is allowed.
"""
import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time

from python_bench import COLUMNS, HERE, NODES, make_graph, script, serve

HIDDEN, CLASSES = 128, 50
BARE = "bare gather and compute"
# The names in bench/run.
NAMES = {"Layerwise": "layerwise", "Layerwise/resumable": "layerwise, resumable"}


def bare(g, layers, batch_size):
    """Returns a function that gathers inputs and computes outputs, without anything else."""
    import torch

    from graphd.distributed import DistTensor
    from graphd.sampling import NeighborSampler

    policy = g.get_node_partition_policy()
    hidden = DistTensor((NODES, HIDDEN), torch.float32, "hidden", part_policy=policy)
    for begin in range(0, NODES, 10_000):
        hidden[begin:begin + 10_000] = torch.rand(10_000, HIDDEN)
    sampler = NeighborSampler([-1], edge_ids=False)
    batches = []
    for nodes in torch.arange(NODES).split(batch_size):
        input_nodes, _, (block,) = sampler.sample_blocks(g, nodes)
        block.csc()
        batches.append((input_nodes, block))

    def run():
        with torch.no_grad():
            for layer, inputs in zip(layers, (g.ndata["feat"], hidden)):
                for input_nodes, block in batches:
                    layer(block, inputs[input_nodes])

    return run


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def measure(args, names):
    import torch

    import graphd
    from graphd.distributed import DistGraph
    from graphd.nn import SAGEConv

    graphd.distributed.initialize()
    torch.set_num_threads(args.threads)
    g = DistGraph()
    layers = [SAGEConv(COLUMNS, HIDDEN, activation=torch.relu).eval(),
              SAGEConv(HIDDEN, CLASSES).eval()]

    def layerwise(**options):
        graphd.inference.layerwise(g, layers, "feat", batch_size=args.batch_size,
                                   num_workers=args.workers, **options)

    numbers = itertools.count()  # a run that is complete is not computed again
    sides = {BARE: bare(g, layers, args.batch_size), "layerwise": layerwise,
             "layerwise, resumable": lambda: layerwise(resume=True, name=f"run{next(numbers)}")}
    for run in sides.values():
        run()  # warms up
    taken = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, run in sides.items():
            taken[name].append(seconds(run))
    least, lines = statistics.median(taken[BARE]), script.Lines(args)
    for name, each in taken.items():
        median = statistics.median(each)
        lines.text(f"{name:28}{NODES / median:10,.0f} nodes/s {median:8.3f} s {median / least:7.2f}")
    for name in names:
        median = statistics.median(taken[NAMES[name]])
        lines.result(name, median, args.rounds,
                     **{"nodes/s": NODES / median, "of_limit": least / median})
    graphd.distributed.exit_client()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch_size", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1, help="threads that make batches")
    parser.add_argument("--threads", type=int, default=1, help="threads that compute")
    parser.add_argument("--transport", default="auto", choices=["auto", "tcp"])
    script.add_options(parser)
    args = parser.parse_args()
    if not (names := script.chosen(args, NAMES)):
        return
    if args.benchmark_min_time is not None:  # bench/run --quick
        args.rounds = 1
    sys.path.insert(0, os.path.join(args.build, "python"))
    with tempfile.TemporaryDirectory(prefix="graphd-bench-") as folder:
        daemon = serve(args.build, folder, make_graph(folder))
        try:
            os.environ.update(GRAPHD_SERVER_NAME="bench", GRAPHD_TRANSPORT=args.transport,
                              GRAPHD_RUNTIME_DIR=os.path.join(folder, "run"),
                              GRAPHD_IP_CONFIG=os.path.join(folder, "ip_config.txt"))
            measure(args, names)
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
