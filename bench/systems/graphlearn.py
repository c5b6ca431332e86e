# SPDX-License-Identifier: Apache-2.0
"""GraphLearn-for-PyTorch, on a graph in the trainer's memory, in an environment of its own: its wheel
is built for a later PyTorch than DGL 2.1's."""

import sys
import types

import torch
import torch_geometric  # noqa: F401  (it looks for a whole torch_sparse, before it is replaced)

# graphlearn_torch imports torch_sparse to convert edges from COO. Our edges are in CSC, so an empty
# module serves as well, and nobody has to wait for half an hour until torch_sparse is compiled.
sys.modules["torch_sparse"] = types.ModuleType("torch_sparse")

import graphlearn_torch as glt  # noqa: E402

from systems import common  # noqa: E402

_kept = {}


def dataset(job):
    if "dataset" not in _kept:
        found = glt.data.Dataset(edge_dir="in")
        edges = job.tensor("indices"), job.tensor("indptr")
        found.init_graph(edge_index=edges, layout="CSC", graph_mode="CPU")
        found.init_node_features(job.tensor("feat"), with_gpu=False)
        found.init_node_labels(job.tensor("label"))
        _kept["dataset"] = found
    return _kept["dataset"]


def sampling(name):
    def measure(job):
        fanouts = common.FANOUTS[name][0]
        sampler = glt.sampler.NeighborSampler(
            dataset(job).graph, fanouts[::-1], device=torch.device("cpu"), edge_dir="in"
        )

        def sample(seeds, _):
            found = sampler.sample_from_nodes(glt.sampler.NodeSamplerInput(seeds))
            return found.row.numel()

        yield name, common.sampling_rate(job, name, job.tensor("train_idx"), sample)

    return measure


def rows(job):
    feature = dataset(job).node_features
    yield "rows_local", common.row_rate(job, lambda ids: feature[ids])


MEASURES = {
    "sample_2": sampling("sample_2"),
    "sample_3": sampling("sample_3"),
    "rows_local": rows,
}

if __name__ == "__main__":
    common.run(MEASURES)
