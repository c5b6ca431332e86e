# SPDX-License-Identifier: Apache-2.0
"""Runs scripts that are written for DGL with graphd: two trainers, two servers, and nothing of the
scripts changes but imports. Run it with the environment that scripts/setup makes."""

import os
import re
import sys

import numpy as np
import torch

import graphd
import jobs
import support

SCRIPTS = os.path.join(jobs.HERE, "from_dgl", "scripts")
# DGL takes Debian's PyTorch, 1.13.0a0, for a version before 1.13.
DGL_IMPORTS = "import torch; torch.__version__ = '1.13.1'"
LINK_IMPORTS = {
    "import dgl": "import graphd as dgl",
    "import dgl.function as fn": f"{DGL_IMPORTS}; import dgl.function as fn",
    "import dgl.nn.pytorch as dglnn": "import dgl.nn.pytorch as dglnn",
}
LINK_ARGUMENTS = (
    *("--num_epochs", "4", "--batch_size", "200", "--fan_out", "5,5", "--lr", "0.01"),
    *("--num_hidden", "32", "--dropout", "0.0", "--num_negs", "2", "--remove_edge"),
)


def with_imports(name, replacements):
    """Returns a script with other imports. Every line with one of the names has to be there."""
    with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
        text = file.read()
    for line, replacement in replacements.items():
        text, count = re.subn(rf"^{re.escape(line)}$", replacement, text, flags=re.MULTILINE)
        if count != 1:
            raise AssertionError(f"{name} has {count} lines {line!r}")
    return text


class Scripts(jobs.JobTest):
    def graph(self, name):
        """Partitions a graph in which nine of ten edges join nodes of the same class."""
        if os.path.exists(self.path(name)):
            return
        draw = np.random.default_rng(5)
        labels = draw.integers(0, 4, 1000)
        members = [np.flatnonzero(labels == each) for each in range(4)]
        dst = np.arange(1000).repeat(8)
        alike = np.array([draw.choice(members[labels[node]]) for node in dst])
        src = np.where(draw.random(len(dst)) < 0.9, alike, draw.integers(0, 1000, len(dst)))
        features = draw.normal(size=(1000, 16)) + np.eye(16)[labels]
        splits = np.split(draw.permutation(1000), [500, 750])
        masks = {
            name: np.isin(np.arange(1000), some)
            for name, some in zip(("train_mask", "val_mask", "test_mask"), splits)
        }
        graphd.distributed.partition_graph(
            (src, dst),
            name,
            2,
            self.path(name),
            num_nodes=1000,
            ndata={"features": features.astype(np.float32), "labels": labels, **masks},
        )

    def run_script(self, name, imports, *arguments):
        graph_name = name.removesuffix(".py")  # scripts of one graph share its tensors "h"
        self.graph(graph_name)
        script = self.path(name)
        with open(script, "w", encoding="utf-8") as file:
            file.write(with_imports(name, imports))
        return self.job(script, graph_name, *arguments, trainers=1)

    def accuracies(self, output, pattern, count):
        found = [float(each) for each in re.findall(pattern, output)]
        self.assertEqual(len(found), count, output)
        return found

    def check_node_classification(self, imports):
        output = self.run_script(
            "node_classification.py",
            {"import dgl": "import graphd as dgl", "import dgl.nn.pytorch as dglnn": imports},
            *("--num_epochs", "8", "--batch_size", "60", "--fan_out", "5,5", "--lr", "0.02"),
            *("--num_hidden", "32", "--batch_size_eval", "200", "--eval_every", "4"),
        )
        for each in self.accuracies(output, r"TestAccuracy ([0-9.]+)", 2):
            self.assertGreater(each, 0.85)
        self.assertIn("Number of classes: 4", output)

    def test_node_classification_with_layers_of_graphd(self):
        self.check_node_classification("import graphd.nn as dglnn")

    def test_node_classification_with_layers_of_dgl(self):
        self.check_node_classification(f"{DGL_IMPORTS}; import dgl.nn.pytorch as dglnn")

    def check_embeddings(self):
        """Checks the file that the script for link prediction has written, and removes it."""
        path = self.path("emb.pt")
        embeddings = torch.load(path)
        os.remove(path)
        self.assertIs(type(embeddings), torch.Tensor)
        self.assertEqual((embeddings.shape, embeddings.dtype), ((1000, 32), torch.float32))
        self.assertGreater(float(embeddings.std(0).min()), 0)

    def test_link_prediction(self):
        output = self.run_script("link_prediction.py", LINK_IMPORTS, *LINK_ARGUMENTS)
        (each,) = self.accuracies(output, r"test acc ([0-9.]+)", 1)
        self.assertGreater(each, 0.8)
        self.check_embeddings()

    def test_link_prediction_in_standalone_mode(self):
        self.graph("standalone")
        script = self.path("standalone.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(with_imports("link_prediction.py", LINK_IMPORTS))
        output = jobs.run(
            *(sys.executable, script, "--standalone", "--graph_name", "standalone"),
            *("--part_config", self.path("standalone/standalone.json"), *LINK_ARGUMENTS),
            cwd=self.workspace,
        )
        (each,) = self.accuracies(output, r"test acc ([0-9.]+)", 1)
        self.assertGreater(each, 0.8)
        self.check_embeddings()


if __name__ == "__main__":
    support.main()
