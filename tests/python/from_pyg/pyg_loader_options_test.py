# SPDX-License-Identifier: Apache-2.0
"""Tests what the options weight_attr, replace and pin_memory of the loaders with PyG's arguments do, and
which arguments of PyG and PyTorch they take."""

import inspect
import unittest.mock

import torch
import torch_geometric.loader

import support
from graphd.errors import InvalidError
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


class Arguments(support.GraphTest):
    def each_loader(self):
        """Yields a function that makes a loader of 40 seeds of each kind, and its seeds."""
        g = self.standalone()
        for make, seeds in (
            (NeighborLoader, ("user", torch.arange(40))),
            (LinkNeighborLoader, (FOLLOWS, torch.stack(g.find_edges(range(40), FOLLOWS)))),
        ):
            with self.subTest(make.__name__):
                yield lambda **options: make(g, [2], seeds, **options)  # noqa: B023

    def test_positional_arguments_are_in_the_order_of_pyg(self):
        for mine in (NeighborLoader, LinkNeighborLoader):
            theirs = getattr(torch_geometric.loader, mine.__name__)
            names = [
                [
                    name
                    for name, each in inspect.signature(loader).parameters.items()
                    if each.kind is each.POSITIONAL_OR_KEYWORD
                ]
                for loader in (mine, theirs)
            ]
            self.assertEqual(*names)
        g = self.standalone()
        nodes = NeighborLoader(g, [2], "user", None, True, "bidirectional", batch_size=200)
        self.assertEqual(len(list(nodes)), 2)
        edges = LinkNeighborLoader(
            g, [2], FOLLOWS, None, None, True, "bidirectional", batch_size=800
        )
        self.assertEqual(len(list(edges)), -(-g.num_edges(FOLLOWS) // 800))

    def test_arguments_of_pytorch_that_fit_threads_are_accepted(self):
        for make in self.each_loader():
            loader = make(
                batch_size=20,
                collate_fn=print,
                dataset=[],
                in_order=True,
                multiprocessing_context="fork",
                persistent_workers=True,
                pin_memory_device="",
                prefetch_factor=4,
                sampler=None,
                timeout=0,
                worker_init_fn=None,
            )
            self.assertEqual(len(list(loader)), 2)

    def test_other_arguments_of_pytorch_are_refused_with_what_to_do(self):
        for make in self.each_loader():
            for wrong, remedy in (
                ({"sampler": [1]}, "node_split and edge_split"),
                ({"batch_sampler": [[1]]}, "positions of a batch's seeds"),
                ({"timeout": 5}, "timeout of graphd.distributed.initialize"),
                ({"worker_init_fn": print}, "threads of this process"),
                ({"input_id": [1]}, "positions among the seeds"),
                ({"neighbor_sampler": 1}, "torch_geometric.loader"),
                ({"transform_sampler_output": print}, "use transform"),
                ({"directed": False}, "use subgraph_type"),
                ({"sampeler": 1}, "no argument 'sampeler'"),
                ({"generator": 7}, "expected a torch.Generator"),
                ({"generator": torch.Generator(), "seed": 7}, "give one of them"),
            ):
                with self.assertRaisesRegex(InvalidError, remedy):
                    make(**wrong)

    def test_a_generator_decides_the_order_of_seeds(self):
        def order(make, number):
            generator = torch.Generator().manual_seed(number)
            loader = make(batch_size=20, shuffle=True, generator=generator)
            return [[each["user"].n_id[:4].tolist() for each in loader] for _ in range(2)]

        for make in self.each_loader():
            first = order(make, 3)
            self.assertEqual(order(make, 3), first)
            self.assertNotEqual(order(make, 4), first)
            self.assertNotEqual(*first)


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
