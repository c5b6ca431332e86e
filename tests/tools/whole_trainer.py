#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer that uses everything that servers offer, and prints what it has got as a line of JSON:
digests of batches, walks and queries, which are functions of seeds alone and must be equal in all
trainers, its shares of the splits, and the rows of tensors and embeddings that all trainers change.

usage: whole_trainer.py GRAPH_NAME [SECONDS]

With SECONDS, it stays connected for that time.
"""
import hashlib
import json
import os
import sys
import time

import torch

import graphd
from graphd import checkpoint
from graphd.distributed import (
    DistEdgeDataLoader,
    DistEmbedding,
    DistGraph,
    DistNodeDataLoader,
    DistTensor,
    SparseAdagrad,
    edge_split,
    node_split,
)
from graphd.sampling import NeighborSampler, negative_sampler, random_walk


def digest(*tensors):
    """Returns a text that is equal for equal tensors only."""
    state = hashlib.sha256()
    for tensor in tensors:
        array = tensor.numpy()
        state.update(f"{array.dtype} {array.shape} ".encode())
        state.update(array.tobytes())
    return state.hexdigest()[:16]


def of_blocks(blocks):
    return [each for block in blocks
            for each in (*block.edges(), block.srcdata[graphd.NID], block.edata[graphd.EID])]


def read_only(g):
    """Returns digests of what does not change the servers."""
    nodes = torch.arange(g.num_nodes())
    ids = nodes[g.ndata["train_mask"][nodes].bool()]
    batches = []
    for inputs, seeds, blocks in DistNodeDataLoader(g, ids, NeighborSampler([5, 5]), batch_size=50,
                                                    shuffle=True, seed=11):
        batches += [inputs, seeds, g.ndata["feat"][inputs], *of_blocks(blocks)]
    links = []
    for inputs, pairs, negatives, blocks in DistEdgeDataLoader(
            g, torch.arange(0, g.num_edges(), 7), NeighborSampler([4]), batch_size=100, seed=12,
            negative_sampler=negative_sampler.Uniform(2)):
        links += [inputs, *pairs.edges(), *negatives.edges(), *of_blocks(blocks)]
    u, v = g.find_edges(torch.arange(0, g.num_edges(), 3))
    return {
        "batches": digest(*batches),
        "links": digest(*links),
        "walks": digest(random_walk(g, nodes, length=4, seed=13)[0]),
        "queries": digest(u, v, g.has_edges_between(v, u), g.in_degrees(nodes),
                          g.out_degrees(nodes)),
        "rows": digest(g.ndata["feat"][nodes], g.ndata["label"][nodes]),
    }


def train_rows(g, rank, world):
    """Lets all trainers change a tensor and an embedding, the last one make and restore a
    checkpoint; returns what is there then."""
    job = os.environ["GRAPHD_JOB_ID"]  # servers keep tensors and checkpoints of earlier jobs
    nodes = torch.arange(g.num_nodes())
    mine = nodes[rank::world]
    policy = g.get_node_partition_policy(g.ntypes[0])
    numbers = DistTensor((g.num_nodes(), 2), torch.float32, name=f"numbers-{job}", part_policy=policy,
                         persistent=True)
    numbers[mine] = torch.stack((mine.float(), torch.full((len(mine),), float(rank))), 1)
    emb = DistEmbedding(g.num_nodes(), 4, name=f"learnt-{job}", part_policy=policy)
    optimizer = SparseAdagrad([emb], lr=0.5)
    g.barrier()
    for step in range(3):
        (emb(mine[step::3]) - 1).pow(2).sum().backward()
        optimizer.step()
    g.barrier()
    got = {"numbers": digest(numbers[nodes]), "learnt": digest(emb(nodes).detach()),
           "sum": numbers[nodes].sum(0).tolist()}
    g.barrier()  # all have read before the last one changes the rows
    if rank == world - 1:
        # Tensors of another job may be damaged: a test kills one in the middle of a restore.
        checkpoint.create(g, job, [f"numbers-{job}", f"learnt-{job}"],
                          files={"note": b"of the last trainer"})
        numbers[nodes] = torch.zeros(len(nodes), 2)
        checkpoint.restore(g, job)
        got["note"] = checkpoint.read_file(g, job, "note").decode()
    g.barrier()
    got["restored"] = digest(numbers[nodes])
    return got


def main():
    graphd.distributed.initialize(os.environ["GRAPHD_IP_CONFIG"])
    g = DistGraph(sys.argv[1])
    rank, world = g.rank(), graphd.distributed.get_num_trainers()
    book = g.get_partition_book()
    parts = range(book.num_partitions())
    every = torch.ones(g.num_edges(), dtype=torch.bool)
    result = {
        "rank": rank,
        "mapped": sum(g.handle.is_mapped(part) for part in parts),
        "train": node_split(g.ndata["train_mask"], book).tolist(),
        "own": node_split(g.ndata["train_mask"], book, force_even=False).tolist(),
        "by_book": node_split(torch.ones(g.num_nodes(), dtype=torch.bool), book).tolist(),
        "edges": len(edge_split(every, book)),
        **read_only(g),
        **train_rows(g, rank, world),
    }
    g.barrier()
    print(json.dumps(result), flush=True)
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)


if __name__ == "__main__":
    main()
