#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl partition on Parquet and Arrow files: the same data as CSV gives the same bytes."""
import gzip
import json
import os
import subprocess
import sys
import unittest

import numpy
import pyarrow
from columns_case import (
    CORRUPT,
    EXISTS,
    GRAPHCTL,
    INVALID,
    IO,
    NOT_FOUND,
    OK,
    ColumnsCase,
)
from pyarrow import dataset


def edges(count=40, nodes=10, **columns):
    """Returns a table of edges; the ids are 32-bit integers."""
    src = pyarrow.array([i % nodes for i in range(count)], pyarrow.int32())
    dst = pyarrow.array([i * 7 % nodes for i in range(count)], pyarrow.uint16())
    return pyarrow.table({"src": src, "dst": dst, **columns})


class ParquetTest(ColumnsCase):
    def test_features_of_each_dtype_are_those_of_csv(self):
        whole = list(range(-20, 20))
        gaps = [None if i % 7 == 3 else i for i in range(40)]
        table = edges(
            i8=pyarrow.array(whole, pyarrow.int8()),
            i16=pyarrow.array(whole, pyarrow.int16()),
            i64=pyarrow.array([i << 40 for i in whole]),
            u32=pyarrow.array([4000000000 + i for i in range(40)], pyarrow.uint32()),
            u64=pyarrow.array([2**64 - 1 - i for i in range(40)], pyarrow.uint64()),
            half=pyarrow.array([numpy.float16(i / 4) for i in whole]),
            single=pyarrow.array([i / 10 for i in whole], pyarrow.float32()),
            short=pyarrow.array([i / 8 for i in whole]),
            long=pyarrow.array([i / 7 for i in whole]),
            huge=pyarrow.array([i * 1e60 for i in whole]),
            flag=pyarrow.array([i % 3 == 0 for i in whole]),
            train_mask=pyarrow.array([i % 2 for i in range(40)], pyarrow.int8()),
            gaps=pyarrow.array(gaps, pyarrow.int32()),
            wide_gaps=pyarrow.array([g and g * 10**10 + 1 for g in gaps]),
            flag_gaps=pyarrow.array([None if g is None else g % 2 == 0 for g in gaps]),
            real_gaps=pyarrow.array([g and g / 4 for g in gaps]),
            text=pyarrow.array([str(i) for i in whole]),
            year=pyarrow.array([2000 + i % 3 for i in whole]).dictionary_encode(),
        )
        csv, file = self.write("e.csv", table), self.write("e.parquet", table)
        self.assert_same(["--input", csv], ["--input", file])
        self.assert_same(["--input", csv], ["--input", self.write("e.feather", table)])

    def test_lists_are_the_columns_x_0_x_1_of_csv(self):
        rows = [[float(i), i / 4, -i / 3] for i in range(40)]
        table = edges(
            list=pyarrow.array(rows, pyarrow.list_(pyarrow.float32())),
            large=pyarrow.array([[i, i + 1] for i in range(40)], pyarrow.large_list(pyarrow.int16())),
            fixed=pyarrow.array(rows, pyarrow.list_(pyarrow.float64(), 3)),
            one=pyarrow.array([[i] for i in range(40)]),
        )
        self.assert_same(["--input", self.write("e.csv", table)],
                         ["--input", self.write("e.parquet", table)])

    def test_names_and_types_are_those_of_csv(self):
        users = [f"user {i * 3 % 8}" for i in range(40)]
        bought = pyarrow.table({
            "price": [i / 2 for i in range(40)],
            "item": pyarrow.array([i * 7 % 10 for i in range(40)], pyarrow.int16()),
            "user": pyarrow.array(users).dictionary_encode(),
            "note": pyarrow.array([f"note {i}" for i in range(40)]),
        })
        nodes = pyarrow.table({
            "name": pyarrow.array([f"user {i}" for i in range(8)], pyarrow.large_string()),
            "age": pyarrow.array(range(8), pyarrow.int8()),
            "feat": pyarrow.array([[i, 2.5] for i in range(8)], pyarrow.list_(pyarrow.float32())),
        })
        items = pyarrow.table({"id": [(i * 3 + 1) % 10 for i in range(10)],
                               "label": pyarrow.array(range(10), pyarrow.uint8())})
        options = ["--feat_cols", "price,age,feat,label", "--src_col", "user", "--dst_col", "item",
                   "--add_reverse"]
        lists = []
        for ending in ("csv", "parquet"):
            lists.append([*options, "--edges", f"user:bought:item={self.write('b.' + ending, bought)}",
                          "--nodes", f"user={self.write('u.' + ending, nodes)}",
                          "--nodes", f"item={self.write('i.' + ending, items)}"])
        self.assertIn("g.user.ids.txt.gz", self.assert_same(*lists))
        # A graph may have files of both kinds.
        mixed = [lists[1][i] if i % 2 else word for i, word in enumerate(lists[0])]
        self.assert_same(lists[0], mixed)

    def test_ids_that_are_names_are_numbered_in_the_order_of_the_rows(self):
        table = pyarrow.table({"src": [f"n{i * 7 % 40}" for i in range(40)],
                               "dst": [f"n{i * 3 % 40}" for i in range(40)]})
        self.assert_same(["--input", self.write("e.csv", table)],
                         ["--input", self.write("e.parquet", table)])
        self.assert_same(["--input", self.write("n.csv", edges()), "--map_ids"],
                         ["--input", self.write("n.parquet", edges()), "--map_ids"])

    def test_a_pattern_and_a_directory_are_one_table(self):
        table = edges(w=pyarrow.array(range(40), pyarrow.int64()))
        csv = self.write("e.csv", table)
        for i in range(4):
            self.write(f"parts/part-{i}.parquet", table.slice(10 * i, 10))
        self.write("parts/_metadata.parquet", table)  # hidden
        self.assert_same(["--input", csv], ["--edges", f"_N:_E:_N={self.scratch}/parts/p*.parquet"])
        self.assert_same(["--input", csv], ["--input", self.scratch / "parts"])
        # Integers of different widths are one column of the widest.
        narrow = table.slice(0, 10)
        narrow = narrow.set_column(2, "w", narrow["w"].cast(pyarrow.int8()))
        self.write("parts/part-0.parquet", narrow)
        self.assert_same(["--input", csv], ["--input", f"{self.scratch}/parts/part-?.parquet"])

    def test_columns_of_a_pattern_or_a_directory_are_chosen(self):
        w, note = pyarrow.array(range(40), pyarrow.int64()), [f"note {i}" for i in range(40)]
        csv = self.write("e.csv", edges(w=w))
        self.write("parts/part-0.parquet", edges(w=w, note=pyarrow.array(note)).slice(0, 25))
        self.write("parts/part-1.parquet", edges(w=w, note=pyarrow.array(note)).slice(25))
        for path in (f"{self.scratch}/parts/p*.parquet", f"{self.scratch}/parts"):
            for name in (path, os.path.basename(path), f"{path}/"):
                self.assert_same(["--input", csv],
                                 ["--edges", f"_N:_E:_N={path}", "--feat_cols", f"{name}=w"])
        result = self.partition("lacking", "--input", self.scratch / "parts", "--feat_cols",
                                "parts=v")
        self.assertIn("parts has no feature column 'v'; there are w, note", result.stderr)

    def test_folders_of_hive_partitions_are_columns(self):
        table = edges(year=[2020 + i // 20 for i in range(40)])
        parts = self.scratch / "hive"
        dataset.write_dataset(table, parts, format="parquet", partitioning=["year"],
                              partitioning_flavor="hive")
        csv = self.write("e.csv", table)
        self.assert_same(["--input", csv], ["--input", parts])
        self.assert_same(["--input", csv], ["--input", f"{parts}/year=*/*.parquet"])

    def test_a_dictionary_of_text_is_a_label(self):
        kinds = ["paper", "book", "paper", "map"] * 10
        labels = pyarrow.DictionaryArray.from_arrays([0, 1, 0, 2] * 10, ["paper", "book", "map"])
        numbers = edges(kind=pyarrow.array([0, 1, 0, 2] * 10))
        file = self.write("e.parquet", edges(kind=labels))
        wanted = self.partitioned("csv", "--input", self.write("e.csv", numbers))
        got = self.partitioned("out", "--input", file)
        texts = gzip.decompress(got.pop("g._N:_E:_N.kind.labels.txt.gz")).decode()
        self.assertEqual(texts, "paper\nbook\nmap\n")
        self.assertEqual(got, wanted)
        result = self.partition("out", "--input", file, "--json")
        self.assertIn("labels of kind: 0 'paper', 1 'book', 2 'map'", result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["label_texts"]), 1)
        # A graph that exceeds the memory has the same files.
        self.assertEqual(self.partitioned("out", "--input", file, "--memory", "96MiB",
                                          "--part_method", "random"),
                         self.partitioned("in_memory", "--input", file, "--part_method", "random"))
        self.assertTrue((self.scratch / "out/g._N:_E:_N.kind.labels.txt.gz").exists())
        # The texts are copied when the graph is repartitioned or converted.
        self.partition("dgl", "--input", file, "--format", "dgl")
        for target, command in (
            ("anew", ["partition", "--input", "out", "--graph_name", "g", "--num_parts", 3]),
            ("native", ["convert", "--part_config", "dgl"]),
        ):
            done = subprocess.run([GRAPHCTL, *map(str, command), "--output", target],
                                  capture_output=True, text=True, cwd=self.scratch)
            self.assertEqual(done.returncode, OK, done.stderr)
            copied = self.scratch / target / "g._N:_E:_N.kind.labels.txt.gz"
            self.assertEqual(gzip.decompress(copied.read_bytes()).decode(), texts)
        # A graph without labels that replaces it leaves no file of label texts.
        self.assertEqual(self.partitioned("out", "--input", self.scratch / "e.csv"), wanted)
        # Columns of text are labels, too, as in CSV.
        text = self.write("t.parquet", edges(kind=pyarrow.array(kinds)))
        csv = self.write("t.csv", edges(kind=pyarrow.array(kinds)))
        got = self.assert_same(["--input", csv], ["--input", text])
        self.assertEqual(gzip.decompress(got["g._N:_E:_N.kind.labels.txt.gz"]).decode(), texts)
        text = self.write("t.parquet", edges(kind=pyarrow.array(["7", *kinds[1:]])))
        self.assert_fails(CORRUPT, ["'kind' has 'book' in row 1", "astype('category')"],
                          "--input", text)

    def test_a_changed_file_of_a_pattern_is_noticed(self):
        table = edges(2000)
        for i in range(2):
            self.write(f"parts/{i}.parquet", table)
        options = ["partition", "--graph_name", "g", "--num_parts", 2, "--output", "out",
                   "--part_method", "random", "--python", sys.executable, "--memory", "96MiB",
                   "--input", "parts/*.parquet"]
        command = [GRAPHCTL, *map(str, options)]
        killed = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  text=True, cwd=self.scratch)
        for line in killed.stderr:
            if line.startswith("waiting for the disk"):
                killed.kill()
        killed.stderr.close()
        self.assertEqual(killed.wait(timeout=60), -9)
        os.utime(self.scratch / "parts/1.parquet", (1, 1))
        again = subprocess.run(command, capture_output=True, text=True, timeout=60,
                               cwd=self.scratch)
        self.assertEqual(again.returncode, EXISTS, again.stderr)
        self.assertIn("differs in: input", again.stderr)

    def test_what_is_no_number_is_refused_with_a_remedy(self):
        day = pyarrow.array([0] * 40, pyarrow.date32())
        self.assert_fails(INVALID, ["'day' is a date or time", "cast"], "--input",
                          self.write("d.parquet", edges(day=day)))
        self.partitioned("ok", "--input", self.scratch / "d.parquet", "--feat_cols", "none")
        ragged = pyarrow.array([[1.0] * (1 + i // 30) for i in range(40)])
        self.assert_fails(CORRUPT, "'r' has 2 numbers in row 30 (from 0), expected 1", "--input",
                          self.write("r.parquet", edges(r=ragged)))
        null = pyarrow.array([None if i == 35 else i % 10 for i in range(40)])
        self.assert_fails(CORRUPT, "row 35 (from 0) of column 'src': an empty id", "--input",
                          self.write("n.parquet", edges().set_column(0, "src", null)))
        real = pyarrow.array([i / 2 for i in range(40)])
        self.assert_fails(INVALID, "is float64; cast it to int64", "--input",
                          self.write("f.parquet", edges().set_column(0, "src", real)))

    def test_files_that_can_not_be_read_are_named(self):
        good = self.write("a/1.parquet", edges())
        self.assert_fails(NOT_FOUND, "no file matches", "--input", f"{self.scratch}/x/*.parquet")
        damaged = self.scratch / "damaged.parquet"
        damaged.write_bytes(good.read_bytes()[:-100] + b"\0" * 100)
        self.assert_fails(CORRUPT, "damaged.parquet", "--input", damaged)
        middle = bytearray(good.read_bytes())
        middle[100:400] = b"\xff" * 300
        damaged.write_bytes(middle)
        self.assert_fails(CORRUPT, "damaged.parquet", "--input", damaged)
        self.write("a/2.parquet", edges(w=pyarrow.array([1.0] * 40)))
        self.assert_fails(INVALID, ["2.parquet has the columns src, dst, w", "1.parquet: src, dst"],
                          "--input", self.scratch / "a")
        self.write("b/1.csv", edges())
        self.assert_fails(INVALID, "neither a Parquet nor an Arrow file", "--input",
                          f"{self.scratch}/b/*.csv")
        self.assert_fails(INVALID, "is a table by column (Parquet, .npz), expected a table as text",
                          "--input", good, "--input_format", "edges")

    def test_an_interpreter_that_can_not_read_is_reported(self):
        file = self.write("e.parquet", edges())
        self.assert_fails(INVALID, ["can't import", "-m pip install pyarrow", "--python"], "--input",
                          file, python=self.script('exec /usr/bin/python3 -S "$@"\n'))
        self.assert_fails(NOT_FOUND, ["can't run nowhere/python", "--python"], "--input", file,
                          python="nowhere/python")
        self.assert_fails(IO, ["ended with signal 9", "last words"], "--input", file,
                          python=self.script("echo last words >&2; kill -9 $$\n"))
        self.assert_fails(IO, "ended with exit code 7", "--input", file,
                          python=self.script("exit 7\n"))
        self.assert_fails(CORRUPT, "damaged Arrow", "--input", file,
                          python=self.script("read request; echo What is this, and why?\n"))

    def test_modules_in_the_current_directory_are_not_imported(self):
        (self.scratch / "json.py").write_text("raise SystemExit('the wrong module')\n")
        self.partitioned("out", "--input", self.write("e.parquet", edges()))


if __name__ == "__main__":
    unittest.main()
