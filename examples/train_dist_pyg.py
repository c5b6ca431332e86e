#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyG model on graphd's loader: each batch is converted to the Data that PyG's NeighborLoader
would yield. It needs torch_geometric. Run it like train_dist.py."""
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from dist_common import join, parser, say, share, split
from torch_geometric.nn import GraphSAGE

import graphd
from graphd.distributed import DistNodeDataLoader
from graphd.sampling import NeighborSampler


def batches(loader):
    for _, _, blocks in loader:
        yield graphd.to_pyg(blocks)


def accuracy(model, loader):
    right = count = 0
    with th.no_grad():
        for data in batches(loader):
            prediction = model(data.x, data.edge_index)[:data.batch_size].argmax(1)
            right += (prediction == data.y).sum().item()
            count += data.batch_size
    return share(right, count)


def main():
    args = parser(__doc__).parse_args()
    g = join(args)
    sampler = NeighborSampler(args.fanouts, prefetch_node_feats=["feat"], prefetch_labels=["label"])
    train, _, test = (DistNodeDataLoader(g, nids, sampler, batch_size=args.batch_size, shuffle=True)
                      for nids in split(g))
    model = nn.parallel.DistributedDataParallel(GraphSAGE(
        g.ndata["feat"].shape[1], args.num_hidden, num_layers=len(args.fanouts),
        out_channels=int(g.ndata["label"][:].max()) + 1))
    optimizer = th.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.num_epochs):
        with model.join():
            for data in batches(train):
                prediction = model(data.x, data.edge_index)[:data.batch_size]
                loss = F.cross_entropy(prediction, data.y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        say(g, f"epoch {epoch}: loss {loss.item():.4f}")
    say(g, f"test accuracy: {accuracy(model.module, test):.4f}")


if __name__ == "__main__":
    main()
