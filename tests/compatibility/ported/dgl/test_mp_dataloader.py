# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's tests of these names: loaders pass over all seeds, in batches of samples, and
leave out the edges that they are told to."""

import functools

import dgl
import pytest
import servers
import torch


class _Sampler:
    def __init__(self, g, use_graphbolt):
        self._g, self._use_graphbolt = g, use_graphbolt

    def sample_blocks(self, seeds):
        seeds = torch.as_tensor(seeds)
        frontier = dgl.distributed.sample_neighbors(
            self._g, seeds, 4, use_graphbolt=self._use_graphbolt
        )
        block = dgl.to_block(frontier, seeds)
        block.srcdata["features"] = self._g.ndata["features"][block.srcdata[dgl.NID]]
        return block


def _batches_of_dist_loader(use_graphbolt, g):
    loader = dgl.distributed.DistDataLoader(
        dataset=torch.arange(300),
        batch_size=32,
        collate_fn=_Sampler(g, use_graphbolt).sample_blocks,
        shuffle=False,
        drop_last=False,
    )
    seeds = []
    for block in loader:
        ids = block.srcdata[dgl.NID]
        assert torch.equal(block.srcdata["features"], g.ndata["features"][ids])
        seeds.append(ids[block.dstnodes()])
    return torch.cat(seeds)


@pytest.mark.parametrize("use_graphbolt", [False, True])
def test_dist_dataloader(use_graphbolt):
    servers.partition(servers.make_graph(), use_graphbolt=use_graphbolt, store_eids=False)
    batches = functools.partial(_batches_of_dist_loader, use_graphbolt)
    assert torch.equal(servers.with_servers(batches), torch.arange(300))


def _batches_of_node_loader(g):
    """Returns the seeds of all batches, and whether their blocks have ids of edges."""
    sampler = dgl.dataloading.NeighborSampler([5, 10])
    loader = dgl.dataloading.DistNodeDataLoader(
        g, torch.arange(300), sampler, batch_size=64, shuffle=False, drop_last=False
    )
    seeds, have_ids = [], set()
    for inputs, outputs, blocks in loader:
        assert len(blocks) == 2
        assert torch.equal(blocks[0].srcdata[dgl.NID], inputs)
        assert torch.equal(blocks[-1].dstdata[dgl.NID], outputs)
        seeds.append(outputs)
        have_ids.update(dgl.EID in block.edata for block in blocks)
    return torch.cat(seeds), have_ids


def _negative_sampler():
    return dgl.dataloading.negative_sampler.Uniform(2)


def _batches_of_edge_loader(g):
    sampler = dgl.dataloading.as_edge_prediction_sampler(
        dgl.dataloading.NeighborSampler([5]), negative_sampler=_negative_sampler()
    )
    loader = dgl.dataloading.DistEdgeDataLoader(
        g, torch.arange(100), sampler, batch_size=20, shuffle=False, drop_last=False
    )
    counts = [0, 0]
    for _, positive, negative, _ in loader:
        counts[0] += positive.num_edges()
        counts[1] += negative.num_edges()
    return counts


@pytest.mark.parametrize("kind", ["node", "edge"])
@pytest.mark.parametrize("use_graphbolt", [False, True])
@pytest.mark.parametrize("return_eids", [False, True])
def test_dataloader_homograph(kind, use_graphbolt, return_eids):
    options = {"use_graphbolt": use_graphbolt, "store_eids": return_eids}
    servers.partition(servers.make_graph(), **options)
    if kind == "node":
        seeds, have_ids = servers.with_servers(_batches_of_node_loader)
        assert torch.equal(seeds, torch.arange(300))
        assert have_ids == {not use_graphbolt or return_eids}, "dgl.EID of the blocks' edges"
    else:
        assert servers.with_servers(_batches_of_edge_loader) == [100, 200]


def _batches_of_typed_loader(g):
    """Returns the edges of the last blocks of all batches, by the types that the blocks have."""
    loader = dgl.dataloading.DistNodeDataLoader(
        g, {"n2": torch.arange(100)}, dgl.dataloading.NeighborSampler([{"r1": 5, "r2": 5}, 10]),
        batch_size=32, shuffle=True, drop_last=False,
    )  # fmt: skip
    found = {}
    for _, _, blocks in loader:
        for etype in blocks[-1].canonical_etypes:
            u, v = blocks[-1].edges(etype=etype)
            found.setdefault(etype, []).append(
                (
                    blocks[-1].srcnodes[etype[0]].data[dgl.NID][u],
                    blocks[-1].dstnodes[etype[2]].data[dgl.NID][v],
                    blocks[-1].edges[etype].data[dgl.EID],
                )
            )
    return {etype: [torch.cat(each) for each in zip(*some)] for etype, some in found.items()}


def test_dataloader_heterograph():
    graph = servers.make_typed_graph()
    nodes, edges = servers.partition(graph)
    found = servers.with_servers(_batches_of_typed_loader)
    assert list(found) == [("n1", "r1", "n2")] and len(found["n1", "r1", "n2"][0]) > 100
    for etype, (u, v, eids) in found.items():
        ends = graph.find_edges(edges[etype][eids], etype=etype)
        assert torch.equal(nodes[etype[0]][u], ends[0])
        assert torch.equal(nodes[etype[2]][v], ends[1])


def _excluded(eids, options, g):
    """Returns for each batch its edges, and the edges of its blocks by type."""
    loader = dgl.dataloading.DistEdgeDataLoader(
        g, eids, dgl.dataloading.NeighborSampler([5, -1]), batch_size=32, shuffle=True, **options
    )
    found = []
    for _, positive, *negatives, blocks in loader:
        assert len(negatives) == ("negative_sampler" in options)
        seeds = {etype: positive.edges[etype].data[dgl.EID] for etype in g.canonical_etypes}
        sampled = {
            etype: torch.cat([block.edges[etype].data[dgl.EID] for block in blocks])
            for etype in g.canonical_etypes
        }
        found.append((seeds, sampled))
    return found


@pytest.mark.parametrize("exclude", [None, "self", "reverse_id"])
@pytest.mark.parametrize("negative", [False, True])
def test_edge_dataloader_homograph(exclude, negative):
    draw = torch.Generator().manual_seed(2)
    pairs = torch.randperm(300 * 299 // 2, generator=draw)[:900]
    u, v = (each[pairs] for each in torch.triu_indices(300, 300, 1))
    graph = dgl.graph((torch.cat([u, v]), torch.cat([v, u])), num_nodes=300)
    _, edges = servers.partition(graph)
    # The mapping takes the place of the ids that DGL's test can leave as they are.
    reverse = edges.argsort()[(edges + 900) % 1800]
    options = {"exclude": exclude, "reverse_eids": reverse}
    if negative:
        options["negative_sampler"] = _negative_sampler()
    etype = ("_N", "_E", "_N")
    for seeds, sampled in servers.with_servers(
        functools.partial(_excluded, torch.arange(200), options)
    ):
        hidden = {None: [], "self": [seeds[etype]],
                  "reverse_id": [seeds[etype], reverse[seeds[etype]]]}[exclude]  # fmt: skip
        assert len(sampled[etype])
        assert not any(bool(torch.isin(sampled[etype], each).any()) for each in hidden)


@pytest.mark.parametrize("exclude", [None, "self", "reverse_types"])
def test_edge_dataloader_heterograph(exclude):
    draw = torch.Generator().manual_seed(4)
    pairs = torch.randperm(300 * 300, generator=draw)[:900]
    u, v = pairs // 300, pairs % 300
    there, back = ("n1", "r1", "n2"), ("n2", "r2", "n1")
    graph = dgl.heterograph({there: (u, v), back: (v, u)}, {"n1": 300, "n2": 300})
    _, edges = servers.partition(graph)
    options = {"exclude": exclude, "reverse_etypes": {there: back}}
    for seeds, sampled in servers.with_servers(
        functools.partial(_excluded, {there: torch.arange(200)}, options)
    ):
        assert len(sampled[there])
        if exclude:
            assert not bool(torch.isin(sampled[there], seeds[there]).any())
        if exclude == "reverse_types":  # an edge and its reverse have one original id
            hidden = edges[there][seeds[there]]
            assert not bool(torch.isin(edges[back][sampled[back]], hidden).any())
