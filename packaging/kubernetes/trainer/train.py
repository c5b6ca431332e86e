# SPDX-License-Identifier: Apache-2.0
"""Learns to classify nodes from the mean features of a few neighbours, with NumPy: an example of a
trainer in a pod. The weights are an embedding on the servers, and in each step the gradients of all
trainers are added there."""

import os

import numpy as np

import graphd
from graphd.distributed import (
    DistEmbedding,
    DistGraph,
    DistNodeDataLoader,
    PartitionPolicy,
    node_split,
    optim,
)
from graphd.sampling import NeighborSampler

EPOCHS = 5
BATCH = 256


def inputs(graph: DistGraph, batch: tuple) -> np.ndarray:
    """Returns, for each seed, its own features, its neighbours' mean, and a one for the bias."""
    nodes, seeds, blocks = batch
    features = graph.ndata["feat"][nodes]
    offsets, sources = blocks[0].csc()
    sums = np.zeros((len(seeds), features.shape[1]), np.float32)
    degrees = np.diff(offsets)
    np.add.at(sums, np.repeat(np.arange(len(seeds)), degrees), features[sources])
    means = sums / np.maximum(degrees, 1)[:, None]
    return np.hstack([features[: len(seeds)], means, np.ones((len(seeds), 1), np.float32)])


def main() -> None:
    graphd.distributed.initialize()
    graph = DistGraph("products")
    train = node_split(graph.ndata["train_mask"], force_even=True)
    loader = DistNodeDataLoader(graph, train, NeighborSampler([10]), batch_size=BATCH, shuffle=True)
    classes = int(graph.ndata["label"][np.arange(graph.num_nodes())].max()) + 1
    width = 2 * graph.ndata["feat"].shape[1] + 1
    weights = DistEmbedding(width, classes, part_policy=PartitionPolicy("range", graph))
    rows = np.arange(width)
    optimizer = optim.SparseAdagrad([weights], lr=0.5, synchronous=True)
    for epoch in range(EPOCHS):
        hits = 0
        for batch in loader:
            x, label = inputs(graph, batch), graph.ndata["label"][batch[1]]
            scores = x @ weights(rows)
            likely = np.exp(scores - scores.max(axis=1, keepdims=True))
            likely /= likely.sum(axis=1, keepdims=True)
            hits += int((likely.argmax(axis=1) == label).sum())
            likely[np.arange(len(label)), label] -= 1
            weights.backward(rows, np.float32(x.T @ likely / len(label)))
            optimizer.step()
        print(f"epoch {epoch}: trainer {graph.rank()} of {os.environ['WORLD_SIZE']}: "
              f"{hits / len(train):.3f} of its nodes right", flush=True)
    graph.barrier()


if __name__ == "__main__":
    main()
