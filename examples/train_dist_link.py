#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Link prediction with GraphSAGE: edges against negative pairs. A tenth of the edges is held out; a
batch's own edges and their reverse edges are excluded from its blocks. Run it like train_dist.py.
"""
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from dist_common import join, parser, say

from graphd.distributed import DistEdgeDataLoader, edge_split
from graphd.nn import SAGEConv
from graphd.sampling import NeighborSampler, negative_sampler


class LinkModel(nn.Module):
    """A model that scores a batch's edges and its negative pairs."""

    def __init__(self, in_feats, hidden, num_layers):
        super().__init__()
        sizes = [in_feats] + [hidden] * num_layers
        self.layers = nn.ModuleList(SAGEConv(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, pair_graph, neg_pair_graph, blocks):
        h = blocks[0].srcdata["feat"]
        for layer, block in zip(self.layers[:-1], blocks):
            h = F.relu(layer(block, h))
        h = self.layers[-1](blocks[-1], h)
        return [(h[u] * h[v]).sum(1)
                for u, v in (pair_graph.edges(), neg_pair_graph.edges())]


def area_under_curve(yes, no):
    """Returns the fraction of comparisons in which an edge scores above a negative pair."""
    order = th.cat([yes, no]).argsort()
    rank = th.empty(len(order), dtype=th.float64)
    rank[order] = th.arange(1.0, len(order) + 1, dtype=th.float64)
    return ((rank[:len(yes)].sum() - len(yes) * (len(yes) + 1) / 2) / (len(yes) * len(no))).item()


def held_out(g):
    """Returns the mask of the tenth, the same in every trainer and for both edges of a pair."""
    u, v = g.find_edges(list(range(g.num_edges())))
    return (th.minimum(u, v) * 7919 + th.maximum(u, v) * 104729) % 10 == 0


def main():
    options = parser(__doc__, fan_out="5,5")
    options.add_argument("--num_negs", type=int, default=2)
    args = options.parse_args()
    g = join(args)
    test_mask = held_out(g)
    book = g.get_partition_book()

    def loader(mask, negatives):
        return DistEdgeDataLoader(
            g, edge_split(mask, book), NeighborSampler(args.fanouts, prefetch_node_feats=["feat"]),
            batch_size=args.batch_size, shuffle=True, exclude="reverse_types",
            reverse_etypes={"_E": "_E"}, negative_sampler=negative_sampler.Uniform(negatives))

    train, test = loader(~test_mask, args.num_negs), loader(test_mask, 1)
    model = nn.parallel.DistributedDataParallel(
        LinkModel(g.ndata["feat"].shape[1], args.num_hidden, len(args.fanouts)))
    optimizer = th.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.num_epochs):
        with model.join():
            for _, pair_graph, neg_pair_graph, blocks in train:
                yes, no = model(pair_graph, neg_pair_graph, blocks)
                scores = th.cat([yes, no])
                labels = th.cat([th.ones_like(yes), th.zeros_like(no)])
                loss = F.binary_cross_entropy_with_logits(scores, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        say(g, f"epoch {epoch}: loss {loss.item():.4f}")

    with th.no_grad():
        scores = [model.module(pairs, others, blocks) for _, pairs, others, blocks in test]
    area = th.tensor(area_under_curve(*(th.cat(some) for some in zip(*scores))))
    th.distributed.all_reduce(area)
    say(g, f"test AUC: {area.item() / th.distributed.get_world_size():.4f}")


if __name__ == "__main__":
    main()
