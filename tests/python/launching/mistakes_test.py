# SPDX-License-Identifier: Apache-2.0
"""Tests invalid arguments with real servers: each raises an error of graphd that says what to do,
and none ends the process or the servers."""

import io
import os
import tempfile
import unittest.mock

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (
    DistDataLoader,
    DistEdgeDataLoader,
    DistEmbedding,
    DistNodeDataLoader,
    DistTensor,
    PartitionPolicy,
    SparseAdagrad,
    SparseAdam,
    SparseSGD,
    edge_split,
    edge_subgraph,
    find_edges,
    in_subgraph,
    init,
    load_partition,
    load_partition_book,
    load_partition_feats,
    node_split,
    node_subgraph,
    partition_graph,
    sample_neighbors,
)
from graphd.sampling import (
    LayerSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    PinSAGESampler,
    RandomWalkNeighborSampler,
    ShadowSampler,
    TemporalSampler,
    TopKSampler,
    negative_sampler,
    node2vec_random_walk,
    random_walk,
    select_topk,
)

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
        for name in ("local_state_dict", "load_local_state_dict"):  # methods of DGL's optimisers
            with self.assertRaisesRegex(AttributeError, "graphd.checkpoint"):
                getattr(optimizer, name)
        for path in ("", 5, "with space"):
            self.refused("f .*(path|letters)", optimizer.save, path)
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
        self.refused(
            r"float32 \[300, 4\], not float32 \[300, 5\]", DistEmbedding, 300, 5, name="four"
        )
        tensor = DistTensor((300, 2))
        for row in (2**70, True):
            self.refused("row ", tensor.__getitem__, row)
        self.refused("expected bool", tensor.__or__, tensor)
        with self.assertRaises(TypeError):
            tensor | None
        self.refused(
            "expected a DistTensor", g.nodes["user"].data.__setitem__, "y", torch.zeros(300, 2)
        )
        self.refused("expected a str", g.nodes["user"].data.__getitem__, 3)

    def test_no_graph(self):
        sampler, ids = NeighborSampler([2]), torch.arange(3)
        for function, *arguments in (
            (sample_neighbors, ids, 3),
            (in_subgraph, ids),
            (node_subgraph, ids),
            (edge_subgraph, ids),
            (find_edges, ids),
            (random_walk, ids, None, 3),
            (node2vec_random_walk, ids, 1, 1, 3),
            (select_topk, 3, "w"),
            (PinSAGESampler, "a", "b", 1, 0.5, 10, 3),
            (RandomWalkNeighborSampler, 2, 0.5, 10, 3),
            (DistTensor.open, "t"),
            (DistTensor.list,),
            (DistTensor.drop, "t"),
            (graphd.checkpoint.list,),
            (graphd.checkpoint.create, "c"),
            (sampler.sample, ids),
            (sampler.bind,),
        ):
            for g in (None, "mine"):
                self.refused("expected a DistGraph", function, g, *arguments)
        for loader in (DistNodeDataLoader, DistEdgeDataLoader):
            self.refused("expected a DistGraph", loader, None, ids, sampler, batch_size=1)

    def test_draws_that_exceed_memory(self):
        g = self.served()
        seeds = {"user": torch.arange(300)}
        huge = NeighborSampler([2, 2**30], replace=True)
        self.refused(
            "smaller fanout, or fewer seeds", sample_neighbors, g, seeds, 2**30, replace=True
        )
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
        self.refused(
            "expected a list of str",
            DistNodeDataLoader,
            g,
            {"user": [1]},
            NeighborSampler([2], prefetch_node_feats={"user": 3}),
            batch_size=1,
        )
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

    def test_errors_of_partitioning_name_arguments(self):
        features = {"f": np.arange(5)}
        with tempfile.TemporaryDirectory() as folder:
            arguments = ((A, A), "b", 2, folder)
            for classes in (3, "ff", [1, 2], A.reshape(5, 1), A * 0.5, {"_N": object()}):
                self.refused(
                    "balance_ntypes.*for each",
                    partition_graph,
                    *arguments,
                    ndata=features,
                    balance_ntypes=classes,
                )
            self.refused(
                r"balance_ntypes: no node type 'a'; there are \['_N'\]",
                partition_graph,
                *arguments,
                balance_ntypes={"a": "f"},
            )
            for name, value, expected in (
                ("num_trainers_per_machine", 0, "1 to"),
                ("num_trainers_per_machine", "a", "whole"),
                ("part_method", "file", "'metis', .* or 'hash'"),
                ("objtype", 3, "'cut' or 'vol'"),
                ("edge_orig_id", "no", "True or False"),
                ("num_nodes", 4, "give 5 or more"),
                ("num_nodes", -1, "give 0 or more"),
            ):
                self.refused(f"{name}.*{expected}", partition_graph, *arguments, **{name: value})
            for wrong in ([1, 2], 3, np.array([["a"]] * 5)):
                self.refused("feature 'f' of '_N'", partition_graph, *arguments, ndata={"f": wrong})
            self.refused(
                "node -1; node ids are 0 or more", partition_graph, (A - 1, A), *arguments[1:]
            )
            self.refused("no edge types", partition_graph, {}, *arguments[1:])
            with self.assertRaises(graphd.errors.InvalidError) as caught:
                partition_graph(*arguments, ndata={"f": A * 0.5}, store_as={"f": "float16"})
            self.assertEqual(caught.exception.remedy, "convert it first: .astype('float32')")
            classes = [True, False, True, False, True]
            config = partition_graph(*arguments, balance_ntypes=classes)
            self.assertEqual(config, f"{folder}/b.json")
            with self.assertRaisesRegex(graphd.errors.ExistsError, "out_path, or force=True"):
                partition_graph(*arguments)
            partition_graph(*arguments, force=True)

    def test_partitions_and_books(self):
        config = support.fixture(self.fixture).config
        for read in (
            load_partition,
            load_partition_feats,
            load_partition_book,
            lambda given, _: graphd.distributed.DistGraph(part_config=given),
        ):
            self.refused("part_config 3: expected the path", read, 3, 0)
            with self.assertRaisesRegex(graphd.errors.NotFoundError, "'no.json' does not exist"):
                read("no.json", 0)
        for given in (None, ""):
            self.refused("part_config", load_partition, given, 0)
        self.refused(
            "neither servers nor a part_config; .* give part_config=",
            graphd.distributed.DistGraph,
            "mine",
        )
        book = load_partition_book(config)[0]
        for ids_of in (book.partid2nids, book.partid2eids):
            for partid in ("a", None, 1.5):
                self.refused(f"partid {partid!r}: expected a whole number", ids_of, partid)
            for partid in (2, -1):
                self.refused(f"partid {partid}: expected 0 to 1", ids_of, partid)

    def test_splits(self):
        g = self.standalone()
        book, mask = g.get_partition_book(), torch.ones(g.num_nodes("user"), dtype=torch.bool)
        for given in (None, 3, "train_mask", [True]):
            self.refused("nodes .* expected a mask.*g.ndata", node_split, given, book)
        self.refused("g.edata", edge_split, None, book)
        for given in (None, 3):
            self.refused(r"give g.get_partition_book\(\)", node_split, mask, given, "user")
        for rank in ("a", 1, -1):
            self.refused(f"rank {rank!r}: expected", node_split, mask, book, "user", rank)
        self.refused(
            "node_trainer_ids 3: expected a DistTensor", node_split, mask, book, node_trainer_ids=3
        )
        mask = DistTensor(
            (g.num_nodes("user"),), "bool", part_policy=g.get_node_partition_policy("user")
        )
        self.refused("one of nodes; use node_split", edge_split, mask)

    def test_masks_instead_of_ids(self):
        g = self.standalone()
        mask = torch.ones(g.num_nodes("user"), dtype=torch.bool)
        held = DistTensor((g.num_nodes("user"), 2), part_policy=g.get_node_partition_policy("user"))
        for ids in (mask, mask.numpy()):
            for wanted in ({"user": ids}, {"post": [1], "user": ids}):
                self.refused("got a mask; node_split", sample_neighbors, g, wanted, 3)
            self.refused(
                "nids: .* got a mask",
                DistNodeDataLoader,
                g,
                {"user": ids},
                NeighborSampler([2]),
                batch_size=3,
            )
            self.refused("got bool .*nonzero", g.find_edges, ids, "follows")
        self.refused("got DistTensor", sample_neighbors, g, {"user": held}, 3)
        self.refused(
            r"give a dict: \{'user': ids\}",
            DistNodeDataLoader,
            g,
            ("user", torch.arange(3)),
            NeighborSampler([2]),
            batch_size=3,
        )
        for seed in ([], None, "a", 1.5):
            self.refused(r"seed .*: expected a whole number", graphd.seed, seed)
        graphd.seed(np.int64(3))

    def test_walks_columns_and_forms(self):
        g = self.standalone()
        for name in (3, ["w"]):
            for make in (NeighborSampler, LayerSampler, ShadowSampler):
                self.refused("prob .*name of an edge feature", make, [2], prob=name)
            self.refused("mask .*name of an edge feature", NeighborSampler, [2], mask=name)
            self.refused(
                "prob .*name of an edge feature", random_walk, g, [1], ["follows"], prob=name
            )
        for name in (None, 3):
            self.refused("weight .*name of an edge feature", TopKSampler, [2], name)
            self.refused("weight .*name of an edge feature", select_topk, g, 2, name, {"user": [1]})
            self.refused("column .*name of an edge feature", TemporalSampler, [2], name)
        with self.assertRaisesRegex(
            graphd.errors.NotFoundError, r"edge type \w+:\w+:\w+ has no feature 'nope'; there are"
        ):
            select_topk(g, 2, "nope", {"user": [1]})
        past = TemporalSampler([2], "w")
        self.refused("seed_times None: .* each seed", past.sample, g, {"user": [1]})
        self.refused(
            "seed_times None: .* each seed",
            DistNodeDataLoader,
            g,
            {"user": [1]},
            past,
            batch_size=1,
        )
        self.refused("k 'a'", select_topk, g, "a", "w")
        for at, name in enumerate(
            ("num_traversals", "termination_prob", "num_random_walks", "num_neighbors")
        ):
            arguments = [2, 0.5, 10, 3]
            arguments[at] = "a"
            self.refused(f"{name} 'a': expected", RandomWalkNeighborSampler, g, *arguments)
        for metapath in ("follows", 3):
            self.refused("metapath .*one for each step", random_walk, g, [1], metapath)
            self.refused(
                "metapath .*one for each step",
                RandomWalkNeighborSampler,
                g,
                2,
                0.5,
                10,
                3,
                metapath,
            )
        for wrong in ("a", [0.1, "a"], {}):
            self.refused(
                "restart_prob .*a number", random_walk, g, [1], ["follows"], restart_prob=wrong
            )
        self.refused("p 'a'", node2vec_random_walk, g, [1], "a", 1, 3)
        self.refused("q None", node2vec_random_walk, g, [1], 1, None, 3)
        found = sample_neighbors(g, {"user": [1, 2]}, 2)
        for of in (found, graphd.to_block(found), g.local_partition):
            self.refused(
                "form 'xy': use 'uv', 'eid' or 'all'", of.edges, form="xy", etype="follows"
            )
        for nodes in ("a", 3):
            self.refused("dst_nodes", graphd.to_block, found, {"user": nodes})
        self.refused("g None: expected a SampledGraph", graphd.to_block, None)
        self.refused("blocks .*list of blocks", graphd.to_pyg, graphd.to_block(found))

    def test_tensors_and_negatives(self):
        g = self.standalone()
        name = sorted(g.edges["follows"].data)[0]
        feature = g.edges["follows"].data[name]
        for change in (feature.__setitem__, feature.add):
            with self.assertRaisesRegex(graphd.errors.DeniedError, "make a DistTensor"):
                change([1], feature[[1]])
        self.refused("no type .* has 7 objects; .*range", DistTensor, (7, 2))
        self.refused("each 0 or more", DistTensor, (-1, 2))
        for make in (
            lambda: init.Constant("a"),
            lambda: init.Uniform(0, None),
            lambda: init.Normal(0, 1, seed="a"),
        ):
            self.refused("expected a", make)
        for type_id in ("a", 9):
            self.refused("type_id .*expected", PartitionPolicy, "node", g, type_id)
        self.refused("redundancy 'a'", negative_sampler.GlobalUniform, 2, redundancy="a")
        self.refused("seed 'a'", negative_sampler.Uniform(2), g, {"follows": [1]}, seed="a")
        self.refused("expected a DistGraph", negative_sampler.Uniform(2), None, {"follows": [1]})
        for wrong in (5, negative_sampler.Uniform):
            self.refused(
                r"as negative_sampler.Uniform\(5\), or a function",
                DistEdgeDataLoader,
                g,
                {"follows": [1]},
                NeighborSampler([2]),
                batch_size=1,
                negative_sampler=wrong,
            )
        for name, value in (
            ("dataset", None),
            ("queue_size", "a"),
            ("queue_size", -1),
            ("collate_fn", 3),
            ("seed", "a"),
        ):
            self.refused(
                f"{name} {value!r}", DistDataLoader, **{"dataset": A, "batch_size": 1, name: value}
            )

    def test_initialize(self):
        for name, value in (
            ("ip_config", 3),
            ("server_name", 3),
            ("part_config", 3),
            ("state_dir", 3),
            ("num_workers", "a"),
            ("num_workers", -1),
            ("timeout", "a"),
            ("timeout", -1),
        ):
            self.refused(
                f"{name} {value!r}: expected",
                graphd.distributed.initialize,
                **{"server_name": "mine", name: value},
            )
        with self.assertRaisesRegex(
            graphd.errors.NotFoundError, "ip_config 'no.txt' can't be found; give .* per partition"
        ):
            graphd.distributed.initialize("no.txt", server_name="mine")
        with unittest.mock.patch.dict(os.environ, GRAPHD_IP_CONFIG="ip_config.txt"):
            os.environ.pop("GRAPHD_SERVER_NAME", None)
            self.refused("but not GRAPHD_SERVER_NAME", graphd.distributed.initialize)
            config = support.fixture(self.fixture).config
            graphd.distributed.initialize(part_config=config)  # needs no servers

    def test_files_of_a_checkpoint(self):
        g = self.served()
        self.refused("content as bytes", graphd.checkpoint.create, g, "c", files={"m": "m.pt"})
        self.refused("dict of name to bytes", graphd.checkpoint.create, g, "c", files=["m"])
        for names in ("t", 3, [3]):
            self.refused("tensors", graphd.checkpoint.create, g, "c", tensors=names)
        self.refused("file 3", graphd.checkpoint.read_file, g, "c", 3)
        DistTensor((300, 2), name="kept", persistent=True)
        content = io.BytesIO()
        torch.save({"a": 1}, content)
        graphd.checkpoint.create(g, "c", files={"m": content.getbuffer()})
        self.assertEqual(graphd.checkpoint.read_file(g, "c", "m"), content.getvalue())


if __name__ == "__main__":
    support.main()
