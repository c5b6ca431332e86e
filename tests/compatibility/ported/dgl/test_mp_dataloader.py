# SPDX-License-Identifier: Apache-2.0
"""Asks the same as DGL's tests of these names: loaders pass over all seeds, in batches of samples."""

import dgl
import pytest
import servers
import torch


class _Sampler:
    def __init__(self, g):
        self._g = g

    def sample_blocks(self, seeds):
        seeds = torch.as_tensor(seeds)
        frontier = dgl.distributed.sample_neighbors(self._g, seeds, 4)
        block = dgl.to_block(frontier, seeds)
        block.srcdata["features"] = self._g.ndata["features"][block.srcdata[dgl.NID]]
        return block


def _batches_of_dist_loader(g):
    loader = dgl.distributed.DistDataLoader(
        dataset=torch.arange(300),
        batch_size=32,
        collate_fn=_Sampler(g).sample_blocks,
        shuffle=False,
        drop_last=False,
    )
    seeds = []
    for block in loader:
        ids = block.srcdata[dgl.NID]
        assert torch.equal(block.srcdata["features"], g.ndata["features"][ids])
        seeds.append(ids[block.dstnodes()])
    return torch.cat(seeds)


@pytest.mark.parametrize("num_workers", [0])
@pytest.mark.parametrize("reshuffle", [True, False])
@pytest.mark.parametrize("num_groups", [1])
def test_dist_dataloader(num_workers, reshuffle, num_groups):
    servers.partition(servers.make_graph(), reshuffle=reshuffle)
    assert torch.equal(servers.with_servers(_batches_of_dist_loader), torch.arange(300))


def _batches_of_node_loader(g):
    sampler = dgl.dataloading.NeighborSampler([5, 10])
    loader = dgl.dataloading.DistNodeDataLoader(
        g, torch.arange(300), sampler, batch_size=64, shuffle=False, drop_last=False
    )
    seeds = []
    for inputs, outputs, blocks in loader:
        assert len(blocks) == 2
        assert torch.equal(blocks[0].srcdata[dgl.NID], inputs)
        assert torch.equal(blocks[-1].dstdata[dgl.NID], outputs)
        seeds.append(outputs)
    return torch.cat(seeds)


def _batches_of_edge_loader(g):
    sampler = dgl.dataloading.as_edge_prediction_sampler(
        dgl.dataloading.NeighborSampler([5]),
        negative_sampler=dgl.dataloading.negative_sampler.Uniform(2),
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
def test_dataloader(kind):
    servers.partition(servers.make_graph())
    if kind == "node":
        found = servers.with_servers(_batches_of_node_loader)
        assert torch.equal(found, torch.arange(300))
    else:
        assert servers.with_servers(_batches_of_edge_loader) == [100, 200]
