# SPDX-License-Identifier: Apache-2.0
"""A graph with several edge types into each node type, parallel edges and reverse edges, for the tests
of fanouts that count the edges of all types together."""

import os
import shutil
import tempfile

import torch

import graphd
import support

BUYS = ("user", "buys", "item")
SOLD = ("item", "sold_to", "user")  # the reverses of BUYS, in another order, and more edges
KNOWS = ("user", "knows", "user")
LIKES = ("user", "likes", "item")
COUNTS = {"user": 60, "item": 40}


def _edges():
    draw = torch.Generator().manual_seed(3)

    def some(count, below):
        return torch.randint(below, (count,), generator=draw)

    u, v = some(300, 60), some(300, 40)
    u[:20], v[:20] = u[20:40], v[20:40]  # parallel edges
    back = torch.randperm(300, generator=draw)
    return {
        BUYS: (u, v),
        SOLD: (torch.cat([v[back], some(100, 40)]), torch.cat([u[back], some(100, 60)])),
        KNOWS: (some(200, 60), some(200, 60)),
        LIKES: (some(150, 60), some(150, 40)),
    }


class ShopTest(support.GraphTest):
    """The base class of tests with this graph."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="graphd-shop-")
        cls.addClassCleanup(shutil.rmtree, folder)
        edges = _edges()
        draw = torch.Generator().manual_seed(4)
        graphd.distributed.partition_graph(
            edges,
            "shop",
            2,
            folder,
            part_method="random",
            num_nodes=COUNTS,
            ndata={
                ntype: {"feat": torch.rand(n, 3, generator=draw)} for ntype, n in COUNTS.items()
            },
            edata={
                etype: {"w": torch.rand(len(u), generator=draw)} for etype, (u, _) in edges.items()
            },
        )
        cls.config = os.path.join(folder, "shop.json")

    def standalone(self):
        return graphd.distributed.DistGraph(part_config=self.config)

    @classmethod
    def start_daemons(cls):
        return support.Daemons(cls.config)

    def check(self, g, block, fanout, replace=False, exclude=None):
        """Compares a block with the graph: each destination has the fanout of the edges into it that
        are not excluded, over all types together, or all of them, if they are fewer. `exclude` is a
        dict of canonical edge type to ids."""
        exclude = {
            etype: set(torch.as_tensor(ids).tolist()) for etype, ids in (exclude or {}).items()
        }
        for ntype in g.ntypes:
            nodes = block.dstnodes[ntype].data[graphd.NID]
            first = block.srcnodes[ntype].data[graphd.NID][: len(nodes)]
            self.assertEqual(first.tolist(), nodes.tolist())
            total, found = torch.zeros_like(nodes), torch.zeros_like(nodes)
            for etype in g.canonical_etypes:
                if etype[2] == ntype:
                    out = torch.tensor(sorted(exclude.get(etype, ())), dtype=torch.int64)
                    gone = torch.bincount(g.find_edges(out, etype)[1], minlength=g.num_nodes(ntype))
                    total += g.in_degrees(nodes, etype) - gone[nodes]
                    found += block.in_degrees(etype=etype)
            wanted = torch.where(total > 0, fanout, 0) if replace else total.clamp(max=fanout)
            self.assertEqual(found.tolist(), wanted.tolist())
        for etype in g.canonical_etypes:
            ids = block.edges[etype].data[graphd.EID]
            u, v = block.edges(etype=etype)
            src, dst = g.find_edges(ids, etype)
            nodes = block.srcnodes[etype[0]].data[graphd.NID][u]
            self.assertEqual(nodes.tolist(), src.tolist(), etype)
            nodes = block.dstnodes[etype[2]].data[graphd.NID][v]
            self.assertEqual(nodes.tolist(), dst.tolist(), etype)
            self.assertFalse(set(ids.tolist()) & exclude.get(etype, set()), etype)
            if not replace:
                self.assertEqual(len(ids.unique()), len(ids))


def edges_of(blocks):
    """Returns the ids of the edges of each block and type as lists."""
    return [
        {c: block.edges[c].data[graphd.EID].tolist() for c in block.canonical_etypes}
        for block in blocks
    ]


def deviation(counts, expected):
    """Returns by how many standard deviations chi-square exceeds its mean, for numbers of events and
    those that are expected."""
    counts, expected = torch.as_tensor(counts), torch.as_tensor(expected)
    square = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    return (square - freedom) / (2 * freedom) ** 0.5
