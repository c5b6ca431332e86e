# SPDX-License-Identifier: Apache-2.0
"""DGL's distributed layer."""

import os

import dgl
import torch

from systems import common
from systems.dgl_local import Sage
from systems.dgl_server import uniform
from systems.distributed import Trainer
from systems.rows import EMBEDDING_COLUMNS
from systems.servers import NAME


def connect():
    dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])


def open_graph():
    return dgl.distributed.DistGraph(NAME)


trainer = Trainer(connect, open_graph, dgl.dataloading.NeighborSampler)


def embedding(job):
    trainer.connected(job)
    # Its optimiser asks for the group even if there is one trainer.
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )

    def create():
        layer = dgl.distributed.DistEmbedding(
            job.nodes, EMBEDDING_COLUMNS, name="compared", init_func=uniform
        )
        optimizer = dgl.distributed.optim.SparseAdagrad([layer], lr=0.01)

        def step():
            optimizer.step()
            optimizer.zero_grad()  # without it, the next step repeats this one's gradients

        return layer, step

    yield from common.embedding_rates(job, create)


def node_loader(job):
    return dgl.dataloading.DistNodeDataLoader(
        trainer.connected(job),
        trainer.training_ids(job),
        trainer.sampler([10, 25]),
        batch_size=1000,
        shuffle=True,
    )


def loader(job):
    feat = trainer.connected(job).ndata["feat"]
    loaded = node_loader(job)

    class Loader:
        def __iter__(self):
            return ((feat[inputs], blocks) for inputs, _, blocks in loaded)

    yield "loader_0", common.loader_rate(job, Loader())


def epoch(job):
    feat, label = (trainer.connected(job).ndata[name] for name in ("feat", "label"))
    loaded = node_loader(job)

    def batches():
        for inputs, outputs, blocks in loaded:
            yield (blocks, feat[inputs]), label[outputs]

    model = Sage(job.shape["columns"], job.shape["classes"])
    yield from common.epochs(job, model, batches)


if __name__ == "__main__":
    common.run(
        {**trainer.measures(), "embedding_step": embedding, "loader_0": loader, "epoch": epoch}
    )
