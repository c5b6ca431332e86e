# SPDX-License-Identifier: Apache-2.0
"""Tests the ids of sampled edges, which samplers find when they are first used."""

import torch

import graphd
import support
from graphd.distributed import DistEdgeDataLoader, DistNodeDataLoader
from graphd.sampling import (
    LaborSampler,
    LayerSampler,
    NeighborSampler,
    ShadowSampler,
    TemporalSampler,
    TopKSampler,
    negative_sampler,
)

FOLLOWS = ("user", "follows", "user")
SAMPLERS = {
    "neighbors": lambda **ids: NeighborSampler([3, 2], **ids),
    "replace": lambda **ids: NeighborSampler([3, 2], replace=True, **ids),
    "weighted": lambda **ids: NeighborSampler([3, 2], prob="w", **ids),
    "topk": lambda **ids: TopKSampler([3, 2], "w", **ids),
    "labor": lambda **ids: LaborSampler([3, 2], **ids),
    "layer": lambda **ids: LayerSampler([20, 10], **ids),
    "shadow": lambda **ids: ShadowSampler([3, 2], **ids),
    "temporal": lambda **ids: TemporalSampler([3, 2], "ts", **ids),
    "trees": lambda **ids: TemporalSampler([3, 2], None, recent=False, **ids),
}


class EdgeIds(support.GraphTest):
    def check_equal(self, found, expected):
        """Checks that blocks are equal to others that were sampled with their ids."""
        self.assertEqual(len(found), len(expected))
        edges = 0
        for block, other in zip(found, expected):
            for etype in block.canonical_etypes:
                ends, other_ends = block.edges(etype=etype), other.edges(etype=etype)
                for some, others in zip(ends, other_ends):
                    self.assertEqual(some.tolist(), others.tolist())
                ids = block.edges[etype].data[graphd.EID].tolist()
                self.assertEqual(ids, other.edges[etype].data[graphd.EID].tolist())
                self.assertEqual(len(ids), len(ends[0]))
                edges += len(ids)
        self.assertGreater(edges, 0)

    def seeds(self, sampler):
        users = {"user": torch.tensor([5, 1, 9, 30, 2])}
        times = {"user": 10**10 * torch.tensor([100, 90, 80, 70, 60])}
        return users, {"seed_times": times} if getattr(sampler, "needs_times", False) else {}

    def test_ids_that_are_found_late_are_those_of_the_edges(self):
        for g in self.each_way():
            for name, make in SAMPLERS.items():
                with self.subTest(name):
                    late, at_once = make(), make(edge_ids=True)
                    users, times = self.seeds(late)
                    # The first batch is sampled again for its ids, the second has them.
                    for seed in (3, 4):
                        found = late.sample_blocks(g, users, seed=seed, **times)[2]
                        expected = at_once.sample_blocks(g, users, seed=seed, **times)[2]
                        self.check_equal(found, expected)

    def test_excluded_edges_stay_excluded(self):
        g = self.standalone()
        users = {"user": torch.arange(20)}
        edges = support.fixture(self.fixture).edges[FOLLOWS]
        into = torch.tensor([eid for eid, (_, v) in edges.items() if v < 20])
        exclude = {FOLLOWS: into[::2]}
        _, _, blocks = NeighborSampler([-1]).sample_blocks(g, users, exclude, seed=1)
        ids = blocks[0].edges[FOLLOWS].data[graphd.EID]
        self.assertEqual(sorted(ids.tolist()), sorted(into[1::2].tolist()))

    def batches(self, g, sampler, workers):
        """Returns the blocks of an epoch of nodes, and of one of edges."""
        common = {"batch_size": 8, "shuffle": True, "seed": 5, "num_workers": workers}
        nodes = DistNodeDataLoader(g, {"user": torch.arange(40)}, sampler, **common)
        edges = DistEdgeDataLoader(
            g,
            {FOLLOWS: torch.arange(40)},
            sampler,
            exclude="self",
            negative_sampler=negative_sampler.Uniform(1),
            **common,
        )
        return [batch[-1] for loader in (nodes, edges) for batch in loader]

    def test_loaders_give_the_same_ids(self):
        for g in self.each_way():
            for workers in (0, 2):
                # The workers have sampled some of the batches before the first id is used.
                found = self.batches(g, NeighborSampler([3, 2]), workers)
                expected = self.batches(g, NeighborSampler([3, 2], edge_ids=True), workers)
                self.assertEqual(len(found), 10)
                for blocks, others in zip(found, expected):
                    self.check_equal(blocks, others)

    def test_seeds_with_times_keep_them(self):
        g = self.standalone()

        def batches(sampler):
            loader = DistNodeDataLoader(
                g,
                {"user": torch.tensor([5, 5, 9, 30])},
                sampler,
                batch_size=2,
                seed_times={"user": 10**10 * torch.tensor([100, 50, 80, 90])},
            )
            return [batch[-1] for batch in loader]

        found, expected = (
            batches(TemporalSampler([4], "ts")),
            batches(TemporalSampler([4], "ts", edge_ids=True)),
        )
        self.assertEqual(len(found), 2)
        for blocks, others in zip(found, expected):
            self.check_equal(blocks, others)

    def test_features_of_edges_come_with_their_ids(self):
        for g in self.each_way():
            sampler = NeighborSampler([3], prefetch_edge_feats={FOLLOWS: ["w"]})
            weights = g.edges[FOLLOWS].data["w"][:]
            loader = DistNodeDataLoader(g, {"user": torch.arange(20)}, sampler, batch_size=8)
            for _, _, (block,) in loader:
                data = block.edges[FOLLOWS].data
                self.assertTrue(torch.equal(data["w"], weights[data[graphd.EID]]))

    def test_without_ids_there_are_none(self):
        g = self.standalone()
        _, _, blocks = NeighborSampler([3], edge_ids=False).sample(g, {"user": [1, 2, 3]})
        self.assertNotIn(graphd.EID, blocks[0].edges[FOLLOWS].data)
        with self.assertRaisesRegex(KeyError, "_ID"):
            blocks[0].edges[FOLLOWS].data[graphd.EID]

    def test_a_lost_server_has_no_more_ids(self):
        daemons = support.Daemons(self.fixture)
        self.addCleanup(daemons.stop)
        with support.unittest.mock.patch.dict(
            support.os.environ,
            GRAPHD_TRANSPORT="tcp",
            GRAPHD_TIMEOUT=f"{3 * support.slowness():.0f}",
        ):
            session = daemons.connect()
        self.addCleanup(session.close)
        g = session.graph()
        sampler = NeighborSampler([3])

        def sample():
            return sampler.sample(g, {"user": torch.arange(20)})[2][0].edges[FOLLOWS].data

        unused, used = sample(), sample()
        ids = used[graphd.EID]
        at_once = sample()
        for process in daemons.processes:
            process.kill()
            process.wait()
        self.assertGreater(len(ids), 0)
        self.assertEqual(used[graphd.EID].tolist(), ids.tolist())
        # The third batch was sampled after ids had been used, so it has its own.
        self.assertGreater(len(at_once[graphd.EID]), 0)
        with self.assertRaises((graphd.errors.UnavailableError, graphd.errors.DeadlineError)):
            unused[graphd.EID]


if __name__ == "__main__":
    support.main()
