# SPDX-License-Identifier: Apache-2.0
"""Tests checkpoints that a trainer makes of embeddings, their optimiser's state and dense
weights."""

import io
import os
import pathlib
import subprocess
import tempfile
import unittest.mock

import numpy
import torch

import graphd
import support
from graphd import checkpoint
from graphd.distributed import DistEmbedding, DistTensor, SparseAdagrad


class Checkpoints(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_restore_brings_back_rows_state_and_files(self):
        g = self.served()
        embedding = DistEmbedding(
            g.num_nodes(), 4, name="kept", init_func=graphd.distributed.init.Uniform(-1, 1)
        )
        optimizer = SparseAdagrad([embedding], lr=0.1)
        nodes = torch.arange(g.num_nodes())
        self.step(embedding, optimizer, nodes)
        kept, dense = embedding(nodes).detach(), {"w": torch.arange(3.0)}
        file = io.BytesIO()
        torch.save(dense, file)

        made = checkpoint.create(g, "first", files={"dense.pt": file.getvalue()})
        self.assertEqual(made.tensors, {"kept": ("float32", (g.num_nodes(), 4))})
        self.assertEqual(made.files, {"dense.pt": len(file.getvalue())})
        self.assertEqual([each.name for each in checkpoint.list(g)], ["first"])
        with self.assertRaises(graphd.errors.ExistsError):
            checkpoint.create(g, "first")

        self.step(embedding, optimizer, nodes)
        further = embedding(nodes).detach()
        self.assertFalse(torch.equal(further, kept))
        checkpoint.restore(g, "first")
        self.assertTrue(torch.equal(embedding(nodes).detach(), kept))
        self.step(embedding, optimizer, nodes)  # uses the restored state of Adagrad
        self.assertTrue(torch.equal(embedding(nodes).detach(), further))
        read = torch.load(io.BytesIO(checkpoint.read_file(g, "first", "dense.pt")))
        self.assertTrue(torch.equal(read["w"], dense["w"]))

        checkpoint.delete(g, "first")
        self.assertEqual(checkpoint.list(g), [])
        with self.assertRaises(graphd.errors.NotFoundError):
            checkpoint.restore(g, "first")

    def verb(self, *words, of="checkpoint", expect=0):
        """Runs a verb of graphctl, and returns its output, or what it says if it fails."""
        daemons = self.daemons()
        servers = ("--server_name", daemons.server_name, "--ip_config", daemons.ip_config)
        done = subprocess.run(
            [os.path.join(support.BIN, "graphctl"), of, *words, *servers],
            env=daemons.environment(),
            capture_output=True,
            text=True,
            timeout=60 * support.slowness(),
        )
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stderr if expect else done.stdout

    def test_graphctl_creates_restores_exports_and_deletes(self):
        g = self.served()
        nodes = torch.arange(g.num_nodes())
        tensor = DistTensor((g.num_nodes(), 3), torch.float32, name="verbs", persistent=True)
        tensor[nodes] = kept = torch.rand(g.num_nodes(), 3)
        self.assertIn("by_hand", self.verb("create", "by_hand"))
        self.assertIn("by_hand", self.verb("create", "by_hand", expect=4))
        self.assertRegex(self.verb("list"), r"(?m)^by_hand\b")
        tensor[nodes] = torch.zeros(g.num_nodes(), 3)
        self.assertIn("writes tensor 'verbs'", self.verb("restore", "by_hand", expect=10))
        del g, tensor
        graphd.distributed.exit_client()
        self.verb("restore", "by_hand")
        g = self.served()
        tensor = DistTensor((g.num_nodes(), 3), torch.float32, name="verbs", persistent=True)
        self.assertTrue(torch.equal(tensor[nodes], kept))
        with tempfile.TemporaryDirectory() as folder:
            self.verb("export", "by_hand", "--output", os.path.join(folder, "out"))
            (file,) = pathlib.Path(folder, "out").rglob("verbs*.npy")
            rows = numpy.load(file)
        # The rows of the file are in the order of the original ids.
        original = g.ndata["orig_id"][nodes] if "orig_id" in g.ndata else nodes
        self.assertTrue(numpy.array_equal(rows[original.numpy()], kept.numpy()))
        self.verb("delete", "by_hand")
        self.assertNotIn("by_hand", self.verb("list"))
        self.assertIn("by_hand", self.verb("restore", "by_hand", expect=3))
        del g, tensor
        graphd.distributed.exit_client()
        self.verb("drop", "verbs", of="tensors")

    def step(self, embedding, optimizer, nodes):
        (embedding(nodes) ** 2).sum().backward()
        optimizer.step()

    def test_the_latest_one_of_a_prefix_is_that_with_the_largest_number(self):
        g = self.served()
        DistTensor((g.num_nodes(),), torch.int64, name="any", persistent=True)
        self.assertIsNone(checkpoint.latest(g, "model"))
        for name in ("model-9", "model-10", "model-x", "model-9-11", "other-12"):
            checkpoint.create(g, name)
        self.assertEqual(checkpoint.latest(g, "model").name, "model-10")
        self.assertEqual(checkpoint.latest(g, "model-9").name, "model-9-11")
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_JOB_ID": "other"}):
            self.assertEqual(checkpoint.latest(g).name, "other-12")
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("GRAPHD_JOB_ID", None)
            with self.assertRaisesRegex(graphd.errors.InvalidError, "GRAPHD_JOB_ID is not set"):
                checkpoint.latest(g)

    def test_some_tensors_are_restored_by_name(self):
        g = self.served()
        for name in ("one", "two"):
            tensor = DistTensor((g.num_nodes(),), torch.int64, name=name, persistent=True)
            tensor[[0]] = torch.tensor([5])
        made = checkpoint.create(g, "chosen", tensors=["two"])
        self.assertEqual(list(made.tensors), ["two"])
        checkpoint.delete(g, "chosen")

    def test_standalone_mode_has_no_checkpoints(self):
        with self.assertRaises(graphd.errors.InvalidError):
            checkpoint.create(self.standalone(), "first")


if __name__ == "__main__":
    support.main()
