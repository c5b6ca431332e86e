# SPDX-License-Identifier: Apache-2.0
"""Tests that each step of a random walk is an edge, and that a seed gives the same walks in each
mode."""

import torch

import graphd
import support
from graphd.sampling import node2vec_random_walk, random_walk


class Homogeneous(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_walks_follow_edges(self):
        edges = support.fixture(self.fixture).edges[("_N", "_E", "_N")]
        seen = []
        for g in self.each_way():
            seeds = torch.arange(0, 1500, 50)
            traces, eids, types = random_walk(g, seeds, length=4, return_eids=True, seed=7)
            self.assertEqual((traces.shape, eids.shape), ((30, 5), (30, 4)))
            self.assertEqual((traces[:, 0].tolist(), types.tolist()), (seeds.tolist(), [0] * 5))
            for trace, steps in zip(traces.tolist(), eids.tolist()):
                for u, v, e in zip(trace, trace[1:], steps):
                    self.assertEqual(v == -1, e == -1)
                    if e != -1:
                        self.assertEqual(edges[e], (u, v))
            seen.append(traces)
        self.assertTrue(all(torch.equal(seen[0], each) for each in seen))

    def test_walks_of_node2vec_follow_edges(self):
        g = self.standalone()
        traces, eids = node2vec_random_walk(g, torch.arange(20), 0.5, 2, 6, return_eids=True)
        u, v = g.find_edges(eids[eids >= 0])
        self.assertEqual(u.tolist(), traces[:, :-1][eids >= 0].tolist())
        self.assertEqual(v.tolist(), traces[:, 1:][eids >= 0].tolist())
        self.assertEqual(node2vec_random_walk(g, [3], 1, 1, 2).shape, (1, 3))

    def test_restarts(self):
        g = self.standalone()
        for given in (1.0, [0.0, 1.0, 1.0], torch.tensor([0.0, 1.0, 1.0])):
            traces, _ = random_walk(g, torch.arange(50), length=3, restart_prob=given)
            self.assertTrue(bool((traces[:, 2:] == -1).all()))
        with self.assertRaises(graphd.errors.InvalidError):
            random_walk(g, [0], length=3, restart_prob=[0.5, 0.5])

    def test_either_a_length_or_a_metapath(self):
        for given in ({}, {"length": 2, "metapath": ["_E"]}):
            with self.assertRaises(graphd.errors.InvalidError):
                random_walk(self.standalone(), [0], **given)


class Heterogeneous(support.GraphTest):
    def test_a_metapath_sets_the_types(self):
        edges = support.fixture(self.fixture).edges
        g = self.standalone()
        start = next(etype for etype in g.canonical_etypes if etype[0] != etype[2])
        back = next((etype for etype in g.canonical_etypes if etype[0] == start[2]), None)
        metapath = [start] + ([back] if back else [])
        traces, eids, types = random_walk(g, torch.arange(10), metapath, return_eids=True)
        self.assertEqual(
            [g.ntypes[t] for t in types.tolist()], [start[0]] + [etype[2] for etype in metapath]
        )
        for trace, steps in zip(traces.tolist(), eids.tolist()):
            for etype, u, v, e in zip(metapath, trace, trace[1:], steps):
                if e != -1:
                    self.assertEqual(edges[etype][e], (u, v))
        self.assertGreater(int((eids >= 0).sum()), 0)


if __name__ == "__main__":
    support.main()
