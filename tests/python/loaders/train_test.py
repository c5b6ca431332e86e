# SPDX-License-Identifier: Apache-2.0
"""Tests that the Python trainers of examples/ learn, in jobs of several processes."""

import os
import re

import numpy as np

import jobs
import support
from graphd.distributed import partition_graph

SMALL = jobs.SMALL


class Train(jobs.JobTest):
    def test_train_dist(self):
        self.small()
        output = self.job("train_dist.py", "small", "--num_epochs", "8", "--log_every", "0", *SMALL)
        self.assertGreater(self.result(output), 0.85)
        self.assertEqual(len(re.findall(r"rank \d: 125 nodes to train on", output)), 4)

    def test_learnable_embeddings_of_nodes(self):
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
        # Draws each author from the 50 authors of the paper's subject.
        authors = labels[papers] * 50 + draw.integers(0, 50, 3000)
        order = draw.permutation(1000)
        masks = {
            name: np.isin(np.arange(1000), some).astype(np.uint8)
            for name, some in zip(
                ("train_mask", "val_mask", "test_mask"), np.split(order, [500, 750])
            )
        }
        noise = draw.normal(size=(1000, 8)).astype(np.float32)
        partition_graph(
            {
                ("author", "writes", "paper"): (authors, papers),
                ("paper", "written_by", "author"): (papers, authors),
                ("paper", "cites", "paper"): (papers, draw.integers(0, 1000, 3000)),
            },
            "typed",
            2,
            self.path("typed"),
            ndata={
                "paper": {
                    "feat": noise + np.eye(8)[labels].astype(np.float32),
                    "label": labels,
                    **masks,
                }
            },
        )
        output = self.job(
            "train_dist_hetero.py", "typed", "--ntype", "paper", "--num_epochs", "8", *SMALL
        )
        self.assertGreater(self.result(output), 0.7)

    def test_debian(self):
        self.partition(
            "debian",
            os.path.join(jobs.ROOT, "scripts", "debian_graph.py"),
            "--output",
            add_reverse=["--add_reverse"],
        )
        output = self.job(
            "train_dist.py",
            "debian",
            "--num_epochs",
            "5",
            "--lr",
            "0.01",
            "--dropout",
            "0.3",
            "--log_every",
            "0",
            trainers=1,
        )
        self.assertGreater(self.result(output), 0.68)


if __name__ == "__main__":
    support.main()
