# SPDX-License-Identifier: Apache-2.0
"""Compares a DistTensor with the PyTorch tensor of its rows: brackets, iteration, conversion to
arrays, and comparison, in this process, from mapped memory, and over TCP."""

import copy
import io
import itertools
import multiprocessing
import pickle
import shutil
import tempfile
import unittest.mock

import numpy as np
import torch

import graphd
import support
from graphd.distributed import DistGraph, DistTensor, partition_graph, sequence_reads

_names = (f"p{i}" for i in itertools.count())
MASK = torch.arange(300) % 7 == 3


class Elsewhere:
    """A tensor on a device, whose elements can be read after a copy to the host alone."""

    device, is_cpu = "cuda:0", False

    def __init__(self, tensor):
        self._tensor, self.dtype, self.shape = tensor, tensor.dtype, tensor.shape

    def detach(self):
        return self

    def cpu(self):
        return self._tensor.clone()


class Protocol(support.GraphTest):
    def each_tensor(self):
        """Yields a graph, and a tensor [300, 4] beside a copy of its rows, each way."""
        for g in self.each_way():
            rows = torch.arange(1200, dtype=torch.float32).reshape(300, 4)
            tensor = DistTensor((300, 4), torch.float32, name=next(_names))
            tensor[:] = rows
            yield g, tensor, rows

    def test_brackets_read_what_pytorch_reads(self):
        for _, tensor, rows in self.each_tensor():
            ids = [5, -1, 0, -300, 299]
            for index in (
                slice(250, 290, 3),
                slice(-10, None),
                slice(4, 2),
                Ellipsis,
                ids,
                MASK,
                MASK.tolist(),
                (ids, 2),
                (ids, slice(1, 3)),
                (ids, [0, 1, 2, 3, 0]),
                (MASK, [1] * int(MASK.sum())),
                (slice(10, 20), [3, 0]),
                (Ellipsis, 1),
                (slice(None), -1),
            ):
                with self.subTest(index=index):
                    self.assertTrue(torch.equal(tensor[index], rows[index]))
            self.assertTrue(torch.equal(tensor[torch.tensor(ids)], rows[ids]))
            self.assertTrue(torch.equal(tensor[np.array(ids)], rows[ids]))
            self.assertTrue(torch.equal(tensor[MASK.numpy()], rows[MASK]))
            self.assertTrue(torch.equal(tensor[MASK.to(torch.uint8)], rows[MASK]))
            # An int keeps the first dimension, as in DGL.
            self.assertTrue(torch.equal(tensor[-1], rows[-1:]))
            self.assertTrue(torch.equal(tensor[7, 3], rows[7:8, 3]))

    def test_ids_and_values_may_be_on_a_device(self):
        for _, tensor, rows in self.each_tensor():
            for index, local in (
                (torch.tensor([5, 0, 299, 5]), [5, 0, 299, 5]),
                (torch.tensor([-1, 7]), [-1, 7]),
                (torch.tensor([3, 1], dtype=torch.int32), [3, 1]),
                (MASK, MASK),
                (MASK.to(torch.uint8), MASK),
            ):
                found = tensor[Elsewhere(index)]
                self.assertTrue(torch.equal(found, rows[local]))
                self.assertEqual(found.device.type, "cpu")
                self.assertTrue(torch.equal(tensor[Elsewhere(index), 1], rows[local][:, 1]))
            ids, values = torch.tensor([8, 2]), torch.ones(2, 4)
            tensor[Elsewhere(ids)] = Elsewhere(values)
            tensor.add(Elsewhere(ids), Elsewhere(values))
            rows[ids] = 2 * values
            self.assertTrue(torch.equal(tensor[:], rows))
            for wrong in (torch.ones(2, 4, device="meta"), Elsewhere(torch.ones(2, 4).double())):
                with self.assertRaises(graphd.errors.InvalidError):
                    tensor[ids] = wrong

    def test_a_distributed_mask_selects_rows(self):
        for _, tensor, rows in self.each_tensor():
            mask = DistTensor((300,), torch.bool, name=next(_names))
            mask[:] = MASK
            self.assertTrue(torch.equal(tensor[mask], rows[MASK]))

    def test_rows_outside_are_an_index_error_that_names_the_row(self):
        for _, tensor, _ in self.each_tensor():
            for index, named in ((300, 300), (-301, -301), ([0, 1000], 1000), ([-1, -999], -999)):
                with self.assertRaisesRegex(IndexError, f"row {named} .*-300..299"):
                    tensor[index]
                with self.assertRaises(graphd.errors.InvalidError):
                    tensor[index] = torch.zeros(np.size(index), 4)
            for mask in (MASK[:299], torch.ones(300, 4, dtype=torch.bool), [True]):
                with self.assertRaisesRegex(graphd.errors.InvalidError, "one bool for each"):
                    tensor[mask]
            with self.assertRaisesRegex(graphd.errors.InvalidError, "reads all rows"):
                tensor[None]
            # Other faults of ids are reported as they are.
            for ids, fault in (
                (torch.tensor([-1], dtype=torch.int16), "int16"),
                (torch.tensor([1], device="meta"), "device meta"),
                (torch.tensor([[-1]]), r"shape \[1, 1\]"),
            ):
                with self.assertRaisesRegex(graphd.errors.InvalidError, fault):
                    tensor[ids]

    def test_brackets_change_what_pytorch_changes(self):
        for _, tensor, rows in self.each_tensor():
            ids = np.array([4, -1], np.int32)  # PyTorch itself wants int64
            for index in (ids, torch.from_numpy(ids)):
                self.assertTrue(torch.equal(tensor[index], rows[[4, -1]]))
                self.assertTrue(torch.equal(tensor[index, 1], rows[[4, -1], 1]))
                tensor[index] = rows[[5, 6]]
                rows[[4, -1]] = rows[[5, 6]]
                self.assertTrue(torch.equal(tensor[:], rows))
            for index in ([-1, 3], MASK, slice(5, 50, 7), Ellipsis):
                values = torch.randn(rows[index].shape)
                tensor[index], rows[index] = values, values
                self.assertTrue(torch.equal(tensor[:], rows))
            tensor.add([-1, -1, 0], torch.ones(3, 4))
            rows[-1] += 2
            rows[0] += 1
            self.assertTrue(torch.allclose(tensor[:], rows))
            with self.assertRaisesRegex(graphd.errors.InvalidError, "whole rows"):
                tensor[[0], 1] = torch.ones(1)

    def test_iteration_ends_and_yields_the_rows(self):
        for g, tensor, rows in self.each_tensor():
            self.assertTrue(torch.equal(torch.stack(list(tensor)), rows))
            self.assertEqual(len(tensor), len(list(tensor)))
            age = g.nodes["user"].data["age"]
            self.assertEqual([int(each) for each in age], age[:].tolist())

    def test_libraries_convert_all_rows(self):
        for _, tensor, rows in self.each_tensor():
            self.assertTrue(np.array_equal(np.asarray(tensor), rows.numpy()))
            self.assertEqual(np.asarray(tensor, dtype="float64").dtype, np.float64)
            self.assertTrue(torch.equal(torch.from_dlpack(tensor), rows))
            self.assertTrue(torch.equal(torch.as_tensor(np.asarray(tensor)), rows))
            self.assertTrue(torch.equal(tensor.to("cpu"), rows))
            self.assertEqual(tensor.to(torch.float64).dtype, torch.float64)

    def test_pytorch_converts_all_rows_at_once_or_not_at_all(self):
        # PyTorch takes capsules there from 2.6 on, so that all conversions have to succeed with it.
        may_refuse = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6)
        for g, tensor, _ in self.each_tensor():
            age = g.nodes["user"].data["age"]
            for each, convert in itertools.product(
                (tensor, age), (torch.as_tensor, torch.tensor, torch.asarray)
            ):
                with unittest.mock.patch.object(
                    DistTensor, "__getitem__", autospec=True, side_effect=DistTensor.__getitem__
                ) as reads:
                    try:
                        found = convert(each)
                    except graphd.errors.InvalidError as error:
                        self.assertTrue(may_refuse, f"{convert.__name__}: {error}")
                        self.assertRegex(str(error), f"{each.name}.*t\\[:\\] reads all rows")
                        self.assertEqual(reads.call_count, 0)
                        continue
                    self.assertLessEqual(reads.call_count, 1)
                self.assertTrue(torch.equal(found, each[:]))

    def test_other_libraries_do_not_see_an_array_of_a_gpu(self):
        tensor = self.standalone().nodes["user"].data["feat"]
        with unittest.mock.patch.object(sequence_reads, "_takes_capsules", return_value=True):
            self.assertFalse(hasattr(tensor, "__cuda_array_interface__"))

    def test_pickles_and_files_have_the_rows(self):
        for g, tensor, rows in self.each_tensor():
            for feature in (tensor, g.nodes["user"].data["feat"]):
                wanted = feature[:]
                file, plain = io.BytesIO(), io.BytesIO()
                torch.save({"t": feature, "also": feature}, file)
                torch.save({"t": wanted, "also": wanted}, plain)
                self.assertLess(len(file.getvalue()), len(plain.getvalue()) + 1000)
                file.seek(0)
                found = torch.load(file)["t"]
                for each in (found, pickle.loads(pickle.dumps(feature))):
                    self.assertIs(type(each), torch.Tensor)
                    self.assertTrue(torch.equal(each, wanted))
            graphd.use("numpy")
            self.addCleanup(graphd.use, "torch")
            found = pickle.loads(pickle.dumps(tensor))
            graphd.use("torch")
            self.assertIs(type(found), np.ndarray)
            self.assertTrue(np.array_equal(found, rows.numpy()))

    def test_copies_are_of_the_name_alone(self):
        for _, tensor, rows in self.each_tensor():
            twin = copy.copy(tensor)
            twin[[0]] = rows[:1] + 1
            self.assertEqual((twin.name, float(tensor[0, 0])), (tensor.name, 1.0))
            self.assertEqual(twin.part_policy.policy_str, tensor.part_policy.policy_str)
            with self.assertRaisesRegex(graphd.errors.InvalidError, r"t\[:\] copies"):
                copy.deepcopy({"features": tensor})
            process = multiprocessing.get_context("spawn").Process(target=print, args=(tensor,))
            with self.assertRaisesRegex(graphd.errors.InvalidError, r"pass its name.*open\("):
                process.start()

    def test_comparisons_compute_elements(self):
        for g, tensor, rows in self.each_tensor():
            other = DistTensor((300, 4), torch.float32, name=next(_names))
            other[:] = rows.flip(0)
            for operand, local in (
                (600, 600),
                (rows.flip(0), rows.flip(0)),
                (rows.flip(0).numpy(), rows.flip(0)),
                (other, rows.flip(0)),
                (rows[150], rows[150]),
                (rows[:, :1], rows[:, :1]),
                ([600, 601, 0, 1], torch.tensor([600, 601, 0, 1])),
            ):
                self.assertTrue(torch.equal(tensor == operand, rows == local))
                self.assertTrue(torch.equal(tensor != operand, rows != local))
                self.assertTrue(torch.equal(tensor < operand, rows < local))
                self.assertTrue(torch.equal(tensor <= operand, rows <= local))
                self.assertTrue(torch.equal(tensor > operand, rows > local))
                self.assertTrue(torch.equal(tensor >= operand, rows >= local))
            age = g.nodes["user"].data["age"]
            self.assertTrue(torch.equal(age == 1, age[:] == 1))
            self.assertGreater(int((age == age[0]).sum()), 0)
            with self.assertRaisesRegex(graphd.errors.InvalidError, r"\(300, 4\) and \(3,\)"):
                _ = tensor == torch.ones(3)
            self.assertFalse(tensor == None)  # noqa: E711
            self.assertFalse(tensor == "a")
            with self.assertRaises(TypeError):
                _ = tensor < "a"
            self.assertEqual(len({tensor, tensor, other}), 2)
            self.assertTrue(1199.0 in tensor)
            self.assertFalse(0.5 in tensor)

    def test_numpy_arrays_behave_alike(self):
        graphd.use("numpy")
        self.addCleanup(graphd.use, "torch")
        for g in self.each_way():
            age = g.nodes["user"].data["age"]
            rows = age[:]
            self.assertIsInstance(rows, np.ndarray)
            self.assertTrue(np.array_equal(age == rows[4], rows == rows[4]))
            self.assertTrue(np.array_equal(age == torch.from_numpy(rows), rows == rows))
            self.assertTrue(np.array_equal(age[rows == rows[4]], rows[rows == rows[4]]))
            self.assertTrue(np.array_equal(age[[-1]], rows[[-1]]))
            self.assertTrue(np.array_equal(age.to("cpu"), rows))
            with self.assertRaisesRegex(graphd.errors.InvalidError, "cpu"):
                age.to("cuda")


class GraphData(support.GraphTest):
    def test_a_typed_graph_has_dicts_by_type(self):
        for g in self.each_way():
            users = g.nodes["user"].data["feat"]
            self.assertTrue(torch.equal(g.ndata["feat"]["user"][:], users[:]))
            self.assertIn("'user': [", repr(g.ndata))
            self.assertIn("follows", repr(g.edata))
            with self.assertRaises(KeyError):
                g.ndata["no such name"]
            made = DistTensor((300, 1), torch.float32, name=next(_names))
            g.ndata["made"] = {"user": made}
            self.assertEqual(g.nodes["user"].data["made"].name, made.name)
            for wrong in (made, {"usre": made}):
                with self.assertRaisesRegex(graphd.errors.InvalidError, "by type.*user"):
                    g.ndata["made"] = wrong
            with self.assertRaisesRegex(
                graphd.errors.InvalidError, "node~user.*not this node type"
            ):
                g.ndata["made"] = {"post": made}


class PartitionedAgain(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-again-")
        self.addCleanup(shutil.rmtree, self.folder)

    def partition(self, nodes):
        ends = np.arange(nodes)
        return partition_graph((ends, np.roll(ends, 1)), "ring", 2, self.folder, force=True)

    def test_a_new_graph_is_opened_and_the_old_one_stays_as_it_was(self):
        old = DistGraph(part_config=self.partition(10))
        config = self.partition(20)
        new = DistGraph(part_config=config)
        self.assertEqual((old.num_nodes(), new.num_nodes()), (10, 20))
        self.assertEqual(DistGraph(part_config=config).num_nodes(), 20)
        self.assertEqual(old.in_degrees(3), 1)

    def test_an_explicit_session_is_not_replaced_in_silence(self):
        config = self.partition(10)
        graphd.distributed.initialize(part_config=config)
        self.assertEqual(DistGraph("ring").num_nodes(), 10)
        self.partition(20)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "partitioned again.*exit_client"):
            DistGraph("ring")
        graphd.distributed.exit_client()
        graphd.distributed.initialize(part_config=config)
        self.assertEqual(DistGraph("ring").num_nodes(), 20)

    def test_a_session_of_connect_does_not_give_the_old_graph_in_silence(self):
        config = self.partition(10)
        session = graphd.connect(part_config=config)
        self.assertEqual(session.graph().num_nodes(), 10)
        self.partition(20)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "partitioned again.*connect again"):
            session.graph()
        self.assertEqual(graphd.connect(part_config=config).graph().num_nodes(), 20)


if __name__ == "__main__":
    support.main()
