# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of tests/device/gpu_check.py where there is no GPU: they pass with a device in host
memory, and fail with one that does not wait for copies."""

import os
import shutil
import sys
import tempfile
import types
import unittest
import unittest.mock

import torch

import jobs
from graphd.distributed import DistDataLoader
from late_device import LateDevice

sys.path.insert(0, os.path.join(jobs.ROOT, "tests", "device"))
import deliveries
import gpu_check


class Deliveries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="graphd-gpu-check-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.g = deliveries.make_graph(f"{folder}/one", 4000, 40000, 8)
        cls.typed = deliveries.make_typed_graph(f"{folder}/typed", 2000, 20000, 8)

    def checks(self, make):
        """Runs checks with a device, and returns those that have failed; there is one at least."""
        found = list(make(LateDevice()))
        self.assertTrue(found)
        return [each for each in found if not each[1]]

    def each(self):
        yield lambda device: deliveries.loaders(self.g, device)
        yield lambda device: deliveries.typed_loaders(self.typed, device)
        yield lambda device: deliveries.pyg_loaders(self.g, self.typed, device)
        yield lambda device: deliveries.gradients(self.g, device)

    def test_they_pass(self):
        for make in self.each():
            self.assertEqual(self.checks(make), [])

    def test_gradients_that_are_not_waited_for_are_found(self):
        with unittest.mock.patch("late_device._Event.synchronize", lambda event: None):
            failed = self.checks(lambda device: deliveries.gradients(self.g, device))
        names = [f"{kind} by_autograd" for kind in ("SparseSGD", "SparseAdagrad", "SparseAdam")]
        self.assertEqual([each[0].removesuffix(" gives equal rows") for each in failed], names)

    def test_batches_that_are_not_waited_for_are_found(self):
        def make(**options):
            return DistDataLoader(range(64), 16, collate_fn=torch.tensor, **options)

        with unittest.mock.patch.object(LateDevice, "wait", lambda *_: None):
            failed = self.checks(lambda device: deliveries.compare("items", make, device))
        self.assertEqual([each[0] for each in failed], ["batches of items are equal"])

    def test_loaders_without_a_batch_are_no_success(self):
        failed = self.checks(lambda device: deliveries.compare("none", lambda **_: [], device))
        self.assertEqual(failed, [("batches of none are equal", False, "0 tensors")])


class Overlap(unittest.TestCase):
    def event(self, name, start, end, **more):
        span = types.SimpleNamespace(start=start, end=end)
        cuda = torch.autograd.DeviceType.CUDA
        return types.SimpleNamespace(device_type=cuda, name=name, time_range=span, **more)

    def test_kernels_hide_copies_and_annotations_do_not(self):
        copy, kernel = self.event("Memcpy HtoD", 10, 20), self.event("gemm", 5, 12)
        step = self.event("Optimizer.step#Adam.step", 0, 30, is_user_annotation=True)
        self.assertEqual(gpu_check.overlap([copy, kernel]), 0.2)
        self.assertEqual(gpu_check.overlap([copy, kernel, step]), 0.2)
        back = self.event("Memcpy DtoH", 0, 30, is_user_annotation=False)
        twice = [self.event("a", 0, 15), self.event("b", 10, 18)]
        self.assertEqual(gpu_check.overlap([copy, *twice, back]), 0.8)
        self.assertEqual(gpu_check.overlap([kernel]), 0)


if __name__ == "__main__":
    unittest.main()
