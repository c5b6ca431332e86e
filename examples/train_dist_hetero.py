#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""R-GCN on a graph with several types. All nodes of a type without features share one learnable
vector, so that they pass on information from their neighbours only. Run it like train_dist.py."""
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from dist_common import join, parser, say, share, split

from graphd.distributed import DistNodeDataLoader
from graphd.nn import RelGraphConv
from graphd.sampling import NeighborSampler


class RGCN(nn.Module):
    def __init__(self, g, feats, hidden, num_classes, num_layers, ntype):
        super().__init__()
        self.ntype = ntype
        self.inputs = nn.ModuleDict({t: nn.Linear(g.nodes[t].data[name].shape[1], hidden)
                                     for t, (name,) in feats.items()})
        self.vectors = nn.ParameterDict({t: nn.Parameter(th.randn(1, hidden))
                                         for t in g.ntypes if t not in feats})
        self.layers = nn.ModuleList(
            RelGraphConv(hidden, hidden, g.canonical_etypes, g.ntypes,
                         F.relu if i < num_layers - 1 else None) for i in range(num_layers))
        self.out = nn.Linear(hidden, num_classes)

    def forward(self, blocks):
        h = {}
        for t in blocks[0].ntypes:
            if t in self.inputs:
                h[t] = self.inputs[t](blocks[0].srcnodes[t].data["feat"])
            else:
                h[t] = self.vectors[t].expand(blocks[0].num_src_nodes(t), -1)
        for layer, block in zip(self.layers, blocks):
            h = layer(block, h)
        return self.out(F.relu(h[self.ntype]))


def accuracy(model, loader, ntype):
    right = count = 0
    with th.no_grad():
        for _, _, blocks in loader:
            labels = blocks[-1].dstnodes[ntype].data["label"]
            right += (model(blocks).argmax(1) == labels).sum().item()
            count += len(labels)
    return share(right, count)


def main():
    options = parser(__doc__, fan_out="3,5")
    options.add_argument("--ntype", required=True, help="the node type that has labels")
    args = options.parse_args()
    g = join(args)
    feats = {t: ["feat"] for t in g.ntypes if "feat" in g.nodes[t].data}
    sampler = NeighborSampler(args.fanouts, prefetch_node_feats=feats,
                              prefetch_labels={args.ntype: ["label"]})
    train, _, test = (DistNodeDataLoader(g, {args.ntype: nids}, sampler, shuffle=True,
                                         batch_size=args.batch_size)
                      for nids in split(g, args.ntype))
    num_classes = int(g.nodes[args.ntype].data["label"][:].max()) + 1
    # The weights of edge types that do not lead to a label have no gradients.
    model = nn.parallel.DistributedDataParallel(
        RGCN(g, feats, args.num_hidden, num_classes, len(args.fanouts), args.ntype),
        find_unused_parameters=True)
    optimizer = th.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.num_epochs):
        with model.join():
            for _, _, blocks in train:
                loss = F.cross_entropy(model(blocks),
                                       blocks[-1].dstnodes[args.ntype].data["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        say(g, f"epoch {epoch}: loss {loss.item():.4f}")
    say(g, f"test accuracy: {accuracy(model.module, test, args.ntype):.4f}")


if __name__ == "__main__":
    main()
