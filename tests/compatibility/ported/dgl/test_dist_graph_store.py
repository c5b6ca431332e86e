# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's test of this name: trainers share the nodes and edges of a mask."""

import dgl
import servers
import torch


def _split(g):
    book = g.get_partition_book()
    mask = torch.arange(g.num_nodes()) % 3 == 0
    edge_mask = torch.arange(g.num_edges()) % 2 == 0
    return (
        dgl.distributed.node_split(mask, book, force_even=True),
        dgl.distributed.edge_split(edge_mask, book, force_even=True),
        mask,
        edge_mask,
    )


def test_split():
    servers.partition(servers.make_graph())
    nodes, edges, mask, edge_mask = servers.with_servers(_split)
    # The client is the only trainer, and has all of them.
    assert torch.equal(nodes.sort().values, mask.nonzero().flatten())
    assert torch.equal(edges.sort().values, edge_mask.nonzero().flatten())
