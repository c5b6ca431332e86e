# SPDX-License-Identifier: Apache-2.0
"""Tests what the options weight_attr, replace and pin_memory of the loaders with PyG's arguments do."""

import unittest.mock

import torch

import support
from graphd.pyg import LinkNeighborLoader, NeighborLoader
from late_device import LateDevice

FOLLOWS = ("user", "follows", "user")


class Draws(support.GraphTest):
    """The edges that are drawn for the seeds, in a graph some of whose edges have the weight 0."""

    fixture = "weighted_2p"

    def each_loader(self, fanout, **options):
        """Yields the graph, the ends of all edges and a loader of each kind, each way."""
        for g in self.each_way():
            ends = g.find_edges(torch.arange(g.num_edges()))
            for make in (NeighborLoader, LinkNeighborLoader):
                with self.subTest(make.__name__):
                    yield g, ends, make(g, [fanout], batch_size=64, **options)

    def seeds(self, batch):
        """Returns the seeds of a batch."""
        if "edge_label_index" in batch:
            return batch.n_id[batch.edge_label_index.unique()]
        return batch.n_id[: batch.batch_size]

    def counts(self, g, batch, ends):
        """Returns the number of edges for each seed, having compared the edges with the graph."""
        nodes = batch.n_id[batch.edge_index]
        for mine, wanted in zip(nodes, ends):
            self.assertTrue(torch.equal(mine, wanted[batch.e_id]))
        return torch.bincount(nodes[1], minlength=g.num_nodes())[self.seeds(batch)]

    def test_edges_of_weight_zero_are_never_drawn(self):
        for replace in (False, True):
            for g, ends, loader in self.each_loader(5, weight_attr="prob", replace=replace):
                weight = g.edata["prob"][:].view(-1)
                positive = torch.bincount(ends[1][weight > 0], minlength=g.num_nodes())
                self.assertLess(int(positive.sum()), g.num_edges())
                for batch in loader:
                    self.assertGreater(float(weight[batch.e_id].min()), 0)
                    found, at_most = self.counts(g, batch, ends), positive[self.seeds(batch)]
                    wanted = torch.where(at_most > 0, 5, 0) if replace else at_most.clamp(max=5)
                    self.assertEqual(found.tolist(), wanted.tolist())

    def test_edges_are_drawn_in_proportion_to_their_weights(self):
        fanout = 2000
        for g, ends, loader in self.each_loader(fanout, weight_attr="prob", replace=True):
            weight = g.edata["prob"][:].view(-1).double()
            total = torch.zeros(g.num_nodes(), dtype=weight.dtype).index_add(0, ends[1], weight)
            batch = next(iter(loader))
            mine = torch.isin(ends[1], self.seeds(batch)) & (total[ends[1]] > 0)
            wanted = (fanout * weight / total[ends[1]])[mine]
            found = torch.bincount(batch.e_id, minlength=g.num_edges())[mine]
            self.assertTrue(bool(((found - wanted).abs() <= 7 * wanted.sqrt() + 7).all()))

    def test_with_replacement_each_seed_that_has_edges_gets_the_fanout(self):
        for replace in (False, True):
            for g, ends, loader in self.each_loader(40, replace=replace):
                degrees = g.in_degrees()
                for batch in loader:
                    found, of_seeds = self.counts(g, batch, ends), degrees[self.seeds(batch)]
                    wanted = torch.where(of_seeds > 0, 40, 0) if replace else of_seeds.clamp(max=40)
                    self.assertEqual(found.tolist(), wanted.tolist())
                    different = len(batch.e_id.unique())
                    if replace:
                        self.assertLess(different, len(batch.e_id))
                    else:
                        self.assertEqual(different, len(batch.e_id))


class Pinned(support.GraphTest):
    def tensors(self, value):
        """Returns the tensors of a batch by their path in it."""
        if isinstance(value, torch.Tensor):
            return {(): value}
        if not isinstance(value, dict):
            return {}
        return {
            (key, *path): tensor
            for key, each in value.items()
            for path, tensor in self.tensors(each).items()
        }

    def test_pinned_batches_are_the_same_and_belong_to_the_caller(self):
        for g in self.each_way():
            for make, seeds in (
                (NeighborLoader, ("user", torch.arange(7, 300, 3))),
                (LinkNeighborLoader, (FOLLOWS, torch.stack(g.find_edges(range(90), FOLLOWS)))),
            ):
                # All neighbours are taken, because the seed does not decide which ones the loader draws.
                options = {"batch_size": 16, "num_workers": 2}
                wanted = [self.tensors(b.to_dict()) for b in make(g, [-1, -1], seeds, **options)]
                device = LateDevice()
                with unittest.mock.patch(
                    "graphd.device.platform.pinning_platform", lambda _, device=device: device
                ):
                    loader = make(g, [-1, -1], seeds, pin_memory=True, **options)
                batches = list(loader)
                self.assertEqual(len(batches), len(wanted))
                self.assertEqual(len(device.pinned_sizes), len(wanted))
                for batch, plain in zip(batches, wanted):
                    found = self.tensors(batch.to_dict())
                    self.assertEqual(found.keys(), plain.keys())
                    for path, tensor in found.items():
                        self.assertTrue(torch.equal(tensor, plain[path]), path)
                        self.assertTrue(device.is_pinned(tensor) or not tensor.numel(), path)
                    self.assertFalse(any(map(device.is_pinned, plain.values())))
                    self.assertGreater(len(batch["user"].x), 0)


if __name__ == "__main__":
    support.main()
