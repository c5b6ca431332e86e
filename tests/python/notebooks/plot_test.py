# SPDX-License-Identifier: Apache-2.0
"""Tests that plots show a graph's degrees and cut, and the curves of a history."""

import collections
import math
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

import graphd
import support
from graphd import plot


class Plots(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(pyplot.close, "all")

    def in_degrees(self, etype, num_nodes):
        """Returns {in-degree: number of nodes} according to DGL."""
        edges = support.fixture(self.fixture).edges[etype]
        degree = collections.Counter(v for _, v in edges.values())
        return collections.Counter(degree[v] for v in range(num_nodes))

    def test_degrees(self):
        for g in self.each_way():
            ax = plot.degrees(g)
            self.assertEqual((ax.get_xscale(), ax.get_yscale()), ("log", "log"))
            self.assertEqual(len(ax.lines), len(g.canonical_etypes))
            for line, etype in zip(ax.lines, g.canonical_etypes):
                counts = self.in_degrees(etype, g.num_nodes(etype[2]))
                without = counts.pop(0, 0)
                self.assertEqual(dict(zip(*map(list, line.get_data()))), counts)
                self.assertEqual(
                    line.get_label(), f"{':'.join(etype)}, {without} nodes without in-edges"
                )

    def test_degrees_of_one_type_are_read_in_pieces_into_given_axes(self):
        g, of_many = self.standalone(), plot._NODES_PER_READ
        self.addCleanup(setattr, plot, "_NODES_PER_READ", of_many)
        plot._NODES_PER_READ = 7
        ax = pyplot.subplots()[1]
        self.assertIs(plot.degrees(g, "follows", ax=ax), ax)
        counts = self.in_degrees(("user", "follows", "user"), g.num_nodes("user"))
        counts.pop(0)
        self.assertEqual(dict(zip(*map(list, ax.lines[0].get_data()))), counts)
        with self.assertRaises(graphd.GraphdError):
            plot.degrees(g, "no such type")

    def bars(self, ax, parts):
        """Returns {label: heights}."""
        return {
            bars.get_label(): [bar.get_height() for bar in bars]
            for bars in ax.containers
            if len(bars) == parts
        }

    def test_the_cut_is_that_of_the_partitions_of_dgl(self):
        expected = support.fixture(self.fixture).expected["parts"]
        inner = [part["num_inner_nodes"] for part in expected]
        edges = [part["num_inner_edges"] for part in expected]
        outside = [
            [
                u
                for u, is_inner in zip(
                    part["coo_by_local_eid"]["src"], part["edata"]["inner_edge"]["values"]
                )
                if is_inner and not part["ndata"]["inner_node"]["values"][u]
            ]
            for part in expected
        ]
        across, halo = [len(each) for each in outside], [len(set(each)) for each in outside]
        within = [a - b for a, b in zip(edges, across)]
        for g in self.each_way():
            ax = plot.cut(g)
            heights = self.bars(ax, len(expected))
            for label, counts, of_all in (
                ("inner nodes", inner, inner),
                ("halo nodes", halo, inner),
                ("edges within", within, edges),
                ("edges across", across, edges),
            ):
                mean = sum(of_all) / len(expected)
                for height, count in zip(heights[label], counts):
                    self.assertAlmostEqual(height, count / mean)
            self.assertIn(f"{sum(across) / sum(edges):.1%} of the edges are cut", ax.get_title())

    def test_the_cut_of_many_edges_is_that_of_some(self):
        g, parts = self.standalone(), len(support.fixture(self.fixture).expected["parts"])
        exact = self.bars(plot.cut(g), parts)
        self.addCleanup(setattr, plot, "_EDGES_DRAWN", plot._EDGES_DRAWN)
        plot._EDGES_DRAWN = 400
        drawn = self.bars(plot.cut(g), parts)
        self.assertNotIn("halo nodes", drawn)
        self.assertEqual(drawn["inner nodes"], exact["inner nodes"])
        for p in range(parts):
            self.assertAlmostEqual(
                drawn["edges within"][p] + drawn["edges across"][p],
                exact["edges within"][p] + exact["edges across"][p],
            )
            self.assertLess(abs(drawn["edges across"][p] - exact["edges across"][p]), 0.1)

    def test_a_history(self):
        history = graphd.History()
        for epoch in range(3):
            history.record(epoch=epoch, loss=1 / (epoch + 1), accuracy=epoch / 3, note="x")
        ax = plot.history(history)
        right = next(each for each in ax.figure.axes if each is not ax)
        self.assertEqual(
            [list(each) for each in ax.lines[0].get_data()], [[0, 1, 2], history["loss"]]
        )
        self.assertEqual(list(right.lines[0].get_ydata()), history["accuracy"])
        self.assertEqual((ax.get_xlabel(), ax.get_ylabel()), ("epoch", "loss"))
        self.assertEqual([text.get_text() for text in ax.get_legend().texts], ["loss", "accuracy"])
        alone = plot.history(history, ["accuracy"], ax=pyplot.subplots()[1])
        self.assertEqual(list(alone.lines[0].get_ydata()), history["accuracy"])
        self.assertEqual(len(alone.figure.axes), 1)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "'note' has no numbers"):
            plot.history(history, ["note"])
        with self.assertRaisesRegex(graphd.errors.InvalidError, r"'loss': expected a list.*\[\]"):
            plot.history(history, "loss")
        history.record(epoch=3, loss=math.nan)
        plot.history(history).figure.savefig("/dev/null", format="png")
        plot.history(graphd.History()).figure.savefig("/dev/null", format="png")

    def test_the_error_without_matplotlib_says_what_to_install(self):
        code = (
            "import sys; sys.modules['matplotlib'] = None\n"
            "import graphd\n"
            "assert not hasattr(graphd, 'no_such_name')\n"
            "try:\n    graphd.plot\n"
            "except ImportError as error:\n    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pip install matplotlib", done.stdout)
        self.assertIn("plot", dir(graphd))


if __name__ == "__main__":
    support.main()
