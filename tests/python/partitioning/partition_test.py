# SPDX-License-Identifier: Apache-2.0
"""Tests partitioning from Python, and access to single partitions."""

import hashlib
import os
import shutil
import tempfile
import warnings

import networkx
import numpy as np
import scipy.sparse
import torch

import graphd
import support
from graphd.distributed import DistGraph, load_partition, load_partition_feats, partition_graph

HETERO = "hetero_2p"


class Load(support.GraphTest):
    def test_a_partition_equals_what_dgl_read(self):
        found = support.fixture(HETERO)
        for of_part in found.expected["parts"]:
            part, nodes, edges, book, name, ntypes, etypes = load_partition(
                found.config, of_part["part_id"]
            )
            self.assertEqual((name, ntypes), (of_part["graph_name"], of_part["ntypes"]))
            self.assertEqual([":".join(etype) for etype in etypes], of_part["etypes"])
            self.assertEqual(part.num_nodes(), of_part["num_inner_nodes"])
            self.assertEqual(part.num_edges(), of_part["num_inner_edges"])
            self.assertEqual(book.partid, of_part["part_id"])
            for mine, dgl in ((nodes, of_part["node_feats"]), (edges, of_part["edge_feats"])):
                self.assertEqual(sorted(mine), sorted(dgl))
                for key, rows in mine.items():
                    self.assertEqual(
                        hashlib.sha256(rows.numpy().tobytes()).hexdigest(), dgl[key]["sha256"], key
                    )
            for etype in etypes:
                u, v, ids = part.edges("all", etype=etype)
                self.assertEqual(part.edges[etype].data[graphd.EID].tolist(), ids.tolist())
                self.assertEqual(
                    sorted(ids.tolist()), book.partid2eids(of_part["part_id"], etype).tolist()
                )
                self.assertEqual(
                    list(zip(u.tolist(), v.tolist())), [found.edges[etype][i] for i in ids.tolist()]
                )

    def test_writes_to_features_are_private(self):
        config = support.fixture(HETERO).config
        nodes, _ = load_partition_feats(config, 0)
        first = nodes["user/feat"].clone()
        nodes["user/feat"][:] = 7
        self.assertTrue(bool((nodes["user/feat"] == 7).all()))
        self.assertTrue(torch.equal(load_partition_feats(config, 0)[0]["user/feat"], first))
        self.assertIsNone(load_partition_feats(config, 0, load_edges=False)[1])

    def test_the_local_partition_of_a_graph(self):
        for g in self.each_way():
            feat = g.nodes["user"].data["feat"]
            before = feat[:]
            local = feat.local_partition
            owned = g.get_partition_book().partid2nids(0, "user")
            self.assertTrue(torch.equal(local, before[owned]))
            local += 1  # would end the process if the page were the servers' own
            self.assertTrue(torch.equal(feat[:], before))
            if g.handle.is_mapped(0):
                self.assertEqual(g.local_partition.nodes("user").tolist(), owned.tolist())
            else:
                with self.assertRaises(graphd.errors.InvalidError):
                    _ = g.local_partition

    def test_a_missing_partition(self):
        with self.assertRaises(graphd.GraphdError):
            load_partition(support.fixture(HETERO).config, 2)


class Partition(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-partition-")
        self.addCleanup(shutil.rmtree, self.folder)
        draw = np.random.default_rng(1)
        self.src, self.dst = draw.integers(0, 100, (2, 700))
        self.feat = draw.random((100, 3), np.float32)

    def out(self, name="out"):
        return os.path.join(self.folder, name)

    def edges_of(self, g, etype=None):
        """Returns sorted (source, destination) pairs, with the input's ids."""
        etype = g.to_canonical_etype(etype or g.etypes[0])
        u, v = g.find_edges(list(range(g.num_edges(etype))), etype)
        origin = {t: g.nodes[t].data["orig_id"][:] for t in g.ntypes}
        return sorted(zip(origin[etype[0]][u].tolist(), origin[etype[2]][v].tolist()))

    def opened(self, config):
        graphd.distributed.exit_client()
        return DistGraph(part_config=config)

    def test_original_ids_map_back_to_the_input(self):
        for src, dst in ((self.src, self.dst), map(torch.from_numpy, (self.src, self.dst))):
            nodes, edges = partition_graph(
                (src, dst),
                "mine",
                3,
                self.out(),
                num_nodes=110,
                part_method="ldg",
                ndata={"feat": np.pad(self.feat, ((0, 10), (0, 0)))},
                edata={"w": np.arange(700.0)},
                return_mapping=True,
                force=True,
            )
            g = self.opened(os.path.join(self.out(), "mine.json"))
            self.assertEqual((g.graph_name, g.num_nodes()), ("mine", 110))
            self.assertEqual(g.get_partition_book().num_partitions(), 3)
            self.assertEqual(self.edges_of(g), sorted(zip(self.src.tolist(), self.dst.tolist())))
            self.assertEqual(sorted(nodes.tolist()), list(range(110)))
            np.testing.assert_array_equal(
                g.ndata["feat"][:].numpy()[:, :3], np.pad(self.feat, ((0, 10), (0, 0)))[nodes]
            )
            self.assertEqual(g.edata["w"][:].tolist(), edges.tolist())
            u, _ = g.find_edges(list(range(700)))
            np.testing.assert_array_equal(self.src[edges], nodes[u])

    def test_every_method(self):
        for method in ("metis", "multilevel", "ldg", "fennel", "random", "hash"):
            config = partition_graph(
                (self.src, self.dst),
                method,
                2,
                self.out(method),
                part_method=method,
                add_reverse=True,
            )
            self.assertEqual(self.opened(config).num_edges(), 1400)

    def test_a_matrix_and_a_networkx_graph(self):
        matrix = scipy.sparse.coo_matrix((np.ones(700), (self.src, self.dst)), (100, 100))
        g = self.opened(partition_graph(matrix.tocsr(), "matrix", 2, self.out("m")))
        merged = sorted(set(zip(self.src.tolist(), self.dst.tolist())))
        self.assertEqual(self.edges_of(g), merged)
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(100), age=3)
        graph.add_weighted_edges_from((int(u), int(v), 0.5) for u, v in merged)
        g = self.opened(partition_graph(graph, "networkx", 2, self.out("n")))
        self.assertEqual(self.edges_of(g), merged)
        self.assertEqual(
            (g.ndata["age"][:].unique().tolist(), g.edata["weight"][:2].tolist()), ([3], [0.5, 0.5])
        )
        ring = networkx.cycle_graph(10)
        self.assertEqual(
            self.opened(partition_graph(ring, "ring", 2, self.out("r"))).num_edges(), 20
        )

    def test_attributes_of_networkx_that_are_no_features_are_named(self):
        graph = networkx.DiGraph([(0, 1), (1, 2)])
        networkx.set_node_attributes(graph, {0: "red"}, "color")
        networkx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "kind")
        networkx.set_node_attributes(graph, "10115", "zip_code")
        networkx.set_node_attributes(graph, {0: "n/a", 1: 1.5, 2: 2.5}, "mixed")
        networkx.set_node_attributes(graph, 1.5, "size")
        networkx.set_edge_attributes(graph, {(0, 1): 2}, "weight")
        with self.assertWarns(UserWarning) as caught:
            config = partition_graph(graph, "colors", 1, self.out())
        self.assertEqual(caught.filename, __file__)
        found = [str(each.message) for each in caught.warnings]
        self.assertEqual(len(found), 2)
        self.assertRegex(
            found[0],
            r"\['color', 'mixed', 'zip_code'\] of nodes are left out: .* begins with '10115'",
        )
        self.assertRegex(found[1], r"\['weight'\] of edges are left out")
        g = self.opened(config)
        self.assertEqual(sorted(g.ndata), ["kind", "orig_id", "size"])
        self.assertEqual(sorted(g.edata), ["orig_id"])

    def test_arrays_of_text_are_labels_and_nan_are_counted(self):
        ends = np.arange(6), np.arange(6)[::-1]
        ndata = {
            "kind": np.array(["b", "a", "b", "c", "a", "b"]),
            "maybe": np.array(["x", None, "y", "x", "x", np.nan], object),
            "height": np.array([1, np.nan, 3, 4, 5, np.nan]),
        }
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            config = partition_graph(ends, "texts", 1, self.out(), ndata=ndata)
        self.assertEqual(
            [str(each.message) for each in said],
            [
                f"feature '{name}' of _N: 2 of 6 numbers (33.3 %) are NaN"
                for name in ("maybe", "height")
            ],
        )
        self.assertEqual({each.filename for each in said}, {__file__})
        nodes = load_partition_feats(config, 0)[0]
        order = nodes["_N/orig_id"].numpy()
        self.assertEqual(nodes["_N/kind"].tolist(), [[0, 1, 0, 2, 1, 0][i] for i in order])
        np.testing.assert_array_equal(
            nodes["_N/maybe"].numpy(), np.array([0, np.nan, 1, 0, 0, np.nan])[order]
        )
        for values in (np.array([["a"]] * 6), np.array([1, "a"] * 3, object)):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "one text per row"):
                partition_graph(ends, "mixed", 1, self.out(), ndata={"kind": values})

    def test_types(self):
        edges = {
            ("user", "buys", "item"): (self.src, self.dst),
            ("user", "knows", "user"): (self.src[:10], self.dst[:10]),
        }
        config = partition_graph(
            edges,
            "typed",
            2,
            self.out(),
            num_nodes={"user": 120},
            ndata={"user": {"f": np.arange(120)}},
        )
        g = self.opened(config)
        self.assertEqual(
            {t: g.num_nodes(t) for t in g.ntypes}, {"user": 120, "item": int(self.dst.max()) + 1}
        )
        self.assertEqual(
            self.edges_of(g, "buys"), sorted(zip(self.src.tolist(), self.dst.tolist()))
        )
        data = g.nodes["user"].data
        self.assertTrue(torch.equal(data["f"][:], data["orig_id"][:]))

    def test_balance(self):
        classes = np.arange(100) % 2
        for given in (classes, torch.from_numpy(classes).bool(), "class"):
            config = partition_graph(
                (self.src, self.dst),
                "even",
                2,
                self.out(),
                force=True,
                ndata={"class": classes},
                balance_ntypes=given,
                num_trainers_per_machine=2,
            )
            g = self.opened(config)
            for part in range(2):
                owned = g.ndata["class"][g.get_partition_book().partid2nids(part)]
                self.assertLess(abs(int(owned.sum()) - 25), 6)
            self.assertEqual(g.ndata["trainer_id"][:].unique().tolist(), [0, 1, 2, 3])

    def test_invalid_arguments_raise_an_error(self):
        pair = (self.src, self.dst)
        for change in (
            {"g": (self.src, self.dst[1:])},
            {"g": (self.src - 1, self.dst)},
            {"g": (self.src.astype(float), self.dst)},
            {"g": 5},
            {"num_nodes": 50},
            {"ndata": {"feat": self.feat[1:]}},
            {"num_parts": 0},
            {"part_method": "magic"},
            {"ndata": {"a": {"feat": self.feat}}},
            {"g": scipy.sparse.coo_matrix((3, 4))},
        ):
            arguments = {"g": pair, "graph_name": "bad", "num_parts": 2, "out_path": self.out()}
            arguments.update(change)
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(change)[:60]):
                partition_graph(**arguments)
        partition_graph(pair, "twice", 2, self.out())
        with self.assertRaises(graphd.errors.ExistsError):
            partition_graph(pair, "twice", 2, self.out())


if __name__ == "__main__":
    support.main()
