# SPDX-License-Identifier: Apache-2.0
"""Tests the texts that an interpreter shows for graphs, tensors, blocks and samples, to the letter."""

import support
from graphd.distributed import (
    DistEdgeDataLoader,
    DistEmbedding,
    DistNodeDataLoader,
    SparseAdagrad,
    edge_subgraph,
    sample_neighbors,
)
from graphd.sampling import (
    BlockSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    PinSAGESampler,
    RandomWalkNeighborSampler,
    negative_sampler,
)


def block_of(g, seeds):
    return MultiLayerFullNeighborSampler(1).sample_blocks(g, seeds)[2][0]


class OneType(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_reprs(self):
        for g in self.each_way():
            for shown, expected in (
                (g, "DistGraph('sbm', num_nodes=1500, num_edges=9638, partitions=2)"),
                (g.ndata["feat"], "DistTensor('feat', shape=(1500, 16), dtype=float32)"),
                (g.ndata["label"], "DistTensor('label', shape=(1500,), dtype=int64)"),
                (
                    block_of(g, [0, 1, 2]),
                    "Block(num_src_nodes=21, num_dst_nodes=3, num_edges=18)",
                ),
                (g.nodes, "View(['_N'])"),
                (g.edges, "View([('_N', '_E', '_N')])"),
                (block_of(g, [0, 1, 2]).srcnodes, "NodeView({'_N': 21})"),
                (block_of(g, [0, 1, 2]).edges, "EdgeView([('_N', '_E', '_N')])"),
                (negative_sampler.Uniform(5), "PerSourceUniform(k=5)"),
                (
                    negative_sampler.GlobalUniform(3),
                    "GlobalUniform(k=3, exclude_self_loops=True, replace=False)",
                ),
                (edge_subgraph(g, [0, 1]), "Subgraph(num_nodes=3, num_edges=2)"),
                (
                    sample_neighbors(g, [0, 1, 2], -1),
                    "SampledGraph(num_edges={('_N', '_E', '_N'): 18})",
                ),
            ):
                self.assertEqual(repr(shown), expected)

    def test_loaders_and_the_frames_of_their_blocks(self):
        for g in self.each_way():
            sampler = NeighborSampler([3], prefetch_node_feats=["feat"], prefetch_labels=["label"])
            nodes = DistNodeDataLoader(g, list(range(10)), sampler, batch_size=4)
            edges = DistEdgeDataLoader(g, list(range(10)), sampler, batch_size=5)
            self.assertEqual(repr(nodes), "DistNodeDataLoader(3 batches, NeighborSampler([3]))")
            self.assertEqual(repr(edges), "DistEdgeDataLoader(2 batches, NeighborSampler([3]))")
            (block,) = next(iter(nodes))[2]
            for shown, expected in (
                (block.srcdata, "Frame(['_ID', 'feat'])"),
                (block.dstdata, "Frame(['_ID', 'label'])"),
                (block.edata, "Frame(['_ID'])"),
                (block.srcnodes["_N"], "TypeData(data=Frame(['_ID', 'feat']))"),
                (block.edges["_E"], "TypeData(data=Frame(['_ID']))"),
            ):
                self.assertEqual(repr(shown), expected)
            # A repr does not make what it shows.
            self.assertEqual({row[2] for row in block.srcdata.rows()}, {"made on first use"})
            block.srcdata["h"] = block.srcdata["feat"]
            self.assertEqual(repr(block.srcdata), "Frame(['_ID', 'feat', 'h'])")

    def test_samplers(self):
        class Own(BlockSampler):
            pass

        class OwnInit(BlockSampler):
            def __init__(self):
                self.fanout = 3

        g = self.standalone()
        walk = "num_traversals=2, termination_prob=0.5, num_random_walks=10, num_neighbors=3, metapath="
        for shown, expected in (
            (Own(), "Own()"),
            (OwnInit(), "OwnInit()"),
            (
                Own(["feat"], ["label"]),
                "Own(prefetch_node_feats=['feat'], prefetch_labels=['label'])",
            ),
            (Own().bind(g), f"BoundSampler(Own(), {g!r})"),
            (
                RandomWalkNeighborSampler(g, 2, 0.5, 10, 3),
                f"RandomWalkNeighborSampler({walk}[('_N', '_E', '_N')])",
            ),
            (
                PinSAGESampler(g, "_N", "_N", 2, 0.5, 10, 3),
                f"PinSAGESampler({walk}[('_N', '_E', '_N'), ('_N', '_E', '_N')])",
            ),
        ):
            self.assertEqual(repr(shown), expected)

    def test_embeddings_and_optimizers(self):
        g = self.standalone()
        embedding = DistEmbedding(g.num_nodes(), 4, name="emb")
        self.assertEqual(repr(embedding), "DistEmbedding('emb', 1500, 4)")
        self.assertIn("1,500", embedding._repr_html_())
        self.assertEqual(repr(SparseAdagrad([embedding], lr=0.5)), "SparseAdagrad(['emb'], lr=0.5)")


class Types(support.GraphTest):
    def test_reprs(self):
        no_edges = "('post', 'in', 'group'): 0"
        for g in self.each_way():
            for shown, expected in (
                (g, "DistGraph('hetero', num_nodes=560, num_edges=3000, partitions=2)"),
                (
                    g.nodes["user"].data["feat"],
                    "DistTensor('feat', shape=(300, 16), dtype=float32)",
                ),
                (g.nodes["group"].data, "Data(['tensor3d'])"),
                (
                    block_of(g, {"user": [0, 1, 2]}),
                    "Block(num_src_nodes={'group': 0, 'post': 0, 'user': 18}, "
                    "num_dst_nodes={'group': 0, 'post': 0, 'user': 3}, "
                    f"num_edges={{{no_edges}, ('user', 'follows', 'user'): 15, "
                    "('user', 'likes', 'group'): 0, ('user', 'likes', 'post'): 0})",
                ),
                (edge_subgraph(g, {"follows": [0, 1]}), "Subgraph(num_nodes=3, num_edges=2)"),
                (
                    sample_neighbors(g, {"user": [0, 1, 2]}, -1),
                    f"SampledGraph(num_edges={{{no_edges}, ('user', 'follows', 'user'): 15, "
                    "('user', 'likes', 'group'): 0, ('user', 'likes', 'post'): 0})",
                ),
            ):
                self.assertEqual(repr(shown), expected)

    def test_the_frames_of_blocks_show_their_types(self):
        for g in self.each_way():
            sampler = NeighborSampler(
                [3],
                prefetch_node_feats={"user": ["feat", "age"]},
                prefetch_edge_feats={"follows": ["w"]},
            )
            loader = DistNodeDataLoader(g, {"user": [0, 1, 2]}, sampler, batch_size=3)
            (block,) = next(iter(loader))[2]
            for shown, expected in (
                (
                    block.srcdata,
                    "TypedFrame({'group': ['_ID'], 'post': ['_ID'], 'user': ['_ID', 'age', 'feat']})",
                ),
                (
                    block.dstdata,
                    "TypedFrame({'group': ['_ID'], 'post': ['_ID'], 'user': ['_ID']})",
                ),
                (
                    block.edata,
                    "TypedFrame({('post', 'in', 'group'): ['_ID'], "
                    "('user', 'follows', 'user'): ['_ID', 'w'], "
                    "('user', 'likes', 'group'): ['_ID'], ('user', 'likes', 'post'): ['_ID']})",
                ),
                (block.dstnodes["user"], "TypeData(data=Frame(['_ID']))"),
            ):
                self.assertEqual(repr(shown), expected)


if __name__ == "__main__":
    support.main()
