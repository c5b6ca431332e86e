# SPDX-License-Identifier: Apache-2.0
"""DGL's own DataLoader and sampler, on a graph in the trainer's memory."""

import dgl
import dgl.nn
import torch

from systems import common

_kept = {}


def graph(job):
    """Returns the graph in CSC, which its samplers read. DGL's guide recommends to create the formats
    before workers are forked."""
    if "graph" not in _kept:
        before = common.resident()
        indptr, indices = job.tensor("indptr"), job.tensor("indices")
        _kept["graph"] = dgl.graph(
            ("csc", (indptr, indices, torch.tensor([], dtype=torch.int64)))
        ).formats("csc")
        _kept["graph"].create_formats_()
        sampler([10, 25]).sample_blocks(_kept["graph"], torch.arange(1000))
        _kept["bytes"] = common.resident() - before
    return _kept["graph"]


def sampler(fanouts):
    return dgl.dataloading.NeighborSampler(fanouts)


def memory(job):
    graph(job)
    yield "memory_per_edge", _kept["bytes"] / job.edges


def sampling(name):
    def measure(job):
        g = graph(job)

        def sample(seeds, fanouts):
            blocks = sampler(fanouts).sample_blocks(g, seeds)[2]
            return sum(block.num_edges() for block in blocks)

        yield name, common.sampling_rate(job, name, job.tensor("train_idx"), sample)

    return measure


def rows(job):
    """Measures torch.index_select, which is twice as fast as feat[ids]."""
    feat = job.tensor("feat")
    yield "rows_local", common.row_rate(job, lambda ids: torch.index_select(feat, 0, ids))


def node_loader(job, workers):
    return dgl.dataloading.DataLoader(
        graph(job),
        job.tensor("train_idx"),
        sampler([10, 25]),
        batch_size=1000,
        shuffle=True,
        num_workers=workers,
    )


def loader(workers):
    def measure(job):
        feat = job.tensor("feat")

        def batches():
            for inputs, _, _ in node_loader(job, workers):
                yield torch.index_select(feat, 0, inputs)

        class Loader:
            def __iter__(self):
                return batches()

        yield f"loader_{workers}", common.loader_rate(job, Loader())

    return measure


class Sage(torch.nn.Module):
    """GraphSAGE of two layers with DGL's convolution."""

    def __init__(self, columns, classes):
        super().__init__()
        self.first = dgl.nn.SAGEConv(columns, common.HIDDEN, "mean")
        self.second = dgl.nn.SAGEConv(common.HIDDEN, classes, "mean")

    def forward(self, blocks, x):
        return self.second(blocks[1], torch.relu(self.first(blocks[0], x)))


def epoch(job):
    feat, label = job.tensor("feat"), job.tensor("label")

    def batches():
        for inputs, outputs, blocks in node_loader(job, 1):
            yield (blocks, torch.index_select(feat, 0, inputs)), label[outputs]

    yield from common.epochs(job, Sage(feat.shape[1], job.shape["classes"]), batches)


MEASURES = {
    "memory_per_edge": memory,
    "sample_2": sampling("sample_2"),
    "sample_3": sampling("sample_3"),
    "rows_local": rows,
    "loader_0": loader(0),
    "loader_1": loader(1),
    "loader_2": loader(2),
    "epoch": epoch,
}

if __name__ == "__main__":
    common.run(MEASURES)
