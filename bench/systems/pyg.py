# SPDX-License-Identifier: Apache-2.0
"""PyG's NeighborLoader with torch-sparse, on a graph in the trainer's memory. (pyg-lib is not on
PyPI.)"""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv
from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

from systems import common

_kept = {}


def data(job):
    """Returns the graph; edges are sorted by destination, so that is_sorted saves PyG a sort."""
    if "data" not in _kept:
        indptr, indices = job.tensor("indptr"), job.tensor("indices")
        targets = torch.repeat_interleave(torch.arange(job.nodes), indptr.diff())
        _kept["data"] = Data(
            x=job.tensor("feat"),
            y=job.tensor("label"),
            edge_index=torch.stack([indices, targets]),
            num_nodes=job.nodes,
        )
    return _kept["data"]


def memory(job):
    graph = data(job)
    before = common.resident()
    sampler = NeighborSampler(graph, num_neighbors=[25, 10], is_sorted=True)
    sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(1000)))
    # The edge_index of the Data object stays, because batches are made of it.
    edge_index = graph.edge_index.numel() * 8
    yield "memory_per_edge", (common.resident() - before + edge_index) / job.edges


def sampling(name):
    def measure(job):
        fanouts = common.FANOUTS[name][0]
        # PyG counts layers from the seeds.
        sampler = NeighborSampler(data(job), num_neighbors=fanouts[::-1], is_sorted=True)

        def sample(seeds, _):
            return sampler.sample_from_nodes(NodeSamplerInput(None, seeds)).row.numel()

        yield name, common.sampling_rate(job, name, job.tensor("train_idx"), sample)

    return measure


def rows(job):
    feat = data(job).x
    yield "rows_local", common.row_rate(job, lambda ids: torch.index_select(feat, 0, ids))


def node_loader(job, workers):
    return NeighborLoader(
        data(job),
        num_neighbors=[25, 10],
        input_nodes=job.tensor("train_idx"),
        batch_size=1000,
        shuffle=True,
        num_workers=workers,
        is_sorted=True,
    )


def loader(workers):
    def measure(job):
        yield f"loader_{workers}", common.loader_rate(job, node_loader(job, workers))

    return measure


class Sage(torch.nn.Module):
    """GraphSAGE of two layers with PyG's convolution."""

    def __init__(self, columns, classes):
        super().__init__()
        self.first = SAGEConv(columns, common.HIDDEN)
        self.second = SAGEConv(common.HIDDEN, classes)

    def forward(self, x, edge_index):
        return self.second(torch.relu(self.first(x, edge_index)), edge_index)


def epoch(job):
    loaded = node_loader(job, 1)

    def batches():
        for batch in loaded:
            yield (batch.x, batch.edge_index), batch.y[: batch.batch_size]

    yield from common.epochs(job, Sage(job.shape["columns"], job.shape["classes"]), batches)


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
