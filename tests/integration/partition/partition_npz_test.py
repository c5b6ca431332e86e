#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl partition on NumPy's .npz files: the same data as CSV gives the same bytes."""
import subprocess
import unittest
import zipfile

import numpy
import pyarrow
from columns_case import CORRUPT, INVALID, ColumnsCase

SRC = numpy.arange(40) % 10
DST = numpy.arange(40) * 7 % 10
WIDE = (numpy.arange(120, dtype=numpy.float32) / 8).reshape(40, 3)
KINDS = numpy.array(["red", "green"])[numpy.arange(40) % 2]
COLUMNS = {"w": numpy.arange(40) / 4, "wide": WIDE, "kind": KINDS}

# Debian's interpreter has SciPy, which reads and writes the same files as others do.
SAVE_SPARSE = """
import sys, numpy, scipy.sparse
target, kind, weighted = sys.argv[1], sys.argv[2], sys.argv[3] == "weighted"
ones = numpy.ones(40)
entries = (numpy.arange(40) + 1.0 if weighted else ones, (numpy.arange(40) % 10, numpy.arange(40) // 4))
scipy.sparse.save_npz(target, scipy.sparse.coo_matrix(entries, shape=(10, 10)).asformat(kind))
"""


def as_lists(array):
    """Returns an array as a column of Arrow."""
    return pyarrow.array(array.tolist(), pyarrow.list_(pyarrow.float32())) if array.ndim > 1 else array


class NpzTest(ColumnsCase):
    def save(self, name, writer=numpy.savez, **arrays):
        path = self.scratch / name
        writer(path, **arrays)
        return path

    def csv(self, name, **arrays):
        table = pyarrow.table({key: as_lists(array) for key, array in arrays.items()})
        return self.write(name, table)

    def test_edges_and_their_features_are_those_of_csv(self):
        csv = self.csv("e.csv", src=SRC, dst=DST, **COLUMNS)
        for writer in (numpy.savez, numpy.savez_compressed):
            file = self.save("e.npz", writer, src=SRC, dst=DST, **COLUMNS)
            got = self.assert_same(["--input", csv], ["--input", file])
            self.assertIn("g._N:_E:_N.kind.labels.txt.gz", got)

    def test_an_edge_index_has_sources_and_destinations(self):
        csv = self.csv("e.csv", src=SRC, dst=DST, **COLUMNS)
        file = self.save("e.npz", **COLUMNS, edge_index=numpy.stack([SRC, DST]))
        self.assert_same(["--input", csv], ["--input", file])

    def test_rows_of_nodes_may_have_ids(self):
        order = numpy.arange(10)[::-1]
        age = numpy.arange(10) * 3
        edges = ["--edges", self.csv("e.csv", src=SRC, dst=DST)]
        csv = self.csv("n.csv", id=numpy.arange(10), age=age, wide=WIDE[:10])
        without = self.save("n.npz", age=age, wide=WIDE[:10])
        self.assert_same([*edges, "--nodes", csv], [*edges, "--nodes", without])
        csv = self.csv("o.csv", id=order, age=age)
        self.assert_same([*edges, "--nodes", csv],
                         [*edges, "--nodes", self.save("o.npz", age=age, id=order)])

    def test_sparse_matrices_are_edges_from_row_to_column(self):
        rows, columns = numpy.arange(40) % 10, numpy.arange(40) // 4
        sorted_by = {"coo": numpy.arange(40), "csr": numpy.lexsort((columns, rows)),
                     "csc": numpy.lexsort((rows, columns))}
        for kind, values in (("coo", "ones"), ("csr", "weighted"), ("csc", "weighted")):
            order = sorted_by[kind]
            file = self.scratch / f"{kind}.npz"
            subprocess.run(["/usr/bin/python3", "-c", SAVE_SPARSE, file, kind, values], check=True)
            weight = {"w": (numpy.arange(40) + 1.0)[order]} if values == "weighted" else {}
            csv = self.csv("e.csv", src=rows[order], dst=columns[order], **weight)
            self.assert_same(["--input", csv], ["--input", file])

    def test_arrays_that_are_no_columns_are_named(self):
        cases = {
            "'w' has 3 rows, but 'src' has 40": {"src": SRC, "dst": DST, "w": numpy.arange(3)},
            "'w' is a single value": {"src": SRC, "dst": DST, "w": numpy.array(3)},
            "'w' has 3 dimensions": {"src": SRC, "dst": DST, "w": numpy.zeros((40, 2, 2))},
            "'w' has no columns": {"src": SRC, "dst": DST, "w": numpy.zeros((40, 0))},
            "'w' has dtype complex128": {"src": SRC, "dst": DST, "w": numpy.zeros(40, complex)},
            "'edge_index' has shape [3, 40], expected [2, edges]": {
                "edge_index": numpy.stack([SRC, DST, SRC])},
            "'format' is 'dia'": {"format": numpy.array("dia"), "shape": numpy.array([2, 2]),
                                  "data": numpy.ones(2)},
        }  # fmt: skip
        for text, arrays in cases.items():
            self.assert_fails(INVALID, text, "--input", self.save("bad.npz", **arrays))
        archive = self.scratch / "texts.npz"
        with zipfile.ZipFile(archive, "w") as texts:
            texts.writestr("e.csv", "0,1\n")
        self.assert_fails(INVALID, "'e.csv' is not an array", "--input", archive)

    def test_archives_that_can_not_be_read_are_damaged(self):
        objects = self.save("o.npz", src=numpy.array([{}] * 3, object), dst=numpy.arange(3))
        self.assert_fails(CORRUPT, ["o.npz", "pickle"], "--input", objects)
        good = self.save("g.npz", numpy.savez_compressed, src=SRC, dst=DST).read_bytes()
        damaged = self.scratch / "d.npz"
        for content in (good[:-30], good[:100] + b"\xff" * 40 + good[140:], good[:40]):
            damaged.write_bytes(content)
            self.assert_fails(CORRUPT, "d.npz", "--input", damaged)

    def test_the_edges_of_many_types_have_a_file_each(self):
        files = {rel: self.save(f"{rel}.npz", src=SRC, dst=DST, w=numpy.arange(40) / 2)
                 for rel in ("likes", "buys")}
        texts = {rel: self.csv(f"{rel}.csv", src=SRC, dst=DST, w=numpy.arange(40) / 2)
                 for rel in files}

        def options(paths):
            return [f"--edges=user:{rel}:item={path}" for rel, path in paths.items()]

        self.assert_same(options(texts), options(files))


if __name__ == "__main__":
    unittest.main()
