#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer that writes its attempt's number into its row of a tensor again and again. It leaves the
error of a write in the file "refused-ATTEMPT". Rank 0 of a later attempt also writes the rows of
ranks that only the previous attempt had, and then watches for a while whether these rows stay: it
leaves "kept" or "changed" in the file "rows".
"""
import os
import time

import numpy as np

import graphd
from graphd.distributed import DistGraph, DistTensor

ROWS, WATCH_SECONDS = 8, 2
attempt, rank = int(os.environ["GRAPHD_RESTART_COUNT"]), int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])


def leave(name, text):
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)


def main():
    graphd.distributed.initialize(os.environ["GRAPHD_IP_CONFIG"])
    g = DistGraph(os.environ["GRAPHD_SERVER_NAME"])
    tensor = DistTensor((g.num_nodes(),), np.float32, name="attempts", persistent=True,
                        part_policy=g.get_node_partition_policy(g.ntypes[0]))
    g.barrier()
    leave(f"writes-{attempt}", "")
    others = np.arange(world, ROWS)
    if attempt > 0 and rank == 0:
        tensor[others] = np.full(len(others), attempt, np.float32)
        end = time.monotonic() + WATCH_SECONDS
        same = True
        while time.monotonic() < end:
            same = same and bool((np.asarray(tensor[others]) == attempt).all())
        leave("rows", "kept" if same else "changed")
    try:
        while True:
            tensor[np.array([rank])] = np.array([attempt], np.float32)
            time.sleep(0.001)
    except graphd.errors.GraphdError as error:
        leave(f"refused-{attempt}", str(error))
        raise


if __name__ == "__main__":
    main()
