# SPDX-License-Identifier: Apache-2.0
"""Kills all trainers of an inference over all nodes, and lets the next job go on with it."""

import os
import subprocess
import sys

import torch

import graphd
import inference_model as models
import support
from graphd import inference
from graphd.distributed import DistTensor

SHARED = os.path.dirname(models.__file__)
STOP = 5  # the batch of the second layer that no trainer of the first job computes
OPTIONS = dict(name="kept", batch_size=50, resume=True, version="epoch 7")

# A trainer that counts its batches by layer. With "stop", it says so at a batch of the second layer,
# and waits to be killed.
TRAINER = f"""
import sys
sys.path.insert(0, {SHARED!r})
import graphd
import inference_model as models
graphd.distributed.initialize()
g = graphd.distributed.DistGraph()
layers = models.sage(g.ndata["feat"].shape[1], 8, 4)
calls = [0, 0]
def layer(i):
    def call(block, h):
        if i == 1 and calls[1] == {STOP} and "stop" in sys.argv:
            print("here", flush=True)
            sys.stdin.read()
        calls[i] += 1
        return layers[i](block, h)
    return call
out = graphd.inference.layerwise(g, [layer(0), layer(1)], "feat", **{OPTIONS!r})
print(*calls)
"""


class Resume(support.GraphTest):
    fixture = "sbm_2p_metis"

    def start(self, job, *words):
        """Starts a job of two trainers."""
        return [
            subprocess.Popen(
                [sys.executable, "-c", TRAINER, *words],
                env=self.daemons().environment(
                    RANK=str(rank), WORLD_SIZE="2", GRAPHD_JOB_ID=job, GRAPHD_NUM_SAMPLERS="1"
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]

    def calls(self, job):
        """Runs a job; returns the numbers of batches of each layer that its trainers compute."""
        trainers = self.start(job)
        outputs = [trainer.communicate(timeout=60)[0] for trainer in trainers]
        self.assertEqual([trainer.returncode for trainer in trainers], [0, 0], outputs)
        return [list(map(int, output.split())) for output in outputs]

    def test_a_run_goes_on_where_all_trainers_were_killed(self):
        trainers = self.start("first", "stop")
        for trainer in trainers:
            self.assertEqual(trainer.stdout.readline(), "here\n")
        for trainer in trainers:
            trainer.kill()
        for trainer in trainers:
            trainer.communicate(timeout=30)

        # 1500 nodes are 15 batches for each of two trainers. Those that were computed but not
        # written yet are computed again: at most one that is written, and two that wait.
        for first, second in self.calls("second"):
            self.assertEqual(first, 0)
            self.assertGreaterEqual(second, 15 - STOP)
            self.assertLessEqual(second, 15 - STOP + 3)
        g = self.served()
        out = DistTensor.open(g, "kept")
        self.assertTrue(out.persistent)
        layers = models.sage(g.ndata["feat"].shape[1], 8, 4)
        expected = models.sage_forward(g, layers, g.ndata["feat"][:])
        torch.testing.assert_close(out[:], expected, rtol=1e-5, atol=1e-5)
        names = {each["name"] for each in DistTensor.list(g)}
        self.assertEqual(names, {"kept", "kept:progress", "kept:run"})

        # This job has one trainer.
        for wrong, message in (
            ({}, r"trainers 2 \(now 1\)"),
            ({"batch_size": 60}, r"batch_size 50 \(now 60\)"),
            ({"fanouts": [3, -1]}, r'fanouts \["-1", "-1"\] \(now \["3", "-1"\]\)'),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                inference.layerwise(g, layers, "feat", **{**OPTIONS, **wrong})
        with self.assertRaisesRegex(graphd.errors.InvalidError, r"layers 2 \(now 1\)"):
            inference.layerwise(g, layers[:1], "feat", **OPTIONS)
        torch.testing.assert_close(out[:], expected, rtol=1e-5, atol=1e-5)


class StartOver(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_run_without_resume_starts_over(self):
        g = self.standalone()
        layers, calls = models.sage(g.ndata["feat"].shape[1], 8, 4), []

        def counted(block, h):
            calls.append(block)
            return layers[0](block, h)

        def run(**options):
            calls.clear()
            inference.layerwise(g, [counted], "feat", **{**OPTIONS, **options})
            return len(calls)

        self.assertEqual(run(), 30)
        self.assertEqual(run(), 0)
        self.assertEqual(run(resume=False, batch_size=500), 3)
        self.assertEqual(run(), 30)  # the run before left no progress

    def test_another_version_or_a_result_that_is_gone_starts_over_and_can_be_resumed(self):
        g = self.standalone()
        layers = models.sage(g.ndata["feat"].shape[1], 8, 4)[:1]
        rows = []

        def run(scale, **options):
            def layer(block, h):
                rows.append(block.num_dst_nodes())
                return layers[0](block, h) * scale

            rows.clear()
            out = inference.layerwise(g, [layer], "feat", **{**OPTIONS, **options})
            return sum(rows), out

        _, first = run(1)
        expected = first[:]
        count, other = run(2, version="epoch 8", batch_size=100)
        self.assertEqual(count, g.num_nodes())
        torch.testing.assert_close(other[:], 2 * expected)
        self.assertEqual(run(2, version="epoch 8", batch_size=100)[0], 0)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "start over .* another version"):
            run(2, version="epoch 8")
        DistTensor.drop(g, "kept")
        count, again = run(3, version="epoch 8", batch_size=100)
        self.assertEqual(count, g.num_nodes())
        torch.testing.assert_close(again[:], 3 * expected)
        self.assertTrue(again.persistent)

    def test_a_run_that_died_before_it_had_kept_its_arguments_starts_over(self):
        g = self.standalone()
        layers = models.sage(g.ndata["feat"].shape[1], 8, 4)
        inference.layerwise(g, layers, "feat", **OPTIONS)
        kept = DistTensor.open(g, "kept:run")
        kept[:] = torch.zeros(len(kept), dtype=torch.uint8)
        out = inference.layerwise(g, layers[:1], "feat", **OPTIONS)
        self.assertEqual(out.shape, (g.num_nodes(), 8))

    def test_more_batches_than_there_are_cannot_be_done(self):
        g = self.standalone()
        layers = models.sage(g.ndata["feat"].shape[1], 8, 4)[:1]
        inference.layerwise(g, layers, "feat", **OPTIONS)
        progress = DistTensor.open(g, "kept:progress")
        progress[:] = torch.tensor([[0, 31]])
        message = "31 batches of layer 0 are noted as done, but this trainer has 30"
        with self.assertRaisesRegex(graphd.errors.InvalidError, message):
            inference.layerwise(g, layers, "feat", **OPTIONS)


if __name__ == "__main__":
    support.main()
