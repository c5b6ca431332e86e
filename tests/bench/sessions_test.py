#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that bench/compare measures graphd, with real servers and trainers on a tiny graph, and that the
graph is the same each time."""
import filecmp
import json
import os
import sys
import tempfile
import unittest

import numpy as np
from bench_tools import build_folder
from systems import graph, limits, lines, results, servers
from systems.rows import OURS, ROWS
from systems.sessions import Sessions

TINY = 1e-4


class Graph(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="graphd-compare-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.graph = os.path.join(cls.folder.name, "graph")
        graph.make(cls.graph, TINY)

    def array(self, name):
        return np.load(os.path.join(self.graph, name + ".npy"))

    def test_the_same_scale_gives_the_same_files(self):
        again = os.path.join(self.folder.name, "again")
        graph.make(again, TINY)
        names = os.listdir(self.graph)
        self.assertEqual(len(names), 7)
        self.assertEqual(filecmp.cmpfiles(self.graph, again, names, shallow=False)[0], names)

    def test_both_forms_have_the_same_edges(self):
        edges, indptr, indices = map(self.array, ("edges", "indptr", "indices"))
        nodes, count, training = graph.shape(TINY)
        self.assertEqual((len(indptr), edges.shape), (nodes + 1, (2, count)))
        targets = np.repeat(np.arange(nodes), np.diff(indptr))
        self.assertTrue((np.sort(edges[1] * nodes + edges[0]) == targets * nodes + indices).all())
        self.assertEqual(len(np.unique(self.array("train_idx"))), training)
        # R-MAT: a tenth of the nodes has far more than a tenth of the edges.
        degrees = np.sort(np.diff(indptr))[::-1]
        self.assertGreater(degrees[:nodes // 10].sum(), 0.3 * count)

    def test_a_batch_touches_fewer_lines_than_it_has_edges(self):
        found = limits.edges_per_line(sys.executable, self.graph)
        # Ten of a node's 50 edges, which lie in 4 or 5 lines, touch between 3 and 4 of them.
        self.assertGreater(found["sample_kernel_per_line"], 10 / 4)
        self.assertLess(found["sample_kernel_per_line"], 10 / 3)
        for name in ("sample_2_per_line", "sample_3_per_line"):
            self.assertGreater(found[name], 1)
            self.assertLessEqual(found[name], 16)

    def test_edges_are_drawn_without_replacement(self):
        indptr, indices = self.array("indptr"), self.array("indices")
        nodes = np.arange(len(indptr) - 1)
        found = lines.positions(np.random.default_rng(1), indptr, nodes, 10)
        self.assertEqual(len(np.unique(found)), len(found))
        rows = np.searchsorted(indptr, found, "right") - 1
        self.assertTrue((np.bincount(rows, minlength=len(nodes)) ==
                         np.minimum(np.diff(indptr), 10)).all())
        self.assertLess(found.max(), len(indices))

    def test_graphd_gives_every_value(self):
        servers.Graphd.trainers = 2  # the tests need no median of more
        logs, work = (os.path.join(self.folder.name, name) for name in ("logs", "work"))
        os.makedirs(logs)
        os.makedirs(work)
        sessions = Sessions(build_folder(), sys.executable, self.graph, self.graph, work, logs, 0.02)
        sessions.served(OURS, "graphd_trainer")
        sessions.guarded(OURS, ["restart"], sessions.restart)
        sessions.guarded(OURS, ["least_per_edge"], sessions.without_original_ids)
        for name in ("partition", "partition_fifth"):
            self.assertGreater(sessions.partitioning(OURS, self.graph, name), 0)
        results.fill(sessions.results, [OURS])
        for row in ROWS:
            if row.name == "sample_kernel":  # it comes with the limits
                continue
            with self.subTest(row.name):
                self.assertGreater(sessions.results[OURS][row.name].get("value", 0), 0,
                                   json.dumps(sessions.results[OURS][row.name]))

    def test_a_system_that_cannot_start_is_a_failure(self):
        logs = os.path.join(self.folder.name, "no_logs")
        os.makedirs(logs)
        sessions = Sessions(build_folder(), sys.executable, self.graph, self.graph,
                            self.folder.name, logs, 0.02)
        sessions.measure("DGL local", "no_such_module", ["sample_2", "embedding_step"])
        for name in ("sample_2", "embedding_pull", "embedding_step_cold", "embedding_step"):
            self.assertRegex(sessions.results["DGL local"][name]["error"],
                             "the process ended: exit code 1: .*no_such_module")

    def test_other_lines_than_results_are_ignored(self):
        folder = os.path.join(self.folder.name, "printing")
        os.makedirs(folder)
        python = os.path.join(folder, "python")
        with open(python, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'a warning'; echo '[1]'; echo '{\"a\": 1}'\n"
                       "echo '{\"measure\": \"sample_2\", \"value\": 3}'\n")
        os.chmod(python, 0o755)
        sessions = Sessions(build_folder(), python, self.graph, self.graph, folder, folder, 0.02)
        sessions.measure("PyG", "pyg", ["sample_2"])
        self.assertEqual(sessions.results, {"PyG": {"sample_2": {"value": 3}}})


if __name__ == "__main__":
    unittest.main()
