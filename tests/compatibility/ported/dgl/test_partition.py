# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's test of this name: partitions have all of a graph, with new ids."""

import dgl
import pytest
import servers
import torch


@pytest.mark.parametrize("reshuffle", [True, False])
def test_partition(reshuffle):
    graph = servers.make_graph()
    nodes, edges = servers.partition(graph, reshuffle=reshuffle)
    assert torch.equal(nodes.sort().values, torch.arange(graph.num_nodes()))
    assert torch.equal(edges.sort().values, torch.arange(graph.num_edges()))
    for part in range(servers.PARTS):
        local, node_feats, edge_feats, book, name, _, _ = dgl.distributed.load_partition(
            "parts/ported.json", part
        )
        assert name == "ported"
        mine = local.ndata[dgl.NID][local.ndata["inner_node"].bool()]
        assert torch.equal(mine, book.partid2nids(part))
        assert torch.equal(node_feats["_N/features"], graph.ndata["features"][nodes[mine]])
        owned = local.edata[dgl.EID][local.edata["inner_edge"].bool()].sort().values
        assert torch.equal(owned, book.partid2eids(part))
        assert torch.equal(
            edge_feats["_N:_E:_N/features"], graph.edata["features"][edges[book.partid2eids(part)]]
        )
