# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's tests of these names: samples over servers are edges of the graph."""

import dgl
import servers
import torch

SEEDS = torch.tensor([0, 10, 99, 66, 124, 208])


def _find_edges(g):
    return g.find_edges(torch.arange(g.num_edges()))


def test_rpc_find_edges_shuffle():
    graph = servers.make_graph()
    nodes, edges = servers.partition(graph)
    u, v = servers.with_servers(_find_edges)
    assert torch.equal(nodes[u], graph.find_edges(edges)[0])
    assert torch.equal(nodes[v], graph.find_edges(edges)[1])


def _degrees(g):
    return g.in_degrees(torch.arange(g.num_nodes())), g.out_degrees(torch.arange(g.num_nodes()))


def test_rpc_get_degree_shuffle():
    graph = servers.make_graph()
    nodes, _ = servers.partition(graph)
    into, out = servers.with_servers(_degrees)
    assert torch.equal(into, graph.in_degrees(nodes))
    assert torch.equal(out, graph.out_degrees(nodes))


def _sample(g):
    block = dgl.distributed.sample_neighbors(g, SEEDS, 3)
    return (*block.edges(), block.edata[dgl.EID])


def _check_sample(graph, mapping, sample):
    (nodes, edges), (u, v, eids) = mapping, sample
    assert torch.equal(graph.find_edges(edges[eids])[0], nodes[u])
    assert torch.equal(graph.find_edges(edges[eids])[1], nodes[v])


def test_rpc_sampling_shuffle():
    graph = servers.make_graph()
    mapping = servers.partition(graph)
    sample = servers.with_servers(_sample)
    _check_sample(graph, mapping, sample)
    counts = torch.bincount(sample[1], minlength=graph.num_nodes())
    expected = graph.in_degrees(mapping[0][SEEDS]).clamp(max=3)
    assert torch.equal(counts[SEEDS], expected)


def test_standalone_sampling():
    graph = servers.make_graph()
    mapping = dgl.distributed.partition_graph(graph, "ported", 1, "parts", return_mapping=True)
    dgl.distributed.initialize("ip_config.txt")
    g = dgl.distributed.DistGraph("ported", part_config="parts/ported.json")
    _check_sample(graph, mapping, _sample(g))
    dgl.distributed.exit_client()


def _in_subgraph(g):
    return g.in_degrees(SEEDS), *dgl.distributed.in_subgraph(g, SEEDS).edges()


def test_rpc_in_subgraph():
    graph = servers.make_graph()
    nodes, _ = servers.partition(graph)
    degrees, u, v = servers.with_servers(_in_subgraph)
    assert torch.equal(torch.bincount(v, minlength=graph.num_nodes())[SEEDS], degrees)
    assert bool(graph.has_edges_between(nodes[u], nodes[v]).all())


def _sample_typed(g):
    block = dgl.distributed.sample_neighbors(g, {"n2": SEEDS}, 3)
    return {etype: block.edges(etype=etype) for etype in block.etypes}


def test_rpc_hetero_sampling_shuffle():
    graph = servers.make_typed_graph()
    nodes, _ = servers.partition(graph)
    sample = servers.with_servers(_sample_typed)
    u, v = sample["r1"]
    assert len(sample["r2"][0]) == 0
    assert 0 < len(u) <= 3 * len(SEEDS)
    assert bool(graph.has_edges_between(nodes["n1"][u], nodes["n2"][v], etype="r1").all())
