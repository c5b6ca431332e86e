# SPDX-License-Identifier: Apache-2.0
"""The base of tests of graphctl partition on tables by column: they give the same bytes as CSV."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import pyarrow
from pyarrow import feather, parquet

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
OK, INVALID, NOT_FOUND, EXISTS, CORRUPT, IO = 0, 2, 3, 4, 9, 11


def cell(value):
    """Returns the text of a value, as pandas and polars write it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"
    return str(value)


def csv_of(table):
    """Returns a table as CSV; a list x becomes the columns x.0, x.1 ..."""
    columns = {}
    for name, column in zip(table.column_names, table.columns):
        values = column.to_pylist()
        if column.type == pyarrow.float32():
            values = [None if v is None else numpy.float32(v) for v in values]
        if column.type == pyarrow.list_(pyarrow.float32()):
            values = [[numpy.float32(v) for v in row] for row in values]
        if isinstance(values[0], list):
            columns.update({f"{name}.{i}": [row[i] for row in values] for i in range(len(values[0]))})
        else:
            columns[name] = values
    rows = zip(*columns.values())
    lines = [",".join(columns)] + [",".join(map(cell, row)) for row in rows]
    return "\n".join(lines) + "\n"


def contents(directory):
    """Returns the bytes of all files below a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


class ColumnsCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_parquet_")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def write(self, name, table):
        """Writes a table as CSV, Parquet or Arrow."""
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".csv"):
            path.write_text(csv_of(table))
        elif name.endswith(".feather"):
            feather.write_feather(table, str(path), compression="lz4")
        else:
            parquet.write_table(table, path, row_group_size=17)
        return path

    def script(self, text):
        """Returns the path of a program that takes the place of Python."""
        path = self.scratch / "python"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def partition(self, output, *more, python=sys.executable):
        command = [GRAPHCTL, "partition", "--graph_name", "g", "--num_parts", 2, "--force",
                   "--output", self.scratch / output, "--python", python, *more]
        return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60,
                              cwd=self.scratch)

    def partitioned(self, output, *more):
        result = self.partition(output, *more)
        self.assertEqual(result.returncode, OK, result.stderr)
        return contents(self.scratch / output)

    def assert_same(self, of_csv, of_parquet):
        """Expects equal partitions of two lists of options."""
        wanted, got = self.partitioned("csv", *of_csv), self.partitioned("parquet", *of_parquet)
        self.assertEqual(sorted(wanted), sorted(got))
        for name in wanted:
            self.assertEqual(wanted[name], got[name], name)
        return got

    def assert_fails(self, code, texts, *more, **options):
        result = self.partition("bad", *more, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in [texts] if isinstance(texts, str) else texts:
            self.assertIn(text, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
