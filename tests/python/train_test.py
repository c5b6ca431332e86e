# SPDX-License-Identifier: Apache-2.0
"""The Python trainers of examples/, launched by graphctl as jobs of several processes: they learn."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import support
from graphd.distributed import partition_graph

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
GRAPHCTL = os.path.join(support.BIN, "graphctl")
SMALL = ("--batch_size", "60", "--fan_out", "5,5", "--num_hidden", "32", "--lr", "0.02")


def run(*command):
    subprocess.run(command, check=True, capture_output=True, timeout=100)


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.workspace = tempfile.mkdtemp(prefix="graphd-train-python-")
        cls.addClassCleanup(shutil.rmtree, cls.workspace)
        with open(cls.path("ip_config.txt"), "w") as file:
            file.write("".join(f"127.0.0.1 {port}\n" for port in support.free_ports(2)))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.workspace, name)

    def partition(self, name, *make, add_reverse=()):
        """Makes a graph in OGB's layout, unless it is there, and cuts it in two."""
        config = self.path(f"{name}/{name}.json")
        if not os.path.exists(config):
            run(sys.executable, *make, self.path(f"raw_{name}"))
            run(GRAPHCTL, "partition", "--graph_name", name, "--input", self.path(f"raw_{name}"),
                "--num_parts", "2", *add_reverse, "--output", self.path(name))

    def small(self):
        self.partition("small", os.path.join(HERE, "..", "tools", "small_graph.py"), "--nodes",
                       "1000", "--classes", "4")

    def job(self, script, name, *arguments, trainers=2):
        """The output of a job on servers of its own, which end with it."""
        command = [GRAPHCTL, "launch", "--workspace", self.workspace, "--server_name", name,
                   "--num_trainers", str(trainers), "--num_samplers", "1", "--num_omp_threads", "1",
                   "--state_dir", self.path("state"), "--part_config", f"{name}/{name}.json", "--ip_config", "ip_config.txt",
                   sys.executable, os.path.join(ROOT, "examples", script), "--graph_name", name,
                   "--ip_config", "ip_config.txt", *arguments]
        environment = dict(os.environ, GRAPHD_RUNTIME_DIR=self.path("run"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def result(self, output, what="test accuracy"):
        found = re.search(what + r": ([0-9.]+)$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found.group(1))

    def test_train_dist(self):
        self.small()
        output = self.job("train_dist.py", "small", "--num_epochs", "8", "--log_every", "0", *SMALL)
        self.assertGreater(self.result(output), 0.85)
        self.assertEqual(len(re.findall(r"rank \d: 125 nodes to train on", output)), 4)

    def test_learnt_vectors_of_nodes(self):
        self.small()
        output = self.job("train_dist_transductive.py", "small", "--num_epochs", "8", *SMALL)
        self.assertGreater(self.result(output), 0.85)

    def test_links(self):
        self.small()
        output = self.job("train_dist_link.py", "small", "--num_epochs", "4", *SMALL, trainers=1)
        self.assertGreater(self.result(output, "test AUC"), 0.75)

    def test_several_types(self):
        draw = np.random.default_rng(3)
        labels = draw.integers(0, 4, 1000)
        papers = np.arange(1000).repeat(3)
        authors = labels[papers] * 50 + draw.integers(0, 50, 3000)  # of 50 who write on the subject
        order = draw.permutation(1000)
        masks = {name: np.isin(np.arange(1000), some).astype(np.uint8)
                 for name, some in zip(("train_mask", "val_mask", "test_mask"),
                                       np.split(order, [500, 750]))}
        noise = draw.normal(size=(1000, 8)).astype(np.float32)
        partition_graph(
            {("author", "writes", "paper"): (authors, papers),
             ("paper", "written_by", "author"): (papers, authors),
             ("paper", "cites", "paper"): (papers, draw.integers(0, 1000, 3000))},
            "typed", 2, self.path("typed"), ndata={"paper": {"feat": noise + np.eye(8)[
                labels].astype(np.float32), "label": labels, **masks}})
        output = self.job("train_dist_hetero.py", "typed", "--ntype", "paper", "--num_epochs", "8",
                          *SMALL)
        self.assertGreater(self.result(output), 0.7)

    def test_debian(self):
        self.partition("debian", os.path.join(ROOT, "scripts", "debian_graph.py"), "--output",
                       add_reverse=["--add_reverse"])
        output = self.job("train_dist.py", "debian", "--num_epochs", "5", "--lr", "0.01",
                          "--dropout", "0.3", "--log_every", "0", trainers=1)
        self.assertGreater(self.result(output), 0.68)

    if importlib.util.find_spec("torch_geometric"):
        def test_a_model_of_pyg(self):
            self.small()
            output = self.job("train_dist_pyg.py", "small", "--num_epochs", "6", *SMALL)
            self.assertGreater(self.result(output), 0.85)


if __name__ == "__main__":
    support.main()
