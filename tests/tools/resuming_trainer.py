#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer that resumes from its job's last checkpoint, whatever the number of trainers. The
"model" is a persistent tensor; a step adds 1 to every row of it, each trainer to its own share, so
that the rows tell how many steps they contain. A step also trains the rows of an embedding with Adam,
whose state has moments and a count of steps for each row: equal rows after equal steps tell that the
state was right in between.

usage: resuming_trainer.py PREFIX STEPS [SECONDS_PER_STEP [PAUSE_AFTER [FILE]]]

Checkpoints are named PREFIX-STEP; "job" stands for the job's id. The trainer pauses PAUSE_AFTER steps
after the one with which it began, until there is FILE.
"""
import os
import sys
import time

import numpy as np

import graphd
from graphd import checkpoint
from graphd.distributed import DistEmbedding, DistGraph, DistTensor, SparseAdam


def values_of(g, *tensors):
    """Returns the distinct values of tensors, as text."""
    nodes = np.arange(g.num_nodes())
    return " ".join(str(np.unique(np.asarray(each[nodes])).tolist()) for each in tensors)


def main():
    prefix, steps = sys.argv[1], int(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    pause_after = int(sys.argv[4]) if len(sys.argv) > 4 else -1
    prefix = None if prefix == "job" else prefix
    name = prefix or os.environ["GRAPHD_JOB_ID"]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    graphd.distributed.initialize(os.environ["GRAPHD_IP_CONFIG"])
    g = DistGraph(os.environ["GRAPHD_SERVER_NAME"])
    rows = np.arange(rank, g.num_nodes(), world)
    policy = g.get_node_partition_policy(g.ntypes[0])
    model = DistTensor((g.num_nodes(),), np.float32, name="model", persistent=True,
                       part_policy=policy)
    embedding = DistEmbedding(g.num_nodes(), 2, name=f"embedding-{name}", part_policy=policy)
    optimizer = SparseAdam([embedding], lr=0.125, synchronous=True)
    last = checkpoint.latest(g, prefix)
    begin = 0
    g.barrier()  # nobody opens a tensor while it is restored
    if last:
        begin = int(checkpoint.read_file(g, last.name, "step"))
        if rank == 0:
            checkpoint.restore(g, last.name)
    elif rank == 0:
        model[np.arange(g.num_nodes())] = np.zeros(g.num_nodes(), np.float32)
    g.barrier()
    state = values_of(g, model, embedding.weight)
    g.barrier()
    print(f"begins at step {begin} of {steps}, {world} trainers", flush=True)
    print(f"begins with {state}", flush=True)
    for step in range(begin, steps):
        model[rows] = model[rows] + np.float32(1)
        embedding.backward(rows, np.full((len(rows), 2), step % 7 + 1, np.float32))
        optimizer.step()
        time.sleep(seconds)
        g.barrier()
        if (step + 1) % 5 == 0:
            if rank == 0:
                checkpoint.create(g, f"{name}-{step + 1}", files={"step": str(step + 1).encode()})
                print(f"kept step {step + 1} with {values_of(g, model, embedding.weight)}", flush=True)
            g.barrier()
        if step + 1 == begin + pause_after:
            print(f"paused after step {step + 1}", flush=True)
            while not os.path.exists(sys.argv[5]):
                time.sleep(0.02)
    state = values_of(g, model, embedding.weight)
    g.barrier()
    print(f"ends with rows of {state}", flush=True)


if __name__ == "__main__":
    main()
