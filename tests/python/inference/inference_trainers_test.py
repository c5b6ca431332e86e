# SPDX-License-Identifier: Apache-2.0
"""Tests inference over all nodes in jobs of two trainers."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import graphd
import inference_model as models
import support
from graphd import inference
from graphd.inference import collective

SHARED = os.path.dirname(models.__file__)

# A trainer of a job of two. It computes everything with all trainers, and the first one compares.
TRAINER = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import graphd
import inference_model as models
from graphd import inference
graphd.distributed.initialize()
g = graphd.distributed.DistGraph()
layers = models.sage(g.ndata["feat"].shape[1], 8, 4)
calls = []
def counted(block, h):
    calls.append(block.num_dst_nodes())
    return layers[0](block, h)
out = inference.layerwise(g, [counted, layers[1]], "feat", batch_size=100)
accuracy = inference.evaluate(g, out, ["val_mask", "train_mask"])
sampled = inference.layerwise(
    g, layers, "feat", batch_size=70, fanouts=[3, 2], name="sampled", num_workers=2
)
assert sum(calls) == 750, calls  # half of the nodes
if g.rank() == 0:
    expected = models.sage_forward(g, layers, g.ndata["feat"][:])
    print(float((out[:] - expected).abs().max()))
    print(accuracy["val_mask"], accuracy["train_mask"])
    torch.save(sampled[:], sys.argv[2])
g.barrier()
"""


# The same for several types. Only one node has an output of the second result, so that one trainer
# has nothing to compute in its last layer.
TYPED_TRAINER = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import graphd
import inference_model as models
graphd.distributed.initialize()
g = graphd.distributed.DistGraph()
layers, rows = models.rgcn(g, 6, 5, 3), models.typed_inputs(g)
features = {ntype: some.__getitem__ for ntype, some in rows.items()}
out = graphd.inference.layerwise(g, layers, features, batch_size=30)
mask = torch.arange(g.num_nodes("post")) == 150
one = graphd.inference.layerwise(g, layers, features, name="one", nodes={"post": mask})
expected = models.rgcn_forward(g, layers, rows)
assert list(out) == g.ntypes and list(one) == ["post"], (out, one)
for ntype, tensor in out.items():
    torch.testing.assert_close(tensor[:], expected[ntype], rtol=1e-5, atol=1e-5)
torch.testing.assert_close(one["post"][150], expected["post"][[150]], rtol=1e-5, atol=1e-5)
assert int(one["post"].count_nonzero()) == 3
g.barrier()
"""


def run(test, script, *words):
    """Runs a job of two trainers, and returns what the first one prints."""
    trainers = [
        subprocess.Popen(
            [sys.executable, "-c", script, SHARED, *words],
            env=test.daemons().environment(
                RANK=str(rank), WORLD_SIZE="2", GRAPHD_JOB_ID="both", GRAPHD_NUM_SAMPLERS="1"
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [trainer.communicate(timeout=60)[0] for trainer in trainers]
    test.assertEqual([trainer.returncode for trainer in trainers], [0, 0], outputs)
    return outputs[0]


class Trainers(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_two_trainers_share_the_nodes_and_sampling_does_not_depend_on_them(self):
        path = os.path.join(self.daemons().folder, "sampled.pt")
        output = run(self, TRAINER, path)
        difference, *accuracies = map(float, output.split())
        self.assertLess(difference, 1e-5)
        g = self.served()
        layers = models.sage(g.ndata["feat"].shape[1], 8, 4)
        expected = models.sage_forward(g, layers, g.ndata["feat"][:])
        for found, mask in zip(accuracies, ("val_mask", "train_mask")):
            right = expected.argmax(1) == g.ndata["label"][:]
            share = right[g.ndata[mask][:].bool()].float().mean()
            self.assertAlmostEqual(found, float(share), places=5)
        sampled = inference.layerwise(
            g, layers, "feat", fanouts=[3, 2], batch_size=1000, name="alone"
        )
        torch.testing.assert_close(torch.load(path), sampled[:], rtol=1e-5, atol=1e-5)
        self.assertGreater(float((sampled[:] - expected).abs().max()), 1e-2)

    def graphs(self, job, **options):
        """Returns the graphs of two trainers of a job, which are threads of this process."""
        sessions = self.daemons().connect_trainers(job, 2, **options)
        return [session.graph() for session in sessions]

    def test_sums_are_right_after_a_trainer_has_made_other_ones_alone(self):
        graphs, alone = self.graphs("sums"), self.standalone()
        self.assertEqual(collective.total(alone, [5]), [5])
        with ThreadPoolExecutor(2) as pool:
            for step in range(3):
                parts = [[step + 1], [10]]
                self.assertEqual(list(pool.map(collective.total, graphs, parts)), [[step + 11]] * 2)
                collective.total(alone, [5])

    def test_a_trainer_reads_a_result_until_it_calls_again(self):
        graphs = self.graphs("reads")
        layer = [lambda block, h: h[: block.num_dst_nodes()]]

        def trainer(g):
            out = inference.layerwise(g, layer, "feat", name="again")
            if g.rank() == 1:
                time.sleep(0.5)  # the other one calls meanwhile
            found = out[:] if g.rank() == 1 else None
            inference.layerwise(g, layer, "feat", name="again")
            return found

        with ThreadPoolExecutor(2) as pool:
            _, found = pool.map(trainer, graphs)
        self.assertTrue(torch.equal(found, graphs[0].ndata["feat"][:]))

    def test_trainers_wait_for_each_other_longer_than_for_an_answer(self):
        graphs = self.graphs("waits", timeout=3)
        with self.assertRaises(graphd.errors.DeadlineError):
            graphs[0].barrier()
        first = threading.Thread(target=collective.wait_for_all, args=(graphs[0],))
        first.start()
        first.join(9)
        self.assertTrue(first.is_alive())
        collective.wait_for_all(graphs[1])
        first.join(30)
        self.assertFalse(first.is_alive())


class TypedTrainers(support.GraphTest):
    def test_two_trainers_share_the_nodes_of_each_type(self):
        run(self, TYPED_TRAINER)


if __name__ == "__main__":
    support.main()
