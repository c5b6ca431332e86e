# SPDX-License-Identifier: Apache-2.0
"""Tests graphd together with DGL: it partitions DGL's graphs, converts blocks to DGL's, and DGL's
layers compute on these. Run it with the environment that scripts/setup makes."""

import copy
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

torch.__version__ = "1.13.1"  # Debian's is 1.13.0a0, which DGL takes for a version before 1.13
os.environ["DGLBACKEND"] = "pytorch"  # otherwise DGL writes it into the home directory
import dgl  # noqa: E402
import dgl.nn  # noqa: E402
import dgl.sampling  # noqa: E402

import graphd  # noqa: E402
import support  # noqa: E402
from graphd.distributed import DistGraph, partition_graph  # noqa: E402
from graphd.sampling import MultiLayerFullNeighborSampler, NeighborSampler  # noqa: E402

COUNTS = {"item": 40, "user": 60}
ETYPES = [("item", "sold_to", "user"), ("user", "buys", "item"), ("user", "knows", "user")]


def homogeneous():
    torch.manual_seed(1)
    g = dgl.graph((torch.randint(100, (600,)), torch.randint(100, (600,))), num_nodes=100)
    g.ndata["feat"] = torch.randn(100, 5)
    g.edata["w"] = torch.rand(600)
    return g


def heterogeneous():
    torch.manual_seed(2)
    g = dgl.heterograph(
        {
            (src, rel, dst): (
                torch.randint(COUNTS[src], (300,)),
                torch.randint(COUNTS[dst], (300,)),
            )
            for src, rel, dst in ETYPES
        },
        COUNTS,
    )
    for ntype, count in COUNTS.items():
        g.nodes[ntype].data["feat"] = torch.randn(count, 5)
    for etype in ETYPES:
        g.edges[etype].data["time"] = torch.arange(300)
    return g


def parameters(thing):
    """Returns {name: default} in order, without keyword-only parameters and **kwargs."""
    return {
        p.name: p.default
        for p in inspect.signature(thing).parameters.values()
        if p.kind == p.POSITIONAL_OR_KEYWORD and p.name != "self"
    }


class Signatures(unittest.TestCase):
    """Compares the order and the defaults of arguments with DGL's."""

    LATER = frozenset({"exclude_edges"})  # DGL 2.3 has it in the same position

    def compare(self, where, theirs, ours):
        theirs = parameters(theirs)
        ours = {
            name: default
            for name, default in parameters(ours).items()
            if name not in self.LATER - set(theirs)
        }
        self.assertEqual(list(ours)[: len(theirs)], list(theirs), where)
        for name, default in theirs.items():
            # The default of etype may be a triple.
            if default is not inspect.Parameter.empty and name != "etype":
                self.assertEqual(ours[name], default, f"{where}: {name}")

    def test_functions_and_classes(self):
        for theirs, ours, names in (
            (
                dgl.distributed,
                graphd.distributed,
                "exit_client DistGraph DistTensor DistEmbedding DistDataLoader node_split "
                "edge_split sample_neighbors sample_etype_neighbors in_subgraph find_edges "
                "partition_graph load_partition load_partition_feats load_partition_book",
            ),
            (dgl.dataloading, graphd.distributed, "DistNodeDataLoader DistEdgeDataLoader"),
            (
                dgl.dataloading,
                graphd.sampling,
                "NeighborSampler MultiLayerNeighborSampler MultiLayerFullNeighborSampler "
                "LaborSampler",
            ),
            (
                dgl.dataloading.negative_sampler,
                graphd.sampling.negative_sampler,
                "Uniform PerSourceUniform GlobalUniform",
            ),
            (dgl.distributed.optim, graphd.distributed.optim, "SparseAdagrad SparseAdam"),
            (
                dgl.distributed.role,
                graphd.distributed,
                "get_role get_rank get_global_rank get_trainer_rank get_num_trainers",
            ),
            (dgl, graphd, "seed to_block"),
            (
                dgl.sampling,
                graphd.sampling,
                "random_walk node2vec_random_walk select_topk PinSAGESampler "
                "RandomWalkNeighborSampler",
            ),
        ):
            for name in names.split():
                with self.subTest(name):
                    self.compare(name, getattr(theirs, name), getattr(ours, name))

    def test_methods(self):
        for theirs, ours, elsewhere in (
            # The default of the degrees' argument is dgl.ALL.
            (dgl.distributed.DistGraph, DistGraph, {"in_degrees", "out_degrees"}),
            (dgl.distributed.GraphPartitionBook, graphd.distributed.GraphPartitionBook, set()),
            (dgl.distributed.DistTensor, graphd.distributed.DistTensor, {"kvstore_key"}),
        ):
            for name, method in vars(theirs).items():
                if name.startswith("_") or name in elsewhere:
                    continue
                with self.subTest(name):
                    self.assertTrue(hasattr(ours, name))
                    if callable(method):
                        self.compare(name, method, getattr(ours, name))


class WithDgl(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-dgl-")
        self.addCleanup(shutil.rmtree, self.folder)

    def cut(self, graph):
        config = partition_graph(graph, "dgl", 2, os.path.join(self.folder, "parts"))
        return DistGraph(part_config=config)

    def test_a_graph_keeps_its_edges_and_data(self):
        theirs = homogeneous()
        for graph in (theirs, theirs.int()):
            g = self.cut(graph)
            nodes, edges = g.ndata["orig_id"][:], g.edata["orig_id"][:]
            self.assertTrue(torch.equal(g.ndata["feat"][:], theirs.ndata["feat"][nodes]))
            self.assertTrue(torch.equal(g.edata["w"][:], theirs.edata["w"][edges]))
            u, v = g.find_edges(torch.arange(600))
            for mine, other in zip((u, v), theirs.find_edges(edges)):
                self.assertTrue(torch.equal(nodes[mine], other))
            graphd.distributed.exit_client()
            shutil.rmtree(os.path.join(self.folder, "parts"))

    def test_a_graph_of_several_types_keeps_its_types(self):
        theirs = heterogeneous()
        g = self.cut(theirs)
        self.assertEqual({t: g.num_nodes(t) for t in g.ntypes}, COUNTS)
        self.assertEqual(sorted(g.canonical_etypes), ETYPES)
        for src, rel, dst in ETYPES:
            edges = g.edges[src, rel, dst].data["orig_id"][:]
            self.assertEqual(g.edges[src, rel, dst].data["time"][:].tolist(), edges.tolist())
            ends = g.find_edges(torch.arange(300), (src, rel, dst))
            others = theirs.find_edges(edges, etype=(src, rel, dst))
            for ntype, mine, other in zip((src, dst), ends, others):
                self.assertTrue(torch.equal(g.nodes[ntype].data["orig_id"][mine], other))

    def test_a_block_becomes_a_block_of_dgl(self):
        g = self.cut(homogeneous())
        sampler = NeighborSampler([3, 4], prefetch_node_feats=["feat"], prefetch_edge_feats=["w"])
        for block in sampler.sample(g, torch.arange(20))[2]:
            made = block.to_dgl()
            self.assertTrue(made.is_block)
            self.assertEqual(
                (made.num_src_nodes(), made.num_dst_nodes(), made.num_edges()),
                (block.num_src_nodes(), block.num_dst_nodes(), block.num_edges()),
            )
            for mine, other in zip(block.edges(), made.edges(order="eid")):
                self.assertTrue(torch.equal(mine, other))
            for mine, other in (
                (block.srcdata, made.srcdata),
                (block.dstdata, made.dstdata),
                (block.edata, made.edata),
            ):
                self.assertEqual(sorted(mine), sorted(other))
                for name in mine:
                    self.assertTrue(torch.equal(mine[name], other[name]), name)
            self.assertTrue(torch.equal(made.in_degrees(), block.in_degrees()))

    def test_a_block_of_several_types_becomes_a_block_of_dgl(self):
        g = self.cut(heterogeneous())
        (block,) = NeighborSampler([3]).sample(g, {"user": torch.arange(9), "item": [1, 2]})[2]
        made = block.to_dgl()
        for ntype in COUNTS:
            self.assertEqual(made.num_dst_nodes(ntype), block.num_dst_nodes(ntype))
            self.assertTrue(
                torch.equal(
                    made.srcnodes[ntype].data[dgl.NID], block.srcnodes[ntype].data[graphd.NID]
                )
            )
        for etype in ETYPES:
            self.assertTrue(
                torch.equal(made.edges[etype].data[dgl.EID], block.edges[etype].data[graphd.EID])
            )
            for mine, other in zip(block.edges(etype=etype), made.edges(etype=etype, order="eid")):
                self.assertTrue(torch.equal(mine, other))

    def test_layers_of_dgl_compute_the_same_on_blocks_and_on_the_graph(self):
        theirs = homogeneous()
        layers = [dgl.nn.SAGEConv(5, 8, "mean"), dgl.nn.SAGEConv(8, 3, "mean")]
        whole = layers[1](theirs, layers[0](theirs, theirs.ndata["feat"]))
        g = self.cut(theirs)
        sampler = MultiLayerFullNeighborSampler(2, prefetch_node_feats=["feat"])
        _, seeds, blocks = sampler.sample(g, torch.arange(30))
        h = blocks[0].srcdata["feat"]
        for layer, block in zip(layers, blocks):
            h = layer(block.to_dgl(), h)
        torch.testing.assert_close(h, whole[g.ndata["orig_id"][seeds]])

    def test_layers_of_dgl_compute_outputs_of_all_nodes(self):
        theirs = homogeneous()
        first, last = dgl.nn.SAGEConv(5, 8, "mean"), dgl.nn.SAGEConv(8, 3, "gcn")
        h = torch.relu(first(theirs, theirs.ndata["feat"], edge_weight=theirs.edata["w"]))
        expected = last(theirs, h).detach()
        g = self.cut(theirs)

        def weighted(block, h):
            block = block.to_dgl()
            return torch.relu(first(block, h, edge_weight=block.edata["w"]))

        out = graphd.inference.layerwise(
            g,
            [weighted, lambda block, h: last(block.to_dgl(), h)],
            "feat",
            edge_features=["w"],
            batch_size=30,
        )
        torch.testing.assert_close(out[:], expected[g.ndata["orig_id"][:]], rtol=1e-5, atol=1e-5)

    def test_layers_of_dgl_take_blocks_as_they_are(self):
        g = self.cut(homogeneous())
        sampler = NeighborSampler([3], prefetch_node_feats=["feat"], prefetch_edge_feats=["w"])
        _, _, (block,) = sampler.sample(g, torch.arange(30))
        made, here = block.to_dgl(), block.num_dst_nodes()
        h, w = block.srcdata["feat"], block.edata["w"]
        for layer, inputs, options in (
            (dgl.nn.SAGEConv(5, 8, "mean"), h, {}),
            (dgl.nn.SAGEConv(5, 8, "mean"), (h, h[:here]), {"edge_weight": w}),
            (dgl.nn.SAGEConv(5, 8, "lstm"), h, {}),
            (dgl.nn.GraphConv(5, 8, norm="right", allow_zero_in_degree=True), h, {}),
            (dgl.nn.GATConv(5, 8, 2, allow_zero_in_degree=True), h, {}),
            (dgl.nn.GINConv(torch.nn.Linear(5, 8), "max"), h, {}),
            (dgl.nn.EdgeConv(5, 8, allow_zero_in_degree=True), h, {}),
        ):
            with self.subTest(repr(layer)):
                out = layer(block, inputs, **options)
                self.assertTrue(torch.equal(out, layer(made, inputs, **options)))
                out.sum().backward()
        self.assertEqual(sorted(block.srcdata), ["_ID", "feat"])  # layers leave nothing behind
        self.assertTrue(torch.equal(block.csc()[0][1:] - block.csc()[0][:-1], made.in_degrees()))

    def test_layers_of_several_types_take_blocks_as_they_are(self):
        g = self.cut(heterogeneous())
        sampler = NeighborSampler([3], prefetch_node_feats={"user": ["feat"], "item": ["feat"]})
        _, _, (block,) = sampler.sample(g, {"user": torch.arange(9), "item": [1, 2]})
        layer = dgl.nn.HeteroGraphConv(
            {relation: dgl.nn.SAGEConv(5, 3, "mean") for relation in g.etypes}
        )
        found = layer(block, block.srcdata["feat"])
        wanted = layer(block.to_dgl(), block.srcdata["feat"])
        self.assertEqual(found.keys(), {"user", "item"})
        for ntype in wanted:
            self.assertTrue(torch.equal(found[ntype], wanted[ntype]))

    def test_layers_of_several_types_have_outputs_of_the_types_of_the_destinations_alone(self):
        g = self.cut(heterogeneous())
        feats = {ntype: ["feat"] for ntype in COUNTS}
        sampler = NeighborSampler([3, 3], prefetch_node_feats=feats)
        _, _, (first, last) = sampler.sample(g, {"item": torch.arange(9)})
        self.assertEqual(first.canonical_etypes, ETYPES)
        self.assertEqual(last.canonical_etypes, [("user", "buys", "item")])
        self.assertEqual(last.etypes, ["buys"])
        layers = [
            dgl.nn.HeteroGraphConv(
                {rel: dgl.nn.GraphConv(5, 5, norm="right", weight=False) for rel in g.etypes}
            )
            for _ in range(2)
        ]
        forms = {
            "as it is": lambda block: block,
            "local_var": lambda block: block.local_var(),
            "to_dgl": lambda block: block.to_dgl(),
        }
        for name, form in forms.items():
            with self.subTest(name):
                hidden = layers[0](form(first), first.srcdata["feat"])
                self.assertEqual(hidden.keys(), COUNTS.keys())
                found = layers[1](form(last), hidden)
                self.assertEqual(found.keys(), {"item"})
                self.assertEqual(found["item"].shape, (9, 5))

    def test_a_layer_may_loop_over_the_edge_types_of_a_block_whose_types_have_no_node(self):
        g = self.cut(heterogeneous())
        # Without neighbours in the last block, the first one has destinations of one type alone.
        sampler = NeighborSampler([3, 0])
        _, _, (first, last) = sampler.sample(g, {"item": torch.arange(9)})
        self.assertEqual(first.num_dst_nodes("user"), 0)
        self.assertEqual(first.canonical_etypes, ETYPES)
        hidden = {ntype: torch.ones(first.num_src_nodes(ntype), 5) for ntype in COUNTS}
        for block in (first, last):
            below, hidden = hidden, {}
            for src, _, dst in block.canonical_etypes:
                self.assertEqual(len(below[src]), block.num_src_nodes(src))
                hidden[dst] = torch.ones(block.num_dst_nodes(dst), 5)

    def test_the_other_types_of_a_block_have_data_still(self):
        g = self.cut(heterogeneous())
        _, _, (block,) = NeighborSampler([3]).sample(g, {"item": torch.arange(9)})
        block.local_var()  # makes a block of DGL, whose data the block has from then on
        self.assertTrue(len(block.edata[graphd.EID]["user", "buys", "item"]))
        for etype in set(ETYPES) - {("user", "buys", "item")}:
            self.assertEqual(block.num_edges(etype), 0)
            self.assertEqual(len(block.edges[etype].data[graphd.EID]), 0)
            self.assertEqual(len(block.edges(etype=etype)[0]), 0)
            with self.assertRaises(dgl.DGLError):
                block[etype]

    def test_a_block_without_edges_has_all_edge_types(self):
        g = self.cut(heterogeneous())
        _, _, (block,) = NeighborSampler([0]).sample(g, {"item": torch.arange(9)})
        self.assertEqual(block.num_edges(), 0)
        self.assertEqual(block.canonical_etypes, ETYPES)

    def test_results_of_message_functions_are_in_the_data_of_the_block(self):
        g = self.cut(homogeneous())
        for _, _, (block,) in graphd.distributed.DistNodeDataLoader(
            g, torch.arange(40), NeighborSampler([3]), batch_size=20
        ):
            block.srcdata["one"] = torch.ones(block.num_src_nodes(), 1)
            block.update_all(dgl.function.copy_u("one", "m"), dgl.function.sum("m", "count"))
            counts = block.dstdata["count"].flatten()
            self.assertEqual(counts.tolist(), block.in_degrees().tolist())
            self.assertIn("count", block.dstdata)
            block.apply_edges(lambda edges: {"twice": 2 * edges.src["one"]})
            self.assertEqual(block.edata["twice"].tolist(), [[2.0]] * block.num_edges())
            block.dstdata["more"] = counts
            self.assertTrue(torch.equal(block.to_dgl().dstdata["more"], counts))
            self.assertEqual(sorted(block.dstdata), ["_ID", "count", "more"])
            del block.dstdata["more"]
            for name in ("more", "fear"):
                with self.assertRaisesRegex(KeyError, f"no data '{name}'.*count"):
                    block.dstdata[name]
            with block.local_scope():
                block.dstdata["more"] = counts
                del block.dstdata["count"]
            self.assertEqual(sorted(block.dstdata), ["_ID", "count"])

    def test_message_functions_score_batches_of_edges(self):
        g = self.cut(heterogeneous())
        etype = ("user", "buys", "item")
        loader = graphd.distributed.DistEdgeDataLoader(
            g,
            {etype: torch.arange(50)},
            NeighborSampler([2]),
            batch_size=50,
            negative_sampler=graphd.sampling.negative_sampler.Uniform(2),
        )
        ((_, *pairs, (block,)),) = loader
        for graph in pairs:
            h = {ntype: torch.randn(block.num_dst_nodes(ntype), 4) for ntype in g.ntypes}
            u, v = graph.edges(etype=etype)
            with graph.local_scope():
                graph.ndata["h"] = h
                graph.apply_edges(dgl.function.u_dot_v("h", "h", "score"), etype=etype)
                score = graph.edata["score"][etype].flatten()
            torch.testing.assert_close(score, (h["user"][u] * h["item"][v]).sum(1))
            self.assertEqual(set(graph.ndata), {"_ID"})
            self.assertIs(graph.to("cpu"), graph)
            there = graph.to("meta")  # stands for a GPU
            for tensor in (*there.edges(etype=etype), there.ndata[dgl.NID]["user"]):
                self.assertEqual(tensor.device.type, "meta")
            self.assertEqual(graph.to_dgl().num_edges(etype), len(u))

    def test_other_names_are_errors(self):
        g = self.cut(homogeneous())
        _, _, (block,) = NeighborSampler([3]).sample(g, [1, 2])
        self.assertFalse(hasattr(block, "no_such_name"))
        self.assertFalse(hasattr(block, "_no_such_name"))
        self.assertIsNone(block._dgl)
        self.assertEqual(copy.copy(block).num_edges(), block.num_edges())
        with self.assertRaises(TypeError):
            iter(block)

    def test_without_dgl_a_block_says_what_to_do(self):
        script = f"""
import graphd
g = graphd.distributed.DistGraph(part_config={support.fixture("sbm_2p_metis").config!r})
_, _, (block,) = graphd.sampling.NeighborSampler([3]).sample(g, [1, 2])
try:
    block.local_scope()
except AttributeError as error:
    print(error)
"""
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertRegex(run.stdout, r"no 'local_scope'.*import dgl.*to_dgl\(\)", run.stderr)


class Forms(unittest.TestCase):
    """Graphs of graphd in the forms of DGL's."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(graphd.distributed.exit_client)

    def test_a_partition_has_the_local_graph_of_dgl(self):
        for g in (homogeneous(), heterogeneous()):
            nodes, edges = partition_graph(g, "g", 2, self.folder, return_mapping=True, force=True)
            if g.is_homogeneous:
                nodes, edges = {g.ntypes[0]: nodes}, {g.canonical_etypes[0]: edges}
            seen = {etype: [] for etype in g.canonical_etypes}
            for part_id in range(2):
                part, *_, book, _, _, etypes = graphd.distributed.load_partition(
                    os.path.join(self.folder, "g.json"), part_id
                )
                local = part.to_dgl()
                inner = local.ndata["inner_node"].bool()
                self.assertEqual(int(inner.sum()), book.metadata()[part_id]["num_nodes"])
                self.assertFalse(bool(inner.int().diff().gt(0).any()))  # its own come first
                types, ids = book.map_to_per_ntype(local.ndata[dgl.NID])
                self.assertTrue(torch.equal(types.int(), local.ndata[dgl.NTYPE]))
                etype_ids, eids = book.map_to_per_etype(local.edata[dgl.EID])
                self.assertTrue(torch.equal(etype_ids.int(), local.edata[dgl.ETYPE]))
                u, v = local.edges()
                self.assertTrue(bool(inner[v].all()))
                for number, etype in enumerate(etypes):
                    some = etype_ids == number
                    original = edges[etype][eids[some]]
                    src, dst = g.find_edges(original, etype=etype)
                    self.assertTrue(torch.equal(nodes[etype[0]][ids[u[some]]], src))
                    self.assertTrue(torch.equal(nodes[etype[2]][ids[v[some]]], dst))
                    seen[etype].append(original)
            for etype, parts in seen.items():
                whole = torch.cat(parts).sort().values
                self.assertTrue(torch.equal(whole, torch.arange(g.num_edges(etype))))

    def test_original_ids_are_dicts_unless_the_graph_is_homogeneous(self):
        g = dgl.rand_bipartite("user", "buys", "game", 50, 100, 300)
        nodes, edges = partition_graph(g, "g", 2, self.folder, return_mapping=True)
        self.assertEqual(
            {ntype: len(ids) for ntype, ids in nodes.items()}, {"user": 50, "game": 100}
        )
        ids = edges["user", "buys", "game"]
        self.assertEqual(sorted(ids.tolist()), list(range(300)))
        mine = DistGraph(part_config=os.path.join(self.folder, "g.json"))
        u, v = mine.find_edges(torch.arange(300))
        src, dst = g.find_edges(ids)
        self.assertTrue(torch.equal(nodes["user"][u], src))
        self.assertTrue(torch.equal(nodes["game"][v], dst))

    def test_sampled_neighbours_are_a_graph_of_dgl(self):
        for g in (homogeneous(), heterogeneous()):
            partition_graph(g, "g", 2, self.folder, force=True)
            graphd.distributed.exit_client()
            mine = DistGraph(part_config=os.path.join(self.folder, "g.json"))
            seeds = {mine.ntypes[-1]: torch.arange(0, 40, 3)}
            found = graphd.distributed.sample_neighbors(mine, seeds, 4, replace=True)
            self.assertEqual(found.idtype, torch.int64)
            for etype in g.canonical_etypes:
                u, v = found.edges(etype=etype)
                degrees = found.in_degrees(etype=etype)
                counts = torch.bincount(v, minlength=g.num_nodes(etype[2]))
                self.assertTrue(torch.equal(degrees, counts))
                self.assertTrue(bool(mine.has_edges_between(u, v, etype).all()))
            with self.assertRaises(dgl.DGLError):
                found.in_degrees(etype="no_such_type")
            with self.assertRaises(graphd.DGLError):
                mine.num_nodes("no_such_type")


if __name__ == "__main__":
    support.main()
