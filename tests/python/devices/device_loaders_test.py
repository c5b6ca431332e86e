# SPDX-License-Identifier: Apache-2.0
"""Tests that loaders deliver the same batches to a device, one ahead of the model."""

import collections
import functools
import gc
import os
import threading
import types
import unittest.mock
import warnings
import weakref

import torch

import graphd
import support
from graphd.device.delivery import Delivery
from graphd.device.parts import Parts
from graphd.device.pinned_pool import PinnedPool
from graphd.distributed import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader, DistTensor
from graphd.sampling import (
    BlockSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    as_edge_prediction_sampler,
    negative_sampler,
)
from late_device import LateDevice

FOLLOWS = ("user", "follows", "user")


def tensors_of(value):
    """Returns all tensors of a batch as lists."""
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.dtype, value.shape
    if isinstance(value, dict):
        return {key: tensors_of(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [tensors_of(each) for each in value]
    if isinstance(value, str):
        return value
    if isinstance(value, graphd.Block):
        frames = (value.src_frames, value.dst_frames, value.edge_frames)
        ends = [(*value.csc(etype), *value.coo(etype)) for etype in value.canonical_etypes]
        degrees = [value.in_degrees(etype=etype) for etype in value.canonical_etypes]
        return tensors_of([ends, degrees, [[dict(each) for each in kind] for kind in frames]])
    ends = [value.edges(form="all", etype=etype) for etype in value.canonical_etypes]
    return tensors_of([ends, dict(value.ndata), dict(value.edata)])


class Loaders(support.GraphTest):
    def check(self, make):
        """Compares all batches with those that stay on the host, in two epochs."""
        device = LateDevice()
        here, there = make(device=None), make(device=device)
        self.assertEqual(len(here), len(there))
        for _ in range(2):
            expected = [tensors_of(batch) for batch in here]
            self.assertEqual([tensors_of(batch) for batch in there], expected)
            self.assertEqual(len(expected), len(here))
        self.assertEqual(device.copies, 2 * len(expected))
        # The caller has a batch while the next one is there and the one behind it is on its way.
        held, most, largest = device.memory()
        self.assertEqual(held, 0)
        self.assertLessEqual(most, 3 * largest)

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

        def make(pooled, **more):
            return DistEdgeDataLoader(
                g,
                {FOLLOWS: torch.arange(100)},
                NeighborSampler([3, 2], pooled=pooled),
                batch_size=32,
                seed=1,
                negative_sampler=negative_sampler.Uniform(2),
                **more,
            )

        for pooled in (False, True):
            self.check(functools.partial(make, pooled))

    def test_labels_of_edges_are_delivered_with_the_batch(self):
        g = self.standalone()
        sampler = as_edge_prediction_sampler(NeighborSampler([3]), prefetch_labels={FOLLOWS: ["w"]})

        def make(**more):
            edges = {FOLLOWS: torch.arange(100)}
            return DistEdgeDataLoader(g, edges, sampler, batch_size=32, seed=1, **more)

        self.check(make)
        for _, pairs, _ in make(device=LateDevice()):
            shown = {name: shape for name, _, shape in pairs.edges[FOLLOWS].data.rows()}
            self.assertEqual(
                shown["w"], str(tuple(g.edges[FOLLOWS].data["w"][: pairs.num_edges()].shape))
            )

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
        batches = list(DistDataLoader(range(2), 1, collate_fn=lambda items: None, device=device))
        self.assertEqual(batches, [None, None])

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

    def test_a_sampler_in_python_reads_rows_that_change_on_first_access(self):
        class Own(graphd.sampling.BlockSampler):
            def sample_blocks(self, g, seed_nodes, exclude_eids=None):
                return NeighborSampler([3, 2]).sample_blocks(g, seed_nodes, exclude_eids)

        g = self.standalone()
        g.nodes["user"].data["h"] = DistTensor(
            (g.num_nodes("user"), 2),
            torch.float32,
            name="h2",
            part_policy=g.get_node_partition_policy("user"),
        )
        loader = DistNodeDataLoader(
            g,
            {"user": torch.arange(290)},
            Own(prefetch_node_feats={"user": ["h"]}),
            batch_size=32,
            device=LateDevice(),
        )
        for i, (inputs, _, blocks) in enumerate(loader):
            h = g.nodes["user"].data["h"]
            h[:] = torch.full(h.shape, float(i))
            self.assertEqual(
                blocks[0].srcdata["h"]["user"].tolist(), [[float(i)] * 2] * len(inputs["user"])
            )

    def test_pinning_leaves_tensors_of_other_devices_there(self):
        parts = Parts(torch.device("cpu"), is_pinning=True)
        elsewhere = torch.empty(3, device="meta")
        rebuild = parts.take([elsewhere, torch.arange(3)])
        self.assertEqual(len(parts.tensors), 1)
        self.assertIs(rebuild(parts.tensors)[0], elsewhere)

    def test_a_tensor_keeps_the_memory_of_its_batch(self):
        device = LateDevice()
        loader = DistDataLoader(
            range(4), 4, collate_fn=lambda ids: [torch.tensor(ids)] * 2, device=device
        )
        (batch,) = loader
        kept, size = batch[0], device.memory()[0]
        self.assertGreaterEqual(size, kept.numel() * kept.element_size())
        del batch
        self.assertEqual(device.memory(), (size, size, size))
        del kept
        self.assertEqual(device.memory(), (0, size, size))

    def test_an_epoch_that_is_left_early_returns_its_buffers(self):
        device = LateDevice()
        loader = self.nodes(self.standalone())(device=device)
        before = self.threads()
        for _ in range(3):
            for batch in loader:
                tensors_of(batch)
                break
        self.assertEqual(len(list(loader)), len(loader))  # behind the batches that were dropped
        self.assertEqual(loader._delivery.pool.statistics()["lent_bytes"], 0)
        self.assertGreater(device.memory()[1], 0)
        (thread,) = self.threads() - before
        del loader, batch
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual(device.memory()[0], 0)

    def threads(self):
        return {each for each in threading.enumerate() if each.name.startswith("graphd-delivery")}

    def test_leaving_waits_for_no_batch_and_one_thread_makes_all(self):
        delivery = Delivery(LateDevice())
        asked, go, threads, log = threading.Event(), threading.Event(), set(), []

        def make():
            log.append("begins")
            try:
                yield torch.tensor(0)
                asked.set()
                go.wait(20)
                log.append("goes on")
                threads.add(threading.current_thread())
                yield torch.tensor(1)
            finally:
                log.append("ends")

        first = delivery.batches(make)
        self.assertEqual(next(first).item(), 0)
        self.assertTrue(asked.wait(60))
        first.close()
        self.assertEqual(log, ["begins"])
        go.set()
        self.assertEqual([batch.item() for batch in delivery.batches(make)], [0, 1])
        self.assertEqual(log, ["begins", "goes on", "ends"] * 2)
        self.assertEqual(len(threads), 1)

    def test_a_device_that_could_not_be_used_can_be_tried_again(self):
        device = LateDevice()
        loader = DistDataLoader(range(4), 2, collate_fn=torch.tensor, device=device)
        full = unittest.mock.patch.object(device, "enter_thread", side_effect=RuntimeError("full"))
        with full, self.assertRaisesRegex(RuntimeError, "full"):
            iter(loader)
        self.assertEqual([batch.tolist() for batch in loader], [[0, 1], [2, 3]])

    def test_an_error_is_raised_in_the_place_of_its_batch(self):
        def collate(items):
            if items[0] == 4:
                raise RuntimeError("batch 2 is broken")
            return torch.tensor(items)

        loader = DistDataLoader(range(8), 2, collate_fn=collate, device=LateDevice())
        batches = iter(loader)
        self.assertEqual([next(batches).tolist(), next(batches).tolist()], [[0, 1], [2, 3]])
        with self.assertRaisesRegex(RuntimeError, "batch 2 is broken"):
            next(batches)
        self.assertEqual(loader._delivery.pool.statistics()["lent_bytes"], 0)

    def test_a_batch_is_freed_before_the_next_is_given(self):
        loader = self.nodes(self.standalone())(device=LateDevice())
        gc.disable()
        self.addCleanup(gc.enable)
        batches = iter(loader)
        block = weakref.ref(next(batches)[2][0])
        self.assertIsNone(block())
        batches.close()

    def test_the_next_batch_is_made_before_a_batch_is_given(self):
        device, asked = LateDevice(), []
        reached = threading.Event()

        def collate(items):
            asked.append(items[0])
            if items[0] == 1:
                reached.set()
            return torch.tensor(items)

        batches = iter(
            DistDataLoader(range(4), 1, collate_fn=collate, device=device, num_workers=0)
        )
        self.assertEqual(next(batches).tolist(), [0])
        self.assertTrue(reached.wait(10))
        batches.close()
        self.assertEqual(asked, [0, 1])

    def test_a_missing_wait_is_found(self):
        make = self.nodes(self.standalone())
        device = LateDevice()
        device.wait = lambda stream, event: None
        self.assertNotEqual(self.read(make(device=device)), self.read(make(device=None)))

    def test_a_buffer_that_is_used_too_early_is_found(self):
        make = self.nodes(self.standalone())
        device, second = LateDevice(), threading.Event()
        copy, wait, give_back = device.copy, device.wait, PinnedPool.give_back

        def note(*arguments):
            event = copy(*arguments)
            if device.copies == 2:
                second.set()
            return event

        def wait_late(*arguments):
            self.assertTrue(second.wait(60))
            wait(*arguments)

        device.copy, device.wait = note, wait_late
        with unittest.mock.patch.object(
            PinnedPool, "give_back", lambda pool, buffer, event: give_back(pool, buffer)
        ):
            found = self.read(make(device=device))
        self.assertNotEqual(found[0], self.read(make(device=None))[0])

    def read(self, loader):
        """Returns the ids of the nodes of all batches. The edges may be wrong here, so that nothing may
        be computed from them."""
        return [tensors_of(batch[:2]) for batch in loader]

    def check_pinned(self, make, some_of):
        """Compares all batches with those in pageable memory, and looks where some tensors are."""
        expected = [tensors_of(batch) for batch in make()]
        device = LateDevice()
        with unittest.mock.patch("graphd.device.platform.pinning_platform", lambda _: device):
            batches = list(make(pin_memory=True))
        self.assertEqual([tensors_of(batch) for batch in batches], expected)
        self.assertEqual(len(device.pinned_sizes), len(batches))
        for batch in batches:
            for tensor in some_of(batch):
                self.assertTrue(device.is_pinned(tensor))

    def test_pinned_batches_belong_to_the_caller(self):
        g = self.standalone()
        make = self.nodes(g, prefetch_node_feats={"user": sorted(g.nodes["user"].data)[:1]})
        self.check_pinned(make, lambda batch: [batch[0]["user"], batch[2][0].csc(FOLLOWS)[1]])

    def test_pinned_batches_of_edges_belong_to_the_caller(self):
        g = self.standalone()

        def some_of(batch):
            input_nodes, pairs, negatives, blocks = batch
            return [
                input_nodes["user"],
                *pairs.edges(etype=FOLLOWS),
                *negatives.edges(etype=FOLLOWS),
                blocks[0].csc(FOLLOWS)[1],
                blocks[0].srcdata["age"]["user"],
            ]

        for workers in (0, 2):
            self.check_pinned(
                lambda workers=workers, **more: DistEdgeDataLoader(
                    g,
                    {FOLLOWS: torch.arange(100)},
                    NeighborSampler([3, 2], prefetch_node_feats={"user": ["age"]}),
                    batch_size=32,
                    seed=1,
                    num_workers=workers,
                    negative_sampler=negative_sampler.Uniform(2),
                    **more,
                ),
                some_of,
            )

    def test_pinned_collated_items_belong_to_the_caller(self):
        def collate(items):
            return {"ids": torch.tensor(items), "twice": (2 * torch.tensor(items), "text")}

        for workers in (0, 2):
            self.check_pinned(
                lambda workers=workers, **more: DistDataLoader(
                    range(10), 4, collate_fn=collate, num_workers=workers, **more
                ),
                lambda batch: [batch["ids"], batch["twice"][0]],
            )

    @unittest.mock.patch("torch.cuda.is_available", lambda: False)
    def test_without_cuda(self):
        make = self.nodes(self.standalone())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = make(pin_memory=True)
            DistDataLoader(range(4), 2, pin_memory=True)
        for each in caught:
            self.assertIn("no CUDA here", str(each.message))
        self.assertEqual([each.filename for each in caught], [__file__] * 2)
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
            message = "no error"
            try:
                iter(loader)
            except BaseException as error:
                message = repr(error)
            finally:
                os.write(write, message.encode())
                os._exit(0)  # the tests are the parent's
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assertRegex(pipe.read(), "^InvalidError.*was made before this process was forked")
        os.waitpid(child, 0)

    def test_containers_keep_their_types(self):
        packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
        pair = collections.namedtuple("Pair", ["a", "b"])
        found = collections.defaultdict(list, a=[torch.tensor(1)])
        batch = {
            "ordered": collections.OrderedDict(b=torch.tensor(2), a=3),
            "default": found,
            "user": collections.UserDict(a=torch.tensor(4)),
            "view": types.MappingProxyType({"a": torch.tensor(5)}),
            "pair": pair(torch.tensor(6), "text"),
            "size": torch.Size([1, 2]),
            "list": [(torch.tensor(7),)],
            "packed": packed,
        }
        loader = DistDataLoader([0], 1, collate_fn=lambda _: batch, device=LateDevice())
        (there,) = loader
        for name in ("ordered", "default", "user", "pair", "size", "list", "packed"):
            self.assertIs(type(there[name]), type(batch[name]), name)
        self.assertEqual(list(there["ordered"]), ["b", "a"])
        self.assertEqual(there["view"], {"a": torch.tensor(5)})
        self.assertEqual(there["default"]["none"], [])
        self.assertEqual(sorted(found), ["a"])
        self.assertIsNot(there["user"]["a"], batch["user"]["a"])
        self.assertEqual((there["pair"].a.item(), there["list"][0][0].item()), (6, 7))
        self.assertTrue(torch.equal(there["packed"].data, packed.data))


class Blocks(support.GraphTest):
    def block(self, **options):
        g = self.standalone()
        feats = {"user": sorted(g.nodes["user"].data)[:1]}
        sampler = NeighborSampler([3], prefetch_node_feats=feats)
        loader = DistNodeDataLoader(g, {"user": [1, 2]}, sampler, batch_size=2, seed=1, **options)
        return next(iter(loader))[2][0]

    def test_a_block_that_is_moved_again_keeps_its_edges(self):
        block = self.block(device=LateDevice())
        moved = block.to("cpu")
        for etype in block.canonical_etypes:
            for before, after in zip(block.csc(etype), moved.csc(etype)):
                self.assertEqual(before.data_ptr(), after.data_ptr())
            self.assertEqual(block.to("meta").csc(etype)[0].device.type, "meta")

    def test_a_block_is_moved_through_pinned_memory(self):
        device, block = LateDevice(), self.block()
        there = block.to(device, non_blocking=True)
        self.assertEqual((device.copies, len(device.pinned_sizes)), (1, 1))
        self.assertEqual(tensors_of(there), tensors_of(block))
        for etype in block.canonical_etypes:
            for before, after in zip(block.csc(etype), there.csc(etype)):
                if len(before):
                    self.assertNotEqual(before.data_ptr(), after.data_ptr())


if __name__ == "__main__":
    support.main()
