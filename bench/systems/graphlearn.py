# SPDX-License-Identifier: Apache-2.0
"""GraphLearn-for-PyTorch, on a graph in the trainer's memory.

The wheel on PyPI is built for another PyTorch than DGL 2.1 and with CUDA; where it can't be imported,
the error is the result.
"""

import graphlearn_torch as glt
import torch

from systems import common

_kept = {}


def dataset(job):
    if "dataset" not in _kept:
        indptr, indices = job.tensor("indptr"), job.tensor("indices")
        targets = torch.repeat_interleave(torch.arange(job.nodes), indptr.diff())
        found = glt.data.Dataset(edge_dir="in")
        found.init_graph(edge_index=torch.stack([indices, targets]), graph_mode="CPU")
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
