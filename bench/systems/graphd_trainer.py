# SPDX-License-Identifier: Apache-2.0
"""graphd. GRAPHD_TRANSPORT=tcp makes the trainer use TCP where it could map memory."""

import torch

import graphd
from graphd.distributed import DistEmbedding, DistGraph, DistNodeDataLoader, SparseAdagrad, init
from graphd.nn import SAGEConv
from graphd.sampling import NeighborSampler
from systems import common
from systems.distributed import Trainer
from systems.rows import EMBEDDING_COLUMNS
from systems.servers import NAME


def open_graph():
    return DistGraph(NAME)


def sampler_with_ids(fanouts):
    """Makes a sampler of blocks that have what those of the peers have."""
    return NeighborSampler(fanouts, edge_ids=True)


def message_bytes(graph):
    return graph.handle.traffic()["sampling_bytes"]


trainer = Trainer(graphd.distributed.initialize, open_graph, sampler_with_ids, message_bytes)


def embedding(job):
    trainer.connected(job)

    def create():
        layer = DistEmbedding(
            job.nodes, EMBEDDING_COLUMNS, name="compared", init_func=init.Uniform(-1, 1)
        )
        return layer, SparseAdagrad([layer], lr=0.01).step

    yield from common.embedding_rates(job, create)


def node_loader(job, workers):
    return DistNodeDataLoader(
        trainer.connected(job),
        trainer.training_ids(job),
        NeighborSampler([10, 25], prefetch_node_feats=["feat"], prefetch_labels=["label"]),
        batch_size=1000,
        shuffle=True,
        num_workers=workers,
    )


def loader(workers):
    def measure(job):
        yield f"loader_{workers}", common.loader_rate(job, node_loader(job, workers))

    return measure


class Sage(torch.nn.Module):
    """GraphSAGE of two layers with graphd's convolution, which is DGL's."""

    def __init__(self, columns, classes):
        super().__init__()
        self.first = SAGEConv(columns, common.HIDDEN, "mean")
        self.second = SAGEConv(common.HIDDEN, classes, "mean")

    def forward(self, blocks, x):
        return self.second(blocks[1], torch.relu(self.first(blocks[0], x)))


def epoch(job):
    loaded = node_loader(job, 1)

    def batches():
        for _, _, blocks in loaded:
            yield (blocks, blocks[0].srcdata["feat"]), blocks[-1].dstdata["label"]

    model = Sage(job.shape["columns"], job.shape["classes"])
    yield from common.epochs(job, model, batches)


if __name__ == "__main__":
    common.run(
        {
            **trainer.measures(),
            "sample_2_plain": trainer.sampling("sample_2", "sample_2_plain", NeighborSampler),
            "wire_plain_per_edge": trainer.wire("wire_plain_per_edge", NeighborSampler),
            "embedding_step": embedding,
            "loader_0": loader(0),
            "loader_1": loader(1),
            "loader_2": loader(2),
            "epoch": epoch,
        }
    )
