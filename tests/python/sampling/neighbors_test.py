# SPDX-License-Identifier: Apache-2.0
"""Compares neighbours by value and by visits with the graph."""

import collections
import os
import shutil
import tempfile

import numpy
import torch

import graphd
import support
from graphd.distributed import DistGraph, partition_graph
from graphd.sampling import PinSAGESampler, RandomWalkNeighborSampler, TopKSampler, select_topk

FOLLOWS = ("user", "follows", "user")


class TopK(support.GraphTest):
    def expected(self, g, k, nodes, end=1, descending=True):
        """Returns the ids of the expected edges, node by node, best first, ties by id."""
        w = g.edges[FOLLOWS].data["w"][:].tolist()
        of_node = collections.defaultdict(list)
        for eid, ends in support.fixture(self.fixture).edges[FOLLOWS].items():
            of_node[ends[end]].append(((-w[eid] if descending else w[eid]), eid))
        return [eid for node in nodes for _, eid in sorted(of_node[node])[: None if k < 0 else k]]

    def test_the_best_edges_of_each_node(self):
        nodes = [7, 0, 119, 55, 7, *range(20, 40)]
        only = {
            FOLLOWS: 3,
            ("user", "likes", "post"): 0,
            ("user", "likes", "group"): 0,
            ("post", "in", "group"): 0,
        }
        for g in self.each_way():
            for k, ascending in ((3, False), (1, True), (-1, False)):
                found = select_topk(
                    g, {**only, FOLLOWS: k}, "w", {"user": nodes}, ascending=ascending
                )
                wanted = self.expected(g, k, nodes, descending=not ascending)
                u, v, eids = found.edges("all", etype=FOLLOWS)
                self.assertEqual(eids.tolist(), wanted)
                ends = support.fixture(self.fixture).edges[FOLLOWS]
                self.assertEqual(list(zip(u.tolist(), v.tolist())), [ends[e] for e in wanted])
                self.assertEqual(found.num_edges(), len(wanted))
            out = select_topk(g, only, "w", {"user": nodes}, edge_dir="out")
            self.assertEqual(
                out.edges("eid", etype=FOLLOWS).tolist(), self.expected(g, 3, nodes, end=0)
            )
            every = select_topk(g, only, "w")
            self.assertEqual(
                every.edges("eid", etype=FOLLOWS).tolist(),
                self.expected(g, 3, range(g.num_nodes("user"))),
            )

    def test_blocks_of_the_best_edges(self):
        seeds = torch.arange(30)
        for g in self.each_way():
            for ascending in (False, True):
                sampler = TopKSampler([2, 3], "w", ascending)
                _, _, blocks = sampler.sample(g, {"user": seeds})
                for block, k in zip(blocks, (2, 3)):
                    nodes = block.dstnodes["user"].data[graphd.NID].tolist()
                    self.assertEqual(
                        block.edges[FOLLOWS].data[graphd.EID].tolist(),
                        self.expected(g, k, nodes, descending=not ascending),
                    )

    def test_invalid_arguments_raise_an_error(self):
        g = self.standalone()
        users = {"user": [1]}
        with self.assertRaises(graphd.errors.NotFoundError):
            select_topk(g, 1, "never", users)
        for given in (
            {"k": -2, "nodes": users},
            {"k": 1, "nodes": users, "edge_dir": "up"},
            {"k": 1, "nodes": {"user": [10000]}},
            {"k": {FOLLOWS: 1}, "nodes": users},
        ):
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(given)):
                select_topk(g, weight="w", **given)


class PinSage(support.GraphTest):
    def reached(self):
        """Returns {user: the users whom its followers follow}, which are the ends of walks from it."""
        reached = collections.defaultdict(set)
        for u, v in support.fixture(self.fixture).edges[FOLLOWS].values():
            reached[u].add(v)
        return reached

    def test_neighbors_are_ends_of_walks(self):
        one = self.reached()
        two = {u: one[u] | {w for v in one[u] for w in one[v]} for u in list(one)}
        seen = []
        for g in self.each_way():
            seeds = torch.tensor([5, 17, 100, 42])
            for traversals, reached in ((1, one), (2, two)):
                sampler = RandomWalkNeighborSampler(g, traversals, 0.3, 50, 4, ["follows"])
                found = sampler(seeds, seed=3)
                u, v = found.edges()
                weights = found.edata["weights"].tolist()
                by_seed = collections.defaultdict(list)
                for neighbor, seed, weight in zip(u.tolist(), v.tolist(), weights):
                    self.assertIn(neighbor, reached[seed])
                    by_seed[seed].append((-weight, neighbor))
                for rows in by_seed.values():
                    self.assertEqual(rows, sorted(rows))
                    self.assertLessEqual(len(rows), 4)
                seen.append((u.tolist(), weights))
                self.assertEqual(found.num_nodes(), g.num_nodes("user"))
            every = RandomWalkNeighborSampler(g, 1, 0.0, 50, -1, [FOLLOWS])(seeds)
            total = collections.Counter()
            for seed, weight in zip(every.edges()[1].tolist(), every.edata["weights"].tolist()):
                total[seed] += weight
            self.assertEqual(total, {seed: 50 for seed in seeds.tolist() if one[seed]})
        self.assertTrue(all(each == seen[i % 2] for i, each in enumerate(seen)))

    def test_a_graph_of_two_types_and_blocks(self):
        # User i bought items i and i + 1 of 6, and each item has edges to its buyers: a ring.
        user = numpy.arange(6).repeat(2)
        item = (user + numpy.tile([0, 1], 6)) % 6
        folder = tempfile.mkdtemp(prefix="graphd-pinsage-")
        self.addCleanup(shutil.rmtree, folder)
        config = partition_graph(
            {("user", "buys", "item"): (user, item), ("item", "sold_to", "user"): (item, user)},
            "ring",
            2,
            os.path.join(folder, "parts"),
            part_method="hash",
            num_nodes={"user": 6, "item": 6},
        )
        g = DistGraph(part_config=config)
        new = {int(old): i for i, old in enumerate(g.nodes["item"].data["orig_id"][:])}
        old = {i: orig for orig, i in new.items()}
        walks = 4000
        sampler = PinSAGESampler(g, "item", "user", 1, 0.5, walks, 3, weight_column="visits")
        seeds = torch.tensor([new[4], new[1]])
        found = sampler(seeds)
        block = graphd.to_block(found, seeds)
        self.assertEqual((found.ntypes, block.ntypes), (["item"], ["item"]))
        self.assertEqual(block.dstdata[graphd.NID].tolist(), seeds.tolist())
        self.assertEqual(
            block.edata["visits"].tolist(), found.edata["visits"][block.edata[graphd.EID]].tolist()
        )
        u, v = block.edges()
        nodes = block.srcdata[graphd.NID]
        for src, dst, visits in zip(
            nodes[u].tolist(), nodes[v].tolist(), block.edata["visits"].tolist()
        ):
            away = (old[src] - old[dst]) % 6
            # Each item has two buyers, and each buyer two items.
            share = {0: 1 / 2, 1: 1 / 4, 5: 1 / 4}[away]
            self.assertLess(abs(visits - share * walks), 6 * (walks * share) ** 0.5)
        self.assertEqual(len(u), 6)
        for bad in (
            lambda: PinSAGESampler(g, "user", "user", 1, 0.5, 1, 1),
            lambda: RandomWalkNeighborSampler(g, 1, 0.5, 1, 1),
            lambda: RandomWalkNeighborSampler(g, 1, 0.5, 1, 1, ["buys"])(seeds),
            lambda: PinSAGESampler(g, "user", "item", 0, 0.5, 1, 1)(seeds),
        ):
            with self.assertRaises(graphd.errors.InvalidError):
                bad()


if __name__ == "__main__":
    support.main()
