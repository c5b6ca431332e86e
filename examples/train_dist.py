#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GraphSAGE for distributed node classification, after the script in DGL's documentation.

    graphctl launch --workspace DIR --num_trainers 2 --part_config parts/debian.json \\
        --ip_config ip_config.txt --server_name debian \\
        "python3 train_dist.py --graph_name debian --ip_config ip_config.txt"

Features are in g.ndata["feat"], labels in "label", the split in "train_mask", "val_mask" and
"test_mask". To run without servers, on one machine: --part_config parts/debian.json.
"""
import argparse
import time

import torch as th
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

import graphd
from graphd.nn import SAGEConv
from graphd.sampling import MultiLayerFullNeighborSampler, NeighborSampler


class SAGE(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers, activation, dropout):
        super().__init__()
        sizes = [in_feats] + [n_hidden] * (n_layers - 1) + [n_classes]
        self.layers = nn.ModuleList(SAGEConv(a, b, "mean") for a, b in zip(sizes, sizes[1:]))
        self.dropout, self.activation = nn.Dropout(dropout), activation

    def forward(self, blocks, x):
        h = x
        for i, (layer, block) in enumerate(zip(self.layers, blocks)):
            h = layer(block, h)
            if i != len(self.layers) - 1:
                h = self.dropout(self.activation(h))
        return h


def load_subtensor(g, input_nodes, seeds):
    """Reads the features of the input nodes and the labels of the seeds from all servers."""
    return g.ndata["feat"][input_nodes], g.ndata["label"][seeds].long()


def evaluate(model, g, nids, args):
    """Returns the accuracy over the nodes of all trainers, using all neighbours."""
    loader = graphd.distributed.DistNodeDataLoader(
        g, nids, MultiLayerFullNeighborSampler(args.num_layers), batch_size=args.batch_size_eval)
    model.eval()
    counts = th.zeros(2, dtype=th.int64)
    with th.no_grad():
        for input_nodes, seeds, blocks in loader:
            batch_inputs, batch_labels = load_subtensor(g, input_nodes, seeds)
            prediction = model(blocks, batch_inputs).argmax(1)
            counts += th.tensor([(prediction == batch_labels).sum(), len(seeds)])
    model.train()
    th.distributed.all_reduce(counts)
    return counts[0].item() / max(counts[1].item(), 1)


def run(args, g, data):
    train_nid, val_nid, test_nid, in_feats, n_classes = data
    sampler = NeighborSampler([int(fanout) for fanout in args.fan_out.split(",")])
    args.num_layers = len(sampler.fanouts)
    dataloader = graphd.distributed.DistNodeDataLoader(
        g, train_nid, sampler, batch_size=args.batch_size, shuffle=True, drop_last=False)

    model = SAGE(in_feats, args.num_hidden, n_classes, args.num_layers, F.relu, args.dropout)
    model = nn.parallel.DistributedDataParallel(model)
    loss_fcn = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.num_epochs):
        begin, total, num_seeds = time.time(), 0.0, 0
        with model.join():  # the numbers of batches of trainers may differ by one
            for step, (input_nodes, seeds, blocks) in enumerate(dataloader):
                batch_inputs, batch_labels = load_subtensor(g, input_nodes, seeds)
                batch_pred = model(blocks, batch_inputs)
                loss = loss_fcn(batch_pred, batch_labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total, num_seeds = total + loss.item() * len(seeds), num_seeds + len(seeds)
                if args.log_every and step % args.log_every == 0 and g.rank() == 0:
                    print(f"epoch {epoch:3d} step {step:4d}: loss {loss.item():.4f}")
        line = (f"epoch {epoch}: loss {total / max(num_seeds, 1):.4f}, "
                f"{num_seeds} seeds in {time.time() - begin:.2f} s")
        if args.eval_every and (epoch + 1) % args.eval_every == 0:
            line += f", validation accuracy {evaluate(model.module, g, val_nid, args):.4f}"
        if g.rank() == 0:
            print(line, flush=True)
    accuracy = evaluate(model.module, g, test_nid, args)
    if g.rank() == 0:
        print(f"test accuracy: {accuracy:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph_name", required=True)
    parser.add_argument("--ip_config")
    parser.add_argument("--part_config", help="standalone mode: the graph to open here")
    parser.add_argument("--num_epochs", type=int, default=10)
    parser.add_argument("--num_hidden", type=int, default=128)
    parser.add_argument("--fan_out", default="10,25")
    parser.add_argument("--batch_size", type=int, default=1000)
    parser.add_argument("--batch_size_eval", type=int, default=10000)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--eval_every", type=int, default=5)
    parser.add_argument("--log_every", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    graphd.seed(args.seed)
    th.manual_seed(args.seed)
    graphd.distributed.initialize(args.ip_config)
    if args.part_config:
        th.distributed.init_process_group("gloo", store=th.distributed.HashStore(), rank=0,
                                          world_size=1)
    else:
        th.distributed.init_process_group(backend="gloo")
    g = graphd.distributed.DistGraph(args.graph_name, part_config=args.part_config)
    pb = g.get_partition_book()
    train_nid = graphd.distributed.node_split(g.ndata["train_mask"], pb, force_even=True)
    val_nid = graphd.distributed.node_split(g.ndata["val_mask"], pb, force_even=True)
    test_nid = graphd.distributed.node_split(g.ndata["test_mask"], pb, force_even=True)
    print(f"rank {g.rank()}: {len(train_nid)} nodes to train on, {len(val_nid)} to validate, "
          f"{len(test_nid)} to test")
    in_feats = g.ndata["feat"].shape[1]
    n_classes = int(g.ndata["label"][:].max()) + 1
    run(args, g, (train_nid, val_nid, test_nid, in_feats, n_classes))


if __name__ == "__main__":
    main()
