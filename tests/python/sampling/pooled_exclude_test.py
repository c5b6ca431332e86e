# SPDX-License-Identifier: Apache-2.0
"""Tests that edges are left out of samples whose fanouts count the edges of all types together, and
that the others are equally likely."""

import collections
import itertools

import torch

import graphd
import shop
import support
from graphd.distributed import in_subgraph, sample_neighbors
from graphd.errors import InvalidError
from graphd.sampling import NeighborSampler

EXCLUDE = {
    shop.BUYS: torch.arange(0, 300, 2),
    shop.LIKES: [3, 4, 5, 4, 3],  # some of them twice
    shop.KNOWS: [],
}


class PooledExclude(shop.ShopTest):
    def test_excluded_edges_are_left_out_and_the_others_fill_the_fanout(self):
        seeds = {ntype: torch.arange(n) for ntype, n in shop.COUNTS.items()}
        for g in self.each_way():
            for replace in (False, True):
                sampler = NeighborSampler([5, 3], replace=replace, pooled=True)
                _, _, blocks = sampler.sample(g, seeds, EXCLUDE)
                for block, fanout in zip(blocks, (5, 3)):
                    self.check(g, block, fanout, replace, EXCLUDE)
            (block,) = NeighborSampler([-1], pooled=True).sample(g, seeds, EXCLUDE)[2]
            self.check(g, block, 10**6, exclude=EXCLUDE)
            # The check would find edges that are excluded.
            (block,) = NeighborSampler([3], pooled=True).sample(g, seeds)[2]
            with self.assertRaises(AssertionError):
                self.check(g, block, 3, exclude=EXCLUDE)

    def test_a_node_without_another_edge_gets_none(self):
        for g in self.each_way():
            graph = in_subgraph(g, {"item": [7]})
            exclude = {c: graph.edges(form="eid", etype=c) for c in (shop.BUYS, shop.LIKES)}
            self.assertTrue(all(map(len, exclude.values())))
            for replace in (False, True):
                options = {"exclude_edges": exclude, "replace": replace, "pooled": True}
                found = sample_neighbors(g, {"item": [7, 8]}, 3, **options)
                ends = [found.edges(etype=c)[1] for c in exclude]
                self.assertEqual(set(torch.cat(ends).tolist()), {8})

    def test_out_edges_are_excluded_at_their_sources(self):
        for g in self.each_way():
            nodes = torch.arange(60)
            for replace in (False, True):
                found = g.sample_neighbors(
                    {"user": nodes}, 4, "out", None, EXCLUDE, replace, pooled=True
                )
                total, counts = torch.zeros(60, dtype=torch.int64), torch.zeros(60)
                for c in (shop.BUYS, shop.KNOWS, shop.LIKES):
                    out = torch.as_tensor(EXCLUDE[c], dtype=torch.int64).unique()
                    gone = torch.bincount(g.find_edges(out, c)[0], minlength=60)
                    total += g.out_degrees(nodes, c) - gone
                    u, _, ids = found.edges(form="all", etype=c)
                    counts += torch.bincount(u, minlength=60)
                    self.assertFalse(set(out.tolist()) & set(ids.tolist()))
                wanted = torch.where(total > 0, 4, 0) if replace else total.clamp(max=4)
                self.assertEqual(counts.tolist(), wanted.tolist())

    def test_all_sets_of_edges_that_are_not_excluded_are_equally_likely(self):
        g = self.standalone()
        both = [g.in_degrees(etype=c) for c in (shop.BUYS, shop.LIKES)]
        item = int(torch.minimum(*both).argmax())  # has many edges of both types
        graph = in_subgraph(g, {"item": [item]})
        edges = {c: graph.edges(form="eid", etype=c).tolist() for c in (shop.BUYS, shop.LIKES)}
        # Three of one type are left, two of the other.
        exclude = {shop.BUYS: edges[shop.BUYS][3:], shop.LIKES: edges[shop.LIKES][2:]}
        left = [(c, i) for c in edges for i in edges[c] if i not in exclude[c]]
        self.assertEqual(len(left), 5)
        self.assertTrue(all(exclude.values()))
        rounds = 4000
        for replace in (False, True):
            counts = collections.Counter()
            for seed in range(rounds):
                found = sample_neighbors(
                    g,
                    {"item": [item]},
                    2,
                    exclude_edges=exclude,
                    replace=replace,
                    pooled=True,
                    seed=seed,
                )
                drawn = ((c, i) for c in edges for i in found.edges(form="eid", etype=c).tolist())
                counts[tuple(sorted(drawn))] += 1
            pairs = list(itertools.combinations(sorted(left), 2))
            wanted = {pair: 2 / 25 if replace else 1 / 10 for pair in pairs}
            if replace:
                wanted.update({(edge, edge): 1 / 25 for edge in left})
            self.assertLessEqual(set(counts), set(wanted))
            numbers = torch.tensor([float(counts[each]) for each in wanted])
            expected = rounds * torch.tensor(list(wanted.values()))
            self.assertLess(shop.deviation(numbers, expected), 4)

    def test_a_seed_gives_the_same_sample_in_every_way(self):
        seeds = {ntype: torch.arange(n) for ntype, n in shop.COUNTS.items()}
        sampler = NeighborSampler([4, 3], pooled=True)
        found = [
            shop.edges_of(sampler.sample_blocks(g, seeds, EXCLUDE, seed=6)[2])
            for g in self.each_way()
        ]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_mistakes(self):
        g = self.standalone()
        for exclude, message in (
            ({shop.BUYS: [300]}, "edge 300 .*outside 0..299"),
            ({shop.BUYS: [-1]}, "edge -1 .*outside 0..299"),
            ({shop.BUYS: [0.5]}, "integers"),
            ({shop.BUYS: torch.ones(300, dtype=torch.bool)}, "exclude_edges: expected ids"),
            ([1], "exclude_edges: the graph has 4 edge types"),
        ):
            with self.subTest(message), self.assertRaisesRegex(InvalidError, message):
                sample_neighbors(g, {"item": [0]}, 2, exclude_edges=exclude, pooled=True)


class OneType(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_graph_with_one_edge_type_gives_what_a_sampler_gives_that_is_not_pooled(self):
        for g in self.each_way():
            seeds, exclude = torch.arange(0, 900, 7), torch.arange(0, g.num_edges(), 3)
            for replace in (False, True):
                pooled, other = (
                    NeighborSampler([4, 3], replace=replace, pooled=is_pooled).sample_blocks(
                        g, seeds, exclude, seed=3
                    )
                    for is_pooled in (True, False)
                )
                self.assertTrue(torch.equal(pooled[0], other[0]))
                self.assertEqual(shop.edges_of(pooled[2]), shop.edges_of(other[2]))
            batches = [
                [
                    (inputs.tolist(), outputs.tolist(), shop.edges_of(blocks))
                    for inputs, outputs, blocks in graphd.distributed.DistNodeDataLoader(
                        g,
                        seeds,
                        NeighborSampler([4, 3], pooled=is_pooled),
                        batch_size=50,
                        shuffle=True,
                        seed=2,
                    )
                ]
                for is_pooled in (True, False)
            ]
            self.assertEqual(*batches)


if __name__ == "__main__":
    support.main()
