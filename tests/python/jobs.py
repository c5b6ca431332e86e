# SPDX-License-Identifier: Apache-2.0
"""Runs jobs of Python trainers with graphctl, for the tests of examples/train_dist*.py."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import support

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
GRAPHCTL = os.path.join(support.BIN, "graphctl")
SMALL = ("--batch_size", "60", "--fan_out", "5,5", "--num_hidden", "32", "--lr", "0.02")


def run(*command, cwd=None):
    """Runs a command that has to succeed, and returns its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def remove(folder):
    """Removes a folder, in which servers of the last job may still be ending."""
    end = time.monotonic() + 10
    while True:
        try:
            return shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class JobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.workspace = tempfile.mkdtemp(prefix="graphd-train-python-")
        cls.addClassCleanup(remove, cls.workspace)
        with open(cls.path("ip_config.txt"), "w") as file:
            file.write("".join(f"127.0.0.1 {port}\n" for port in support.free_ports(2)))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.workspace, name)

    def partition(self, name, *make, add_reverse=()):
        """Makes a graph in OGB's layout, unless it exists, and cuts it into two partitions."""
        config = self.path(f"{name}/{name}.json")
        if not os.path.exists(config):
            run(sys.executable, *make, self.path(f"raw_{name}"))
            run(
                GRAPHCTL,
                "partition",
                "--graph_name",
                name,
                "--input",
                self.path(f"raw_{name}"),
                "--num_parts",
                "2",
                *add_reverse,
                "--output",
                self.path(name),
            )

    def small(self, name="small"):
        self.partition(
            name,
            os.path.join(HERE, "..", "tools", "small_graph.py"),
            "--nodes",
            "1000",
            "--classes",
            "4",
        )

    def job(self, script, name, *arguments, trainers=2):
        """Returns the output of a job that starts and stops its own servers."""
        command = [
            GRAPHCTL,
            "launch",
            "--workspace",
            self.workspace,
            "--server_name",
            name,
            "--num_trainers",
            str(trainers),
            "--num_samplers",
            "1",
            "--num_omp_threads",
            "1",
            "--state_dir",
            self.path("state"),
            "--part_config",
            f"{name}/{name}.json",
            "--ip_config",
            "ip_config.txt",
            sys.executable,
            os.path.join(ROOT, "examples", script),
            "--graph_name",
            name,
            "--ip_config",
            "ip_config.txt",
            *arguments,
        ]
        environment = dict(os.environ, GRAPHD_RUNTIME_DIR=self.path("run"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def result(self, output, what="test accuracy"):
        found = re.search(what + r": ([0-9.]+)$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found.group(1))
