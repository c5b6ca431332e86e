# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's tests of these names: partitions have all of a graph, with new ids, and part
configs are read."""

import json
import os

import dgl
import pytest
import servers
import torch


@pytest.mark.parametrize("load_feats", [True, False])
def test_partition(load_feats):
    graph = servers.make_graph()
    nodes, edges = servers.partition(graph)
    assert torch.equal(nodes.sort().values, torch.arange(graph.num_nodes()))
    assert torch.equal(edges.sort().values, torch.arange(graph.num_edges()))
    for part in range(servers.PARTS):
        local, node_feats, edge_feats, book, name, _, _ = dgl.distributed.load_partition(
            "parts/ported.json", part, load_feats=load_feats
        )
        if not load_feats:
            assert (node_feats, edge_feats) == ({}, {})
            node_feats, edge_feats = dgl.distributed.load_partition_feats(
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


def test_convert_dgl_partition_to_csc_sampling_graph_homo():
    servers.partition(servers.make_graph())
    dgl.distributed.convert_dgl_partition_to_csc_sampling_graph("parts/ported.json")


def _write_config(**changed):
    """Writes a part config whose types are in an order that is not that of their numbers."""
    config = {
        "graph_name": "ported",
        "num_parts": 1,
        "num_nodes": 30,
        "num_edges": 50,
        "halo_hops": 1,
        "part_method": "metis",
        "ntypes": {"b": 1, "a": 0},
        "etypes": {"b:to:a": 1, "a:to:b": 0},
        "node_map": {"b": [[10, 30]], "a": [[0, 10]]},
        "edge_map": {"b:to:a": [[20, 50]], "a:to:b": [[0, 20]]},
        "part-0": {
            "part_graph": "part0/graph.dgl",
            "node_feats": "part0/node_feat.dgl",
            "edge_feats": "part0/edge_feat.dgl",
        },
    }
    os.mkdir("parts")
    with open("parts/ported.json", "w", encoding="utf-8") as file:
        json.dump({**config, **changed}, file)


def test_not_sorted_node_edge_map():
    _write_config()
    book, _, ntypes, etypes = dgl.distributed.load_partition_book("parts/ported.json", 0)
    assert ntypes == {"a": 0, "b": 1}
    assert etypes == {("a", "to", "b"): 0, ("b", "to", "a"): 1}
    assert (book._num_nodes("b"), book._num_edges(("a", "to", "b"))) == (20, 20)


def test_UnknownPartitionBook():
    _write_config(node_map={"a": {"0": 0}, "b": {"0": 0}})
    with pytest.raises(TypeError):
        dgl.distributed.load_partition_book("parts/ported.json", 0)
