# SPDX-License-Identifier: Apache-2.0
"""Tests sizes, types, data, degrees, edges and splits of DistGraph, in each mode."""

import collections
import os
import unittest.mock

import torch

import graphd
import support
from graphd.distributed import DistGraph, edge_split, node_split

FOLLOWS = ("user", "follows", "user")


class Graph(support.GraphTest):
    def test_sizes_and_types(self):
        dgl = support.fixture(self.fixture).expected["books"][0]
        for g in self.each_way():
            self.assertEqual(g.ntypes, dgl["ntypes"])
            self.assertEqual(g.canonical_etypes, [tuple(c) for c in dgl["canonical_etypes"]])
            for ntype in g.ntypes:
                self.assertEqual(g.num_nodes(ntype), dgl["typed_nodes"][ntype]["total"])
            self.assertEqual((g.num_nodes(), g.number_of_edges()), (560, 3000))
            self.assertEqual(g.num_edges("follows"), 1200)
            self.assertEqual(g.to_canonical_etype("follows"), FOLLOWS)
            self.assertEqual(g.rank(), 0)

    def test_an_ambiguous_or_missing_type_raises_an_error(self):
        g = self.standalone()
        with self.assertRaises(graphd.errors.InvalidError):
            g.num_edges("likes")  # two canonical types have this relation
        with self.assertRaises(graphd.errors.NotFoundError):
            g.num_nodes("users")

    def test_another_graph_needs_another_session(self):
        config = support.fixture(self.fixture).config
        one = self.standalone()
        self.assertEqual(DistGraph(part_config=config).num_nodes(), one.num_nodes())
        with self.assertRaisesRegex(graphd.errors.InvalidError, "exit_client"):
            DistGraph(part_config=config + "2")

    def test_the_environment_sets_the_graph_of_the_session(self):
        config = support.fixture(self.fixture).config
        with unittest.mock.patch.dict(os.environ, GRAPHD_PART_CONFIG=config):
            g = DistGraph()
            with self.assertRaisesRegex(graphd.errors.InvalidError, "exit_client"):
                DistGraph(part_config=config + "2")
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(os.path.dirname(config))
            self.assertEqual(
                DistGraph(part_config=os.path.basename(config)).num_nodes(), g.num_nodes()
            )

    def test_schemes(self):
        g = self.standalone()
        self.assertEqual(g.node_attr_schemes("post")["f64"], ((2,), torch.float64))
        self.assertEqual(g.edge_attr_schemes(FOLLOWS)["w"], ((), torch.float32))

    def test_data_is_a_mapping(self):
        for g in self.each_way():
            data = g.nodes["user"].data
            self.assertEqual(sorted(data), ["age", "feat", "half", "train_mask"])
            self.assertIn("age", data)
            self.assertNotIn("ages", data)
            self.assertIsNone(data.get("ages"))
            self.assertEqual(data["age"].shape, (300,))
            self.assertEqual(data["age"].dtype, torch.int32)
            self.assertEqual(len(data["age"]), 300)
            with self.assertRaises(KeyError):
                data["ages"]

    def test_rows_by_slice_and_by_id_agree(self):
        for g in self.each_way():
            feat = g.nodes["user"].data["feat"]
            every = feat[:]
            self.assertTrue(torch.equal(feat[100:200], every[100:200]))
            self.assertTrue(torch.equal(feat[torch.arange(299, -1, -1)], every.flip(0)))
            self.assertTrue(torch.equal(feat[::3], every[::3]))
            self.assertTrue(torch.equal(feat[-5:], every[-5:]))

    def test_edges_and_degrees(self):
        edges = support.fixture(self.fixture).edges
        for g in self.each_way():
            for etype, ends in edges.items():
                ids = list(range(len(ends)))
                u, v = g.find_edges(ids, etype)
                self.assertEqual(list(zip(u.tolist(), v.tolist())), [ends[i] for i in ids])
                self.assertTrue(bool(g.has_edges_between(u, v, etype).all()))
                count = collections.Counter(u for u, _ in ends.values())
                self.assertEqual(g.out_degrees(list(count), etype).tolist(), list(count.values()))
                count = collections.Counter(v for _, v in ends.values())
                some = next(iter(count))
                self.assertEqual(g.in_degrees(some, etype), count[some])
                self.assertEqual(int(g.in_degrees(etype=etype).sum()), len(ends))

    def test_a_pair_without_an_edge(self):
        pairs = set(support.fixture(self.fixture).edges[FOLLOWS].values())
        g = self.standalone()
        u, v = zip(*[(a, b) for a in range(20) for b in range(20)])
        found = g.has_edges_between(list(u), list(v), FOLLOWS).tolist()
        self.assertEqual(found, [pair in pairs for pair in zip(u, v)])

    def test_an_error_names_the_id_out_of_range(self):
        for g in self.each_way():
            with self.assertRaisesRegex(graphd.errors.InvalidError, "1200"):
                g.find_edges([5, 1200], FOLLOWS)


class Split(support.GraphTest):
    def test_every_node_of_the_mask_goes_to_one_trainer(self):
        for g in self.each_way():
            mask = g.nodes["user"].data["train_mask"]
            chosen = mask[:].nonzero().flatten().tolist()
            self.assertEqual(node_split(mask).tolist(), chosen)  # the only trainer gets all of them
            book = g.get_partition_book()
            self.assertEqual(node_split(mask[:], book, "user").tolist(), chosen)
            self.assertEqual(node_split(mask, force_even=False).tolist(), chosen)

    def test_edges(self):
        for g in self.each_way():
            etype = ("post", "in", "group")
            mask = g.edges[etype].data["mask"]
            chosen = mask[:].nonzero().flatten().tolist()
            self.assertEqual(edge_split(mask).tolist(), chosen)
            self.assertEqual(
                edge_split(mask[:].bool(), g.get_partition_book(), etype).tolist(), chosen
            )

    def test_a_plain_mask_needs_a_book(self):
        g = self.standalone()
        with self.assertRaises(graphd.errors.InvalidError):
            node_split(g.nodes["user"].data["train_mask"][:])

    def test_a_mask_of_another_length_raises_an_error(self):
        g = self.standalone()
        with self.assertRaises(graphd.errors.InvalidError):
            node_split(torch.ones(10, dtype=torch.bool), g.get_partition_book(), "user")


class Homogeneous(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_names_without_types(self):
        for g in self.each_way():
            self.assertEqual((g.ntypes, g.etypes), (["_N"], ["_E"]))
            self.assertEqual(g.num_nodes(), 1500)
            self.assertEqual(len(g.ndata["train_mask"]), 1500)
            u, v = g.find_edges([0, 1])
            self.assertTrue(bool(g.has_edges_between(u, v).all()))
            mask = g.ndata["train_mask"]
            self.assertEqual(
                node_split(mask, g.get_partition_book(), force_even=True).tolist(),
                mask[:].nonzero().flatten().tolist(),
            )
            g.barrier()


if __name__ == "__main__":
    support.main()
