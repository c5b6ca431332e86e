# SPDX-License-Identifier: Apache-2.0
"""A trainer that is measured: python3 -m scaling_model.trainer RANK.

Each line of standard input is a job as JSON: "fanouts", "batch_size", "feature" (null: none), "workers",
"compute" (seconds of processor time of a step) and "warm" (batches before). When it is warm, it prints
the numbers of nodes and edges of its batches and the time of a step; then it reads the time at which to
end, and prints the times at which batches were done.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import graphd
from graphd.distributed import DistGraph, DistNodeDataLoader
from graphd.sampling import NeighborSampler
from scaling_model.graph import NAME

PROFILED = 6  # batches


def batches(loader: Any) -> Iterator[Any]:
    """Yields batches without end, epoch after epoch."""
    while True:
        yield from loader


def take(step: Any, feature: str | None) -> None:
    """Does what a trainer does with a batch: it takes the blocks and the features."""
    _, _, blocks = step
    for block in blocks:
        block.csc()
    if feature:
        blocks[0].srcdata[feature]


def compute(seconds: float) -> None:
    """Takes so much processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def numbers(g: Any, rank: int, steps: list[Any]) -> dict[str, Any]:
    """Returns the means of the nodes and edges of each hop, and of the new nodes that are local."""
    book = g.get_partition_book()
    frontiers, edges, local = [], [], []
    for inputs, seeds, blocks in steps:
        frontiers.append([len(seeds), *(block.num_src_nodes() for block in reversed(blocks))])
        edges.append([block.num_edges() for block in reversed(blocks)])
        owned = np.asarray(book.nid2partid(inputs)) == rank
        bounds = [0, *frontiers[-1]]
        local.append([int(owned[a:b].sum()) for a, b in itertools.pairwise(bounds)])
    return {
        "frontier": [statistics.mean(each) for each in zip(*frontiers)],
        "edges": [statistics.mean(each) for each in zip(*edges)],
        "local": [statistics.mean(each) for each in zip(*local)],
    }


def serve(g: Any, rank: int, job: dict[str, Any]) -> dict[str, Any]:
    """Runs a job; returns its result."""
    feature = job["feature"]
    # The model's answers have the ids of edges.
    sampler = NeighborSampler(
        job["fanouts"], edge_ids=True, prefetch_node_feats=[feature] if feature else None
    )
    loader = DistNodeDataLoader(
        g,
        g.get_partition_book().partid2nids(rank),
        sampler,
        batch_size=job["batch_size"],
        shuffle=True,
        drop_last=True,
        num_workers=job["workers"],
        seed=rank + 1,
    )
    steps = batches(loader)
    seen: list[Any] = []
    for _ in range(job["warm"]):
        begun = time.monotonic()
        step = next(steps)
        take(step, feature)
        if len(seen) < PROFILED:
            seen.append(step)
    print(json.dumps({**numbers(g, rank, seen), "step": time.monotonic() - begun}), flush=True)
    del seen
    end = json.loads(sys.stdin.readline())
    before = cache_counts(g)
    ends = []
    while time.monotonic() < end:
        take(next(steps), feature)
        if job["compute"]:
            compute(job["compute"])
        ends.append(time.monotonic())
    after = cache_counts(g)
    return {"ends": ends, "cache": {key: after[key] - before[key] for key in after}}


def cache_counts(g: Any) -> dict[str, int]:
    """Returns the counts of the row cache; none without one."""
    return {
        key: value for key, value in g.row_cache_statistics().items() if key in ("hits", "misses")
    }


def main() -> None:
    rank = int(sys.argv[1])
    graphd.distributed.initialize()
    g = DistGraph(NAME)
    for line in sys.stdin:
        print(json.dumps(serve(g, rank, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
