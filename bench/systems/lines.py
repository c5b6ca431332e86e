# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of memory in which the sampled edges of mini-batches lie.

    python3 -m systems.lines FOLDER

The sources of a node's edges lie together, 16 ids of 4 bytes in a line of 64 bytes, so that a batch
reads fewer lines than it has edges. This draws batches as samplers do, without replacement, from the
graph in FOLDER, and prints as JSON how many edges a batch has per line that it touches.
"""

import json
import os
import sys

import numpy as np

from systems import common

IDS_OF_LINE, BATCHES = 16, 3
# The graph and the seeds of the benchmark of the kernel alone, BM_Sample/large/uniform.
KERNEL_NODES, KERNEL_DEGREE, KERNEL_SEEDS, KERNEL_FANOUT = 1_500_000, 50, 20_000, 10


def positions(draw, indptr, nodes, fanout):
    """Returns the positions of the edges that are drawn for nodes (Floyd's algorithm)."""
    begin = indptr[nodes]
    degree = indptr[nodes + 1] - begin
    few = degree <= fanout
    of_few = degree[few]
    ends = np.cumsum(of_few)
    whole = np.repeat(begin[few] - (ends - of_few), of_few) + np.arange(of_few.sum())
    begin, degree = begin[~few], degree[~few]
    chosen = np.empty((len(begin), fanout), np.int64)
    for i in range(fanout):
        last = degree - fanout + i
        drawn = draw.integers(0, last + 1)
        taken = (chosen[:, :i] == drawn[:, None]).any(1)
        chosen[:, i] = np.where(taken, last, drawn)
    return np.concatenate([whole, (begin[:, None] + chosen).ravel()])


def edges_per_line(draw, indptr, indices, seeds, fanouts):
    """Returns the number of edges of a batch per line that has any of them. A line counts once for all
    hops, because a cache may keep it for the batch."""
    drawn = []
    for fanout in reversed(fanouts):
        drawn.append(positions(draw, indptr, seeds, fanout))
        seeds = np.unique(np.concatenate([seeds, indices[drawn[-1]]]))
    found = np.concatenate(drawn)
    return len(found) / len(np.unique(found // IDS_OF_LINE))


def of_kernel(draw):
    """Returns the edges per line of the kernel's benchmark, whose nodes have the same degree."""
    indptr = np.arange(KERNEL_NODES + 1) * KERNEL_DEGREE
    found = positions(draw, indptr, draw.integers(0, KERNEL_NODES, KERNEL_SEEDS), KERNEL_FANOUT)
    return len(found) / len(np.unique(found // IDS_OF_LINE))


def main(folder):
    indptr, indices, training = (
        np.load(os.path.join(folder, name + ".npy"), mmap_mode="r")
        for name in ("indptr", "indices", "train_idx")
    )
    draw = np.random.default_rng(1)
    found = {"sample_kernel": of_kernel(draw)}
    for name, (fanouts, size) in common.FANOUTS.items():
        seeds = common.batches(training, size)
        found[name] = np.mean(
            [edges_per_line(draw, indptr, indices, next(seeds), fanouts) for _ in range(BATCHES)]
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
