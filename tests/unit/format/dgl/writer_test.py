#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the partitions that graphd writes in DGL's format with an independent reader.

usage: writer_test.py path/of/dgl_write_sample [unittest's arguments]
"""
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests/tools"))
import dgl_check  # noqa: E402
import dgl_files  # noqa: E402

WRITE_SAMPLE = sys.argv.pop(1)


class DglWriter(unittest.TestCase):
    def setUp(self):
        # Use memory if possible, because every file is synced.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        scratch = tempfile.TemporaryDirectory(prefix="graphd_dgl_", dir=memory)
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def write(self, description):
        path, output = os.path.join(self.scratch, "graph.json"), os.path.join(self.scratch, "out")
        pathlib.Path(path).write_text(json.dumps(description))
        result = subprocess.run([WRITE_SAMPLE, path, output], capture_output=True, text=True,
                                timeout=60)
        return output, result

    def write_and_check(self, description):
        output, result = self.write(description)
        self.assertEqual(result.returncode, 0, result.stderr)
        dgl_check.check(description, output)
        return output

    def check_random_graphs(self, homogeneous, seeds):
        for seed in seeds:
            with self.subTest(seed=seed):
                self.write_and_check(dgl_check.random_graph(seed, homogeneous))

    def test_homogeneous_graphs_are_preserved(self):
        self.check_random_graphs(True, range(40))

    def test_typed_graphs_are_preserved(self):
        self.check_random_graphs(False, range(40))

    def test_a_halo_has_the_requested_depth(self):
        # The path is 0 -> 1 -> ... -> 9, its last two nodes in partition 1: each hop adds one node.
        for hops in range(1, 12):
            path = {"graph_name": "g", "num_parts": 2, "num_hops": hops, "formats": "",
                    "nodes": [{"type": "_N", "count": 10, "features": []}],
                    "edges": [{"type": ["_N", "_E", "_N"], "src": list(range(9)),
                               "dst": list(range(1, 10)), "features": []}],
                    "owners": [[0] * 8 + [1] * 2]}
            output = self.write_and_check(path)
            halo, others = dgl_check.Checker(path, output), min(hops, 8)
            halo.run()
            self.assertEqual(halo.halo(1), (set(range(8 - others, 8)),
                                            set(range(8 - others, 7))))

    def test_zero_hops_are_refused_if_edges_are_cut(self):
        graph = dgl_check.random_graph(1, True)
        graph.update(num_hops=0, num_parts=2, owners=[[0] * len(graph["owners"][0])])
        self.write_and_check(graph)
        graph["edges"][0].update(src=[0, 0], dst=[1, 1], add_reverse=False, features=[])
        graph["nodes"][0].update(count=2, features=[])
        graph["owners"] = [[0, 1]]
        _, result = self.write(graph)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the 2 edges that join two partitions", result.stderr)

    def test_graphs_that_dgl_cannot_load_are_refused(self):
        feature = {"name": "x", "dtype": "uint32", "row_shape": [], "hex": "00000000"}
        for change, message in (({"dtype": "uint32"}, "uint32"),
                                ({"dtype": "float32", "name": "a/b"}, "'/'"),
                                ({"dtype": "float32", "name": "_ID"}, "_ID")):
            graph = {"graph_name": "g", "num_parts": 1, "num_hops": 1, "formats": "",
                     "nodes": [{"type": "_N", "count": 1, "features": [{**feature, **change}]}],
                     "edges": [{"type": ["_N", "_E", "_N"], "src": [], "dst": [], "features": []}],
                     "owners": [[0]]}
            _, result = self.write(graph)
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)
        graph["nodes"][0]["features"] = []
        for key, value, message in (("formats", "coo,cso", "'cso'"), ("num_hops", -1, "0..100")):
            _, result = self.write({**graph, key: value})
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)

    def test_bfloat16_is_written_unless_a_partition_has_no_row_of_it(self):
        feature = {"name": "x", "dtype": "bfloat16", "row_shape": [], "hex": "803f0040"}
        graph = {"graph_name": "g", "num_parts": 2, "num_hops": 1, "formats": "",
                 "nodes": [{"type": "_N", "count": 2, "features": [feature]}],
                 "edges": [{"type": ["_N", "_E", "_N"], "src": [0], "dst": [0], "features": []}],
                 "owners": [[0, 1]]}
        self.write_and_check(graph)
        _, result = self.write({**graph, "owners": [[0, 0]]})
        self.assertEqual(result.returncode, 1)
        self.assertIn("'x' of node type '_N' is bfloat16 and has no rows in partition 1",
                      result.stderr)

    def test_files_equal_dgls_byte_by_byte(self):
        fixtures = sorted(ROOT.glob("tests/fixtures/dgl_bytes/*/graph.json"))
        self.assertTrue(fixtures)
        for path in fixtures:
            with self.subTest(fixture=path.parent.name):
                output = pathlib.Path(self.write_and_check(json.loads(path.read_text())))
                self.assertEqual((output / "g.json").read_text().rstrip("\n"),
                                 (path.parent / "g.json").read_text())
                for packed in path.parent.glob("part*/*.gz"):
                    ours = output / packed.parent.name / packed.stem
                    self.assert_same_file(ours, gzip.decompress(packed.read_bytes()))
                shutil.rmtree(output)

    def assert_same_file(self, ours, wanted):
        theirs = pathlib.Path(self.scratch, "theirs.dgl")
        theirs.write_bytes(wanted)
        if ours.name != "graph.dgl":
            tensors = [{name: (array.dtype, array.shape, array.data) for name, array
                        in dgl_files.tensors(path).items()} for path in (ours, theirs)]
            self.assertEqual(*tensors)
            if len(tensors[0]) > 1:  # their order is that of a hash map
                return
        self.assertEqual(ours.read_bytes(), wanted, ours)

    def test_any_flipped_byte_of_a_graph_file_is_noticed(self):
        graph = dgl_check.random_graph(3, False)
        path = pathlib.Path(self.write_and_check(graph), "part0/graph.dgl")
        good = path.read_bytes()
        for at in random.Random(0).sample(range(4096, len(good)), 60):
            path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
            with self.assertRaises((ValueError, AssertionError, KeyError, IndexError),
                                   msg="byte %d" % at):
                dgl_check.check(graph, path.parents[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
