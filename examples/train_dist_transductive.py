#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GraphSAGE on learnable embeddings of the nodes, which the servers store. It has two optimisers, a
sparse one for the embeddings and a dense one for the layers. Run it like train_dist.py."""
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from dist_common import join, parser, say, share, split

from graphd.distributed import DistEmbedding, DistNodeDataLoader, init
from graphd.distributed.optim import SparseAdagrad
from graphd.nn import SAGEConv
from graphd.sampling import NeighborSampler


class SAGE(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(SAGEConv(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, blocks, h):
        for layer, block in zip(self.layers[:-1], blocks):
            h = F.relu(layer(block, h))
        return self.layers[-1](blocks[-1], h)


def accuracy(model, emb, loader):
    right = count = 0
    with th.no_grad():
        for input_nodes, seeds, blocks in loader:
            prediction = model(blocks, emb(input_nodes)).argmax(1)
            right += (prediction == blocks[-1].dstdata["label"]).sum().item()
            count += len(seeds)
    return share(right, count)


def main():
    options = parser(__doc__)
    options.add_argument("--sparse_lr", type=float, default=0.05)
    args = options.parse_args()
    g = join(args)
    sampler = NeighborSampler(args.fanouts, prefetch_labels=["label"])
    train, _, test = (DistNodeDataLoader(g, nids, sampler, batch_size=args.batch_size, shuffle=True)
                      for nids in split(g))

    emb = DistEmbedding(g.num_nodes(), args.num_hidden, name="node_emb", persistent=False,
                        init_func=init.Uniform(-1, 1))
    num_classes = int(g.ndata["label"][:].max()) + 1
    model = nn.parallel.DistributedDataParallel(
        SAGE([args.num_hidden] * len(args.fanouts) + [num_classes]))
    emb_optimizer = SparseAdagrad([emb], lr=args.sparse_lr)
    optimizer = th.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.num_epochs):
        with model.join():
            for input_nodes, _, blocks in train:
                loss = F.cross_entropy(model(blocks, emb(input_nodes)), blocks[-1].dstdata["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                emb_optimizer.step()
        say(g, f"epoch {epoch}: loss {loss.item():.4f}")
    g.barrier()
    say(g, f"test accuracy: {accuracy(model.module, emb, test):.4f}")


if __name__ == "__main__":
    main()
