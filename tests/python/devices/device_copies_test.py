# SPDX-License-Identifier: Apache-2.0
"""Tests the pool of pinned memory and the copies to a device that is as late as it may be."""

import unittest
import unittest.mock

import torch

import support
from graphd.device.copier import Copier
from graphd.device.packing import Packing
from graphd.device.pinned_pool import PinnedPool
from late_device import LateDevice

TENSORS = [
    torch.arange(7),
    torch.rand(3, 5),
    torch.empty(0, 4),
    torch.tensor([True, False]),
    torch.rand(6, 8).t(),
    torch.rand(4, 4)[:, 1:3].half(),
    torch.tensor(3.5),
]


def equal(found, expected):
    return all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
        for a, b in zip(found, expected)
    )


class Copies(unittest.TestCase):
    def copier(self, limit=1 << 30):
        device = LateDevice()
        pool = PinnedPool(device, limit)
        return device, pool, Copier(device, pool)

    def test_tensors_of_all_kinds_arrive_in_one_copy(self):
        device, _, copier = self.copier()
        found = copier.finish(copier.start(TENSORS))
        self.assertTrue(equal(found, TENSORS))
        self.assertEqual(device.copies, 1)
        self.assertEqual([each.data_ptr() % 64 for each in found if each.numel()], [0] * 6)

    def test_each_tensor_has_its_own_count_of_changes(self):
        packing = Packing(TENSORS)
        first, second, *_ = packing.read(torch.zeros(packing.size, dtype=torch.uint8))
        weight = torch.ones(3, 5, requires_grad=True)
        loss = (weight * second).sum()
        first.add_(1)
        loss.backward()
        self.assertTrue(torch.equal(weight.grad, second))

    def test_a_buffer_is_used_again_after_its_copy_only(self):
        device, pool, copier = self.copier()
        copies = [copier.start([torch.full((100,), i)]) for i in range(3)]
        for i, copy in enumerate(copies):
            self.assertEqual(copier.finish(copy)[0].tolist(), [i] * 100)
        self.assertEqual(len(device.pinned_sizes), 3)
        copier.finish(copier.start([torch.zeros(10)]))
        self.assertEqual(len(device.pinned_sizes), 3)
        self.assertEqual(pool.statistics()["reuses"], 1)

    def test_a_buffer_that_is_used_too_early_is_found(self):
        _, pool, copier = self.copier()
        give_back = pool.give_back
        with unittest.mock.patch.object(pool, "give_back", lambda buffer, event: give_back(buffer)):
            copies = [copier.start([torch.full((100,), i)]) for i in range(2)]
        self.assertNotEqual(copier.finish(copies[0])[0].tolist(), [0] * 100)

    def test_a_consumer_that_does_not_wait_is_found(self):
        device, _, copier = self.copier()
        with unittest.mock.patch.object(device, "wait", lambda stream, event: None):
            found = copier.finish(copier.start(TENSORS))
        self.assertFalse(equal(found, TENSORS))

    def test_memory_is_kept_for_the_stream_of_the_consumer(self):
        device, _, copier = self.copier()
        copy = copier.start(TENSORS)
        copier.finish(copy)
        self.assertIn(copy.target.data_ptr(), device.recorded)

    def test_the_limit_waits_for_copies_and_then_takes_pageable_memory(self):
        device, pool, copier = self.copier(limit=1 << 17)
        small = torch.zeros(1 << 16, dtype=torch.uint8)
        copies = [copier.start([small + i]) for i in range(5)]
        for i, copy in enumerate(copies):
            self.assertTrue(torch.equal(copier.finish(copy)[0], small + i))
        del copies, copy
        self.assertEqual(device.memory(), (0, 5 << 16, 1 << 16))
        self.assertEqual(sum(device.pinned_sizes), 1 << 17)
        large = torch.arange(1 << 17)
        self.assertTrue(torch.equal(copier.finish(copier.start([large]))[0], large))
        self.assertEqual(sum(device.pinned_sizes), 1 << 17)
        statistics = pool.statistics()
        self.assertEqual([statistics["refusals"], statistics["free_bytes"]], [1, 1 << 17])

    def test_a_failed_copy_gives_its_buffer_back(self):
        device, pool, copier = self.copier()
        full = unittest.mock.patch.object(device, "allocate", side_effect=MemoryError("full"))
        with full, self.assertRaisesRegex(MemoryError, "full"):
            copier.start(TENSORS)
        self.assertEqual(device.memory()[0], 0)
        self.assertEqual(pool.statistics()["lent_bytes"], 0)
        self.assertGreater(pool.statistics()["free_bytes"], 0)


if __name__ == "__main__":
    support.main()
