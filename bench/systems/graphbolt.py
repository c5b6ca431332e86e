# SPDX-License-Identifier: Apache-2.0
"""DGL's GraphBolt, on a graph in the trainer's memory."""

import dgl.graphbolt as gb
import torch

from systems import common
from systems.dgl_local import Sage

_kept = {}


def graph(job):
    if "graph" not in _kept:
        before = common.resident()
        _kept["graph"] = gb.fused_csc_sampling_graph(job.tensor("indptr"), job.tensor("indices"))
        _kept["graph"].sample_neighbors(torch.arange(1000), torch.tensor([10]))
        _kept["bytes"] = common.resident() - before
    return _kept["graph"]


def memory(job):
    graph(job)
    yield "memory_per_edge", _kept["bytes"] / job.edges


def sampling(name):
    def measure(job):
        g = graph(job)

        def sample(seeds, fanouts):
            edges = 0
            for fanout in reversed(fanouts):
                csc = g.sample_neighbors(seeds, torch.tensor([fanout])).sampled_csc
                edges += len(csc.indices)
                seeds = gb.unique_and_compact_csc_formats(csc, seeds)[0]
            return edges

        yield name, common.sampling_rate(job, name, job.tensor("train_idx"), sample)

    return measure


def rows(job):
    feature = gb.TorchBasedFeature(job.tensor("feat"))
    yield "rows_local", common.row_rate(job, feature.read)


def pipe(job, workers):
    """Returns the pipeline of GraphBolt's node classification example. A store reads features."""
    if "store" not in _kept:
        _kept["store"] = gb.BasicFeatureStore(
            {("node", None, "feat"): gb.TorchBasedFeature(job.tensor("feat"))}
        )
    seeds, label = job.tensor("train_idx"), job.tensor("label")
    items = gb.ItemSet((seeds, label[seeds]), names=("seed_nodes", "labels"))
    found = gb.ItemSampler(items, batch_size=1000, shuffle=True)
    found = found.sample_neighbor(graph(job), [10, 25])
    found = found.fetch_feature(_kept["store"], node_feature_keys=["feat"])
    return gb.DataLoader(found, num_workers=workers)


def loader(workers):
    def measure(job):
        yield f"loader_{workers}", common.loader_rate(job, pipe(job, workers))

    return measure


def epoch(job):
    loaded = pipe(job, 1)

    def batches():
        for batch in loaded:
            yield (batch.blocks, batch.node_features["feat"]), batch.labels

    model = Sage(job.shape["columns"], job.shape["classes"])
    yield from common.epochs(job, model, batches)


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
