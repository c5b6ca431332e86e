# SPDX-License-Identifier: Apache-2.0
"""Tests graphd together with PyG: it partitions PyG's graphs, converts batches to PyG's objects,
and PyG's models learn from these. Run it with the environment that scripts/setup makes."""

import os
import re
import shutil
import tempfile
import unittest

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GraphSAGE, HeteroConv, SAGEConv
from torch_geometric.utils import k_hop_subgraph

import graphd
import jobs
import support
from graphd.distributed import DistEdgeDataLoader, DistGraph, DistNodeDataLoader, partition_graph
from graphd.sampling import (
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    TemporalSampler,
    negative_sampler,
)

COUNTS = {"user": 60, "item": 40}
ETYPES = [("user", "buys", "item"), ("item", "sold_to", "user"), ("user", "knows", "user")]


def homogeneous():
    torch.manual_seed(1)
    return Data(
        x=torch.randn(100, 5),
        y=torch.randint(4, (100,)),
        age=torch.arange(100.0),
        edge_index=torch.randint(100, (2, 600)),
        edge_attr=torch.randn(600, 2),
    )


def heterogeneous():
    torch.manual_seed(2)
    data = HeteroData()
    for ntype, count in COUNTS.items():
        data[ntype].x = torch.randn(count, 5)
    data["item"].y = torch.arange(40)
    for src, rel, dst in ETYPES:
        data[src, rel, dst].edge_index = torch.stack(
            [torch.randint(COUNTS[src], (300,)), torch.randint(COUNTS[dst], (300,))]
        )
        data[src, rel, dst].time = torch.arange(300)
    return data


class FromPyg(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-pyg-")
        self.addCleanup(shutil.rmtree, self.folder)

    def cut(self, data):
        config = partition_graph(data, "pyg", 2, os.path.join(self.folder, "parts"))
        return DistGraph(part_config=config)

    def test_data_keeps_its_edges_and_attributes(self):
        data = homogeneous()
        g = self.cut(data)
        nodes, edges = g.ndata["orig_id"][:], g.edata["orig_id"][:]
        self.assertTrue(torch.equal(g.ndata["feat"][:], data.x[nodes]))
        self.assertTrue(torch.equal(g.ndata["label"][:], data.y[nodes]))
        self.assertTrue(torch.equal(g.ndata["age"][:], data.age[nodes]))
        self.assertTrue(torch.equal(g.edata["edge_attr"][:], data.edge_attr[edges]))
        u, v = g.find_edges(torch.arange(600))
        self.assertTrue(torch.equal(torch.stack([nodes[u], nodes[v]]), data.edge_index[:, edges]))

    def test_hetero_data_keeps_its_types(self):
        data = heterogeneous()
        g = self.cut(data)
        self.assertEqual({t: g.num_nodes(t) for t in g.ntypes}, COUNTS)
        self.assertEqual(sorted(g.canonical_etypes), sorted(ETYPES))
        nodes = {t: g.nodes[t].data["orig_id"][:] for t in g.ntypes}
        self.assertEqual(g.nodes["item"].data["label"][:].tolist(), nodes["item"].tolist())
        for ntype in COUNTS:
            self.assertTrue(
                torch.equal(g.nodes[ntype].data["feat"][:], data[ntype].x[nodes[ntype]])
            )
        for etype in ETYPES:
            edges = g.edges[etype].data["orig_id"][:]
            self.assertEqual(g.edges[etype].data["time"][:].tolist(), edges.tolist())
            u, v = g.find_edges(torch.arange(300), etype)
            self.assertTrue(
                torch.equal(
                    torch.stack([nodes[etype[0]][u], nodes[etype[2]][v]]),
                    data[etype].edge_index[:, edges],
                )
            )

    def test_batch_has_the_seed_of_each_node(self):
        g = self.cut(heterogeneous())
        times = [100, 250, 200]
        _, _, blocks = TemporalSampler([4, 4], "time").sample(
            g, {"item": [3, 3, 7]}, seed_times={"item": times}
        )
        data = graphd.to_pyg(blocks)
        self.assertEqual(data["item"].batch[:3].tolist(), [0, 1, 2])
        self.assertEqual(data["item"].seed_time.tolist(), times)
        edges = 0
        for etype in ETYPES:
            u, v = data[etype].edge_index
            roots = data[etype[0]].batch[u]
            self.assertTrue(torch.equal(roots, data[etype[2]].batch[v]))
            when = g.edges[etype].data["time"][data[etype].e_id]
            self.assertTrue(bool((when < torch.tensor(times)[roots]).all()))
            edges += len(u)
        self.assertGreater(edges, 10)

    def test_times_of_nodes_are_times_of_their_edges(self):
        data = homogeneous()
        data.time = torch.arange(100)
        data.edge_time = data.time[data.edge_index[0]]
        g = self.cut(data)
        seeds = torch.arange(20)
        times = g.ndata["time"][seeds]
        sampler = TemporalSampler([-1], "edge_time", inclusive=True)
        (batch,) = [
            graphd.to_pyg(blocks)
            for _, _, blocks in DistNodeDataLoader(
                g, seeds, sampler, batch_size=20, seed_times=times
            )
        ]
        nodes = g.ndata["orig_id"][:]
        for i, (seed, time) in enumerate(zip(nodes[seeds].tolist(), times.tolist())):
            u, v = data.edge_index
            met = u[(v == seed) & (u <= time)]  # the time of a node in PyG is its id
            found = batch.n_id[batch.edge_index[0, batch.edge_index[1] == i]]
            self.assertEqual(sorted(nodes[found].tolist()), sorted(met.tolist()))

    def test_two_layers_compute_the_same_on_a_batch_and_on_the_graph(self):
        data = homogeneous()
        g = self.cut(data)
        nodes = g.ndata["orig_id"][:]
        sampler = MultiLayerFullNeighborSampler(
            2, prefetch_node_feats=["feat"], prefetch_labels=["label"]
        )
        model = GraphSAGE(5, 16, num_layers=2, out_channels=4).eval()
        for _, seeds, blocks in DistNodeDataLoader(g, torch.arange(90), sampler, batch_size=30):
            batch = graphd.to_pyg(blocks)
            self.assertEqual((batch.batch_size, batch.n_id[:30].tolist()), (30, seeds.tolist()))
            met, _, _, _ = k_hop_subgraph(nodes[seeds], 1, data.edge_index)
            all_nodes, _, _, _ = k_hop_subgraph(nodes[seeds], 2, data.edge_index)
            self.assertEqual(sorted(nodes[batch.n_id].tolist()), all_nodes.tolist())
            self.assertEqual(
                sorted(g.edata["orig_id"][batch.e_id].tolist()),
                torch.isin(data.edge_index[1], met).nonzero().flatten().tolist(),
            )
            u, v = g.find_edges(batch.e_id)
            self.assertTrue(torch.equal(batch.n_id[batch.edge_index], torch.stack([u, v])))
            self.assertEqual(
                batch.num_sampled_nodes, [30, len(met) - 30, len(all_nodes) - len(met)]
            )
            self.assertEqual(sum(batch.num_sampled_edges), batch.edge_index.shape[1])
            self.assertTrue(torch.equal(batch.x, data.x[nodes[batch.n_id]]))
            self.assertTrue(torch.equal(batch.y, data.y[nodes[seeds]]))
            with torch.no_grad():
                torch.testing.assert_close(
                    model(batch.x, batch.edge_index)[:30],
                    model(data.x, data.edge_index)[nodes[seeds]],
                )

    def test_layers_compute_outputs_of_all_nodes(self):
        data = homogeneous()
        g = self.cut(data)
        first, last = SAGEConv(5, 8), SAGEConv(8, 3)

        def bipartite(conv, block, h):
            return conv((h, h[: block.num_dst_nodes()]), torch.stack(block.edges()))

        out = graphd.inference.layerwise(
            g,
            [
                lambda block, h: torch.relu(bipartite(first, block, h)),
                lambda block, h: bipartite(last, block, h),
            ],
            "feat",
            batch_size=30,
        )
        expected = last(torch.relu(first(data.x, data.edge_index)), data.edge_index).detach()
        torch.testing.assert_close(out[:], expected[g.ndata["orig_id"][:]], rtol=1e-5, atol=1e-5)

    def test_edges_have_the_requested_features(self):
        g = self.cut(homogeneous())
        sampler = NeighborSampler([4, 4], prefetch_edge_feats=["edge_attr"])
        for _, _, blocks in DistNodeDataLoader(g, torch.arange(90), sampler, batch_size=30):
            batch = graphd.to_pyg(blocks)
            self.assertTrue(torch.equal(batch.edge_attr, g.edata["edge_attr"][batch.e_id]))

    def test_pairs_of_a_batch_of_edges_are_an_edge_label_index(self):
        g = self.cut(homogeneous())
        loader = DistEdgeDataLoader(
            g,
            torch.arange(100),
            NeighborSampler([4, 4]),
            batch_size=16,
            negative_sampler=negative_sampler.Uniform(2),
        )
        for _, pos, neg, blocks in loader:
            batch = graphd.to_pyg(blocks)
            u, v = g.find_edges(pos.edata[graphd.EID])
            self.assertTrue(torch.equal(batch.n_id[torch.stack(pos.edges())], torch.stack([u, v])))
            self.assertTrue(torch.equal(batch.n_id[neg.edges()[0]], u.repeat_interleave(2)))

    def test_a_batch_of_several_types_feeds_a_model_of_several_types(self):
        g = self.cut(heterogeneous())
        sampler = NeighborSampler(
            [4, 4],
            prefetch_node_feats={t: ["feat"] for t in COUNTS},
            prefetch_labels={"item": ["label"]},
        )
        model = HeteroConv({etype: SAGEConv((5, 5), 3) for etype in ETYPES})
        for inputs, seeds, blocks in DistNodeDataLoader(
            g, {"item": torch.arange(40)}, sampler, batch_size=16
        ):
            data = graphd.to_pyg(blocks)
            self.assertIsInstance(data, HeteroData)
            self.assertTrue(data.validate())
            self.assertEqual(data["item"].n_id.tolist(), inputs["item"].tolist())
            self.assertEqual(data["item"].batch_size, len(seeds["item"]))
            self.assertEqual(
                data["item"].y.tolist(), g.nodes["item"].data["label"][seeds["item"]].tolist()
            )
            self.assertTrue(
                torch.equal(data["user"].x, g.nodes["user"].data["feat"][inputs["user"]])
            )
            for etype in ETYPES:
                u, v = g.find_edges(data[etype].e_id, etype)
                local = data[etype].edge_index
                self.assertEqual(data[etype[0]].n_id[local[0]].tolist(), u.tolist())
                self.assertEqual(data[etype[2]].n_id[local[1]].tolist(), v.tolist())
            out = model(data.x_dict, data.edge_index_dict)
            self.assertEqual(out["item"].shape, (len(inputs["item"]), 3))


class Page(unittest.TestCase):
    """Runs the code in docs/python.md for users of PyG, on the graph of its tutorial."""

    def test_the_code_runs(self):
        with open(os.path.join(jobs.ROOT, "docs", "python.md"), encoding="utf-8") as file:
            page = file.read()
        make_graph = re.search(r"^```python file=make_graph.py\n(.*?)^```$", page, re.M | re.S)
        here = page.partition("## Coming from PyG")[2]
        blocks = re.findall(r"^```python norun\n(.*?)^```$", here, re.M | re.S)
        self.assertEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(os.chdir, os.getcwd())
            self.addCleanup(graphd.distributed.exit_client)
            os.chdir(folder)
            exec(make_graph.group(1), {})
            torch.manual_seed(0)
            graphd.seed(0)
            names = {}
            exec(blocks[0], names)
            data, model = names["data"], names["model"]
            self.assertGreater((names["out"].argmax(1) == data.y).float().mean(), 0.8)
            with torch.no_grad():
                whole = model(data.x, data.edge_index)[: data.batch_size]
                trimmed = model(
                    data.x,
                    data.edge_index,
                    num_sampled_nodes_per_hop=data.num_sampled_nodes,
                    num_sampled_edges_per_hop=data.num_sampled_edges,
                )
            torch.testing.assert_close(trimmed[: data.batch_size], whole)
            exec(blocks[1], names)
            for batch in (
                next(iter(names["stock_loader"]))["_N"],
                next(iter(names["pyg_loader"])),
            ):
                self.assertEqual((batch.batch_size, len(batch.y)), (100, len(batch.x)))
            exec(blocks[2], names)
            self.assertEqual(names["edge_label_index"].shape[1], len(names["edge_label"]))


class Train(jobs.JobTest):
    def test_a_model_of_pyg_learns(self):
        self.small()
        output = self.job("train_dist_pyg.py", "small", "--num_epochs", "6", *jobs.SMALL)
        self.assertGreater(self.result(output), 0.85)


if __name__ == "__main__":
    support.main()
