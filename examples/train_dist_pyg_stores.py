#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A script of PyG whose graph is graphd's: PyG's own NeighborLoader reads features and edges from
graphd's stores, and the servers sample. It needs torch_geometric. Run it like train_dist.py."""
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from dist_common import join, parser, say, share, split
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GraphSAGE

from graphd.pyg import FeatureStore, GraphStore, NeighborSampler


def batches(loader):
    """Yields what the model takes. A batch of PyG's loaders on stores is a HeteroData."""
    for batch in loader:
        (nodes,), (edges,) = batch.node_stores, batch.edge_stores
        yield nodes.x, edges.edge_index, nodes.y[:nodes.batch_size]


def accuracy(model, loader):
    model.eval()
    right = count = 0
    with th.no_grad():
        for x, edge_index, y in batches(loader):
            right += (model(x, edge_index)[:len(y)].argmax(1) == y).sum().item()
            count += len(y)
    return share(right, count)


def main():
    args = parser(__doc__).parse_args()
    g = join(args)
    data = (FeatureStore(g, ["x", "y"]), GraphStore(g))
    sampler = NeighborSampler(g, args.fanouts)
    train, _, test = (NeighborLoader(data, args.fanouts, input_nodes=(g.ntypes[0], nids),
                                     batch_size=args.batch_size, shuffle=True,
                                     neighbor_sampler=sampler) for nids in split(g))
    model = nn.parallel.DistributedDataParallel(GraphSAGE(
        g.ndata["feat"].shape[1], args.num_hidden, num_layers=len(args.fanouts),
        out_channels=int(g.ndata["label"][:].max()) + 1))
    optimizer = th.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.num_epochs):
        model.train()
        with model.join():
            for x, edge_index, y in batches(train):
                loss = F.cross_entropy(model(x, edge_index)[:len(y)], y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        say(g, f"epoch {epoch}: loss {loss.item():.4f}")
    say(g, f"test accuracy: {accuracy(model.module, test):.4f}")


if __name__ == "__main__":
    main()
