# SPDX-License-Identifier: Apache-2.0
"""Tests gradients of embeddings that come back from a device."""

import unittest.mock

import torch

import support
from graphd.distributed import DistEmbedding
from graphd.distributed.optim import SparseSGD
from late_device import LateDevice


class Gradients(support.GraphTest):
    fixture = "sbm_2p_metis"

    def embedding(self):
        self.g = self.standalone()
        return DistEmbedding(
            self.g.num_nodes(), 4, init_func=lambda shape, dtype: torch.ones(shape)
        )

    def trained(self, device, steps=3, **options):
        embedding = self.embedding()
        optimizer = SparseSGD([embedding], lr=0.1, **options)
        for i in range(steps):
            ids = torch.arange(i, i + 10)
            (embedding(ids, device) * torch.arange(4.0)).sum().backward()
            (embedding(ids[:3], device) ** 2).sum().backward()
            optimizer.step()
        return embedding.weight[:]

    def test_rows_become_the_same(self):
        expected = self.trained(None)
        self.assertNotEqual(expected[0].tolist(), [1.0] * 4)
        self.assertTrue(torch.equal(self.trained(LateDevice()), expected))

    def test_a_step_that_does_not_wait_is_found(self):
        with unittest.mock.patch("late_device._Event.synchronize", lambda event: None):
            found = self.trained(LateDevice())
        self.assertFalse(torch.equal(found, self.trained(None)))

    def test_copies_of_many_gradients_before_a_step_are_few(self):
        embedding, device = self.embedding(), LateDevice()
        optimizer = SparseSGD([embedding], lr=0.5, sum_duplicates=True)
        ids = torch.arange(3)
        for _ in range(100):
            embedding(ids, device).sum().backward()
        self.assertEqual(len(embedding._gradients._waiting), 64)
        device.current_stream().run(100)  # the copies end
        embedding(ids, device).sum().backward()
        self.assertEqual(len(embedding._gradients._waiting), 1)
        ids.add_(100)  # ids belong to the caller
        optimizer.step()
        self.assertEqual(embedding.weight[:4, 0].tolist(), [1 - 0.5 * 101] * 3 + [1])

    def test_discarded_gradients_are_not_applied(self):
        embedding = self.embedding()
        optimizer = SparseSGD([embedding], lr=0.1)
        for discard in (embedding.reset_trace, optimizer.zero_grad):
            embedding(torch.arange(5), LateDevice()).sum().backward()
            discard()
            optimizer.step()
        self.assertTrue(bool((embedding.weight == 1).all()))

    def test_no_gradients_are_kept_where_autograd_does_not_record(self):
        embedding = self.embedding()
        with torch.no_grad():
            self.assertFalse(embedding([1, 2], LateDevice()).requires_grad)


if __name__ == "__main__":
    support.main()
