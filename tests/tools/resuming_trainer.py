#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer that resumes from its job's last checkpoint, whatever the number of trainers. The
"model" is a persistent tensor; a step adds 1 to every row of it, each trainer to its own share, so
that the rows tell how many steps they contain.

usage: resuming_trainer.py PREFIX STEPS [SECONDS_PER_STEP [PAUSE_AT [FILE]]]

Checkpoints are named PREFIX-STEP; "job" stands for the job's id. At step PAUSE_AT, the first attempt
waits for FILE.
"""
import os
import sys
import time

import numpy as np

import graphd
from graphd import checkpoint
from graphd.distributed import DistGraph, DistTensor


def main():
    prefix, steps = sys.argv[1], int(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    pause_at = int(sys.argv[4]) if len(sys.argv) > 4 else -1
    prefix = None if prefix == "job" else prefix
    name = prefix or os.environ["GRAPHD_JOB_ID"]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    graphd.distributed.initialize(os.environ["GRAPHD_IP_CONFIG"])
    g = DistGraph("ring")
    rows = np.arange(rank, g.num_nodes(), world)
    model = DistTensor((g.num_nodes(),), np.float32, name="model", persistent=True,
                       part_policy=g.get_node_partition_policy(g.ntypes[0]))
    last = checkpoint.latest(g, prefix)
    begin = 0
    if last:
        begin = int(checkpoint.read_file(g, last.name, "step"))
        if rank == 0:
            checkpoint.restore(g, last.name)
    elif rank == 0:
        model[np.arange(g.num_nodes())] = np.zeros(g.num_nodes(), np.float32)
    g.barrier()
    print(f"begins at step {begin} of {steps}, {world} trainers", flush=True)
    for step in range(begin, steps):
        model[rows] = model[rows] + np.float32(1)
        time.sleep(seconds)
        g.barrier()
        if (step + 1) % 5 == 0:
            if rank == 0:
                checkpoint.create(g, f"{name}-{step + 1}", files={"step": str(step + 1).encode()})
            g.barrier()
        if step + 1 == pause_at and os.environ["GRAPHD_RESTART_COUNT"] == "0":
            print(f"paused after step {step + 1}", flush=True)
            while not os.path.exists(sys.argv[5]):
                time.sleep(0.02)
    values = np.unique(np.asarray(model[np.arange(g.num_nodes())]))
    g.barrier()
    print(f"ends with rows of {values.tolist()}", flush=True)


if __name__ == "__main__":
    main()
