# SPDX-License-Identifier: Apache-2.0
"""Tests the sampler whose fanouts count the edges of all types of a node together, and compares its
blocks with the graph."""

import torch

import graphd
import support
from graphd.distributed import (
    DistDataLoader,
    DistNodeDataLoader,
    sample_neighbors,
)
from graphd.errors import InvalidError
from graphd.sampling import NeighborSampler, TopKSampler


def edges_of(blocks):
    """Returns the ids of the edges of each block and type as lists."""
    return [
        [block.edges[etype].data[graphd.EID].tolist() for etype in block.canonical_etypes]
        for block in blocks
    ]


class PooledSampler(support.GraphTest):
    def check(self, g, block, fanout, replace=False):
        """Compares the edges of a block with the graph, and their numbers with the fanout."""
        for ntype in g.ntypes:
            into = [etype for etype in g.canonical_etypes if etype[2] == ntype]
            nodes = block.dstnodes[ntype].data[graphd.NID]
            self.assertTrue(
                torch.equal(block.srcnodes[ntype].data[graphd.NID][: len(nodes)], nodes)
            )
            total = sum((g.in_degrees(nodes, c) for c in into), torch.zeros_like(nodes))
            found = sum((block.in_degrees(etype=c) for c in into), torch.zeros_like(nodes))
            wanted = torch.where(total > 0, fanout, 0) if replace else total.clamp(max=fanout)
            self.assertEqual(found.tolist(), wanted.tolist())
        for etype in g.canonical_etypes:
            ids = block.edges[etype].data[graphd.EID]
            u, v = block.edges(etype=etype)
            ends = g.find_edges(ids, etype)
            self.assertTrue(
                torch.equal(block.srcnodes[etype[0]].data[graphd.NID][u], ends[0]), etype
            )
            self.assertTrue(
                torch.equal(block.dstnodes[etype[2]].data[graphd.NID][v], ends[1]), etype
            )
            if not replace:
                self.assertEqual(len(ids.unique()), len(ids))

    def test_a_node_gets_the_fanout_over_all_types(self):
        for g in self.each_way():
            groups = torch.arange(g.num_nodes("group"))
            seeds = {"group": groups, "user": torch.tensor([5, 2, 5, 9])}
            for replace in (False, True):
                sampler = NeighborSampler([4, 3], replace=replace, pooled=True)
                inputs, outputs, blocks = sampler.sample(g, seeds)
                self.assertEqual(outputs["user"].tolist(), [5, 2, 9])  # each once, in their order
                self.assertEqual(outputs["group"].tolist(), groups.tolist())
                for block, fanout in zip(blocks, (4, 3)):
                    self.check(g, block, fanout, replace)
                for ntype in g.ntypes:
                    nodes = [
                        blocks[0].srcnodes[ntype].data[graphd.NID],
                        blocks[0].dstnodes[ntype].data[graphd.NID],
                        blocks[1].dstnodes[ntype].data[graphd.NID],
                    ]
                    self.assertTrue(torch.equal(inputs[ntype], nodes[0]))
                    self.assertTrue(
                        torch.equal(nodes[1], blocks[1].srcnodes[ntype].data[graphd.NID])
                    )
                    self.assertTrue(torch.equal(outputs[ntype], nodes[2]))
            of_each_type = NeighborSampler([3]).sample(g, seeds)[2][0]
            with self.assertRaises(AssertionError):
                self.check(g, of_each_type, 3)

    def test_minus_one_takes_every_edge(self):
        g = self.standalone()
        (block,) = NeighborSampler([-1], pooled=True).sample(g, {"group": [0, 1, 2]})[2]
        self.check(g, block, 10**6)

    def test_a_seed_gives_the_same_blocks_and_layers_draw_apart(self):
        g = self.standalone()
        sampler = NeighborSampler([3, 3], pooled=True)
        seeds = {"group": torch.arange(g.num_nodes("group")), "user": torch.arange(100)}
        first, again, other = (
            edges_of(sampler.sample_blocks(g, seeds, seed=seed)[2]) for seed in (1, 1, 2)
        )
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        # The destinations of both layers begin with the seeds, which draw again in the second.
        outer, inner = sampler.sample_blocks(g, seeds, seed=1)[2]
        follows = ("user", "follows", "user")
        rows = outer.csc(follows)[0][100]
        self.assertNotEqual(
            outer.edges[follows].data[graphd.EID][:rows].tolist(),
            inner.edges[follows].data[graphd.EID].tolist(),
        )

    def test_a_loader_of_nodes_makes_its_batches_with_their_features(self):
        for g in self.each_way():
            sampler = NeighborSampler(
                [4, 3],
                prefetch_node_feats={"user": ["feat"], "post": ["feat"]},
                prefetch_labels={"user": ["age"]},
                pooled=True,
            )
            feats = {ntype: g.nodes[ntype].data["feat"][:] for ntype in ("user", "post")}
            age = g.nodes["user"].data["age"][:]
            for workers in (0, 2):
                loader = DistNodeDataLoader(
                    g,
                    {"user": torch.arange(100)},
                    sampler,
                    batch_size=32,
                    shuffle=True,
                    num_workers=workers,
                )
                seen = []
                for inputs, outputs, blocks in loader:
                    seen += outputs["user"].tolist()
                    for block, fanout in zip(blocks, (4, 3)):
                        self.check(g, block, fanout)
                    for ntype, rows in feats.items():
                        found = blocks[0].srcnodes[ntype].data["feat"]
                        self.assertTrue(torch.equal(found, rows[inputs[ntype]]))
                    labels = blocks[-1].dstnodes["user"].data["age"]
                    self.assertTrue(torch.equal(labels, age[outputs["user"]]))
                self.assertEqual(len(loader), 4)
                self.assertEqual(sorted(seen), list(range(100)))

    def test_a_loader_of_nodes_takes_lists_and_the_default_number_of_threads(self):
        g = self.standalone()
        sampler = NeighborSampler([4], pooled=True)
        loader = DistNodeDataLoader(g, {"user": [5, 3, 1]}, sampler, batch_size=2, num_workers=-1)
        self.assertEqual([out["user"].tolist() for _, out, _ in loader], [[5, 3], [1]])

    def test_it_can_be_made_as_dgls_examples_make_theirs(self):
        for g in self.each_way():
            sampler = NeighborSampler(g, [3, 4], sample_neighbors, "cpu", pooled=True)
            seeds = [{"group": [3, 0], "user": [7]}]
            loader = DistDataLoader(
                seeds, 1, collate_fn=lambda some, s=sampler: s.sample_blocks(*some)
            )
            (blocks,) = loader
            for block, fanout in zip(blocks, (4, 3)):  # with replacement, the seeds' fanout first
                self.check(g, block, fanout, replace=True)

    def test_the_method_of_a_graph_is_the_function(self):
        for g in self.each_way():
            nodes = {"group": torch.arange(g.num_nodes("group"))}
            found = g.sample_neighbors(nodes, 3, pooled=True, seed=4)
            wanted = sample_neighbors(g, nodes, 3, pooled=True, seed=4)
            apart = sample_neighbors(g, nodes, 3, seed=4)
            self.assertLess(found.num_edges(), apart.num_edges())
            for etype in g.canonical_etypes:
                ids = (each.edges(form="eid", etype=etype).tolist() for each in (found, wanted))
                self.assertEqual(*ids)

    def test_it_shows_that_it_is_pooled(self):
        self.assertEqual(repr(NeighborSampler([4, 3])), "NeighborSampler([4, 3])")
        shown = repr(NeighborSampler([4, 3], pooled=True))
        self.assertEqual(shown, "NeighborSampler([4, 3], pooled=True)")

    def test_mistakes(self):
        g = self.standalone()
        for arguments, options in (
            (([2],), {"prob": "w"}),
            (([2],), {"mask": "w"}),
            (([{"follows": 2}],), {}),
        ):
            with self.assertRaisesRegex(InvalidError, "pooled=True: a fanout is one number"):
                NeighborSampler(*arguments, pooled=True, **options)
        with self.assertRaisesRegex(InvalidError, "pooled=True"):
            TopKSampler([2], "w", pooled=True)
        sampler = NeighborSampler([2], pooled=True)
        with self.assertRaisesRegex(InvalidError, "seed_nodes"):
            sampler.sample(g, [0])


class OneType(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_graph_with_one_type_has_tensors_in_place_of_dicts(self):
        g = self.standalone()
        inputs, outputs, blocks = NeighborSampler([2, 2], pooled=True).sample(g, [7, 3, 7])
        self.assertEqual(outputs.tolist(), [7, 3])
        self.assertTrue(torch.equal(inputs, blocks[0].srcdata[graphd.NID]))
        for block in blocks:
            wanted = g.in_degrees(block.dstdata[graphd.NID]).clamp(max=2)
            self.assertEqual(block.in_degrees().tolist(), wanted.tolist())


if __name__ == "__main__":
    support.main()
