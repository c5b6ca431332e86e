# SPDX-License-Identifier: Apache-2.0
"""What the other train_dist_*.py share: options, joining the job, accuracy over all trainers."""
import argparse

import torch as th

import graphd


def parser(description, **defaults):
    """Options of every trainer here."""
    options = argparse.ArgumentParser(description=description,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph_name", required=True)
    options.add_argument("--ip_config")
    options.add_argument("--part_config", help="standalone mode: the graph to open here")
    options.add_argument("--num_epochs", type=int, default=5)
    options.add_argument("--num_hidden", type=int, default=64)
    options.add_argument("--fan_out", default="10,10")
    options.add_argument("--batch_size", type=int, default=1000)
    options.add_argument("--lr", type=float, default=0.01)
    options.add_argument("--seed", type=int, default=0)
    options.set_defaults(**defaults)
    return options


def join(args):
    """The graph, after joining the job and the trainers' process group."""
    graphd.seed(args.seed)
    th.manual_seed(args.seed)  # the same first weights everywhere
    args.fanouts = [int(fanout) for fanout in args.fan_out.split(",")]
    graphd.distributed.initialize(args.ip_config)
    if args.part_config:
        th.distributed.init_process_group("gloo", store=th.distributed.HashStore(), rank=0,
                                          world_size=1)
    else:
        th.distributed.init_process_group(backend="gloo")
    return graphd.distributed.DistGraph(args.graph_name, part_config=args.part_config)


def split(g, ntype=None):
    """This trainer's nodes to train on, to validate with and to test with."""
    data = g.ndata if ntype is None else g.nodes[ntype].data
    return [graphd.distributed.node_split(data[name])
            for name in ("train_mask", "val_mask", "test_mask")]


def share(right, count):
    """`right` of `count`, over all trainers."""
    counts = th.tensor([right, count], dtype=th.int64)
    th.distributed.all_reduce(counts)
    return counts[0].item() / max(counts[1].item(), 1)


def say(g, text):
    """Once per job."""
    if g.rank() == 0:
        print(text, flush=True)
