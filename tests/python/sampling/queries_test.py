# SPDX-License-Identifier: Apache-2.0
"""Tests sampling of one hop, subgraphs, and blocks made from samples."""

import collections

import torch

import graphd
import support
from graphd.distributed import (
    edge_subgraph,
    in_subgraph,
    node_subgraph,
    sample_etype_neighbors,
    sample_neighbors,
)

FOLLOWS = ("user", "follows", "user")


def in_edges(edges):
    """Returns {node: {(source, edge id)}}."""
    found = collections.defaultdict(set)
    for eid, (u, v) in edges.items():
        found[v].add((u, eid))
    return found


class Sampling(support.GraphTest):
    def test_sampled_edges_exist_and_the_fanout_is_kept(self):
        edges = support.fixture(self.fixture).edges
        for g in self.each_way():
            nodes = torch.arange(0, 300, 7)
            found = sample_neighbors(g, {"user": nodes}, 3)
            u, v, ids = found.edges("all", etype=FOLLOWS)
            self.assertEqual(
                [edges[FOLLOWS][i] for i in ids.tolist()], list(zip(u.tolist(), v.tolist()))
            )
            wanted = {n: min(3, len(e)) for n, e in in_edges(edges[FOLLOWS]).items() if n % 7 == 0}
            self.assertEqual(collections.Counter(v.tolist()), collections.Counter(wanted))
            self.assertEqual(found.num_edges("in"), 0)
            self.assertEqual(found.num_edges(), len(ids))
            self.assertEqual(found.edata[graphd.EID][FOLLOWS].tolist(), ids.tolist())

    def test_a_seed_gives_the_same_sample_in_each_mode(self):
        samples = []
        for g in self.each_way():
            found = sample_neighbors(g, {"user": list(range(300))}, 2, seed=7)
            samples.append(found.edges("eid", etype=FOLLOWS).tolist())
        self.assertEqual(samples[0], samples[1])
        self.assertEqual(samples[0], samples[2])
        other = sample_neighbors(self.standalone(), {"user": list(range(300))}, 2, seed=8)
        self.assertNotEqual(other.edges("eid", etype=FOLLOWS).tolist(), samples[0])

    def test_graphd_seed_makes_a_program_repeat(self):
        g = self.standalone()

        def draw():
            return sample_neighbors(g, {"user": list(range(300))}, 2).edata[graphd.EID][FOLLOWS]

        graphd.seed(3)
        first, second = draw(), draw()
        graphd.seed(3)
        self.assertTrue(torch.equal(draw(), first))
        self.assertFalse(torch.equal(first, second))

    def test_out_edges(self):
        edges = support.fixture(self.fixture).edges
        for g in self.each_way():
            found = sample_neighbors(g, {"user": [1, 2]}, -1, edge_dir="out")
            for etype in (FOLLOWS, ("user", "likes", "post")):
                wanted = {i for i, (u, _) in edges[etype].items() if u in (1, 2)}
                u, v, ids = found.edges("all", etype=etype)
                self.assertEqual(set(ids.tolist()), wanted)
                self.assertEqual(
                    [edges[etype][i] for i in ids.tolist()], list(zip(u.tolist(), v.tolist()))
                )

    def test_fanouts_by_edge_type(self):
        g = self.standalone()
        fanouts = {
            ("post", "in", "group"): 0,
            "follows": 2,
            ("user", "likes", "group"): 1,
            ("user", "likes", "post"): -1,
        }
        nodes = {"user": list(range(100)), "group": list(range(60))}
        found = sample_etype_neighbors(g, nodes, fanouts)
        self.assertEqual(found.num_edges("in"), 0)
        # The nodes include no posts.
        self.assertEqual(found.num_edges(("user", "likes", "post")), 0)
        for etype, most in ((FOLLOWS, 2), (("user", "likes", "group"), 1)):
            counts = collections.Counter(found.edges(etype=etype)[1].tolist())
            self.assertEqual(max(counts.values()), most)
        del fanouts["follows"]
        with self.assertRaisesRegex(graphd.errors.InvalidError, "follows"):
            sample_etype_neighbors(g, nodes, fanouts)

    def test_prob_exclude_and_replace(self):
        edges = support.fixture(self.fixture).edges
        g = self.standalone()
        mask = g.edges["in"].data["mask"][:]
        found = sample_neighbors(g, {"group": list(range(60))}, -1, prob="mask")
        self.assertEqual(
            sorted(found.edges("eid", etype="in").tolist()), mask.nonzero().flatten().tolist()
        )
        with self.assertRaises(graphd.errors.NotFoundError):
            sample_neighbors(g, {"group": [0]}, 1, prob="masks")
        gone = {FOLLOWS: list(range(600))}
        found = sample_neighbors(g, {"user": list(range(300))}, -1, exclude_edges=gone)
        self.assertEqual(sorted(found.edges("eid", etype=FOLLOWS).tolist()), list(range(600, 1200)))
        found = sample_neighbors(g, {"user": list(range(300))}, 9, replace=True)
        counts = collections.Counter(found.edges(etype=FOLLOWS)[1].tolist())
        self.assertEqual(set(counts.values()), {9})
        self.assertEqual(set(counts), {v for _, v in edges[FOLLOWS].values()})

    def test_invalid_arguments_raise_an_error(self):
        g = self.standalone()
        for arguments in (
            ({"user": [300]}, 1),
            ({"user": [0]}, -2),
            ({"users": [0]}, 1),
            ([0], 1),
            ({"user": [0]}, 1, "sideways"),
        ):
            with self.assertRaises(graphd.GraphdError, msg=repr(arguments)):
                sample_neighbors(g, *arguments)


class Cut(support.GraphTest):
    def test_in_subgraph(self):
        edges = support.fixture(self.fixture).edges
        for g in self.each_way():
            found = in_subgraph(g, {"user": [3, 4], "group": [0]})
            for etype, nodes in (
                (FOLLOWS, (3, 4)),
                (("user", "likes", "group"), (0,)),
                (("post", "in", "group"), (0,)),
            ):
                wanted = {i for i, (_, v) in edges[etype].items() if v in nodes}
                self.assertEqual(set(found.edges("eid", etype=etype).tolist()), wanted)

    def test_edge_subgraph(self):
        edges = support.fixture(self.fixture).edges[FOLLOWS]
        for g in self.each_way():
            ids = [7, 3, 1100]
            found = edge_subgraph(g, {FOLLOWS: ids})
            users = found.ndata[graphd.NID]["user"]
            u, v = found.edges(etype=FOLLOWS)
            self.assertEqual(
                list(zip(users[u].tolist(), users[v].tolist())), [edges[i] for i in ids]
            )
            self.assertEqual(found.edata[graphd.EID][FOLLOWS].tolist(), ids)
            whole = edge_subgraph(g, {FOLLOWS: ids}, relabel_nodes=False)
            self.assertEqual(whole.num_nodes("user"), 300)
            self.assertEqual(
                list(zip(*(ends.tolist() for ends in whole.edges(etype=FOLLOWS)))),
                [edges[i] for i in ids],
            )

    def test_node_subgraph(self):
        edges = support.fixture(self.fixture).edges[FOLLOWS]
        for g in self.each_way():
            nodes = list(range(50, 150))
            found = node_subgraph(g, {"user": nodes})
            wanted = {i for i, (u, v) in edges.items() if 50 <= u < 150 and 50 <= v < 150}
            self.assertEqual(set(found.edata[graphd.EID][FOLLOWS].tolist()), wanted)
            self.assertEqual(found.num_nodes("user"), 100)


class ToBlock(support.GraphTest):
    def test_a_block_has_the_edges_of_the_sample(self):
        for g in self.each_way():
            nodes = [9, 4, 250]
            found = sample_neighbors(g, {"user": nodes}, 3)
            block = graphd.to_block(found, {"user": nodes})
            self.assertEqual(block.dstdata[graphd.NID]["user"].tolist(), nodes)
            sources = block.srcdata[graphd.NID]["user"]
            self.assertEqual(sources[:3].tolist(), nodes)
            u, v = block.edges(etype=FOLLOWS)
            ids = block.edges[FOLLOWS].data[graphd.EID]
            self.assertEqual(
                sorted(zip(sources[u].tolist(), sources[v].tolist(), ids.tolist())),
                sorted(zip(*(each.tolist() for each in found.edges("all", etype=FOLLOWS)))),
            )

    def test_destinations_in_another_order_and_without_edges(self):
        g = self.standalone()
        found = sample_neighbors(g, {"user": [9, 4, 250]}, 3)
        turned = graphd.to_block(found, {"user": [250, 9, 4, 77]})
        self.assertEqual(turned.num_edges(FOLLOWS), found.num_edges(FOLLOWS))
        self.assertEqual(turned.in_degrees(etype=FOLLOWS)[3], 0)
        guessed = graphd.to_block(found)
        self.assertEqual(
            guessed.dstdata[graphd.NID]["user"].tolist(),
            sorted(set(found.edges(etype=FOLLOWS)[1].tolist())),
        )
        with self.assertRaises(graphd.errors.InvalidError):
            graphd.to_block(found, {"user": [9, 4]})


if __name__ == "__main__":
    support.main()
