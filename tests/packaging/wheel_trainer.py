# SPDX-License-Identifier: Apache-2.0
"""A trainer that wheel_test.sh runs on served partitions of a ring, with only NumPy."""
import os

import numpy as np

from graphd.distributed import DistGraph, DistNodeDataLoader, DistTensor, initialize, node_split
from graphd.sampling import NeighborSampler

initialize()
g = DistGraph("ring")
assert g.num_nodes() == g.num_edges() == 1000
visits = DistTensor((g.num_nodes(), 2), np.float32, "visits",
                    part_policy=g.get_node_partition_policy("_N"))
seeds = node_split(np.ones(g.num_nodes(), bool), g.get_partition_book())
print(f"visits {len(seeds)} nodes as {os.environ['GRAPHD_ROLE']}", flush=True)
for input_nodes, nodes, blocks in DistNodeDataLoader(g, seeds, NeighborSampler([1]), batch_size=64):
    assert len(input_nodes) == blocks[0].num_src_nodes()
    original = g.ndata["orig_id"][input_nodes]
    _, sources = blocks[0].csc()
    assert (original[sources] == (original[: len(nodes)] - 1) % g.num_nodes()).all()
    visits[nodes] = visits[nodes] + 1
g.barrier()
assert (visits[:] == 1).sum() == 2000, "the trainers visit each node once"
g.barrier()
