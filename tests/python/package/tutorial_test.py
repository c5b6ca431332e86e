# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and the code of docs/python.md, in order, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

import support

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def blocks():
    """Returns (kind, words after the kind, text) of each block of code."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        return re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


class Tutorial(unittest.TestCase):
    def test_every_step(self):
        folder = tempfile.mkdtemp(prefix="graphd-tutorial-")
        self.addCleanup(shutil.rmtree, folder)
        environment = dict(
            os.environ,
            GRAPHD_RUNTIME_DIR=os.path.join(folder, "run"),
            GRAPHD_STATE_DIR=os.path.join(folder, "state"),
            PATH=f"{folder}/bin:{support.BIN}:{os.environ['PATH']}",
            HOME=folder,
        )
        os.mkdir(os.path.join(folder, "bin"))
        python = os.path.join(folder, "bin", "python3")
        # A link would not do, since Python finds its environment by the path of the program.
        with open(python, "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        os.chmod(python, 0o755)
        ports = support.free_ports(2)
        output, session = "", ""
        try:
            for kind, where, text in blocks():
                if kind == "python" and where.startswith("file="):
                    with open(os.path.join(folder, where[5:]), "w") as file:
                        file.write(text)
                elif kind == "python" and not where:
                    session += text  # all code runs in one session
                    output += self.run_in(folder, environment, ["python3", "-c", session])
                elif kind == "python" and where == "alone":
                    output += self.run_in(folder, environment, ["python3", "-c", text])
                elif kind == "sh" and not where:
                    for written, port in zip(("30050", "30051"), ports):
                        text = text.replace(written, str(port))
                    output += self.run_in(folder, environment, ["bash", "-euc", text])
        finally:
            subprocess.run(
                [
                    "graphctl",
                    "server",
                    "stop",
                    "--server_name",
                    "mine",
                    "--ip_config",
                    "ip_config.txt",
                    "--force",
                ],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=30,
            )
        for file in ("scores.npy", "scores_here.npy"):
            scores = numpy.load(os.path.join(folder, file))
            self.assertEqual((scores.shape, scores.dtype), ((1000, 4), numpy.float32))
        self.assertRegex(output, r"'val_mask': 0\.\d+, 'test_mask': 0\.\d+")
        accuracies = re.findall(r"test accuracy: ([0-9.]+)", output)
        self.assertEqual(len(accuracies), 2, output)
        self.assertGreater(float(accuracies[0]), 0.85)
        self.assertIn("no feature 'fear'", output)
        self.assertIn("DistGraph('mine', num_nodes=1000, ", output)
        self.assertIn("convert it where it is made", output)
        self.assertLess(float(re.search(r"loss (\d\.\d{3})$", output, re.MULTILINE).group(1)), 2)

    def run_in(self, folder, environment, command):
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            text=True,
            timeout=150,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(done.returncode, 0, f"{command[-1]}\n{done.stdout}")
        return done.stdout

    def test_link_targets_exist(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            for target in re.findall(r"\]\(([^)#]+)\)", file.read()):
                self.assertTrue(os.path.exists(os.path.join(ROOT, "docs", target)), target)


if __name__ == "__main__":
    support.main()
