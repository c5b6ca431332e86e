# SPDX-License-Identifier: Apache-2.0
"""Tests the exchange of tensors: their library, the memory that is shared, and errors."""

import gc
import hashlib
import resource
import threading

import numpy as np
import torch

import graphd
import support


class Out(support.GraphTest):
    def tearDown(self):
        graphd.use("torch")

    def test_every_feature_has_the_bytes_that_dgl_read(self):
        dgl = support.fixture("hetero_2p").expected
        g = self.standalone()
        book = g.get_partition_book()
        for part in dgl["parts"]:
            owned = part["part_id"]
            for kind, ids_of, space in (
                ("node_feats", book.partid2nids, g.nodes),
                ("edge_feats", book.partid2eids, g.edges),
            ):
                for key, wanted in part[kind].items():
                    of, name = key.rsplit("/", 1)
                    of = tuple(of.split(":")) if ":" in of else of
                    rows = space[of].data[name][ids_of(owned, of)]
                    self.assertEqual(list(rows.shape), wanted["shape"], key)
                    self.assertEqual(str(rows.dtype), wanted["torch_dtype"], key)
                    digest = hashlib.sha256(rows.numpy().tobytes()).hexdigest()
                    self.assertEqual(digest, wanted["sha256"], key)

    def test_numpy_arrays_have_the_same_values(self):
        g = self.standalone()
        for name in g.nodes["user"].data:
            graphd.use("torch")
            of_torch = g.nodes["user"].data[name][:]
            graphd.use("numpy")
            of_numpy = g.nodes["user"].data[name][:]
            self.assertIsInstance(of_numpy, np.ndarray)
            np.testing.assert_array_equal(of_numpy, of_torch.numpy())

    def test_bool_stays_bool(self):
        g = self.standalone()
        found = g.has_edges_between([0], [0], "follows")
        self.assertEqual(found.dtype, torch.bool)
        graphd.use("numpy")
        self.assertEqual(g.has_edges_between([0], [0], "follows").dtype, np.bool_)

    def test_a_tensor_keeps_its_batch_alive(self):
        g = self.standalone()
        sampler = graphd.sampling.NeighborSampler([-1])
        _, _, (block,) = sampler.sample(g, {"user": [0, 1, 2]})
        indptr, indices = block.csc("follows")
        kept = indices.clone(), indptr.clone()
        del block
        gc.collect()
        for _ in range(50):  # overwrites memory that was freed
            sampler.sample(g, {"user": list(range(100))})
        self.assertTrue(torch.equal(indices, kept[0]) and torch.equal(indptr, kept[1]))

    def test_two_views_of_a_batch_share_memory(self):
        g = self.standalone()
        _, _, (block,) = graphd.sampling.NeighborSampler([2]).sample(g, {"user": [0, 1, 2]})
        self.assertEqual(block.csc("follows")[1].data_ptr(), block.csc("follows")[1].data_ptr())

    def test_nothing_leaks(self):
        g = self.standalone()
        feat = g.nodes["user"].data["feat"]
        ids = torch.arange(300)

        def read(times):
            for _ in range(times):
                feat[ids], g.find_edges(ids, "follows")
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        read(2000)
        before = read(2000)
        self.assertLess(read(20000) - before, 4096)  # KiB; 20,000 rows of features are 380 MiB


class In(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.feat = self.standalone().nodes["user"].data["feat"]

    def test_ids_of_every_kind_give_the_same_result(self):
        wanted = self.feat[torch.tensor([5, 3, 3])]
        for ids in (
            np.array([5, 3, 3]),
            [5, 3, 3],
            torch.tensor([5, 0, 3, 0, 3])[::2],
            np.array([5, 0, 3, 0, 3])[::2],
            np.array([5, 3, 3]).astype(">i8").astype("i8"),
        ):
            self.assertTrue(torch.equal(self.feat[ids], wanted))
        self.assertEqual(tuple(self.feat[5].shape), (1, 16))
        self.assertEqual(tuple(self.feat[[]].shape), (0, 16))
        self.assertEqual(tuple(self.feat[torch.empty(0, dtype=torch.int64)].shape), (0, 16))

    def test_other_dtypes_raise_an_error(self):
        for ids in (
            torch.tensor([1], dtype=torch.int16),
            np.array([1], np.int16),
            np.array([1], ">i4"),
            torch.tensor([1.0]),
            np.array([1.0]),
            np.array([1], np.uint64),
            [1.5],
            ["1"],
            np.array([1], ">i8"),
            torch.tensor([[1]]),
        ):
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(ids)) as caught:
                self.feat[ids]
            self.assertEqual(caught.exception.code, "invalid")

    def test_the_message_names_the_argument_and_a_remedy(self):
        with self.assertRaises(graphd.GraphdError) as caught:
            self.feat[torch.tensor([1, 2], dtype=torch.int16)]
        self.assertIn("int16 of shape [2]", str(caught.exception))
        self.assertIn("convert it where it is made", caught.exception.remedy)

    def test_other_devices_raise_an_error(self):
        with self.assertRaises(graphd.errors.InvalidError):
            self.feat[torch.tensor([1], device="meta")]

    def test_objects_that_are_not_tensors_raise_an_error(self):
        for ids in (None, object(), {"a": 1}):
            with self.assertRaises((graphd.errors.InvalidError, TypeError)):
                self.feat[ids]


class Gil(support.GraphTest):
    def test_other_threads_run_while_a_call_works(self):
        g = self.standalone()
        feat, ids = g.nodes["user"].data["feat"], torch.arange(300).repeat(4000)
        count, stop = [0], threading.Event()

        def run():
            while not stop.is_set():
                count[0] += 1

        thread = threading.Thread(target=run)
        thread.start()
        before = count[0]
        feat[ids]  # 77 MB
        during = count[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 1000)


if __name__ == "__main__":
    support.main()
