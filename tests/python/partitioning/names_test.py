# SPDX-License-Identifier: Apache-2.0
"""Tests partitioning of graphs whose nodes have names, and of frames of pandas."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest.mock
import warnings

import networkx
import numpy as np
import pandas as pd
import torch

import graphd
import jobs
import support
from graphd import table_columns
from graphd.distributed import DistGraph, partition_graph

BUYS = ("user", "buys", "item")
USERS = ["eve", "ada", "bob", "dan"]
EDGES = [("ada", "tea", 2.0), ("bob", "tea", 1.0), ("ada", "jam", 0.5), ("eve", "oil", 4.0)]


class Names(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-names-")
        self.addCleanup(shutil.rmtree, self.folder)

    def partition(self, g, **options):
        options = {"num_parts": 2, "part_method": "random", "force": True, **options}
        return partition_graph(g, "mine", out_path=self.folder, **options)

    def opened(self, config):
        graphd.distributed.exit_client()
        return DistGraph(part_config=config)

    def names(self, config, ntype=None):
        g = self.opened(config)
        return g.node_names(ntype).in_order(0, g.num_nodes(ntype))

    def ends(self, config, etype=None):
        """Returns [(name of the source, name of the destination)], by the edges' original ids."""
        g = self.opened(config)
        src_type, _, dst_type = g.to_canonical_etype(etype or g.etypes[0])
        order = np.argsort(g.edges[g.etypes[0]].data["orig_id"][:].numpy())
        found = []
        for ntype, ids in zip((src_type, dst_type), g.find_edges(order.tolist())):
            found.append(g.node_names(ntype).names_of(ids))
        return list(zip(*found))

    def test_an_edge_index(self):
        draw = np.random.default_rng(0)
        edge_index = draw.integers(0, 30, (2, 100))
        for given in (edge_index, torch.from_numpy(edge_index), {("_N", "_E", "_N"): edge_index}):
            nodes, edges = self.partition(given, num_nodes=40, return_mapping=True)
            g = self.opened(os.path.join(self.folder, "mine.json"))
            u, v = g.find_edges(list(range(100)))
            np.testing.assert_array_equal(torch.stack([nodes[u], nodes[v]]), edge_index[:, edges])
            self.assertEqual(g.num_nodes(), 40)
        with self.assertRaisesRegex(graphd.errors.InvalidError, r"\(100, 2\), expected \[2, E\]"):
            self.partition(edge_index.T)

    def test_features_of_an_npz_file(self):
        path = os.path.join(self.folder, "features.npz")
        age, vectors = np.arange(30), np.arange(60, dtype=np.float32).reshape(30, 2)
        np.savez(path, age=age, vectors=vectors)
        edge_index = np.random.default_rng(4).integers(0, 30, (2, 100))
        for given in (np.load(path), {"_N": np.load(path)}):
            g = self.opened(self.partition(edge_index, num_nodes=30, ndata=given))
            nodes = g.ndata["orig_id"][:].numpy()
            np.testing.assert_array_equal(g.ndata["age"][:].numpy(), age[nodes])
            np.testing.assert_array_equal(g.ndata["vectors"][:].numpy(), vectors[nodes])

    def test_names_in_arrays_are_kept_in_the_order_of_their_appearance(self):
        src, dst = ["b", "ä", "b", "c d"], ["c d", "b", "ä", "a,"]
        for given in ((src, dst), np.array([src, dst]), tuple(map(pd.Series, (src, dst)))):
            config = self.partition(given)
            self.assertEqual(self.names(config), ["b", "ä", "c d", "a,"])
            self.assertEqual(self.ends(config), list(zip(src, dst)))

    def test_frames_of_edges_and_nodes(self):
        edges = pd.DataFrame(EDGES, columns=["user", "item", "w"])
        users = pd.DataFrame(
            {"age": [1, 2, 3, 4], "pos.0": [0.5, 1.5, 2.5, 3.5], "pos.1": [0.0, 0.1, 0.2, 0.3]},
            index=USERS,
        )
        for frame in (edges, edges[["w", "item", "user"]]):  # columns are found by the types' names
            config = self.partition({BUYS: frame}, ndata={"user": users})
            self.assertEqual(self.names(config, "user"), USERS)
            self.assertEqual(self.names(config, "item"), ["tea", "jam", "oil"])
            self.assertEqual(self.ends(config), [edge[:2] for edge in EDGES])
            g = self.opened(config)
            self.assertEqual(sorted(g.edges["buys"].data["w"][:].tolist()), [0.5, 1.0, 2.0, 4.0])
            data = g.nodes["user"].data
            self.assertEqual((data["age"][:] - 1).tolist(), data["orig_id"][:].tolist())
            np.testing.assert_allclose(data["pos"][:][:, 0] + 0.5, data["age"][:])

    def test_frames_with_ids(self):
        edges = pd.DataFrame({"from": [0, 1, 2], "to": [1, 2, 3], "w": [10, 11, 12]})
        nodes = pd.DataFrame({"age": [3, 0, 2, 1, 4]}, index=[3, 0, 2, 1, 4])
        g = self.opened(self.partition(edges, ndata=nodes))
        self.assertEqual(g.num_nodes(), 5)
        self.assertEqual(g.ndata["age"][:].tolist(), g.ndata["orig_id"][:].tolist())
        u, _ = g.find_edges([0, 1, 2])
        self.assertEqual((g.edata["w"][:] - 10).tolist(), g.ndata["orig_id"][u].tolist())

    def test_columns_form_an_array_from_the_number_0_on(self):
        ends = {"from": [0, 1], "to": [1, 0]}
        edges = pd.DataFrame({**ends, "x": [1, 2], "x.1": [3, 4], "y.0": [5, 6], "y.1": [7, 8]})
        g = self.opened(self.partition(edges))
        order = np.argsort(g.edata["orig_id"][:].numpy())
        found = {name: g.edata[name][:].numpy()[order].tolist() for name in g.edata}
        del found["orig_id"]
        self.assertEqual(found, {"x": [1, 2], "x.1": [3, 4], "y": [[5, 7], [6, 8]]})
        for names in (["x", "x.0"], ["x.0", "x"], ["x", "x"]):
            wrong = pd.DataFrame([[0, 1, 2, 3]], columns=["from", "to", *names])
            with self.assertRaisesRegex(graphd.errors.InvalidError, "'x': .* rename one"):
                self.partition(wrong)

    def test_networkx_keeps_names_and_its_order(self):
        graph = networkx.DiGraph([("x", "y"), ("z", "x")])
        config = self.partition(graph, ndata={"f": np.arange(3)})
        self.assertEqual(self.names(config), ["x", "y", "z"])
        self.assertEqual(self.ends(config), [("x", "y"), ("z", "x")])
        g = self.opened(config)
        self.assertEqual(g.ndata["f"][:].tolist(), g.ndata["orig_id"][:].tolist())

    def test_graphctl_reads_the_names_and_python_reads_those_of_graphctl(self):
        table = os.path.join(self.folder, "edges.csv")
        pd.DataFrame(EDGES, columns=["user", "item", "w"]).to_csv(table, index=False)
        out = os.path.join(self.folder, "of_graphctl")
        graphctl = os.path.join(support.BIN, "graphctl")
        subprocess.run(
            [graphctl, "partition", "--graph_name", "mine", "--edges", f"user:buys:item={table}",
             "--num_parts", "2", "--output", out],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        config = os.path.join(out, "mine.json")
        self.assertEqual(set(self.names(config, "user")), {"ada", "bob", "eve"})
        self.assertEqual(self.ends(config), [edge[:2] for edge in EDGES])

    def test_a_graph_without_names_replaces_one_with_names(self):
        self.partition((["a", "b"], ["b", "a"]))
        config = self.partition(([0, 1], [1, 0]))
        with self.assertRaisesRegex(
            graphd.errors.NotFoundError, "^nodes .* had no names .*gz does not"
        ):
            self.names(config)

    def test_names_are_those_of_the_graph_and_not_of_the_process(self):
        mine = self.partition((["a", "b"], ["b", "a"]))
        other = os.path.join(self.folder, "other")
        theirs = partition_graph((["c", "d"], ["d", "c"]), "mine", 1, other)
        first = self.opened(mine)
        second = graphd.connect(part_config=theirs).graph()
        self.assertEqual(first.node_names().in_order(0, 2), ["a", "b"])
        self.assertEqual(second.node_names().in_order(0, 2), ["c", "d"])
        self.assertEqual(repr(second.node_names()), "NodeNames('_N', 2 names)")
        graphd.distributed.exit_client()
        self.assertEqual(first.node_names().in_order(0, 2), ["a", "b"])

        # The launcher's part config is that of the session which initialize() makes.
        servers = support.Daemons(theirs)
        self.addCleanup(servers.stop)
        variables = {"GRAPHD_RUNTIME_DIR": servers.runtime, "GRAPHD_PART_CONFIG": theirs}
        with unittest.mock.patch.dict(os.environ, variables):
            graphd.distributed.initialize(servers.ip_config, server_name=servers.server_name)
            self.assertEqual(DistGraph().node_names().in_order(0, 2), ["c", "d"])
        variables["GRAPHD_PART_CONFIG"] = mine
        with unittest.mock.patch.dict(os.environ, variables):
            session = graphd.connect(servers.server_name, ip_config=servers.ip_config)
            with self.assertRaisesRegex(graphd.errors.InvalidError, "give its path"):
                session.graph().node_names()

    def test_names_that_cannot_be_written_leave_the_old_graph(self):
        config = self.partition((["a", "b"], ["b", "a"]))
        before = os.listdir(self.folder)
        with self.assertRaises(graphd.errors.InvalidError):
            self.partition((["a", "\udfff"], ["b", "a"]))
        self.assertEqual(os.listdir(self.folder), before)
        self.assertEqual(self.names(config), ["a", "b"])

    def test_columns_of_text_and_categories_are_labels(self):
        kinds = ["tea", None, "jam", "tea"]
        categories = pd.Categorical(kinds, ["oil", "jam", "tea"])
        for column, wanted in (
            (kinds, [0, None, 1, 0]),
            (["tea", "tea", "jam", "tea"], [0, 0, 1, 0]),
            (categories, [2, None, 1, 2]),
            (categories.dropna(), None),
        ):
            with self.subTest(column):
                rows = len(column)
                frame = pd.DataFrame({"kind": column}, index=USERS[:rows])
                ends = (USERS[:rows], USERS[1:rows] + USERS[:1])
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    config = self.partition(ends, ndata=frame)
                g = self.opened(config)
                found = g.ndata["kind"][g.node_names().ids_of(USERS[:rows])].tolist()
                found = [None if np.isnan(number) else int(number) for number in found]
                self.assertEqual(found, wanted or [2, 1, 2])
                self.assertEqual(
                    [str(each.message) for each in said],
                    ["feature 'kind' of _N: 1 of 4 numbers (25.0 %) are NaN"] * (None in found),
                )
                self.assertEqual(g.label_names("kind")[found[0]], "tea")
        self.assertEqual(g.label_names("kind"), ["oil", "jam", "tea"])

    def test_texts_of_labels_are_in_the_order_of_the_labels(self):
        nodes = {
            t: pd.DataFrame({"kind": texts})
            for t, texts in (("user", USERS), ("item", ["é\t", "b"]))
        }
        ends = ([0, 1, 2, 3], [1, 0, 1, 0])
        edges = {BUYS: {"how": np.array(["cash", "card", "cash", "card"]), "price": np.ones(4)}}
        config = self.partition({BUYS: ends}, ndata=nodes, edata=edges)
        daemons = support.Daemons(config)
        self.addCleanup(daemons.stop)
        with daemons.connect() as session:
            for g, options in (
                (self.opened(config), {}),
                (session.graph(), {"part_config": config}),
            ):
                self.assertEqual(g.label_names("kind", "user", **options), USERS)
                self.assertEqual(g.label_names("kind", "item", **options), ["é\t", "b"])
                for etype in ("buys", BUYS):
                    found = g.label_names("how", etype=etype, **options)
                    self.assertEqual(found, ["cash", "card"])
            with self.assertRaisesRegex(graphd.errors.InvalidError, "label_names: .*give its path"):
                session.graph().label_names("kind", "user")
        g = self.opened(config)
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "'price'.*have no texts.*copy"):
            g.label_names("price", etype=BUYS)
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "knid"):
            g.label_names("knid", "user")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "not both"):
            g.label_names("kind", "user", etype=BUYS)
        with open(os.path.join(self.folder, "mine.user.kind.labels.txt.gz"), "wb") as file:
            file.write(b"not compressed")
        with self.assertRaisesRegex(graphd.errors.CorruptError, "labels.txt.gz.*copy it again"):
            g.label_names("kind", "user")
        with gzip.open(os.path.join(self.folder, "mine.user.kind.labels.txt.gz"), "wb") as file:
            file.write(b"tea\nj\xe4m\n")
        with self.assertRaisesRegex(
            graphd.errors.CorruptError, "labels.txt.gz: byte 5 is not UTF-8"
        ):
            g.label_names("kind", "user")

    def warnings(self, g, **options):
        """Returns the messages of the warnings, which belong to the caller of partition_graph."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            partition_graph(g, "mine", 1, self.folder, force=True, **options)
        self.assertEqual({each.filename for each in said} - {__file__}, set())
        return [str(each.message) for each in said]

    def test_usual_names_of_ends_are_those_of_files(self):
        source = os.path.join(jobs.ROOT, "libclient", "format", "input", "notes.cc")
        with open(source) as file:
            lists = re.findall(r"> k(?:Sources|Destinations)\{(.*?)\}", file.read(), re.DOTALL)
        found = [set(re.findall(r'"(\w+)"', names)) for names in lists]
        self.assertEqual(found, [table_columns._SOURCES, table_columns._DESTINATIONS])

    def test_doubtful_input_is_reported_with_counts(self):
        ends = ["1", "3", "N/A", "4"], ["2", "4", "2", "1"]
        lone = (
            "1 of 5 names of _N are not whole numbers, the first 'N/A'; if these stand for missing "
            "values, drop them and convert the rest to integers, to use those as ids"
        )
        nodes = pd.DataFrame({"x": range(5)}, index=["1", "2", "N/A", "3", "4"])
        counting = pd.DataFrame({c: np.arange(20) % m for c, m in zip("abc", (99, 3, 7))})
        for g, options, wanted in (
            (ends, {}, lone),
            (tuple(map(np.array, ends)), {}, lone),
            (pd.DataFrame(dict(zip("ab", ends))), {}, lone),
            (ends, {"ndata": nodes}, lone),
            (networkx.DiGraph(list(zip(*ends))), {}, lone),
            (
                pd.DataFrame({"id": [0, 1], "src": [1, 2], "Target": [2, 0]}),
                {},
                "edges of ('_N', '_E', '_N'): by their positions, column 'id' has the sources and 'src' "
                "the destinations; put 'src' and 'Target' first to take those of these names",
            ),
            (
                pd.DataFrame({"dst": [1, 2], "src": [2, 0]}),
                {},
                "edges of ('_N', '_E', '_N'): by their positions, column 'dst' has the sources and "
                "'src' the destinations; put 'src' and 'dst' first to take those of these names",
            ),
            (
                {BUYS: counting},
                {},
                "edges of ('user', 'buys', 'item'): column 'a' has the sources and 'b' the "
                "destinations, and 'a' counts the first 20 rows; if it numbers the edges, drop it, so "
                "that 'b' and 'c' are the ends",
            ),
        ):
            with self.subTest(wanted):
                self.assertEqual(self.warnings(g, **options), [wanted])

    def test_input_without_doubt_is_not_reported(self):
        ring = pd.DataFrame({"src": range(20), "dst": np.arange(20)[::-1], "w": range(20)})
        plain = pd.DataFrame({c: np.arange(20) % m for c, m in zip("abc", (99, 3, 7))})
        for g in (
            ring,
            ring[:9].set_axis(list("abc"), axis=1),  # too few rows to say that one counts them
            plain.assign(a=plain.a + 2),
            plain.assign(c=plain.c - 1),
            plain.assign(c=plain.c / 2),
            plain[["a", "b"]],
            {BUYS: pd.DataFrame({"user": [0, 1], "item": [1, 2], "src": [0, 0], "dst": [0, 0]})},
            (["ada", "bob", "1"], ["eve", "2", "3"]),  # half of them are numbers
            (["1", "2"], ["2", "3"]),
            (["a b", "c"], ["c", "d"]),
        ):
            with self.subTest(g):
                self.assertEqual(self.warnings(g), [])

    def test_mistakes(self):
        names = (["a", "b"], ["b", "a"])
        frame = pd.DataFrame({"f": [1, 2]}, index=["a", "b"])
        edges = pd.DataFrame({"s": ["a"], "d": ["b"], "kind": ["x"]})
        for g, options, message in (
            ((["a", "b"], [0, 1]), {}, "have names elsewhere"),
            ((["a", None], ["b", "a"]), {}, "None among names"),
            ((["a\n", "b"], ["b", "a\n"]), {}, "remove the line break"),
            ((["a\ud800", "b"], ["b", "b"]), {}, r"'a\\ud800' .* UTF-8"),
            ({("a/b", "to", "a/b"): names}, {}, "slash .* rename the type"),
            ((["a"], ["b", "a"]), {}, "of the same length"),
            (names, {"num_nodes": 3}, "2 nodes have names"),
            (names, {"ndata": {"f": np.arange(2)}}, "give a frame of pandas"),
            (names, {"ndata": frame[:1]}, "has no 'b'; add a row"),
            (names, {"ndata": pd.concat([frame, frame])}, "two rows have the name 'a'"),
            (names, {"ndata": frame.reset_index(drop=True)}, "give a frame of pandas"),
            (([0, 1], [1, 0]), {"ndata": frame}, "have names elsewhere"),
            (([0, 1], [1, 0]), {"ndata": frame.set_axis([1, 2])}, "each of 0 to 1 once"),
            (networkx.DiGraph([("b", "a")]), {"ndata": frame}, "nodes in their order"),
            (edges.assign(kind=[[1]]), {}, "'kind' .* has the dtype object"),
            (edges.assign(kind=["7"]), {}, "begins with '7'; convert it to numbers"),
            (edges[["s"]], {}, "two or more, of which the first two"),
        ):
            with self.subTest(message), self.assertRaisesRegex(graphd.errors.InvalidError, message):
                self.partition(g, **options)
        self.assertEqual(os.listdir(self.folder), [])

    def test_pandas_is_not_imported(self):
        code = (
            "import sys, graphd\n"
            f"graphd.distributed.partition_graph((['a'], ['b']), 'g', 1, {self.folder!r})\n"
            "assert 'pandas' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


if __name__ == "__main__":
    support.main()
