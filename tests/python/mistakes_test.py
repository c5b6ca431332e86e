# SPDX-License-Identifier: Apache-2.0
"""Arguments that make no sense, given to real servers: each is an error of graphd's that says what
to do, and none ends the process or the servers."""
import io

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (DistEdgeDataLoader, DistEmbedding, DistNodeDataLoader, DistTensor,
                                PartitionPolicy, SparseAdagrad, SparseAdam, SparseSGD,
                                edge_subgraph, find_edges, in_subgraph, node_subgraph,
                                partition_graph, sample_neighbors)
from graphd.sampling import (MultiLayerFullNeighborSampler, NeighborSampler, PinSAGESampler,
                             RandomWalkNeighborSampler, node2vec_random_walk, random_walk,
                             select_topk)

A = np.arange(5)


class Mistakes(support.GraphTest):
    def refused(self, message, function, *arguments, **options):
        with self.assertRaisesRegex(graphd.errors.InvalidError, message):
            function(*arguments, **options)

    def test_optimisers(self):
        g = self.served()
        emb = DistEmbedding(300, 4)
        for kind in (SparseSGD, SparseAdagrad, SparseAdam):
            for lr in (-1, float("nan"), "0.1", None):
                self.refused("lr .*0 or more", kind, [emb], lr=lr)
            self.refused("weight_decay", kind, [emb], lr=1, weight_decay=-1)
            self.refused("staleness", kind, [emb], lr=1, staleness=1.5)
            self.refused("empty; .* one DistEmbedding", kind, [], lr=1)
            self.refused(r"put \[\] around", kind, emb, lr=1)
            self.refused(r"put \[\] around", kind, None, lr=1)
        self.refused("eps", SparseAdagrad, [emb], lr=1, eps="a")
        for betas in (0.9, (0.9, 0.9, 0.9)):
            self.refused("betas .*two numbers", SparseAdam, [emb], lr=1, betas=betas)
        optimizer = SparseSGD([emb], lr=torch.tensor(0.5))
        for lr in (-1, "a"):
            self.refused("lr .*0 or more", setattr, optimizer, "lr", lr)
        self.assertEqual(optimizer.lr, 0.5)
        self.assertEqual(g.num_nodes("user"), 300)

    def test_shapes_dtypes_names_and_policies_of_tensors(self):
        g = self.served()
        for shape in (300, None, "ab", torch.float32):
            self.refused(r"shape .*\(1000, 16\)", DistTensor, shape, torch.float32)
        self.refused("one extent or more", DistTensor, (), torch.float32)
        for extent in (2.5, "2", 2**80):
            self.refused("extent .*whole number", DistTensor, (300, extent), torch.float32)
        for dtype in ("flaot32", 3, object()):
            self.refused("dtype .*'float32'", DistTensor, (300, 2), dtype)
        self.assertEqual(DistTensor((300, 2), "bfloat16").dtype, torch.bfloat16)
        for policy in ("node", g.get_partition_book()):
            self.refused("get_node_partition_policy", DistTensor, (300, 2), part_policy=policy)
        self.refused("'node', 'edge' or 'range'", PartitionPolicy, "nodes", g)
        self.refused("name 3", DistTensor, (300, 2), name=3)
        self.refused("init_func", DistTensor, (300, 2), init_func=3)
        for dim in (4.5, "4"):
            self.refused("embedding_dim", DistEmbedding, 300, dim)
        DistEmbedding(300, 4, name="four")
        self.refused(r"float32 \[300, 4\], not float32 \[300, 5\]", DistEmbedding, 300, 5,
                     name="four")
        tensor = DistTensor((300, 2))
        for row in (2**70, True):
            self.refused("row ", tensor.__getitem__, row)
        self.refused("expected bool", tensor.__or__, tensor)
        with self.assertRaises(TypeError):
            tensor | None
        self.refused("expected a DistTensor", g.nodes["user"].data.__setitem__, "y",
                     torch.zeros(300, 2))
        self.refused("expected a str", g.nodes["user"].data.__getitem__, 3)

    def test_no_graph(self):
        sampler, ids = NeighborSampler([2]), torch.arange(3)
        for function, *arguments in (
                (sample_neighbors, ids, 3), (in_subgraph, ids), (node_subgraph, ids),
                (edge_subgraph, ids), (find_edges, ids), (random_walk, ids, None, 3),
                (node2vec_random_walk, ids, 1, 1, 3), (select_topk, 3, "w"),
                (PinSAGESampler, "a", "b", 1, 0.5, 10, 3),
                (RandomWalkNeighborSampler, 2, 0.5, 10, 3), (DistTensor.open, "t"),
                (DistTensor.list,), (DistTensor.drop, "t"), (graphd.checkpoint.list,),
                (graphd.checkpoint.create, "c"), (sampler.sample, ids), (sampler.bind,)):
            for g in (None, "mine"):
                self.refused("expected a DistGraph", function, g, *arguments)
        for loader in (DistNodeDataLoader, DistEdgeDataLoader):
            self.refused("expected a DistGraph", loader, None, ids, sampler, batch_size=1)

    def test_draws_that_no_memory_holds(self):
        g = self.served()
        seeds = {"user": torch.arange(300)}
        huge = NeighborSampler([2, 2**30], replace=True)
        self.refused("smaller fanout, or fewer seeds", sample_neighbors, g, seeds, 2**30,
                     replace=True)
        self.refused("smaller fanout", huge.sample, g, seeds)
        self.refused("smaller fanout", DistNodeDataLoader, g, seeds, huge, batch_size=10)
        self.refused("smaller fanout", DistEdgeDataLoader, g, {"follows": [1]}, huge, batch_size=1)
        self.assertGreater(sample_neighbors(g, seeds, 2**30).num_edges("follows"), 0)

    def test_samplers_and_queries(self):
        g = self.served()
        for fanouts in (None, 3, "ab", []):
            self.refused("one for each layer", NeighborSampler, fanouts)
        for layers in (None, "2"):
            self.refused("num_layers", MultiLayerFullNeighborSampler, layers)
        self.refused("prob 3", sample_neighbors, g, {"user": [1]}, 3, prob=3)
        for seed in ("a", -1):
            self.refused("seed", sample_neighbors, g, {"user": [1]}, 3, seed=seed)
        self.refused("expected a list of str", DistNodeDataLoader, g, {"user": [1]},
                     NeighborSampler([2], prefetch_node_feats={"user": 3}), batch_size=1)
        self.refused("node type 3.*there are", g.num_nodes, 3)
        for etype in (3, ("user", 1, "user")):
            self.refused("edge type .*there are", g.num_edges, etype)
        for every in (None, graphd.ALL):
            self.assertEqual(len(g.in_degrees(every, "follows")), 300)
        with self.assertRaises(graphd.errors.InvalidError):
            g.in_degrees("follows", "follows")
        self.refused("graph_name None", graphd.distributed.DistGraph, None)

    def test_graphs_to_partition(self):
        for edges in ((A,), (A, A, A), [(0, 1), (1, 2), (2, 3)], {("a", "r", "b"): None}):
            self.refused(r"expected two tensors \(src, dst\)", partition_graph, edges, "b", 2, "p")
        for edges in ((A, A[:3]), (A.reshape(5, 1), A.reshape(5, 1))):
            self.refused("two vectors of the same length", partition_graph, edges, "b", 2, "p")
        for etype in ("r", ("a", "b"), ("a", 1, "c")):
            self.refused("triple of names", partition_graph, {etype: (A, A)}, "b", 2, "p")
        self.refused("num_nodes", partition_graph, (A, A), "b", 2, "p", num_nodes="9")
        self.refused("features 'f'", partition_graph, (A, A), "b", 2, "p", ndata="f")
        for arguments in ((None, 2, "p"), ("b", "2", "p"), ("b", 2**40, "p"), ("b", 2, None)):
            self.refused("expected", partition_graph, (A, A), *arguments)

    def test_what_a_checkpoint_keeps_are_bytes(self):
        g = self.served()
        self.refused("content as bytes", graphd.checkpoint.create, g, "c", files={"m": "m.pt"})
        self.refused("dict of name to bytes", graphd.checkpoint.create, g, "c", files=["m"])
        self.refused("list of names", graphd.checkpoint.create, g, "c", tensors="t")
        DistTensor((300, 2), name="kept", persistent=True)
        content = io.BytesIO()
        torch.save({"a": 1}, content)
        graphd.checkpoint.create(g, "c", files={"m": content.getbuffer()})
        self.assertEqual(graphd.checkpoint.read_file(g, "c", "m"), content.getvalue())


if __name__ == "__main__":
    support.main()
