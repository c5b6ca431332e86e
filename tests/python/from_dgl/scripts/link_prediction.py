# SPDX-License-Identifier: Apache-2.0
"""Unsupervised GraphSAGE, in the form of node_classification_unsupervised.py of DGL's examples.

It learns to tell edges from negative ones, and a linear classifier is fitted to the embeddings.
dgl_scripts_test.py runs it with graphd in place of DGL; only lines with imports change.
"""

import argparse
import time
from contextlib import contextmanager

import dgl
import dgl.function as fn
import dgl.nn.pytorch as dglnn
import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import tqdm


class DistSAGE(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers, activation, dropout):
        super().__init__()
        self.n_hidden, self.n_classes = n_hidden, n_classes
        self.layers = nn.ModuleList()
        self.layers.append(dglnn.SAGEConv(in_feats, n_hidden, "mean"))
        for _ in range(1, n_layers - 1):
            self.layers.append(dglnn.SAGEConv(n_hidden, n_hidden, "mean"))
        self.layers.append(dglnn.SAGEConv(n_hidden, n_classes, "mean"))
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, blocks, x):
        h = x
        for i, (layer, block) in enumerate(zip(self.layers, blocks)):
            h = layer(block, h)
            if i != len(self.layers) - 1:
                h = self.activation(h)
                h = self.dropout(h)
        return h

    def inference(self, g, x, batch_size, device):
        nodes = dgl.distributed.node_split(
            np.arange(g.num_nodes()), g.get_partition_book(), force_even=True
        )
        y = dgl.distributed.DistTensor(
            (g.num_nodes(), self.n_hidden), th.float32, "h", persistent=True
        )
        for i, layer in enumerate(self.layers):
            if i == len(self.layers) - 1:
                y = dgl.distributed.DistTensor(
                    (g.num_nodes(), self.n_classes), th.float32, "h_last", persistent=True
                )
            sampler = dgl.dataloading.NeighborSampler([-1])
            dataloader = dgl.distributed.DistNodeDataLoader(
                g, nodes, sampler, batch_size=batch_size, shuffle=False, drop_last=False
            )
            for input_nodes, output_nodes, blocks in tqdm.tqdm(dataloader):
                block = blocks[0].to(device)
                h = x[input_nodes].to(device)
                h_dst = h[: block.number_of_dst_nodes()]
                h = layer(block, (h, h_dst))
                if i != len(self.layers) - 1:
                    h = self.activation(h)
                    h = self.dropout(h)
                y[output_nodes] = h.cpu()
            x = y
            g.barrier()
        return y

    @contextmanager
    def join(self):
        """Stands in for the method of DistributedDataParallel, in standalone mode."""
        yield


def load_subtensor(g, input_nodes, device):
    return g.ndata["features"][input_nodes].to(device)


class CrossEntropyLoss(nn.Module):
    def forward(self, block_outputs, pos_graph, neg_graph):
        with pos_graph.local_scope():
            pos_graph.ndata["h"] = block_outputs
            pos_graph.apply_edges(fn.u_dot_v("h", "h", "score"))
            pos_score = pos_graph.edata["score"]
        with neg_graph.local_scope():
            neg_graph.ndata["h"] = block_outputs
            neg_graph.apply_edges(fn.u_dot_v("h", "h", "score"))
            neg_score = neg_graph.edata["score"]
        score = th.cat([pos_score, neg_score])
        label = th.cat([th.ones_like(pos_score), th.zeros_like(neg_score)]).long()
        return F.binary_cross_entropy_with_logits(score, label.float())


def generate_emb(model, g, inputs, batch_size, device):
    model.eval()
    with th.no_grad():
        pred = model.inference(g, inputs, batch_size, device)
    g.barrier()
    return pred


def compute_acc(emb, labels, train_nids, val_nids, test_nids):
    """Fits a linear classifier to the embeddings of the nodes for training."""
    emb = emb[np.arange(labels.shape[0])].cpu()
    emb = (emb - emb.mean(0, keepdims=True)) / emb.std(0, keepdims=True)
    emb = th.cat([emb, th.ones(len(emb), 1)], dim=1)
    classes = F.one_hot(labels.long()).float()
    weights = th.linalg.lstsq(emb[train_nids], classes[train_nids]).solution
    right = (emb @ weights).argmax(1) == labels
    return right[val_nids].float().mean(), right[test_nids].float().mean()


def run(args, device, data):
    train_eids, in_feats, g, global_train_nid, global_valid_nid, global_test_nid, labels = data
    neg_sampler = dgl.dataloading.negative_sampler.Uniform(args.num_negs)
    sampler = dgl.dataloading.NeighborSampler([int(fanout) for fanout in args.fan_out.split(",")])
    exclude = "reverse_id" if args.remove_edge else None
    reverse_eids = th.arange(g.num_edges()) if args.remove_edge else None
    dataloader = dgl.distributed.DistEdgeDataLoader(
        g,
        train_eids,
        sampler,
        negative_sampler=neg_sampler,
        exclude=exclude,
        reverse_eids=reverse_eids,
        batch_size=args.batch_size,
        shuffle=True,
        drop_last=False,
    )
    model = DistSAGE(
        in_feats, args.num_hidden, args.num_hidden, args.num_layers, F.relu, args.dropout
    ).to(device)
    if not args.standalone:
        model = th.nn.parallel.DistributedDataParallel(model)
    loss_fcn = CrossEntropyLoss().to(device)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.num_epochs):
        num_seeds, start = 0, time.time()
        with model.join():
            for step, (input_nodes, pos_graph, neg_graph, blocks) in enumerate(dataloader):
                pos_graph = pos_graph.to(device)
                neg_graph = neg_graph.to(device)
                blocks = [block.to(device) for block in blocks]
                batch_inputs = load_subtensor(g, input_nodes, device)
                batch_pred = model(blocks, batch_inputs)
                loss = loss_fcn(batch_pred, pos_graph, neg_graph)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                num_seeds += pos_graph.num_edges()
                if step % args.log_every == 0:
                    print(f"[{g.rank()}] Epoch {epoch:05d} | Step {step:05d} | Loss {loss:.4f}")
        print(f"[{g.rank()}] Epoch Time(s): {time.time() - start:.4f}, #seeds: {num_seeds}")

    pred = generate_emb(
        model if args.standalone else model.module,
        g,
        g.ndata["features"],
        args.batch_size_eval,
        device,
    )
    if g.rank() == 0:
        eval_acc, test_acc = compute_acc(
            pred, labels, global_train_nid, global_valid_nid, global_test_nid
        )
        print(f"eval acc {eval_acc:.4f}; test acc {test_acc:.4f}")

    if not args.standalone:
        th.distributed.barrier()

    if not args.standalone:
        g._client.barrier()
        if g.rank() == 0:
            th.save(pred, "emb.pt")
    else:
        th.save(pred, "emb.pt")


def main(args):
    dgl.distributed.initialize(args.ip_config)
    if not args.standalone:
        th.distributed.init_process_group(backend="gloo")
    g = dgl.distributed.DistGraph(args.graph_name, part_config=args.part_config)
    print("rank:", g.rank())
    print("number of edges", g.num_edges())

    train_eids = dgl.distributed.edge_split(
        th.ones((g.num_edges(),), dtype=th.bool), g.get_partition_book(), force_even=True
    )
    global_train_nid, global_valid_nid, global_test_nid = (
        th.LongTensor(np.nonzero(g.ndata[name][np.arange(g.num_nodes())])).flatten()
        for name in ("train_mask", "val_mask", "test_mask")
    )
    labels = g.ndata["labels"][np.arange(g.num_nodes())]
    in_feats = g.ndata["features"].shape[1]
    data = (
        train_eids,
        in_feats,
        g,
        global_train_nid,
        global_valid_nid,
        global_test_nid,
        labels,
    )
    run(args, th.device("cpu"), data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Unsupervised GraphSAGE.")
    parser.add_argument("--graph_name", type=str, help="graph name")
    parser.add_argument("--ip_config", type=str, help="The file for IP configuration")
    parser.add_argument("--part_config", type=str, help="The path to the partition config file")
    parser.add_argument("--num_epochs", type=int, default=20)
    parser.add_argument("--num_hidden", type=int, default=16)
    parser.add_argument("--num_layers", type=int, default=2)
    parser.add_argument("--num_negs", type=int, default=1)
    parser.add_argument("--fan_out", type=str, default="10,25")
    parser.add_argument("--batch_size", type=int, default=1000)
    parser.add_argument("--batch_size_eval", type=int, default=100000)
    parser.add_argument("--log_every", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--local_rank", type=int, help="set by the launcher of PyTorch")
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("--remove_edge", action="store_true", help="leave out a batch's edges")
    main(parser.parse_args())
