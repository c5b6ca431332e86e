#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the page of graphd for people: a real browser shows a real server, and what it shows is
compared with what clients did."""

import os
import sys
import tempfile
import unittest
import urllib.request

import torch

import graphd

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
sys.path.insert(0, HERE)
from browser import browse  # noqa: E402

import support  # noqa: E402


class Page(unittest.TestCase):
    def setUp(self):
        (port,) = support.free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.daemons = support.Daemons("hetero_1p", "--metrics", self.address)
        self.addCleanup(self.daemons.stop)

    def browse(self, milliseconds, url=None):
        """Returns the page after these milliseconds, and what the browser's console said."""
        return browse(url or f"http://{self.address}/", milliseconds)

    def test_a_browser_shows_the_server_and_its_job(self):
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = self.daemons.connect()
        graph = session.graph()
        ntype = graph.ntypes[0]
        nodes = torch.arange(graph.num_nodes(ntype))
        for _ in range(7):
            graphd.distributed.sample_neighbors(graph, {ntype: nodes}, 2)
        page, said = self.browse(5000)
        self.assertEqual(said, [])
        self.assertEqual(page.state, "state ready")
        self.assertEqual(page.texts[0], self.daemons.server_name)
        self.assertEqual(page.after("jobs"), "1")
        self.assertEqual(page.after("trainers"), "1")
        self.assertEqual(page.after("sample"), "7")
        self.assertIn("99 % waited", page.texts)
        self.assertIn("rows read in mapped memory/s", page.texts)
        self.assertIn("compute", page.texts)
        nodes_and_edges = page.texts.index("indexes") + 2
        self.assertEqual(page.texts[nodes_and_edges], f"{graph.num_nodes():,}")
        self.assertEqual(page.texts[nodes_and_edges + 1], f"{graph.num_edges():,}")
        self.assertNotIn("Tensors and checkpoints", page.texts)
        tensor = graphd.distributed.DistTensor(
            (len(nodes), 4),
            torch.float32,
            name="t",
            part_policy=graph.get_node_partition_policy(ntype),
        )
        tensor[nodes] = torch.ones(len(nodes), 4)
        self.assertEqual(self.browse(5000)[0].after("tensors and embeddings"), "1")
        session.close()

    def test_the_page_asks_nobody_but_its_server(self):
        with urllib.request.urlopen(f"http://{self.address}/", timeout=5) as answer:
            policy = answer.headers["Content-Security-Policy"]
            text = answer.read().decode()
        self.assertIn("default-src 'none'", policy)
        self.assertIn("connect-src 'self'", policy)
        for mark in ("src=", "@import", "url("):
            self.assertNotIn(mark, text)

    def test_a_server_that_ends_is_shown_as_such(self):
        # A copy of the page whose server is gone: the browser can load it, and gets no metrics.
        with urllib.request.urlopen(f"http://{self.address}/", timeout=5) as answer:
            text = answer.read()
        (process,) = self.daemons.processes
        process.kill()
        process.wait()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            with open(path, "wb") as file:
                file.write(text)
            page, _ = self.browse(3000, f"file://{path}")
        self.assertEqual(page.state, "state lost")
        self.assertIn("no answer", page.texts)


if __name__ == "__main__":
    unittest.main()
