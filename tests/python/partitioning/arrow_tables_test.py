# SPDX-License-Identifier: Apache-2.0
"""Partitions tables of pyarrow, polars and pandas: they give what the same arrays give."""

import gzip
import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import numpy as np
import pandas
import polars
import pyarrow
from pyarrow import dataset, parquet

from graphd import arrow_tables
from graphd.distributed import load_partition, partition_graph
from graphd.errors import InvalidError

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
SRC, DST = np.arange(30) % 10, np.arange(30) * 7 % 10
NAMES = [f"node {i}" for i in range(10)]
WEIGHT = (np.arange(30) / 8).astype(np.float32)
FEAT = np.arange(20, dtype=np.float32).reshape(10, 2)


class ArrowTables(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_arrow_")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def partitions(self, g, **options):
        """Partitions a graph and returns the bytes of all files by path."""
        with tempfile.TemporaryDirectory() as out:
            partition_graph(g, "g", 2, out, part_method="random", **options)
            return {
                str(path.relative_to(out)): path.read_bytes()
                for path in pathlib.Path(out).rglob("*")
                if path.is_file()
            }

    def features(self, g, kind=2, **options):
        """Returns the features of the nodes (1) or edges (2) of a single partition."""
        out = str(self.scratch / "one")
        config = partition_graph(g, "g", 1, out, force=True, **options)
        return {name.rpartition("/")[2]: x for name, x in load_partition(config, 0)[kind].items()}

    def tables(self, columns):
        """Yields the same columns as tables of each library."""
        table = pyarrow.table(columns)
        pieces = [table.slice(0, 7), table.slice(7)]
        yield "pyarrow", table
        yield "chunks", pyarrow.concat_tables(pieces)
        yield "batch", table.to_batches()[0]
        yield "reader", pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(5))
        yield "polars", polars.from_arrow(table)
        parquet.write_table(table, self.scratch / "t.parquet", row_group_size=4)
        yield "dataset", dataset.dataset(self.scratch / "t.parquet")
        yield (
            "pandas",
            pandas.DataFrame(
                {name: list(x) if x.ndim > 1 else x for name, x in map(_array, columns.items())}
            ),
        )

    def test_edges_with_features_are_those_of_arrays(self):
        wanted = self.partitions((SRC, DST), edata={"w": WEIGHT})
        for library, table in self.tables({"a": SRC, "b": DST, "w": WEIGHT}):
            with self.subTest(library):
                self.assertEqual(self.partitions(table), wanted)

    def test_nodes_are_ordered_by_their_first_column(self):
        order = np.arange(10)[::-1]
        rows = pyarrow.FixedSizeListArray.from_arrays(FEAT[order].ravel(), 2)
        lists = pyarrow.array(FEAT[order].tolist(), pyarrow.list_(pyarrow.float32()))
        wanted = self.partitions((SRC, DST), ndata={"feat": FEAT})
        for feat in (rows, lists, lists.cast(pyarrow.large_list(pyarrow.float32()))):
            table = pyarrow.table({"id": order, "feat": feat})
            for nodes in (table, {"_N": polars.from_arrow(table)}):
                self.assertEqual(self.partitions((SRC, DST), ndata=nodes), wanted)
        columns = pyarrow.table({"id": order, "feat.0": FEAT[order, 0], "feat.1": FEAT[order, 1]})
        self.assertEqual(self.partitions((SRC, DST), ndata=columns), wanted)

    def test_names_are_text_or_dictionaries(self):
        ends = [NAMES[i] for i in SRC], [NAMES[i] for i in DST]
        nodes = pyarrow.table({"name": NAMES, "feat": FEAT[:, 0]})
        wanted = self.partitions(ends)
        typed = {("_N", "_E", "_N"): ends}
        of_nodes = self.partitions(typed, ndata=pandas.DataFrame({"feat": FEAT[:, 0]}, NAMES))
        text = pyarrow.table({"src": ends[0], "dst": ends[1]})
        categories = pyarrow.table(
            {
                "src": text["src"].dictionary_encode(),
                "dst": text["dst"].cast(pyarrow.large_string()),
            }
        )
        views = pyarrow.table(
            {name: pyarrow.array(each, pyarrow.string_view()) for name, each in zip("ab", ends)}
        )
        for table in (
            text,
            categories,
            views,
            polars.from_arrow(text),
            polars.from_arrow(categories),
        ):
            self.assertEqual(self.partitions(table), wanted)
            self.assertEqual(self.partitions(table, ndata=nodes), of_nodes)

    def test_columns_named_like_node_types_are_the_ends(self):
        etype = ("user", "likes", "item")
        table = polars.DataFrame({"w": WEIGHT, "item": DST, "user": SRC})
        self.assertEqual(
            self.partitions({etype: table}),
            self.partitions({etype: (SRC, DST)}, edata={etype: {"w": WEIGHT}}),
        )

    def test_dtypes_are_kept(self):
        dtypes = ["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
        columns = {name: np.arange(30).astype(name) for name in dtypes}
        columns["bool"] = np.arange(30) % 3 == 0
        wanted = self.partitions((SRC, DST), edata=columns)
        table = pyarrow.table({"a": SRC, "b": DST, **columns})
        self.assertEqual(self.partitions(table), wanted)
        self.assertEqual(self.partitions(pyarrow.concat_tables([table[:9], table[9:]])), wanted)
        self.assertEqual(self.partitions(table.to_pandas()), wanted)

    def test_doubtful_ends_and_names_are_reported_with_counts(self):
        numbered = np.arange(30)
        names = [str(number) for number in SRC]
        names[4] = "N/A"
        for columns, wanted in (
            (
                {"id": numbered, "src": SRC, "dst": DST},
                "column 'id' has the sources and 'src' the destinations; put 'src' and 'dst' first",
            ),
            ({"a": numbered, "b": SRC, "c": DST}, "'a' counts the first 30 rows; if it numbers"),
            ({"a": names, "b": [*names[1:], "0"]}, "1 of 11 names of _N are not whole numbers"),
            ({"a": SRC, "b": DST, "c": numbered}, None),
            ({"a": numbered, "b": DST, "c": WEIGHT}, None),
        ):
            for library, table in self.tables(columns):
                with self.subTest(library, columns=list(columns)):
                    with warnings.catch_warnings(record=True) as said:
                        warnings.simplefilter("always")
                        partition_graph(table, "g", 1, str(self.scratch / "doubtful"), force=True)
                    self.assertEqual(len(said), 0 if wanted is None else 1)
                    for each in said:
                        self.assertIn(wanted, str(each.message))

    def test_nulls_are_nan(self):
        holes = pyarrow.array([None, *range(29)], pyarrow.int32())
        found = self.features(pyarrow.table({"a": SRC, "b": DST, "x": holes}))["x"].numpy()
        self.assertEqual(np.isnan(found).sum(), 1)
        self.assertEqual(found.dtype, np.float32)

    def test_categories_are_labels_and_lists_are_rows(self):
        kinds = [["paper", "book", "map"][i % 3] for i in range(10)]
        categories = ["map", "paper", "book"]
        frame = pandas.DataFrame(
            {"kind": pandas.Categorical(kinds, categories), "feat": FEAT.tolist()}
        )
        indices = [categories.index(kind) for kind in kinds]
        arrow = pyarrow.DictionaryArray.from_arrays(indices, categories)
        lists = pyarrow.array(FEAT.tolist())
        enum = polars.Series(kinds, dtype=polars.Enum(categories))
        for nodes in (
            frame,
            pyarrow.table({"id": range(10), "kind": arrow, "feat": lists}),
            polars.DataFrame({"id": range(10), "kind": enum, "feat": FEAT.tolist()}),
        ):
            found = self.features((SRC, DST), kind=1, ndata=nodes)
            order = found["orig_id"].numpy()
            self.assertEqual(found["kind"].tolist(), [indices[i] for i in order])
            self.assertEqual(found["feat"].tolist(), FEAT[order].tolist())

    def test_texts_of_labels_are_kept(self):
        texts = [["red", "blue", None][i % 3] for i in range(30)]
        wanted = {"red": 0, "blue": 1}
        for what, table in self.tables({"a": SRC, "b": DST, "kind": pyarrow.array(texts)}):
            found = self.features(table)
            order = found["orig_id"].tolist()
            with self.subTest(what):
                self.assertEqual(
                    [None if np.isnan(x) else int(x) for x in found["kind"].tolist()],
                    [wanted.get(texts[i]) for i in order],
                )
                path = self.scratch / "one/g._N:_E:_N.kind.labels.txt.gz"
                self.assertEqual(gzip.decompress(path.read_bytes()), b"red\nblue\n")
        # Texts of a dictionary keep its order, also those that no row has.
        kinds = pandas.Categorical(["b", "a"] * 5, ["none", "a", "b"])
        self.features((SRC, DST), kind=1, ndata=pandas.DataFrame({"kind": kinds}))
        path = self.scratch / "one/g._N.kind.labels.txt.gz"
        self.assertEqual(gzip.decompress(path.read_bytes()), b"none\na\nb\n")
        # Features follow the order of ids.
        nodes = pyarrow.table({"id": list(range(10))[::-1], "kind": [f"k{i}" for i in range(10)]})
        found = self.features((SRC, DST), kind=1, ndata=nodes)
        self.assertEqual((found["kind"] + found["orig_id"]).tolist(), [9] * 10)

    def test_texts_have_the_labels_that_they_have_in_files(self):
        def in_files(cells):
            """Returns the values and the texts of the labels that a table of text has, or None."""
            rows = "".join(f'{s},{d},"{cell or ""}"\n' for s, d, cell in zip(SRC, DST, cells))
            table = self.scratch / "t.csv"
            table.write_text("src,dst,x\n" + rows)
            out = self.scratch / "files"
            done = subprocess.run(
                [GRAPHCTL, "partition", "--input", table, "--graph_name", "g", "--num_parts", "1",
                 "--output", out, "--force"], capture_output=True, text=True, timeout=60
            )  # fmt: skip
            return done.returncode == 0 and found(str(out / "g.json"))

        def in_memory(cells):
            table = pyarrow.table({"a": SRC, "b": DST, "x": pyarrow.array(cells, pyarrow.string())})
            try:
                out = str(self.scratch / "memory")
                return found(partition_graph(table, "g", 1, out, force=True))
            except InvalidError:
                return False

        def found(config):
            features = load_partition(config, 0)[2]
            values = {name.rpartition("/")[2]: x for name, x in features.items()}
            order = np.argsort(values["orig_id"].numpy())
            texts = pathlib.Path(config).parent / "g._N:_E:_N.x.labels.txt.gz"
            texts = gzip.decompress(texts.read_bytes()) if texts.exists() else None
            x = values["x"].numpy()[order]
            return str(x.dtype), str(x.tolist()), texts

        labels = (
            ["red", "blue", "red"],
            ["red", None, "blue"],
            ["red", "", "blue"],  # an empty cell has no label
            ["red", "7", "blue"],
            ["1_000", " 5 ", "red"],  # no numbers in files
            ["0x10", "\u0661", "red"],
            ["yes", "true", "FALSE", "no", "maybe"],
        )
        for cells in labels:
            cells = [cells[i % len(cells)] for i in range(30)]
            with self.subTest(cells[:5]):
                wanted = in_files(cells)
                self.assertIsNotNone(wanted[2])
                self.assertEqual(in_memory(cells), wanted)
        for cells in (["NA", "30", "40"], ["?", "", "1e5", "+3"], ["yes", "true", "false"]):
            cells = [cells[i % len(cells)] for i in range(30)]
            with self.subTest(cells[:4]):
                self.assertFalse(in_files(cells))
                self.assertFalse(in_memory(cells))
        # Numbers as text are numbers in files, and refused in Python.
        for cells in (["true", "False"], ["TRUE", ""], ["nan", "1"], ["+1.5", "2"]):
            cells = [cells[i % len(cells)] for i in range(30)]
            with self.subTest(cells[:2]):
                self.assertIsNone(in_files(cells)[2])
                self.assertFalse(in_memory(cells))

    def test_columns_in_one_piece_are_not_copied(self):
        ids, feat = np.arange(1 << 16), np.ones((1 << 16, 4), np.float32)
        table = pyarrow.table(
            {"id": ids, "feat": pyarrow.FixedSizeListArray.from_arrays(feat.ravel(), 4)}
        )
        for given in (table, polars.from_arrow(table)):
            columns = arrow_tables.columns_of(given, "nodes")
            self.assertTrue(np.shares_memory(columns["id"].numbers, ids))
            self.assertTrue(np.shares_memory(columns["feat"].numbers, feat))
        part = arrow_tables.columns_of(table.slice(5, 3), "nodes")["feat"].numbers
        self.assertTrue(np.shares_memory(part, feat))
        self.assertEqual(part.shape, (3, 4))

    def test_memory_outlives_the_table(self):
        columns = arrow_tables.columns_of(pyarrow.table({"x": np.arange(1 << 16)}), "nodes")
        self.assertEqual(int(columns["x"].numbers[-1]), (1 << 16) - 1)

    def test_mistakes_name_the_column_and_the_remedy(self):
        def complaint(columns, **options):
            with self.assertRaises(InvalidError) as caught:
                self.partitions(pyarrow.table(columns), **options)
            return str(caught.exception)

        ends = {"a": SRC, "b": DST}
        self.assertIn("'x' has text", complaint({**ends, "x": ["1.5"] * 30}))
        self.assertIn("dictionary_encode", complaint({**ends, "x": ["1.5"] * 30}))
        parts = complaint({**ends, "x.0": ["blue"] * 30, "x.1": ["red"] * 30})
        self.assertIn("'x.0' has text", parts)
        lines = pyarrow.array(["a\nb"] * 30)
        self.assertIn("a line break", complaint({**ends, "x": lines}))
        count = 70000
        titles = {"a": [0] * count, "b": [1] * count, "x": [f"title {i}" for i in range(count)]}
        self.assertIn("70000 different texts in 70000 rows", complaint(titles))
        known = [None, "NA", *["30", "40"] * 14]
        self.assertIn("begins with 'NA', but 2 of its 3 different texts are numbers",
                      complaint({**ends, "x": known}))  # fmt: skip
        answers = pyarrow.array(["yes", "no"] * 15)
        for mask in (answers, answers.dictionary_encode()):
            self.assertIn("a mask has", complaint({**ends, "train_mask": mask}).lower())
        day = pyarrow.array([0] * 30, pyarrow.date32())
        self.assertIn("'x' is a date or time", complaint({**ends, "x": day}))
        self.assertIn("expected two or more", complaint({"a": SRC}))
        self.assertIn("'a' has float64", complaint({"a": SRC * 1.0, "b": DST}))
        hole = pyarrow.array([None, *SRC[1:].tolist()])
        self.assertIn("'a' has float32", complaint({"a": hole, "b": DST}))
        named = [None, *[NAMES[i] for i in SRC[1:]]]
        self.assertIn("a null in row 0", complaint({"a": named, "b": NAMES * 3}))
        twice = pyarrow.table({"id": ["x", "y", "x"]})
        self.assertIn("'x'; drop one", complaint(ends, ndata=twice))
        gap = pyarrow.table({"id": [0, 2]})
        self.assertIn("each of 0 to 1 once", complaint(ends, ndata=gap))
        with self.assertRaisesRegex(InvalidError, "not a table"):
            self.partitions(polars.Series([1, 2]))


def _array(item):
    return item[0], np.asarray(item[1])


if __name__ == "__main__":
    unittest.main()
