# SPDX-License-Identifier: Apache-2.0
"""Tests names and arguments of DGL that scripts use beside those of its tutorials."""

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (
    DistTensor,
    EdgePartitionPolicy,
    NodePartitionPolicy,
    edge_split,
    node_split,
)

FOLLOWS = ("user", "follows", "user")


class Split(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_arange_stands_for_all_nodes_or_edges(self):
        for g in self.each_way():
            book = g.get_partition_book()
            for kind in (np.int64, np.int32):
                nodes = node_split(np.arange(g.num_nodes(), dtype=kind), book, force_even=True)
                self.assertEqual(nodes.tolist(), list(range(g.num_nodes())))
            edges = edge_split(torch.arange(g.num_edges()), book)
            self.assertEqual(edges.tolist(), list(range(g.num_edges())))

    def test_a_mask_of_integers_is_a_mask(self):
        g = self.standalone()
        mask = (np.arange(g.num_nodes()) % 3 == 1).astype(np.int64)
        nodes = node_split(torch.from_numpy(mask), g.get_partition_book())
        self.assertEqual(nodes.tolist(), np.flatnonzero(mask).tolist())

    def test_some_ids_are_no_mask(self):
        g = self.standalone()
        for ids in (torch.tensor([5, 7]), torch.arange(g.num_nodes()).flip(0)):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "mask of zeros"):
                node_split(ids, g.get_partition_book())
        with self.assertRaisesRegex(graphd.errors.InvalidError, str(g.num_nodes())):
            node_split(torch.arange(g.num_nodes() - 1), g.get_partition_book())


class Policies(support.GraphTest):
    def test_policies_of_a_book_are_those_of_its_graph(self):
        for g in self.each_way():
            book = g.get_partition_book()
            self.assertEqual(NodePartitionPolicy(book, "user").policy_str, "node~user")
            edges = EdgePartitionPolicy(book, FOLLOWS)
            self.assertEqual(edges.policy_str, "edge~user:follows:user")
            self.assertEqual(edges.get_size(), g.num_edges("follows"))
            tensor = DistTensor(
                (300, 2), torch.float32, part_policy=NodePartitionPolicy(book, "user")
            )
            self.assertEqual(tensor.part_policy.policy_str, "node~user")
            with self.assertRaisesRegex(graphd.errors.InvalidError, "name one of them"):
                NodePartitionPolicy(book)

    def test_another_graphs_book_is_refused(self):
        book = self.standalone().get_partition_book()
        graphd.distributed.exit_client()
        with self.assertRaisesRegex(graphd.errors.InvalidError, "get_partition_book"):
            NodePartitionPolicy("node~user", "user")
        other = graphd.distributed.DistGraph(part_config=support.fixture("sbm_2p_metis").config)
        self.assertEqual(
            NodePartitionPolicy(other.get_partition_book()).get_size(), len(other.ndata["feat"])
        )
        with self.assertRaisesRegex(graphd.errors.InvalidError, "most recent DistGraph"):
            NodePartitionPolicy(book, "user")


class Loaders(support.GraphTest):
    def batches(self, g, sampler, **options):
        loader = graphd.dataloading.EdgeDataLoader(
            g, {FOLLOWS: torch.arange(40)}, sampler, batch_size=16, seed=3, **options
        )
        return [
            (
                input_nodes["user"].tolist(),
                [each.tolist() for each in positive.edges(etype=FOLLOWS)],
                [each.tolist() for each in negative.edges(etype=FOLLOWS)],
                [block.edges(form="eid", etype=FOLLOWS).tolist() for block in blocks],
            )
            for input_nodes, positive, negative, blocks in loader
        ]

    def test_an_edge_prediction_sampler_carries_the_loaders_arguments(self):
        loading = graphd.dataloading
        for g in self.each_way():
            sampler = loading.NeighborSampler([3, 3])
            options = {"exclude": "self", "negative_sampler": loading.negative_sampler.Uniform(2)}
            wanted = self.batches(g, sampler, **options)
            self.assertEqual(len(wanted), 3)
            made = loading.as_edge_prediction_sampler(sampler, **options)
            self.assertEqual(self.batches(g, made), wanted)
            with self.assertRaisesRegex(graphd.errors.InvalidError, "alone"):
                self.batches(g, made, exclude="self")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "exclude 'all'"):
            loading.as_edge_prediction_sampler(sampler, exclude="all")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "EID"):
            loading.as_edge_prediction_sampler(sampler, prefetch_labels=["label"])
        with self.assertRaisesRegex(graphd.errors.InvalidError, "BlockSampler"):
            loading.as_edge_prediction_sampler([10, 25])

    def test_loaders_have_their_earlier_names(self):
        g = self.standalone()
        loader = graphd.dataloading.NodeDataLoader(
            g, {"user": torch.arange(10)}, graphd.dataloading.NeighborSampler([2]), batch_size=5
        )
        self.assertEqual(len(list(loader)), 2)


if __name__ == "__main__":
    support.main()
