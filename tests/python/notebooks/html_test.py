# SPDX-License-Identifier: Apache-2.0
"""Tests what notebooks show of graphs, their data and blocks."""

import tempfile

import support
from graphd.device import DeviceRowCache
from graphd.distributed import (
    DistDataLoader,
    DistEdgeDataLoader,
    DistEmbedding,
    DistGraph,
    DistNodeDataLoader,
    PartitionPolicy,
    SparseAdagrad,
    SparseAdam,
    SparseSGD,
    partition_graph,
    sample_neighbors,
)
from graphd.html import table
from graphd.sampling import (
    BlockSampler,
    NeighborSampler,
    RandomWalkNeighborSampler,
    as_edge_prediction_sampler,
    negative_sampler,
)
from html_cells import Cells
from late_device import LateDevice


class Html(support.GraphTest):
    def test_a_graph_shows_its_types_with_counts_and_data(self):
        for g in self.each_way():
            rows = Cells(g._repr_html_()).rows
            self.assertEqual(rows[:2], [["DistGraph 'hetero', 2 partitions"], rows[1]])
            self.assertEqual(rows[1], ["node type", "nodes", "data"])
            shown = {row[0]: row[1:] for row in rows}
            for ntype in g.ntypes:
                self.assertEqual(shown[ntype][0], f"{g.num_nodes(ntype):,}")
                for name in g.nodes[ntype].data:
                    self.assertIn(name, shown[ntype][1])
            for etype in g.canonical_etypes:
                self.assertEqual(shown[" : ".join(etype)][0], f"{g.num_edges(etype):,}")

    def test_data_shows_names_dtypes_and_shapes(self):
        g = self.standalone()
        data = g.nodes["user"].data
        rows = Cells(data._repr_html_()).rows
        self.assertEqual(rows[0], ["name", "dtype", "shape"])
        self.assertEqual(
            rows[1:], [[name, t.handle.dtype, str(t.shape)] for name, t in data.items()]
        )

    def test_a_block_shows_its_nodes_and_edges(self):
        g = self.standalone()
        _, _, (block,) = NeighborSampler([3]).sample(g, {"user": [0, 1, 2]})
        shown = {row[0]: row[1:] for row in Cells(block._repr_html_()).rows}
        self.assertEqual(shown["user"], [str(block.num_src_nodes("user")), "3"])
        for etype in block.canonical_etypes:
            self.assertEqual(shown[" : ".join(etype)], [str(block.num_edges(etype))])

    def test_frames_show_what_is_made_without_making_the_rest(self):
        g = self.standalone()
        sampler = NeighborSampler([3], prefetch_node_feats={"user": ["feat"]})
        loader = DistNodeDataLoader(g, {"user": [0, 1, 2]}, sampler, batch_size=3)
        block = next(iter(loader))[2][0]
        frame = block.srcnodes["user"].data
        rows = {row[0]: row[1:] for row in Cells(frame._repr_html_()).rows}
        self.assertEqual(rows["feat"], ["", "made on first use"])
        feat = frame["feat"]
        rows = {row[0]: row[1:] for row in Cells(frame._repr_html_()).rows}
        self.assertEqual(rows["feat"], [str(feat.dtype), str(tuple(feat.shape))])
        for typed in (block.srcdata, g.ndata):
            rows = Cells(typed._repr_html_()).rows
            self.assertEqual(rows[0], ["type", "name", "dtype", "shape"])
            self.assertIn(["user", "feat"], [row[:2] for row in rows])

    def test_books_tensors_loaders_and_samplers(self):
        for g in self.each_way():
            book = g.get_partition_book()
            rows = Cells(book._repr_html_()).rows[2:]
            names = ("machine_id", "num_nodes", "num_edges")
            owned = [[f"{p[name]:,}" for name in names] for p in book.metadata()]
            self.assertEqual(rows, owned)
            feat = g.nodes["user"].data["feat"]
            shown = dict(Cells(feat._repr_html_()).rows[2:])
            self.assertEqual(
                shown,
                {
                    "shape": str(feat.shape),
                    "dtype": feat.handle.dtype,
                    "rows": "with node~user",
                    "kind": "feature",
                },
            )
            sampler = NeighborSampler([3, 5])
            shown = dict(Cells(sampler._repr_html_()).rows[2:])
            self.assertEqual((shown["fanouts"], shown["replace"]), ("[3, 5]", "False"))
            for loader in (
                DistNodeDataLoader(g, {"user": [0, 1, 2]}, sampler, batch_size=2),
                DistEdgeDataLoader(g, {"follows": [0, 1, 2]}, sampler, batch_size=2),
            ):
                caption, _, *shown = Cells(loader._repr_html_()).rows
                self.assertEqual(caption, [type(loader).__name__])
                self.assertEqual(
                    dict(shown),
                    {"batches": "2", "graph": repr(g), "sampler": "NeighborSampler([3, 5])"},
                )
            of_edges = as_edge_prediction_sampler(sampler, exclude="self")
            shown = dict(Cells(of_edges._repr_html_()).rows[2:])
            self.assertEqual((shown["sampler"], shown["exclude"]), (repr(sampler), "self"))
            loader = DistDataLoader(list(range(10)), 4)
            self.assertEqual(repr(loader), "DistDataLoader(3 batches, 10 items)")
            shown = dict(Cells(loader._repr_html_()).rows[2:])
            self.assertEqual((shown["batches"], shown["items"]), ("3", "10"))

    def test_a_policy_shows_the_rows_of_each_partition(self):
        g = self.standalone()
        for policy in (g.get_node_partition_policy("user"), g.get_edge_partition_policy("in")):
            caption, head, *rows = Cells(policy._repr_html_()).rows
            self.assertEqual((caption, head), ([repr(policy)], ["partition", "rows"]))
            self.assertEqual([row[0] for row in rows], ["0", "1"])
            self.assertEqual(sum(int(row[1].replace(",", "")) for row in rows), policy.get_size())
            self.assertEqual(rows[0][1], f"{policy.get_part_size():,}")
        whole = PartitionPolicy("range", g)
        self.assertEqual(len(Cells(whole._repr_html_()).rows), 2)
        self.assertEqual(Cells(whole.with_rows(7)._repr_html_()).rows[2:], [["0", "3"], ["1", "4"]])

    def test_pair_graphs_and_samples_show_nodes_and_edges_by_type(self):
        g = self.standalone()
        options = {"negative_sampler": negative_sampler.Uniform(2), "batch_size": 3}
        edges = {"follows": [0, 1, 2]}
        loader = DistEdgeDataLoader(g, edges, NeighborSampler([3]), **options)
        _, pairs, negatives, _ = next(iter(loader))
        sample = sample_neighbors(g, {"user": [0, 1, 2]}, 2)
        for shown, caption in (
            (pairs, "Subgraph"),
            (negatives, "Subgraph"),
            (sample, "SampledGraph"),
        ):
            rows = Cells(shown._repr_html_()).rows
            nodes = [[ntype, str(shown.num_nodes(ntype))] for ntype in g.ntypes]
            counts = [[" : ".join(c), str(shown.num_edges(c))] for c in g.canonical_etypes]
            self.assertEqual(
                rows, [[caption], ["node type", "nodes"], *nodes, ["edge type", "edges"], *counts]
            )
        self.assertEqual((pairs.num_edges("follows"), negatives.num_edges("follows")), (3, 6))

    def test_a_session_shows_its_servers_and_whether_it_is_open(self):
        with self.daemons().connect(job_id="shown", rank=1, world_size=2) as session:
            shown = dict(Cells(session._repr_html_()).rows[2:])
            self.assertEqual(
                shown,
                {
                    "connected to": "server 'python_test'",
                    "state": "open",
                    "rank": "1",
                    "world_size": "2",
                },
            )
        shown = dict(Cells(session._repr_html_()).rows[2:])
        self.assertEqual(shown, {"connected to": "server 'python_test'", "state": "closed"})

    def test_views_show_their_types(self):
        g = self.standalone()
        nodes, edges = Cells(g.nodes._repr_html_()).rows, Cells(g.edges._repr_html_()).rows
        self.assertEqual(nodes + edges, Cells(g._repr_html_()).rows[1:])
        _, _, (block,) = NeighborSampler([3]).sample(g, {"user": [0, 1, 2]})
        counts = [[ntype, str(block.num_src_nodes(ntype))] for ntype in block.ntypes]
        rows = Cells(block.srcnodes._repr_html_()).rows
        self.assertEqual(rows, [["NodeView"], ["node type", "nodes"], *counts])
        counts = [[" : ".join(c), str(block.num_edges(c))] for c in block.canonical_etypes]
        rows = Cells(block.edges._repr_html_()).rows
        self.assertEqual(rows, [["EdgeView"], ["edge type", "edges"], *counts])

    def test_samplers_show_their_options(self):
        class Own(BlockSampler):
            pass

        g = self.standalone()
        sampler = Own(prefetch_labels={"user": ["age"]})
        self.shows(
            sampler,
            "Own",
            prefetch_node_feats="[]",
            prefetch_labels="{'user': ['age']}",
            prefetch_edge_feats="[]",
        )
        self.shows(sampler.bind(g), "BoundSampler", sampler=repr(sampler), graph=repr(g))
        self.shows(
            RandomWalkNeighborSampler(g, 2, 0.5, 10, 3, ["follows"]),
            "RandomWalkNeighborSampler",
            graph=repr(g),
            num_traversals="2",
            termination_prob="0.5",
            num_random_walks="10",
            num_neighbors="3",
            metapath="[('user', 'follows', 'user')]",
            weight_column="weights",
        )
        self.shows(
            negative_sampler.GlobalUniform(3),
            "GlobalUniform",
            k="3",
            exclude_self_loops="True",
            replace="False",
        )

    def test_optimizers_and_caches_of_rows(self):
        g = self.standalone()
        policy = g.get_node_partition_policy("user")
        common = {
            "weight_decay": "0.0",
            "sum_duplicates": "False",
            "synchronous": "False",
            "staleness": "0",
        }
        for kind, options, shown in (
            (SparseSGD, {}, {}),
            (SparseAdagrad, {"row_wise": True}, {"eps": "1e-10", "row_wise": "True"}),
            (SparseAdam, {"eps": 0.125}, {"beta1": "0.9", "beta2": "0.999", "eps": "0.125"}),
        ):
            name = f"trained by {kind.__name__}"
            embedding = DistEmbedding(300, 4, name=name, part_policy=policy)
            optimizer = kind([embedding], lr=0.5, **options)
            optimizer.lr = 0.25
            shown.update(embeddings=repr([name]), lr="0.25", **common)
            self.shows(optimizer, kind.__name__, **shown)
        cache = DeviceRowCache(g.nodes["user"].data["feat"], [1, 2], LateDevice())
        cache.get([1, 7])
        self.shows(
            cache,
            "DeviceRowCache 'feat'",
            device="cpu",
            rows="2",
            bytes="128",
            hits="1",
            misses="1",
            hit_rate="0.5",
        )

    def test_names_of_nodes_show_the_first_ones(self):
        ends = ["ada", "bob", "eve", "kim"], ["eve", "ada", "ada", "bob"]
        with tempfile.TemporaryDirectory() as folder:
            g = DistGraph(part_config=partition_graph(ends, "named", 1, folder))
            names = g.node_names()
        self.shows(names, "NodeNames '_N'", names="4", first="['ada', 'bob', 'eve']")

    def shows(self, shown, caption, **properties):
        """Checks the table of an object's properties."""
        rows = Cells(shown._repr_html_()).rows
        self.assertEqual(rows[:2], [[caption], ["property", "value"]])
        self.assertEqual(dict(rows[2:]), properties)

    def test_texts_are_escaped(self):
        text = table("<script>", ["a & b"], [("<b>", 1234567)])
        self.assertNotIn("<script>", text)
        self.assertEqual(Cells(text).rows, [["<script>"], ["a & b"], ["<b>", "1,234,567"]])


if __name__ == "__main__":
    support.main()
