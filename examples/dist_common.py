# SPDX-License-Identifier: Apache-2.0
"""Helpers of the other train_dist_*.py: options, joining the job, accuracy over all trainers."""
import argparse

import torch as th

import graphd


def parser(description, **defaults):
    """Returns a parser of the options that all these trainers have."""
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
    """Joins the job and the trainers' process group, and returns the graph."""
    graphd.seed(args.seed)
    th.manual_seed(args.seed)  # gives all trainers the same initial weights
    args.fanouts = [int(fanout) for fanout in args.fan_out.split(",")]
    graphd.distributed.initialize(args.ip_config)
    if args.part_config:
        th.distributed.init_process_group("gloo", store=th.distributed.HashStore(), rank=0,
                                          world_size=1)
    else:
        th.distributed.init_process_group(backend="gloo")
    return graphd.distributed.DistGraph(args.graph_name, part_config=args.part_config)


def split(g, ntype=None):
    """Returns this trainer's nodes for training, validation and testing."""
    data = g.ndata if ntype is None else g.nodes[ntype].data
    return [graphd.distributed.node_split(data[name])
            for name in ("train_mask", "val_mask", "test_mask")]


def share(right, count):
    """Returns the fraction of `right` in `count`, summed over all trainers."""
    counts = th.tensor([right, count], dtype=th.int64)
    th.distributed.all_reduce(counts)
    return counts[0].item() / max(counts[1].item(), 1)


def say(g, text):
    """Prints a text once per job."""
    if g.rank() == 0:
        print(text, flush=True)
