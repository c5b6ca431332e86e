# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl tensors: list, export and drop."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy
import torch

import graphd
import support
from graphd.distributed import (
    DistEmbedding,
    DistGraph,
    DistTensor,
    PartitionPolicy,
    SparseAdagrad,
    init,
    partition_graph,
)

NODES = 300
DIES = """
import os, signal, sys, torch
import graphd
from graphd.distributed import DistGraph, DistTensor
graphd.distributed.initialize(sys.argv[1], server_name=sys.argv[2])
policy = DistGraph().get_node_partition_policy("item")
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
DistTensor((300,), torch.float32, "unfilled", kill, policy, persistent=True)
"""


class TensorsVerb(support.GraphTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="graphd-tensors-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        nodes = torch.arange(NODES)
        config = partition_graph(
            {("item", "next", "item"): (nodes, (nodes + 1) % NODES)},
            "ring",
            2,
            cls.path("parts"),
            num_nodes={"item": NODES},
            part_method="random",
        )
        cls.servers = support.Daemons(config)
        cls.addClassCleanup(cls.servers.stop)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def attach(self):
        os.environ.update(GRAPHD_RUNTIME_DIR=self.servers.runtime, GRAPHD_TRANSPORT="auto")
        graphd.distributed.initialize(self.servers.ip_config, server_name=self.servers.server_name)
        return DistGraph()

    def tensors(self, *words, expect=0, server_name=None):
        """Runs graphctl tensors, and returns its output, or what it says if it fails."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHD_")}
        done = subprocess.run(
            [
                os.path.join(support.BIN, "graphctl"),
                "tensors",
                *words,
                "--server_name",
                server_name or self.servers.server_name,
                "--ip_config",
                self.servers.ip_config,
                "--runtime_dir",
                self.servers.runtime,
            ],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout if expect == 0 else done.stderr

    def make(self):
        """Makes an embedding, two tensors, and one that ends with this job."""
        g, nodes = self.attach(), torch.arange(NODES)
        embedding = DistEmbedding(
            NODES,
            3,
            name="emb/a",
            part_policy=g.get_node_partition_policy("item"),
            init_func=init.Uniform(-1, 1),
        )
        optimizer = SparseAdagrad([embedding], lr=0.1)
        embedding(nodes).sum().backward()
        optimizer.step()
        weights = DistTensor(
            (NODES,),
            torch.int64,
            name="weights",
            part_policy=g.get_edge_partition_policy("next"),
            persistent=True,
        )
        weights[nodes] = g.edata["orig_id"][nodes] * 10
        anywhere = PartitionPolicy("range", g)
        flags = DistTensor((7, 2), torch.bool, name="flags", part_policy=anywhere, persistent=True)
        flags[[2]] = torch.tensor([[True, False]])
        other = DistTensor((5,), torch.float32, name="of_this_job", part_policy=anywhere)
        return [g, embedding, other]  # these stay in the job

    # This is one test and not three, because after a job has ended, the servers wait for five seconds
    # before they let others change its tensors.
    def test_list_export_and_drop(self):
        self.assertEqual(self.tensors("list"), "no tensors that outlive their jobs\n")
        held = self.make()
        self.check_list()
        self.check_export(*held[:2])
        said = self.tensors("drop", "flags", "emb/a", expect=10)
        self.assertIn("writes tensor 'flags'; wait for its end, or stop it", said)
        held.clear()
        graphd.distributed.exit_client()
        said = self.tensors("drop", "weights", "wieghts", expect=3)
        self.assertIn("'wieghts'", said)
        self.assertEqual(len(self.tensors("list").splitlines()), 3, "none was dropped")
        self.assertEqual(self.tensors("drop", "emb/a", "weights", "emb/a"), "")
        self.assertRegex(self.tensors("list"), r"^flags: .*\n$")

    def check_list(self):
        lines = sorted(self.tensors("list").splitlines())
        self.assertRegex(
            lines[0],
            r"^emb/a: float32 \[300, 3\], a row per node 'item', 3\.5 KiB, state adagrad, "
            r"written by job \S+$",
        )
        self.assertRegex(lines[1], r"^flags: bool \[7, 2\], 14 B, written by job \S+$")
        self.assertRegex(
            lines[2], r"^weights: int64 \[300\], a row per edge 'item:next:item', 2\.3 KiB, written"
        )
        self.assertEqual(len(lines), 3)
        found = {each["name"]: each for each in json.loads(self.tensors("list", "--json"))}
        self.assertNotEqual(found["emb/a"].pop("writer"), "")
        self.assertEqual(
            found["emb/a"],
            {
                "name": "emb/a",
                "dtype": "float32",
                "shape": [300, 3],
                "policy": "node",
                "type": "item",
                "state": "adagrad",
                "bytes": 3600,
                "many_writers": False,
            },
        )
        self.assertEqual(found["weights"]["type"], "item:next:item")
        self.assertEqual((found["flags"]["policy"], found["flags"]["type"]), ("range", ""))

    def check_export(self, g, embedding):
        nodes = torch.arange(NODES)
        original = g.ndata["orig_id"][nodes]
        self.assertFalse(torch.equal(original, nodes))
        output = self.path("all")
        files = self.tensors("export", "--output", output).splitlines()
        files = {os.path.basename(path): path for path in files}
        self.assertEqual(sorted(files), sorted(os.listdir(output)))
        self.assertEqual(sorted(files), ["emb_a.npy", "flags.npy", "weights.npy"])
        written = torch.from_numpy(numpy.load(files["emb_a.npy"]))
        self.assertTrue(torch.equal(written[original], embedding(nodes).detach()))
        self.assertEqual(
            numpy.load(files["flags.npy"]).tolist()[1:3], [[False, False], [True, False]]
        )
        self.assertTrue((numpy.load(files["weights.npy"]) == numpy.arange(NODES) * 10).all())
        one = self.tensors("export", "flags", "flags", "--json", "--output", self.path("one"))
        self.assertEqual(json.loads(one), {"files": [self.path("one/flags.npy")]})

    def test_a_tensor_whose_creator_died_can_be_dropped(self):
        made = subprocess.run(
            [sys.executable, "-c", DIES, self.servers.ip_config, self.servers.server_name],
            env=self.servers.environment(),
            timeout=60,
        )
        self.assertEqual(made.returncode, -signal.SIGKILL)
        self.assertIn("unfilled", self.tensors("list"))
        said = self.tensors("export", "--timeout", "1", "--output", self.path("unfilled"), expect=7)
        self.assertIn("tensor 'unfilled' is left out", said)
        self.assertEqual(self.tensors("drop", "unfilled"), "")
        self.assertNotIn("unfilled", self.tensors("list"))

    def test_mistakes_have_remedies(self):
        self.assertIn("name is required", self.tensors("drop", expect=2))
        self.assertIn("--output", self.tensors("export", expect=2))
        said = self.tensors("export", "emb", "--output", self.path("none"), expect=3)
        self.assertIn("'emb'", said)
        self.assertIn("graphctl tensors list", said)
        self.assertFalse(os.path.exists(self.path("none")))
        said = self.tensors("export", "--output", self.path("parts"), expect=4)
        self.assertIn("give another directory", said)

    def test_a_mistyped_server_name_is_reported_at_once_with_the_names_there(self):
        said = self.tensors("list", "--timeout", "300", server_name="python_tset", expect=5)
        self.assertIn("the server's name may be mistyped", said)
        self.assertIn(f"sockets of '{self.servers.server_name}'", said)


if __name__ == "__main__":
    support.main()
