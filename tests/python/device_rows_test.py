# SPDX-License-Identifier: Apache-2.0
"""Tests the cache of rows that a device keeps."""

import torch

import graphd
import support
from graphd.device import DeviceRowCache
from graphd.distributed import DistNodeDataLoader, DistTensor, nodes_by_access, nodes_by_degree
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

    def test_batches_have_the_rows(self):
        for g in self.each_way():
            device = LateDevice()

            def loader(g=g, **options):
                return DistNodeDataLoader(
                    g, torch.arange(200), NeighborSampler([3, 3]), batch_size=64, seed=1, **options
                )

            hot = nodes_by_access(g, loader(), 300, everywhere=True)
            cache = DeviceRowCache(g.ndata["feat"], hot, device)
            steps = 0
            for inputs, _, blocks in loader(device=device, row_caches=[cache]):
                self.assertTrue(torch.equal(blocks[0].srcdata["feat"], g.ndata["feat"][inputs]))
                steps += 1
            self.assertEqual(steps, 4)
            self.assertGreater(cache.stats()["hit_rate"], 0.3)

    def test_what_cannot_be_kept_is_said(self):
        g = self.standalone()
        tensor = DistTensor((g.num_nodes(), 2), torch.float32, name="changing")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "rows that can change"):
            DeviceRowCache(tensor, [1], LateDevice())
        with self.assertRaisesRegex(graphd.errors.OverloadedError, "more than max_bytes=100"):
            DeviceRowCache(g.ndata["feat"], range(100), LateDevice(), max_bytes=100)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "is no DeviceRowCache"):
            DistNodeDataLoader(
                g, [1], NeighborSampler([1]), LateDevice(), batch_size=1, row_caches=[3]
            )


if __name__ == "__main__":
    support.main()
