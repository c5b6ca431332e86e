# SPDX-License-Identifier: Apache-2.0
"""Tests save and load of the optimisers of embeddings."""

import os
import warnings

import torch

import graphd
import jobs
import support
from graphd.distributed import DistEmbedding, SparseAdagrad, SparseAdam

SAVING = """
import sys, torch, graphd
name, mode = sys.argv[2], sys.argv[-1]
graphd.distributed.initialize()
g = graphd.distributed.DistGraph(name)
emb = graphd.distributed.DistEmbedding(g.num_nodes(), 2, name="emb")
optimizer = graphd.distributed.SparseAdam([emb], lr=0.5)
nodes = torch.arange(g.rank(), g.num_nodes(), 2)
def step():
    (emb(nodes) + 1).pow(2).sum().backward()
    optimizer.step()
if mode == "save":
    step()
    optimizer.save("folder/emb_opt")
step()
g.barrier()
after = emb.weight[:]
if mode == "save":
    optimizer.lr = 0.25
g.barrier()
optimizer.load("another/emb_opt")
step()
g.barrier()
again = emb.weight[:]
if mode == "save":
    assert torch.equal(again, after) and optimizer.lr == 0.5
print("sum", round(float(again.double().sum()), 6))
g.barrier()
"""


class Saved(support.GraphTest):
    fixture = "sbm_2p_metis"

    def step(self, embedding, optimizer, nodes):
        (embedding(nodes) - 1).pow(2).sum().backward()
        optimizer.step()

    def test_an_optimiser_is_saved_and_loaded(self):
        g = self.served()
        embedding = DistEmbedding(g.num_nodes(), 3, name="saved")
        optimizer = SparseAdagrad([embedding], lr=0.1)
        nodes = torch.arange(g.num_nodes())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer.load("opt")
        self.assertIn("nothing was saved", str(caught[0].message))
        for _ in range(2):  # the second replaces the first
            self.step(embedding, optimizer, nodes)
            optimizer.save("folder/opt")
        self.assertEqual([each.name for each in graphd.checkpoint.list(g)], ["opt.2"])
        self.step(embedding, optimizer, nodes)
        wanted = embedding.weight[:]
        self.step(embedding, optimizer, nodes)
        optimizer.load("folder/opt")
        self.step(embedding, optimizer, nodes)  # uses the state as it was
        self.assertTrue(torch.equal(embedding.weight[:], wanted))

        with self.assertRaisesRegex(graphd.errors.InvalidError, "SparseAdagrad.*SparseAdam"):
            SparseAdam([DistEmbedding(g.num_nodes(), 3, name="of_adam")], lr=0.1).load("opt")
        nameless = SparseAdagrad([DistEmbedding(g.num_nodes(), 3)], lr=0.1)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "give the embedding a name"):
            nameless.save("opt")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "letters, digits"):
            optimizer.save("my opt")
        with self.assertRaisesRegex(AttributeError, "use save and load"):
            optimizer.local_state_dict()


class SavedInJobs(jobs.JobTest):
    def test_every_trainer_saves_and_another_job_loads(self):
        os.environ.pop("GRAPHD_TRANSPORT", None)  # the other tests set it
        self.small("saving")
        script = self.path("saving.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SAVING)
        lines = [
            line
            for mode in ("save", "load")
            for line in self.job(script, "saving", mode, trainers=1).splitlines()
            if "sum" in line
        ]
        self.assertEqual(len(lines), 4)
        self.assertEqual(len({line.split("sum")[1] for line in lines}), 1, lines)


if __name__ == "__main__":
    support.main()
