# SPDX-License-Identifier: Apache-2.0
"""Tests sampling by time: compares each seed's neighbourhood at its time with the graph, edge by
edge."""

import collections

import torch

import graphd
import support
from graphd.distributed import DistEdgeDataLoader, DistNodeDataLoader
from graphd.sampling import BlockSampler, NeighborSampler, TemporalSampler, negative_sampler

FOLLOWS = ("user", "follows", "user")


class Temporal(support.GraphTest):
    def setUp(self):
        super().setUp()
        graphd.seed(7)
        self.edges = support.fixture(self.fixture).edges[FOLLOWS]
        self.into = collections.defaultdict(list)
        for eid, (_, v) in self.edges.items():
            self.into[v].append(eid)
        self.others = 0

    def column(self, g, name="ts"):
        return g.edges[FOLLOWS].data[name][:].tolist()

    def check(self, block, fanout, when, time_of, recent=True, inclusive=False):
        """Checks that the users' edges of a block belong to its trees. Returns their number."""
        nodes, roots = (block.srcnodes["user"].data[name].tolist() for name in (graphd.NID, "root"))
        dst_roots = block.dstnodes["user"].data["root"].tolist()
        self.assertEqual(dst_roots, roots[: len(dst_roots)])
        # Each node occurs once in each tree.
        self.assertEqual(len(set(zip(nodes, roots))), len(nodes))
        found = [[] for _ in dst_roots]
        u, v = (ends.tolist() for ends in block.edges(etype=FOLLOWS))
        for src, dst, eid in zip(u, v, block.edges[FOLLOWS].data[graphd.EID].tolist()):
            self.assertEqual(self.edges[eid], (nodes[src], nodes[dst]))
            self.assertEqual(roots[src], dst_roots[dst])
            found[dst].append(eid)
        for node, root, got in zip(nodes, dst_roots, found):
            time = time_of[root]
            may = [e for e in self.into[node] if when[e] < time or (inclusive and when[e] == time)]
            count = len(may) if fanout < 0 else min(fanout, len(may))
            self.assertEqual(len(set(got)), count)
            self.assertLessEqual(set(got), set(may))
            latest = sorted(when[e] for e in may)[len(may) - count :]
            if recent:
                self.assertEqual(sorted(when[e] for e in got), latest)
            self.others += sorted(when[e] for e in got) != latest
        return len(u)

    def test_trees_have_only_edges_before_their_seeds_time(self):
        for g in self.each_way():
            when = self.column(g)
            middle = sorted(when)[len(when) // 2]
            seeds = [*range(0, 120, 3), 3, 3]
            times = [middle + 5 * (i % 7 - 3) for i in range(len(seeds))]
            for how in ({}, {"inclusive": True}, {"recent": False}):
                sampler = TemporalSampler([2, -1], "ts", **how)
                _, outputs, blocks = sampler.sample(g, {"user": seeds}, seed_times={"user": times})
                self.assertEqual(outputs["user"].tolist(), seeds)
                self.assertEqual(blocks[1].dstnodes["user"].data["seed_time"].tolist(), times)
                for block, fanout in zip(blocks, (2, -1)):
                    self.assertGreater(self.check(block, fanout, when, times, **how), 20)
            self.assertGreater(self.others, 5)  # edges other than the latest, for recent=False

    def test_loaders_keep_times_with_their_seeds(self):
        for g in self.each_way():
            when = self.column(g)
            seeds = torch.arange(300) % 110
            times = torch.tensor([sorted(when)[2 * i] for i in range(300)])
            loader = DistNodeDataLoader(
                g,
                {"user": seeds},
                TemporalSampler([3, 2], "ts"),
                batch_size=64,
                shuffle=True,
                num_workers=2,
                seed_times={"user": times},
            )
            seen, count = [], 0
            for _, outputs, blocks in loader:
                of_batch = blocks[-1].dstnodes["user"].data["seed_time"].tolist()
                seen += zip(outputs["user"].tolist(), of_batch)
                for block, fanout in zip(blocks, (3, 2)):
                    count += self.check(block, fanout, when, of_batch)
            self.assertGreater(count, 500)
            self.assertEqual(sorted(seen), sorted(zip(seeds.tolist(), times.tolist())))
            self.assertNotEqual(seen, list(zip(seeds.tolist(), times.tolist())))

    def test_times_may_be_floating_point_numbers(self):
        g = self.standalone()
        when = self.column(g, "w")
        times = torch.tensor([sorted(when)[3 * i] for i in range(100)], dtype=torch.float64)
        loader = DistNodeDataLoader(
            g,
            {"user": torch.arange(100)},
            TemporalSampler([-1], "w"),
            batch_size=100,
            seed_times={"user": times},
        )
        ((_, _, (block,)),) = loader
        self.assertEqual(block.dstnodes["user"].data["seed_time"].tolist(), times.tolist())
        self.assertGreater(self.check(block, -1, when, times.tolist()), 20)

    def test_ends_of_edges_have_the_time_of_their_edge(self):
        for g in self.each_way():
            when = self.column(g)
            eids = torch.arange(0, 1200, 5)
            loader = DistEdgeDataLoader(
                g,
                {FOLLOWS: eids},
                TemporalSampler([2], "ts"),
                batch_size=50,
                shuffle=True,
                num_workers=2,
                negative_sampler=negative_sampler.Uniform(2),
                seed_times={FOLLOWS: torch.tensor(when)[eids]},
            )
            seen = []
            for _, pairs, negatives, (block,) in loader:
                nodes, times = (
                    block.dstnodes["user"].data[name].tolist() for name in (graphd.NID, "seed_time")
                )
                self.check(block, 2, when, times)
                ends = [each.tolist() for each in pairs.edges("all", etype=FOLLOWS)]
                ids = ends[2]
                seen += ids
                for u, v, eid in zip(*ends):
                    self.assertEqual((nodes[u], nodes[v]), self.edges[eid])
                    self.assertEqual((times[u], times[v]), (when[eid], when[eid]))
                asked = [when[eid] for eid in ids for _ in range(2)]
                for ends in negatives.edges(etype=FOLLOWS):
                    self.assertEqual([times[end] for end in ends.tolist()], asked)
            self.assertEqual(sorted(seen), eids.tolist())

    def test_without_times_each_seed_has_a_tree_of_all_edges(self):
        for g in self.each_way():
            when, seeds = self.column(g), [3, 8, 3, 60]
            sampler = TemporalSampler([2, -1], None, recent=False)
            _, outputs, blocks = sampler.sample(g, {"user": seeds})
            self.assertEqual(outputs["user"].tolist(), seeds)
            end = [max(when) + 1] * len(seeds)
            for block, fanout in zip(blocks, (2, -1)):
                self.assertGreater(self.check(block, fanout, when, end, recent=False), 5)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "recent=False"):
            TemporalSampler([2], None)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "seed_times: a TemporalSampler"):
            sampler.sample(g, {"user": seeds}, seed_times={"user": end})

    def test_invalid_arguments_raise_an_error(self):
        class Own(BlockSampler):
            pass

        g = self.standalone()
        timed, seeds = TemporalSampler([2], "ts"), {"user": [1, 2]}
        for times in (
            None,
            {"user": [5]},
            {"user": ["a", "b"]},
            {"post": [1, 2]},
            {"user": torch.ones(2)},
            {"user": torch.ones(2, 1, dtype=torch.int64)},
            {"user": [1, 2], "post": torch.ones(0, dtype=torch.float64)},
        ):
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(times)):
                timed.sample(g, seeds, seed_times=times)
        with self.assertRaises(graphd.errors.InvalidError):
            TemporalSampler([2], "ts", recent=True, replace=True).sample(g, seeds, seed_times=seeds)
        with self.assertRaises(graphd.errors.NotFoundError):
            TemporalSampler([2], "never").sample(g, seeds, seed_times=seeds)
        for sampler in (Own(), NeighborSampler([2])):
            with self.assertRaisesRegex(
                graphd.errors.InvalidError, f"seed_times: a {type(sampler).__name__} .*Temporal"
            ):
                DistNodeDataLoader(g, seeds, sampler, batch_size=1, seed_times=seeds)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "seed_times: a NeighborSampler"):
            DistEdgeDataLoader(
                g, {FOLLOWS: [1]}, NeighborSampler([2]), batch_size=1, seed_times={FOLLOWS: [1]}
            )


if __name__ == "__main__":
    support.main()
