# SPDX-License-Identifier: Apache-2.0
"""The fixtures of pytest that PyG's tests use, without the download of a data set."""

import os

import pytest


class _Cora:
    """Stands for PyG's Cora: a graph of its size, since tests download nothing."""

    num_classes, num_features = 7, 1433

    def __getitem__(self, _):
        import torch
        from torch_geometric.data import Data
        from torch_geometric.utils import to_undirected

        draw = torch.Generator().manual_seed(1)
        pairs = torch.randperm(2708 * 2707, generator=draw)[:5278]
        u, v = pairs // 2707, pairs % 2707
        edge_index = to_undirected(torch.stack([u, v + (v >= u).long()]), num_nodes=2708)
        x = torch.rand(2708, self.num_features, generator=draw)
        y = torch.randint(7, (2708,), generator=draw)
        return Data(x=x, edge_index=edge_index, y=y)


@pytest.fixture
def get_dataset():
    return lambda name: _Cora()


@pytest.fixture(autouse=True)
def dist_graph_folder():
    """Makes the folders that DGL's tests write to."""
    for each in ("/tmp/dist_graph", "/tmp/partition"):
        os.makedirs(each, exist_ok=True)
