# SPDX-License-Identifier: Apache-2.0
"""Asks the same as PyG's tests of these names: batches are subgraphs, with features."""

import pytest
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GraphConv


def make_data(nodes=100, edges=500):
    draw = torch.Generator().manual_seed(7)
    edge_index = torch.randint(nodes, (2, edges), generator=draw)
    return Data(x=torch.arange(nodes), edge_index=edge_index, edge_attr=torch.arange(edges))


def make_typed_data():
    draw = torch.Generator().manual_seed(7)
    data = HeteroData()
    data["paper"].x = torch.arange(100)
    data["author"].x = torch.arange(100, 300)
    for etype, sources, targets in (
        (("paper", "to", "paper"), 100, 100),
        (("paper", "to", "author"), 100, 200),
        (("author", "to", "paper"), 200, 100),
    ):
        ends = [torch.randint(size, (500,), generator=draw) for size in (sources, targets)]
        data[etype].edge_index = torch.stack(ends)
    return data


def pairs(edge_index):
    return set(map(tuple, edge_index.t().tolist()))


@pytest.mark.parametrize("directed", [True])
def test_homo_neighbor_loader_basic(directed):
    data = make_data()
    loader = NeighborLoader(data, num_neighbors=[5] * 2, batch_size=20, directed=directed)
    assert str(loader) == "NeighborLoader()"
    assert len(loader) == 5
    for number, batch in enumerate(loader):
        assert batch.batch_size == 20
        assert batch.n_id[:20].tolist() == list(range(20 * number, 20 * number + 20))
        assert torch.equal(batch.x, data.x[batch.n_id])
        found = torch.stack([batch.n_id[each] for each in batch.edge_index])
        assert torch.equal(found, data.edge_index[:, batch.edge_attr])


def test_hetero_neighbor_loader_basic():
    data = make_typed_data()
    loader = NeighborLoader(
        data, num_neighbors=[10] * 2, input_nodes=("paper", torch.arange(100)), batch_size=20
    )
    for batch in loader:
        assert batch["paper"].batch_size == 20
        for ntype in ("paper", "author"):
            assert torch.equal(batch[ntype].x, data[ntype].x[batch[ntype].n_id])
        for etype in data.edge_types:
            u, v = batch[etype].edge_index
            ends = torch.stack([batch[etype[0]].n_id[u], batch[etype[2]].n_id[v]])
            assert pairs(ends) <= pairs(data[etype].edge_index)


def test_homo_neighbor_loader_on_cora(get_dataset):
    data = get_dataset(name="Cora")[0]
    seeds = torch.arange(10)
    (batch,) = NeighborLoader(data, num_neighbors=[-1, -1], input_nodes=seeds, batch_size=10)
    torch.manual_seed(1)
    first, second = GraphConv(data.num_features, 16), GraphConv(16, 7)

    def compute(each):
        return second(first(each.x, each.edge_index).relu(), each.edge_index)[:10]

    with torch.no_grad():
        assert torch.allclose(compute(batch), compute(data), atol=1e-5)


def test_homo_neighbor_loader_sampled_info():
    edge_index = torch.tensor([[2, 3, 4, 5, 7, 7, 10, 11, 12, 13], [0, 1, 2, 3, 2, 3, 7, 7, 7, 7]])
    data = Data(edge_index=edge_index, num_nodes=14)
    (batch,) = NeighborLoader(data, [1, 2, 4], input_nodes=torch.tensor([0, 1]), batch_size=2)
    assert batch.num_sampled_nodes == [2, 2, 3, 4]
    assert batch.num_sampled_edges == [2, 4, 4]
