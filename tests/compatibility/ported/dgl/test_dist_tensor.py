# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's test of this name: tensors on servers are set and read."""

import dgl
import servers
import torch


def _use_tensors(g):
    tensor = dgl.distributed.DistTensor(
        (g.num_nodes(), 3), torch.float32, "ported", init_func=_ones
    )
    whole = bool((tensor[torch.arange(g.num_nodes())] == 1).all())
    tensor[torch.tensor([3, 1])] = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    features = g.ndata["features"]
    return whole, tensor[torch.tensor([1, 3])], features[torch.arange(len(features))]


def _ones(shape, dtype):
    return torch.ones(shape, dtype=dtype)


def _set_features(g):
    ids = torch.arange(10)
    values = torch.full((10, 2), 7.0)
    g.ndata["features"][ids] = values
    g.ndata["new"] = dgl.distributed.DistTensor((g.num_nodes(), 1), torch.int32, "new")
    return g.ndata["features"][ids], "new" in g.ndata


def test_op():
    graph = servers.make_graph()
    nodes, _ = servers.partition(graph)
    whole, rows, features = servers.with_servers(_use_tensors)
    assert whole
    assert rows.tolist() == [[4, 5, 6], [1, 2, 3]]
    assert torch.equal(features, graph.ndata["features"][nodes])
    rows, has_new = servers.with_servers(_set_features)
    assert bool((rows == 7).all()) and has_new
