# SPDX-License-Identifier: Apache-2.0
"""Reads files of outputs back: by original ids and by names, as .npy and as .parquet."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest.mock

import numpy as np
import torch
from pyarrow import parquet

import graphd
import support
from graphd import inference
from graphd.distributed import DistGraph, DistTensor, PartitionPolicy, elementwise

NAMES = [f"city {i * 7919 % 501}" for i in range(501)]  # in the order of no number


class Files(support.GraphTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="graphd-export-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(cls.path("nodes.csv"), "w") as file:
            file.write("id\n" + "".join(f"{name}\n" for name in NAMES))
        with open(cls.path("edges.csv"), "w") as file:
            file.write("src,dst\n")
            file.writelines(f"{a},{b}\n" for a, b in zip(NAMES, NAMES[1:] + NAMES[:1]))
        subprocess.run(
            [
                os.path.join(support.BIN, "graphctl"),
                "partition",
                "--graph_name",
                "cities",
                "--nodes",
                f"city={cls.path('nodes.csv')}",
                "--edges",
                f"city:road:city={cls.path('edges.csv')}",
                "--num_parts",
                "2",
                "--part_method",
                "random",
                "--output",
                cls.path("parts"),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
        cls.config = cls.path("parts/cities.json")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def setUp(self):
        super().setUp()
        # Otherwise all rows are in one piece.
        pieces = unittest.mock.patch.object(elementwise, "_PIECE_ELEMENTS", 300)
        pieces.start()
        self.addCleanup(pieces.stop)
        self.g = DistGraph(part_config=self.config)

    def outputs(self, dtype=torch.float32, row=(3,)):
        """Returns a tensor in whose row each element is the original id of the node, and more."""
        policy = self.g.get_node_partition_policy()
        tensor = DistTensor((501, *row), dtype, f"{dtype}{row}", part_policy=policy)
        original = self.g.ndata["orig_id"][:]
        self.assertFalse(torch.equal(original, torch.arange(501)))
        tensor[:] = self.expected(row)[original].to(dtype)
        return tensor

    def expected(self, row=(3,)):
        """Returns the rows in the order of original ids."""
        width = int(np.prod(row))
        return (torch.arange(501 * width).reshape(501, *row) % 251).float()

    def test_npy_has_a_row_for_each_original_id(self):
        for dtype, row in (
            (torch.float32, (3,)),
            (torch.int64, ()),
            (torch.float16, (2, 2)),
            (torch.bfloat16, (4,)),
            (torch.bool, (2,)),
        ):
            tensor, path = self.outputs(dtype, row), self.path("out.npy")
            inference.export(self.g, tensor, path)
            found, expected = np.load(path), self.expected(row).to(dtype)
            if dtype == torch.bfloat16:  # NumPy does not have it
                expected = expected.float()
            self.assertEqual(found.dtype, expected.numpy().dtype)
            np.testing.assert_array_equal(found, expected.numpy())
            inference.export(self.g, tensor, path, by="id")
            np.testing.assert_array_equal(np.load(path), tensor[:].to(expected.dtype).numpy())
        self.assertEqual([name for name in os.listdir(self.folder) if ".tmp" in name], [])

    def test_parquet_has_ids_or_names(self):
        path = self.path("out.parquet")
        inference.export(self.g, self.outputs(), path)
        found = parquet.read_table(path)
        self.assertEqual(
            str(found.schema.field("value").type), "fixed_size_list<element: float>[3]"
        )
        self.assertEqual(found["id"].to_pylist(), list(range(501)))
        self.assertEqual(found["value"].to_pylist(), self.expected().tolist())
        self.assertGreater(parquet.ParquetFile(path).num_row_groups, 1)
        inference.export(self.g, self.outputs(torch.int64, ()), path, by="name")
        found = parquet.read_table(path)
        self.assertEqual(found["name"].to_pylist(), NAMES)
        self.assertEqual(found["value"].to_pylist(), self.expected(()).long().tolist())

    def test_rows_of_neither_nodes_nor_edges_are_in_their_own_order(self):
        tensor = DistTensor((7, 2), part_policy=PartitionPolicy("range", self.g))
        tensor[:] = torch.arange(14.0).reshape(7, 2)
        inference.export(self.g, tensor, self.path("range.npy"))
        np.testing.assert_array_equal(np.load(self.path("range.npy")), tensor[:].numpy())
        with self.assertRaisesRegex(graphd.errors.InvalidError, "by='id'"):
            inference.export(self.g, tensor, self.path("range.npy"), by="orig_id")

    def test_mistakes_are_reported_and_leave_no_file(self):
        tensor = self.outputs()
        for path, options, message in (
            ("no.csv", {}, r"\.parquet"),
            ("absent/no.npy", {}, "there is no folder '.*absent'"),
            ("no.npy", {"by": "name"}, "no column for names"),
            ("no.npy", {"by": "orig"}, "orig_id"),
            ("no.parquet", {"by": "name", "part_config": self.path("x/y.json")}, "does not exist"),
        ):
            with self.assertRaisesRegex(graphd.GraphdError, message):
                inference.export(self.g, tensor, self.path(path), **options)
        with (
            unittest.mock.patch.dict(sys.modules, {"pyarrow": None}),
            self.assertRaisesRegex(graphd.errors.InvalidError, "pip install pyarrow"),
        ):
            inference.export(self.g, tensor, self.path("no.parquet"))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("no.")], [])

    def test_names_and_ids(self):
        names = self.g.node_names()
        self.assertEqual(len(names), 501)
        self.assertEqual(names.in_order(2, 4), NAMES[2:4])
        original = self.g.ndata["orig_id"][:].tolist()
        self.assertEqual(names.names_of(range(501)), [NAMES[i] for i in original])
        ids = names.ids_of(["city 500", "city 0"])
        self.assertEqual([NAMES[original[i]] for i in ids.tolist()], ["city 500", "city 0"])
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "'atlantis'"):
            names.ids_of(["city 1", "atlantis"])
        with self.assertRaises(graphd.errors.OutOfRangeError):
            names.names_of([501])
        with self.assertRaisesRegex(graphd.errors.InvalidError, "list of str"):
            names.ids_of("city 1")

    def test_names_and_rows_of_a_served_graph(self):
        servers = support.Daemons(self.config)
        self.addCleanup(servers.stop)
        with unittest.mock.patch.dict(os.environ, GRAPHD_RUNTIME_DIR=servers.runtime):
            session = graphd.connect(servers.server_name, ip_config=servers.ip_config)
            g = session.graph()
            names = g.node_names("city", part_config=self.config)
            original = g.ndata["orig_id"][[5, 4]].tolist()
            self.assertEqual(names.names_of([5, 4]), [NAMES[i] for i in original])
            self.assertEqual(names.ids_of(names.names_of([7, 9])).tolist(), [7, 9])

            out = inference.layerwise(
                g,
                [lambda block, h: h[: block.num_dst_nodes()]],
                lambda ids: ids.reshape(-1, 1),
                name="out",
                persistent=True,
            )
            inference.export(g, out, self.path("served.npy"))
            subprocess.run(
                [
                    os.path.join(support.BIN, "graphctl"),
                    "tensors",
                    "export",
                    "out",
                    "--output",
                    self.path("by_graphctl"),
                    "--server_name",
                    servers.server_name,
                    "--ip_config",
                    servers.ip_config,
                ],
                check=True,
                capture_output=True,
                timeout=60,
            )
        ours, theirs = np.load(self.path("served.npy")), np.load(self.path("by_graphctl/out.npy"))
        self.assertEqual(ours.dtype, theirs.dtype)
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(ours[g.ndata["orig_id"][:]][:, 0], np.arange(501))

    def test_damaged_names_are_reported(self):
        copy = self.path("copy")
        os.mkdir(copy)
        path = os.path.join(copy, "cities.city.ids.txt.gz")
        with open(self.path("parts/cities.city.ids.txt.gz"), "rb") as file:
            content = file.read()
        for damaged, message in (
            (content[:-20], "copy it again"),
            (content[:40] + bytes(40) + content[80:], "copy it again"),
            (content[:100] + b"\xff" * 400 + content[500:], "copy it again"),
            (b"", "0 names, expected 501"),
        ):
            with open(path, "wb") as file:
                file.write(damaged)
            with self.assertRaisesRegex(graphd.errors.CorruptError, message):
                self.g.node_names(part_config=os.path.join(copy, "cities.json"))


if __name__ == "__main__":
    support.main()
