# SPDX-License-Identifier: Apache-2.0
"""Describes the mini-batches of a graph: python3 -m scaling_model.describe PART_CONFIG SIZE FANOUT...

It opens the partitions in its own process, samples some mini-batches of random nodes, and prints a
profile as JSON, with the share of sampled edges whose ends are in different partitions.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any

import numpy as np

from graphd.distributed import DistGraph
from graphd.sampling import NeighborSampler

BATCHES = 10


def numpy_of(tensor: Any) -> Any:
    return np.asarray(tensor)


def main() -> None:
    config, size, fanouts = sys.argv[1], int(sys.argv[2]), [int(each) for each in sys.argv[3:]]
    with open(config, encoding="utf-8") as file:
        name = json.load(file)["graph_name"]
    g: Any = DistGraph(name, part_config=config)
    sampler: Any = NeighborSampler(fanouts)
    book = g.get_partition_book()
    count, parts = g.num_nodes(), book.num_partitions()
    draw = np.random.default_rng(1)
    frontiers, edges, cuts = [], [], []
    for _ in range(BATCHES):
        seeds = draw.choice(count, min(size, count), replace=False)
        _, _, blocks = sampler.sample_blocks(g, seeds)
        frontiers.append([len(seeds), *(block.num_src_nodes() for block in reversed(blocks))])
        edges.append([block.num_edges() for block in reversed(blocks)])
        source, target = blocks[0].edges()
        owner = numpy_of(book.nid2partid(blocks[0].srcdata["_ID"]))
        cuts.append(float((owner[numpy_of(source)] != owner[numpy_of(target)]).mean()))
    profile = {
        "fanouts": fanouts,
        "batch_size": size,
        "frontier": [statistics.mean(each) for each in zip(*frontiers)],
        "edges": [statistics.mean(each) for each in zip(*edges)],
        "nodes": count,
        "parts": parts,
        # The cut depends on the partitions, so a graph in one piece has none.
        "cut": statistics.mean(cuts) if parts > 1 else None,
    }
    print(json.dumps(profile))


if __name__ == "__main__":
    main()
