# SPDX-License-Identifier: Apache-2.0
"""Tests that loaders deliver the same batches to a device, one ahead of the model."""

import gc
import os
import threading
import unittest.mock
import warnings
import weakref

import torch

import graphd
import support
from graphd.device.pinned_pool import PinnedPool
from graphd.distributed import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader, DistTensor
from graphd.sampling import (
    BlockSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    negative_sampler,
)
from late_device import LateDevice

FOLLOWS = ("user", "follows", "user")


def tensors_of(value):
    """Returns all tensors of a step as lists."""
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.dtype, value.shape
    if isinstance(value, dict):
        return {key: tensors_of(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [tensors_of(each) for each in value]
    if isinstance(value, graphd.Block):
        frames = (value.src_frames, value.dst_frames, value.edge_frames)
        ends = [(*value.csc(etype), *value.coo(etype)) for etype in value.canonical_etypes]
        degrees = [value.in_degrees(etype=etype) for etype in value.canonical_etypes]
        return tensors_of([ends, degrees, [[dict(each) for each in kind] for kind in frames]])
    ends = [value.edges(form="all", etype=etype) for etype in value.canonical_etypes]
    return tensors_of([ends, dict(value.ndata), dict(value.edata)])


class Loaders(support.GraphTest):
    def check(self, make):
        """Compares all steps with those that stay on the host, in two epochs."""
        device = LateDevice()
        here, there = make(device=None), make(device=device)
        self.assertEqual(len(here), len(there))
        for _ in range(2):
            expected = [tensors_of(step) for step in here]
            self.assertEqual([tensors_of(step) for step in there], expected)
            self.assertEqual(len(expected), len(here))
        self.assertEqual(device.copies, 2 * len(expected))
        return there

    def nodes(self, g, **options):
        sampler = NeighborSampler([3, 2], **options)

        def make(**more):
            return DistNodeDataLoader(
                g,
                {"user": torch.arange(290)},
                sampler,
                batch_size=32,
                shuffle=True,
                seed=1,
                num_workers=2,
                **more,
            )

        return make

    def test_batches_of_nodes_are_equal(self):
        for g in self.each_way():
            feats = {t: sorted(g.nodes[t].data)[:2] for t in g.ntypes}
            edges = {c: sorted(g.edges[c].data)[:1] for c in g.canonical_etypes}
            self.assertTrue(any(feats.values()) and any(edges.values()))
            self.check(self.nodes(g, prefetch_node_feats=feats, prefetch_edge_feats=edges))

    def test_batches_of_edges_are_equal(self):
        g = self.standalone()

        def make(**more):
            return DistEdgeDataLoader(
                g,
                {FOLLOWS: torch.arange(100)},
                NeighborSampler([3, 2]),
                batch_size=32,
                seed=1,
                negative_sampler=negative_sampler.Uniform(2),
                **more,
            )

        self.check(make)

    def test_samplers_in_python_and_collated_items_are_delivered(self):
        g = self.standalone()

        class Own(BlockSampler):
            def sample(self, g, seeds):
                return MultiLayerFullNeighborSampler(2).sample(g, seeds)

        seeds = {"user": torch.arange(70)}
        self.check(lambda **more: DistNodeDataLoader(g, seeds, Own(), batch_size=32, **more))

        def collate(items):
            return {"ids": torch.tensor(items), "none": (torch.empty(0), [torch.tensor(1)])}

        for workers in (0, 2):
            self.check(
                lambda workers=workers, **more: DistDataLoader(
                    range(10), 4, collate_fn=collate, num_workers=workers, **more
                )
            )
        device = LateDevice()
        steps = list(DistDataLoader(range(2), 1, collate_fn=lambda items: None, device=device))
        self.assertEqual(steps, [None, None])

    def test_rows_that_change_are_read_on_first_access(self):
        g = self.standalone()
        g.nodes["user"].data["h"] = DistTensor(
            (g.num_nodes("user"), 2),
            torch.float32,
            name="h",
            part_policy=g.get_node_partition_policy("user"),
        )
        make = self.nodes(g, prefetch_node_feats={"user": ["h"]})
        for i, (inputs, _, blocks) in enumerate(make(device=LateDevice())):
            h = g.nodes["user"].data["h"]
            h[:] = torch.full(h.shape, float(i))
            self.assertEqual(
                blocks[0].srcdata["h"]["user"].tolist(), [[float(i)] * 2] * len(inputs["user"])
            )

    def test_an_epoch_that_is_left_early_returns_its_buffers(self):
        g = self.standalone()
        device = LateDevice()
        loader = self.nodes(g)(device=device)
        before = threading.active_count()
        for _ in range(3):
            for step in loader:
                tensors_of(step)
                break
        self.assertEqual(threading.active_count(), before)
        pool = loader._delivery.pool
        self.assertEqual(pool.statistics()["lent_bytes"], 0)
        loader._delivery.close()
        held = pool.statistics()
        self.assertEqual([held["copying_bytes"], held["free_bytes"]], [0, 0])
        self.assertEqual(len(list(loader)), len(loader))

    def test_an_error_of_a_batch_reaches_its_step(self):
        def collate(items):
            if items[0] == 4:
                raise RuntimeError("batch 2 is broken")
            return torch.tensor(items)

        loader = DistDataLoader(range(8), 2, collate_fn=collate, device=LateDevice())
        steps = iter(loader)
        self.assertEqual([next(steps).tolist(), next(steps).tolist()], [[0, 1], [2, 3]])
        with self.assertRaisesRegex(RuntimeError, "batch 2 is broken"):
            next(steps)
        self.assertEqual(loader._delivery.pool.statistics()["lent_bytes"], 0)

    def test_a_step_is_freed_before_the_next_is_given(self):
        loader = self.nodes(self.standalone())(device=LateDevice())
        gc.disable()
        self.addCleanup(gc.enable)
        steps = iter(loader)
        block = weakref.ref(next(steps)[2][0])
        self.assertIsNone(block())
        steps.close()

    def test_the_next_copy_is_started_before_a_step_is_given(self):
        device, asked = LateDevice(), []
        reached = threading.Event()

        def collate(items):
            asked.append(items[0])
            if items[0] == 1:
                reached.set()
            return torch.tensor(items)

        steps = iter(DistDataLoader(range(4), 1, collate_fn=collate, device=device, num_workers=0))
        self.assertEqual(next(steps).tolist(), [0])
        self.assertTrue(reached.wait(10))
        steps.close()
        self.assertEqual(asked, [0, 1])

    def test_faults_of_the_copies_are_found(self):
        g = self.standalone()
        make = self.nodes(g)
        expected = [tensors_of(step) for step in make(device=None)]

        device = LateDevice()
        device.wait = lambda stream, event: None
        self.assertNotEqual(self.read(make(device=device)), expected)
        give_back = PinnedPool.give_back
        with unittest.mock.patch.object(
            PinnedPool, "give_back", lambda self, buffer, event=None: give_back(self, buffer)
        ):
            self.assertNotEqual(self.read(make(device=LateDevice())), expected)

    def read(self, loader):
        """Returns the ids of the steps that a loader has given, with what is wrong in them."""
        try:
            return [tensors_of(step) for step in loader]
        except (IndexError, RuntimeError) as error:  # ends of edges that are no nodes
            return error

    def test_pinned_batches_belong_to_the_caller(self):
        g = self.standalone()
        make = self.nodes(g, prefetch_node_feats={"user": sorted(g.nodes["user"].data)[:1]})
        expected = [tensors_of(step) for step in make()]
        device = LateDevice()
        with unittest.mock.patch("graphd.device.platform.pinning_platform", lambda: device):
            steps = list(make(pin_memory=True))
        self.assertEqual([tensors_of(step) for step in steps], expected)
        self.assertTrue(all(device.is_pinned(inputs["user"]) for inputs, _, _ in steps))
        self.assertEqual(len(device.pinned_sizes), len(steps))

    @unittest.mock.patch("torch.cuda.is_available", lambda: False)
    def test_without_cuda(self):
        make = self.nodes(self.standalone())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = make(pin_memory=True)
        self.assertIn("no CUDA here", str(caught[0].message))
        self.assertEqual(len(list(loader)), len(loader))
        for device in ("cuda", "cuda:1", 0, torch.device("cuda")):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "or leave device out"):
                make(device=device)
        for device in ("meta", "no device", 1.5):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "^device "):
                make(device=device)
        for device in (None, "cpu", torch.device("cpu"), torch.device("cpu", 0)):
            self.assertIsNone(make(device=device)._delivery)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "row_caches need a device"):
            make(row_caches=[None])

    def test_a_forked_process_is_told_so(self):
        loader = DistDataLoader(range(4), 2, collate_fn=torch.tensor, device=LateDevice())
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                iter(loader)
                message = "no error"
            except graphd.errors.InvalidError as error:
                message = str(error)
            os.write(write, message.encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assertIn("was made before this process was forked", pipe.read())
        os.waitpid(child, 0)


if __name__ == "__main__":
    support.main()
