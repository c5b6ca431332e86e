# SPDX-License-Identifier: Apache-2.0
"""Tests the cache of rows that a device keeps."""

import torch

import graphd
import support
from graphd.device import DeviceRowCache
from graphd.distributed import DistNodeDataLoader, DistTensor, nodes_by_access, nodes_by_degree
from graphd.errors import InvalidError
from graphd.sampling import NeighborSampler
from late_device import LateDevice


class Rows(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_rows_are_those_of_the_feature(self):
        g = self.standalone()
        feat = g.ndata["feat"]
        hot = nodes_by_degree(g, 100, everywhere=True)
        self.assertEqual(len(hot), 100)
        cache = DeviceRowCache(feat, torch.cat([hot, hot[:5]]), LateDevice())
        for ids in (hot[:7], torch.arange(300), torch.tensor([5, 5, 1]), torch.empty(0).long()):
            self.assertTrue(torch.equal(cache.get(ids), feat[ids]))
        hits = 7 + len(set(hot.tolist()) & set(range(300)))
        hits += sum(hot.tolist().count(i) for i in (5, 5, 1))
        stats = cache.stats()
        self.assertEqual((stats["rows"], stats["hits"], stats["misses"]), (100, hits, 310 - hits))
        self.assertEqual(stats["hit_rate"], hits / 310)
        self.assertEqual(stats["bytes"], feat[hot].numel() * 4)
        empty = DeviceRowCache(feat, [], LateDevice())
        self.assertTrue(torch.equal(empty.get([3, 1]), feat[[3, 1]]))
        self.assertEqual(empty.stats()["hit_rate"], 0)
        with self.assertRaises(graphd.errors.OutOfRangeError):
            cache.get([g.num_nodes()])

    def test_masks_and_rows_from_the_end_are_those_of_the_feature(self):
        g = self.standalone()
        feat = g.ndata["feat"]
        mask = torch.zeros(g.num_nodes(), dtype=torch.bool)
        mask[[3, 5]] = True
        for rows in (mask, mask.byte(), mask.tolist(), torch.tensor([3, 5 - g.num_nodes(), 3])):
            cache = DeviceRowCache(feat, rows, LateDevice())
            self.assertEqual(cache.stats()["rows"], 2)
            for again in (rows, [3, 5], [-g.num_nodes() + 3]):
                self.assertTrue(torch.equal(cache.get(again), feat[again]))
            self.assertEqual(cache.stats()["misses"], 0)
        cache = DeviceRowCache(feat, [], LateDevice())
        for rows in (torch.tensor([1.0]), [1.5], 3, torch.tensor([[1]])):
            with self.subTest(rows), self.assertRaisesRegex(InvalidError, "list of int64 ids"):
                cache.get(rows)
            with self.subTest(rows), self.assertRaisesRegex(InvalidError, "list of int64 ids"):
                DeviceRowCache(feat, rows, LateDevice())
        with self.assertRaisesRegex(InvalidError, "one bool for each of"):
            DeviceRowCache(feat, mask[1:], LateDevice())

    def test_batches_have_the_rows(self):
        for g in self.each_way():
            device = LateDevice()

            def loader(g=g, **options):
                return DistNodeDataLoader(
                    g, torch.arange(200), NeighborSampler([3, 3]), batch_size=64, seed=1, **options
                )

            hot = nodes_by_access(g, loader(), 300, everywhere=True)
            cache = DeviceRowCache(g.ndata["feat"], hot, device)
            batches = 0
            for inputs, _, blocks in loader(device=device, row_caches=[cache]):
                self.assertTrue(torch.equal(blocks[0].srcdata["feat"], g.ndata["feat"][inputs]))
                batches += 1
            self.assertEqual(batches, 4)
            self.assertGreater(cache.stats()["hit_rate"], 0.3)
            for each in (loader(device=device, row_caches=None), loader(row_caches=None)):
                self.assertEqual(len(list(each)), 4)

    def loader(self, g, cache):
        sampler = NeighborSampler([3])
        return DistNodeDataLoader(
            g, torch.arange(200), sampler, LateDevice(), batch_size=50, row_caches=[cache]
        )

    def test_rows_of_a_feature_that_was_replaced_are_not_given(self):
        g = self.standalone()
        cache = DeviceRowCache(g.ndata["feat"], range(300), LateDevice())
        feat = g.ndata["feat"]
        batches = iter(self.loader(g, cache))
        next(batches)
        g.ndata["feat"] = DistTensor(feat.shape, feat.dtype, name="other")
        with self.assertRaisesRegex(InvalidError, "was changed or replaced"):
            next(batches)  # it was planned before
        with self.assertRaisesRegex(InvalidError, "was changed or replaced"):
            list(self.loader(g, cache))
        del g.ndata["feat"]
        self.assertEqual(len(list(self.loader(g, cache))), 4)

    def test_rows_of_a_feature_that_was_changed_are_not_given(self):
        g = self.standalone()
        cache = DeviceRowCache(g.ndata["feat"], range(300), LateDevice())
        self.assertEqual(len(list(self.loader(g, cache))), 4)
        g.ndata["feat"][[0]] = torch.zeros(1, *g.ndata["feat"].shape[1:])
        for call in (lambda: cache.get([0]), lambda: list(self.loader(g, cache))):
            with self.assertRaisesRegex(InvalidError, "was changed or replaced"):
                call()

    def test_caches_of_other_graphs_and_batches_without_blocks_are_refused(self):
        g, other = self.standalone(), self.standalone()
        cache = DeviceRowCache(other.ndata["feat"], [1], LateDevice())
        with self.assertRaisesRegex(InvalidError, "another DistGraph"):
            self.loader(g, cache)
        for batch in (None, [], ([1], [2], []), ([1], [2], [3])):
            with self.assertRaisesRegex(InvalidError, "batches that end with blocks"):
                cache.plan(batch, None, other)

    def test_what_cannot_be_kept_is_said(self):
        g = self.standalone()
        tensor = DistTensor((g.num_nodes(), 2), torch.float32, name="changing")
        with self.assertRaisesRegex(InvalidError, "rows that can change"):
            DeviceRowCache(tensor, [1], LateDevice())
        with self.assertRaisesRegex(graphd.errors.OverloadedError, "more than max_bytes=100"):
            DeviceRowCache(g.ndata["feat"], range(100), LateDevice(), max_bytes=100)
        with self.assertRaisesRegex(InvalidError, "is not a DeviceRowCache"):
            DistNodeDataLoader(
                g, [1], NeighborSampler([1]), LateDevice(), batch_size=1, row_caches=[3]
            )


if __name__ == "__main__":
    support.main()
