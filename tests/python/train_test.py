# SPDX-License-Identifier: Apache-2.0
"""The Python trainers of examples/, launched by graphctl as a job of several processes: they learn
a planted graph."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
GRAPHCTL = os.path.join(support.BIN, "graphctl")


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.workspace = tempfile.mkdtemp(prefix="graphd-train-python-")
        cls.addClassCleanup(shutil.rmtree, cls.workspace)
        raw = os.path.join(cls.workspace, "raw")
        subprocess.run([sys.executable, os.path.join(HERE, "..", "tools", "small_graph.py"),
                        "--nodes", "1000", "--classes", "4", raw], check=True)
        subprocess.run([GRAPHCTL, "partition", "--graph_name", "small", "--input", raw,
                        "--num_parts", "2", "--output", os.path.join(cls.workspace, "parts")],
                       check=True, capture_output=True)
        with open(os.path.join(cls.workspace, "ip_config.txt"), "w") as file:
            file.write("".join(f"127.0.0.1 {port}\n" for port in support.free_ports(2)))

    def job(self, script, *arguments, trainers=2):
        """The output of a job with servers of its own."""
        command = [GRAPHCTL, "launch", "--workspace", self.workspace, "--server_name", "small",
                   "--num_trainers", str(trainers), "--num_samplers", "1", "--num_omp_threads", "1",
                   "--part_config", "parts/small.json", "--ip_config", "ip_config.txt",
                   sys.executable, os.path.join(EXAMPLES, script), "--graph_name", "small",
                   "--ip_config", "ip_config.txt", *arguments]
        environment = dict(os.environ, GRAPHD_RUNTIME_DIR=os.path.join(self.workspace, "run"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def number(self, output, name):
        found = re.search(name + r": ([0-9.]+)$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found.group(1))

    def test_train_dist(self):
        output = self.job("train_dist.py", "--num_epochs", "8", "--batch_size", "60", "--fan_out",
                          "5,5", "--num_hidden", "32", "--lr", "0.02", "--log_every", "0")
        self.assertGreater(self.number(output, "test accuracy"), 0.85)
        self.assertEqual(len(re.findall(r"rank \d: 125 nodes to train on", output)), 4)


if __name__ == "__main__":
    support.main()
