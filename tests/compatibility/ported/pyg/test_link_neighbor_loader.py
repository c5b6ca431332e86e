# SPDX-License-Identifier: Apache-2.0
"""Asks the same as PyG's tests of these names: batches have their edges, labels and negatives."""

import pytest
import torch
from test_neighbor_loader import make_data, make_typed_data, pairs
from torch_geometric.data import Data
from torch_geometric.loader import LinkNeighborLoader


@pytest.mark.parametrize("neg_sampling_ratio", [None, 1.0])
def test_homo_link_neighbor_loader_basic(neg_sampling_ratio):
    data = make_data()
    positive = pairs(data.edge_index)
    loader = LinkNeighborLoader(
        data,
        num_neighbors=[-1] * 2,
        batch_size=20,
        edge_label_index=data.edge_index,
        edge_label=torch.ones(500),
        neg_sampling_ratio=neg_sampling_ratio,
    )
    assert str(loader) == "LinkNeighborLoader()"
    assert len(loader) == 25
    for batch in loader:
        assert torch.equal(batch.x, data.x[batch.n_id])
        ends = batch.n_id[batch.edge_label_index]
        assert pairs(ends[:, :20]) <= positive
        assert ends.shape[1] == (40 if neg_sampling_ratio else 20)
        assert torch.equal(
            batch.edge_label[:20], batch.edge_label.new_ones(20) * batch.edge_label[0]
        )


def test_hetero_link_neighbor_loader_basic():
    data = make_typed_data()
    etype = ("paper", "to", "author")
    loader = LinkNeighborLoader(data, num_neighbors=[-1] * 2, edge_label_index=etype, batch_size=20)
    assert len(loader) == 25
    seen = set()
    for batch in loader:
        u, v = batch[etype].edge_label_index
        ends = torch.stack([batch["paper"].n_id[u], batch["author"].n_id[v]])
        seen |= pairs(ends)
    assert seen == pairs(data[etype].edge_index)


def test_link_neighbor_loader_edge_label():
    edge_index = make_data(20, 50).edge_index
    data = Data(edge_index=edge_index, x=torch.arange(20))
    for ratio, labels in ((0.0, {1}), (1.0, {0, 1})):
        loader = LinkNeighborLoader(
            data,
            edge_label_index=edge_index,
            edge_label=torch.ones(50, dtype=torch.long) if ratio == 0 else None,
            num_neighbors=[1, 2],
            neg_sampling_ratio=ratio,
            batch_size=10,
        )
        batch = next(iter(loader))
        assert set(batch.edge_label.long().tolist()) == labels


def test_homo_link_neighbor_loader_no_edges():
    loader = LinkNeighborLoader(
        Data(x=torch.arange(20), num_nodes=20),
        num_neighbors=[],
        edge_label_index=torch.randint(20, (2, 30)),
        batch_size=3,
    )
    assert len(next(iter(loader)).edge_label_index[0]) == 3


def test_homo_link_neighbor_loader_triplet():
    data = make_data()
    loader = LinkNeighborLoader(
        data,
        num_neighbors=[-1] * 2,
        batch_size=20,
        edge_label_index=data.edge_index,
        neg_sampling=dict(mode="triplet", amount=2),
    )
    for batch in loader:
        ends = torch.stack([batch.n_id[batch.src_index], batch.n_id[batch.dst_pos_index]])
        assert pairs(ends) <= pairs(data.edge_index)
        assert batch.dst_neg_index.shape == (20, 2)
