# SPDX-License-Identifier: Apache-2.0
"""Tests the example of DGL's documents as docs/python.md changes it.

The original equals DGL's text, only imports change, and the result trains.
"""

import difflib
import hashlib
import os
import re
import unittest

import jobs
import support

# The checksum of the first listing in chapter 7 of DGL's user guide.
ORIGINAL = "8dc7517c9146cf77e0a751d549d4f8102021832793e4aecd6953f9bb7fab19d1"

# The parts that the listing leaves to the reader.
BEFORE = """
import argparse, sys
sys.path.insert(0, {examples!r})
import torch.nn as nn, torch.nn.functional as F, torch.optim as optim
import graphd
from train_dist import SAGE, load_subtensor
args = argparse.Namespace(lr=0.02, num_epochs=8)
num_servers, num_workers, batch_size, device = 1, 1, 60, "cpu"
in_feats, num_hidden, n_classes, num_layers, dropout = 16, 32, 4, 2, 0.0
graphd.seed(0)
"""
AFTER = """
from train_dist import evaluate
args.num_layers, args.batch_size_eval = num_layers, 1000
test_nid = dgl.distributed.node_split(g.ndata['test_mask'], pb, force_even=True)
accuracy = evaluate(model.module, g, test_nid, args)
if g.rank() == 0:
    print(f"test accuracy: {accuracy:.4f}")
del model  # the last owner of the process group
"""


def shown():
    """Returns the lines of the listing in docs/python.md."""
    with open(os.path.join(jobs.ROOT, "docs", "python.md"), encoding="utf-8") as file:
        return (
            re.search(r"^```diff\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
            .group(1)
            .splitlines()
        )


def side(sign):
    return [line[1:] for line in shown() if not line or line[0] in (" ", sign)]


class Listing(unittest.TestCase):
    def test_the_original_equals_dgls_text(self):
        self.assertEqual(hashlib.sha256("\n".join(side("-")).encode()).hexdigest(), ORIGINAL)

    def test_the_listing_is_the_difference_of_both(self):
        computed = list(difflib.unified_diff(side("-"), side("+"), lineterm="", n=1000))[3:]
        self.assertEqual([line.rstrip() for line in computed], shown())

    def test_only_imports_change(self):
        changed = [line for line in shown() if line[:1] in ("-", "+")]
        self.assertEqual(changed[:2], ["-import dgl", "+import graphd as dgl"])
        for line in changed[2:]:
            self.assertRegex(line, r"^\+from graphd\.\S+ import \w+$")


class Job(jobs.JobTest):
    def test_it_trains(self):
        self.small("graph_name")
        script = self.path("changed.py")
        examples = os.path.join(jobs.ROOT, "examples")
        with open(script, "w") as file:
            file.write("\n".join([BEFORE.format(examples=examples), *side("+"), AFTER]))
        self.assertGreater(self.result(self.job(script, "graph_name")), 0.85)


if __name__ == "__main__":
    support.main()
