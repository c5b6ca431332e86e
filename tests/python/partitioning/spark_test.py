# SPDX-License-Identifier: Apache-2.0
"""Partitions DataFrames on Spark, on a real cluster of a master and two workers, one of which is killed,
and in one process: the files are those of graphctl partition."""

import contextlib
import errno
import glob
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

import graphd.spark
import spark_cluster
from graphd import _graphd
from graphd.distributed import load_partition
from graphd.errors import ExistsError, InvalidError, IoError
from graphd.spark import (
    failures,
    kept,
    label_propagation,
    numbers,
    staging,
    stored_features,
    tasks,
)
from graphd.spark.edges import Edges
from graphd.spark.job import Job
from graphd.spark.nodes import Nodes

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
USERS, ITEMS, BOUGHT, LIKES = 300, 200, 3000, 900
BUY, LIKE = ("user", "bought", "item"), ("item", "like", "item")


def files(folder):
    """Returns the bytes of all files below a folder by path."""
    paths = (path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def numbered(table):
    return table.append_column("number", pyarrow.array(np.arange(table.num_rows)))


class SparkCase:
    """The parts that tests with a session of Spark share."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_spark_")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.random = np.random.default_rng(1)
        cls.spark = cls.session()
        cls.addClassCleanup(lambda: cls.spark.stop())

    def write(self, table, name):
        parquet.write_table(table, f"{self.scratch}/{name}.parquet")

    def read(self, name):
        return self.spark.read.parquet(f"file://{self.scratch}/{name}.parquet")

    def frame(self, table, pieces=3):
        """Returns a table as a DataFrame of some pieces, which are not in the order of rows."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        table = table.take(self.random.permutation(table.num_rows))
        step = -(-table.num_rows // pieces)
        for i in range(pieces):
            parquet.write_table(table.slice(i * step, step), f"{folder}/{i}.parquet")
        return self.spark.read.parquet(f"file://{folder}")

    def users(self):
        """Returns a table of nodes with ids and features of all kinds."""
        draw = self.random
        feat = draw.random((USERS, 3), np.float32).tolist()
        return pyarrow.table(
            {
                "id": np.arange(USERS),
                "feat": pyarrow.array(feat, pyarrow.list_(pyarrow.float32())),
                "age": pyarrow.array([None if i % 9 == 0 else i for i in range(USERS)], "int32"),
                "large": pyarrow.array([None, *range(1234567890, 1234567889 + USERS)], "int64"),
                "score": np.round(draw.random(USERS), 3),
                "exact": draw.random(USERS),
                "pos.0": draw.random(USERS, np.float32),
                "pos.1": draw.random(USERS, np.float32),
                "list.0": pyarrow.array(feat, pyarrow.list_(pyarrow.float32())),
                "list.1": pyarrow.array(feat, pyarrow.list_(pyarrow.float32())),
                "label": draw.integers(-3, 70000, USERS),
                "train_mask": draw.random(USERS) < 0.5,
                "test_mask": draw.integers(0, 2, USERS),
            }
        )

    def graphctl(self, *arguments):
        """Returns the files of graphctl partition."""
        with tempfile.TemporaryDirectory() as out:
            subprocess.run(
                [GRAPHCTL, "partition", "--python", sys.executable, "--output", out, *arguments],
                check=True,
                capture_output=True,
                cwd=self.scratch,
            )
            return files(out)

    def assert_same(self, found, wanted):
        self.assertEqual(sorted(found), sorted(wanted))
        self.assertEqual([name for name in wanted if found[name] != wanted[name]], [])


class OnACluster(SparkCase, unittest.TestCase):
    @classmethod
    def session(cls):
        cls.cluster = spark_cluster.Cluster(cls.scratch)
        cls.addClassCleanup(cls.cluster.stop)
        return cls.cluster.session()

    @contextlib.contextmanager
    def when_a_partition_is_written(self, out, act):
        """Calls a function when the first partition is there. Yields a list that gets the number of
        those that are there then."""
        seen, stop = [], threading.Event()

        def watch():
            while not stop.wait(0.01):
                paths = glob.glob(f"{out}/*.spark-*/part*")
                done = [path for path in paths if "attempt" not in path]
                if done:
                    act()
                    seen.append(len(done))
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield seen
        finally:
            stop.set()
            watcher.join()

    def test_a_session_that_is_stopped_leaves_the_old_graph(self):
        nodes = self.spark.range(USERS)
        ring = self.spark.range(USERS).selectExpr(
            "id as a", f"(id + 1) % {USERS} as b", "id as number"
        )
        out = f"{self.scratch}/stopped"
        graph = (nodes, ring, "g", 16, out)
        graphd.spark.partition_graph(*graph, edge_id="number")
        before = files(out)
        self.addCleanup(lambda: setattr(type(self), "spark", self.cluster.session()))
        write, parts = Job.write, []

        def write_and_stop(job, plan, folder):
            parts.extend(row.part for row in write(job, plan, folder))
            self.spark.stop()
            return write(job, plan, folder)

        # The exception of a stopped session depends on the version of PySpark.
        with (
            mock.patch.object(Job, "write", write_and_stop),
            self.assertRaisesRegex(Exception, "stopped|shut down|'NoneType' object has no"),
        ):
            graphd.spark.partition_graph(*graph, edge_id="number", seed=1, force=True)
        self.assertEqual(sorted(parts), list(range(16)))
        self.assert_same(files(out), before)

    def test_typed_graph_is_that_of_graphctl_though_a_worker_is_killed(self):
        draw = self.random
        names = sorted(f"item {i * 7919 % 1000:03}" for i in range(ITEMS))
        # Repeated edges and self loops are among these.
        ends = draw.integers(0, ITEMS, (2, LIKES))
        tables = {
            "users": self.users(),
            "items": pyarrow.table({"id": names, "price": draw.random(ITEMS, np.float32)}),
            "bought": pyarrow.table(
                {
                    "user": draw.integers(0, USERS, BOUGHT),
                    "item": [names[i] for i in draw.integers(0, ITEMS, BOUGHT)],
                    "w": draw.integers(0, 9, BOUGHT).astype(np.int16),
                    "pair": pyarrow.array(draw.random((BOUGHT, 2)).tolist()),
                }
            ),
            "likes": pyarrow.table({name: [names[i] for i in e] for name, e in zip("ab", ends)}),
        }
        # The last partition gets nothing.
        owners = {"users": draw.integers(0, 15, USERS), "items": draw.integers(0, 15, ITEMS)}
        for name, table in tables.items():
            self.write(table, name)
        for name, of in owners.items():
            np.save(f"{self.scratch}/{name}.npy", of)
        wanted = self.graphctl(
            *("--edges", "user:bought:item=bought.parquet"),
            *("--edges", "item:like:item=likes.parquet"),
            *("--nodes", "user=users.parquet", "--nodes", "item=items.parquet"),
            *("--graph_name", "shop", "--num_parts", "16", "--part_method", "file"),
            *("--assignment", "user=users.npy", "item=items.npy"),
        )
        nodes = {
            ntype: self.frame(tables[name].append_column("part", pyarrow.array(owners[name])))
            for ntype, name in (("user", "users"), ("item", "items"))
        }
        edges = {
            BUY: self.frame(numbered(tables["bought"])),
            LIKE: self.frame(numbered(tables["likes"])),
        }
        out = f"{self.scratch}/shop"
        with self.when_a_partition_is_written(out, lambda: self.cluster.kill_worker(1)) as at_death:
            config = graphd.spark.partition_graph(
                nodes, edges, "shop", 16, out, part_method="column", edge_id="number"
            )
        self.assertEqual(config, f"{out}/shop.json")
        self.assertTrue(at_death, "no partition was seen before all of them were in their places")
        self.assertTrue(0 < at_death[0] < 16, f"{at_death} partitions were there at the time")
        self.assert_same(files(out), wanted)


class InOneProcess(SparkCase, unittest.TestCase):
    @classmethod
    def session(cls):
        return spark_cluster.session("local[2]", cls.scratch)

    def test_random_assignment_and_narrow_features_are_those_of_graphctl(self):
        columns = {name: self.random.integers(0, USERS, BOUGHT) for name in "ab"}
        columns["w"] = self.random.random(BOUGHT, np.float32)
        users = self.users()
        self.write(pyarrow.table(columns), "edges")
        self.write(users, "users")
        wanted = self.graphctl(
            *("--edges", "edges.parquet", "--nodes", "users.parquet", "--graph_name", "g"),
            *("--num_parts", "3", "--part_method", "hash", "--seed", "11", "--edge_orig_id", "no"),
            *("--store_as", "_N/feat=float16", "feat=int8", "w=float16"),
        )
        # An older graph, of which one file was lost.
        out = f"{self.scratch}/hash"
        for name, each in list(wanted.items())[1:]:
            os.makedirs(os.path.dirname(f"{out}/{name}"), exist_ok=True)
            pathlib.Path(f"{out}/{name}").write_bytes(each[::-1])
        # Edges without numbers are in the order of the file.
        graph = (self.frame(users), self.read("edges"), "g", 3, out)
        with self.assertRaisesRegex(ExistsError, "force=True"):
            graphd.spark.partition_graph(*graph)
        graphd.spark.partition_graph(
            *graph,
            part_method="hash",
            seed=11,
            store_as={"_N/feat": "float16", "feat": "int8", "w": "float16"},
            edge_orig_id=False,
            force=True,
        )
        self.assert_same(files(out), wanted)

    def test_names_empty_types_and_one_partition_are_those_of_graphctl(self):
        # The order of bytes differs from that of UTF-16, which has U+FFEE after U+1D4B3.
        names = sorted(["z", "\u00e9", "\u03a9", "a b", "\U0001d4b3", "\uffee"], key=str.encode)
        first, second = (0, 5, 4, 4, 2), (5, 0, 4, 4, 3)
        tables = {
            "people": pyarrow.table({"id": names, "x": np.arange(6)}),
            "tags": pyarrow.table({"id": pyarrow.array([], "int64")}),
            "nobody": pyarrow.table({"id": pyarrow.array([], "string")}),
            "knows": pyarrow.table(
                {
                    "a": [names[i] for i in first],
                    "b": [names[i] for i in second],
                    "w": np.arange(5, dtype=np.float32),
                }
            ),
            "has": pyarrow.table(
                {"person": pyarrow.array([], "string"), "tag": pyarrow.array([], "int64")}
            ),
        }
        for name, table in tables.items():
            self.write(table, name)
        wanted = self.graphctl(
            *("--edges", "person:knows:person=knows.parquet"),
            *("--edges", "person:has:tag=has.parquet"),
            *("--nodes", "person=people.parquet", "--nodes", "tag=tags.parquet"),
            *("--nodes", "nobody=nobody.parquet", "--graph_name", "g", "--num_parts", "1"),
            *("--part_method", "random"),
        )
        knows, has = ("person", "knows", "person"), ("person", "has", "tag")
        out = f"{self.scratch}/names"
        graphd.spark.partition_graph(
            {
                "person": self.frame(tables["people"]),
                "tag": self.read("tags"),
                "nobody": self.read("nobody"),
            },
            {knows: self.frame(numbered(tables["knows"])), has: self.read("has")},
            "g",
            1,
            out,
            edge_id={knows: "number"},
        )
        found = files(out)
        # For graphctl, a type without rows has neither ids nor names.
        self.assertEqual(gzip.decompress(found.pop("g.nobody.ids.txt.gz")), b"")
        self.assert_same(found, wanted)

    def test_label_propagation_keeps_the_balance_and_cuts_less(self):
        clusters, size, parts = 6, 50, 3
        count = clusters * size
        of_cluster = self.random.permutation(count).reshape(clusters, size)
        which = self.random.integers(0, clusters, 3000)
        src, dst = (of_cluster[which, self.random.integers(0, size, 3000)] for _ in range(2))
        edges = pandas.DataFrame({"src": src, "dst": dst, "number": np.arange(3000)})
        edges.to_parquet(f"{self.scratch}/clusters.parquet")
        read = self.read("clusters")
        # Spark would read these characters as a pattern.
        out = f"{self.scratch}/{{clusters}} [of] nodes?*"
        options = {"part_method": "label_propagation", "edge_id": "number", "iterations": 3}
        config = graphd.spark.partition_graph(
            self.spark.range(count), read, "g", parts, out, **options
        )
        owners = np.empty(count, np.int32)
        for part in range(parts):
            orig_id = np.asarray(load_partition(config, part)[1]["_N/orig_id"])
            owners[orig_id] = part
            self.assertLessEqual(len(orig_id), 1.03 * count / parts)
        cut = (owners[src] != owners[dst]).mean()
        self.assertLess(cut, 0.6)  # it is 0.66 if nodes are assigned at random
        np.save(f"{self.scratch}/owners.npy", owners)
        wanted = self.graphctl(
            *("--edges", "clusters.parquet", "--num_nodes", str(count), "--graph_name", "g"),
            *("--num_parts", str(parts), "--part_method", "file", "--assignment", "owners.npy"),
            *("--feat_cols", "none"),
        )
        self.assert_same(files(out), wanted)

    def test_label_propagation_of_types_and_names_though_all_tasks_run_twice(self):
        clusters, size, parts = 4, 30, 3
        count = clusters * size
        of_cluster = self.random.permutation(count).reshape(clusters, size)
        names = [f"item {i:03}" for i in range(count)]
        which = self.random.integers(0, clusters, 2000)
        src, dst = (of_cluster[which, self.random.integers(0, size, 2000)] for _ in range(2))
        tables = {
            "owned": pyarrow.table({"user": src, "item": [names[i] for i in dst]}),
            "owners": pyarrow.table({"id": np.arange(count)}),
            "things": pyarrow.table({"id": names, "price": np.arange(count)}),
        }
        for name, table in tables.items():
            self.write(table, name)
        write, twice = Job.write, []

        def write_twice(job, *rest):
            twice.append(sorted(row.part for row in write(job, *rest)))
            return write(job, *rest)

        out = f"{self.scratch}/typed"
        with mock.patch.object(Job, "write", write_twice):
            config = graphd.spark.partition_graph(
                {"user": self.frame(tables["owners"]), "item": self.frame(tables["things"])},
                {BUY: self.frame(numbered(tables["owned"]))},
                *("g", parts, out),
                part_method="label_propagation",
                edge_id="number",
                iterations=3,
            )
        self.assertEqual(twice, [list(range(parts))])
        owners = {}
        for ntype in ("user", "item"):
            owners[ntype] = np.empty(count, np.int32)
            for part in range(parts):
                orig_id = np.asarray(load_partition(config, part)[1][f"{ntype}/orig_id"])
                owners[ntype][orig_id] = part
                self.assertLessEqual(len(orig_id), 1.03 * count / parts)
            np.save(f"{self.scratch}/{ntype}.npy", owners[ntype])
        cut = (owners["user"][src] != owners["item"][dst]).mean()
        self.assertLess(cut, 0.6)  # it is 0.67 if nodes are assigned at random
        wanted = self.graphctl(
            *("--edges", "user:bought:item=owned.parquet", "--nodes", "user=owners.parquet"),
            *("--nodes", "item=things.parquet", "--graph_name", "g", "--num_parts", str(parts)),
            *("--part_method", "file", "--assignment", "user=user.npy", "item=item.npy"),
        )
        self.assert_same(files(out), wanted)

    def test_labels_that_are_not_those_that_were_granted_are_found(self):
        with kept.KeptFrames() as frames, tempfile.TemporaryDirectory() as folder:
            nodes = Nodes("_N", self.spark.range(6), None, frames)
            nodes.number()
            loops = self.spark.range(6).selectExpr("id as a", "(id + 1) % 6 as b")
            etype = ("_N", "_E", "_N")
            edges = {etype: Edges(etype, loops, None, frames)}
            run = label_propagation._Propagation({"_N": nodes}, edges, 3, 0, folder, frames)
            run.begin()
            self.assertEqual(run.ledgers[0].loads, [2, 2, 2])
            run.ledgers[0].loads = [2, 1, 3]
            with self.assertRaisesRegex(InvalidError, "other nodes than counted moved"):
                run.finish()

    def test_nodes_are_evaluated_once_to_locate_them(self):
        from pyspark.sql import functions as F

        evaluated = self.spark.sparkContext.accumulator(0)

        def part(number):
            evaluated.add(1)
            return number % 3

        owners = F.udf(part, "int")("id")
        with kept.KeptFrames() as frames:
            nodes = Nodes("_N", self.spark.range(30).withColumn("part", owners), "part", frames)
            nodes.count = 30
            nodes.locate(3)
            for _ in range(2):
                found = sorted((row.new, row.id) for row in nodes.ends.collect())
                self.assertEqual(found, [(n, n % 10 * 3 + n // 10) for n in range(30)])
        self.assertEqual(nodes.counts, [10, 10, 10])
        self.assertEqual(evaluated.value, 30)

    def jobs(self):
        """Returns the number of jobs that Spark has started."""
        return self.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()

    def test_mistakes_are_named_and_leave_nothing(self):
        nodes = self.spark.range(4)

        def edges(rows="(0L, 1L)"):
            return self.spark.sql(f"select * from values {rows} as t(a, b)")

        good, names = edges(), nodes.selectExpr("string(id) as name")
        pair = nodes.selectExpr("id", "1 as `x.0`", "1.5d as `x.1`")
        one = nodes.selectExpr("id", "1.5f as `x.0`")
        nested = nodes.selectExpr("id", "array(array(1f)) as `x.0`")
        apart = nodes.selectExpr("id", "1f as `x.0`", "2f as y", "3f as `x.1`")
        twice = nodes.selectExpr("id", "1f as `x.0`", "array(2f) as x")
        lists = nodes.selectExpr("id", "if(id = 3, array(1d, 2d, 3d), array(1d, 2d)) as x")
        owners = nodes.selectExpr("id", "id as place")
        texts = good.selectExpr("a", "b", "'x' as c")
        column = {"part_method": "column", "partition": "place"}
        many = {"part_method": "label_propagation", "num_parts": 513}
        # The first ones are found before Spark has anything to do.
        early = (
            ("there is no column 'place' with partitions", (nodes, good), column),
            ("column 'place' has string", (nodes.selectExpr("id", "'x' as place"), good), column),
            ("StringIndexer", (nodes.selectExpr("id", "'x' as kind"), good), {}),
            ("column 'id' has double; expected whole", (nodes.selectExpr("1d as id"), good), {}),
            ("'x.0' and 'x.1' of the feature 'x' have int and double", (pair, good), {}),
            ("column 'x.0' has lists of list, expected numbers", (nested, good), {}),
            ("'x.0' and 'x.1' of the feature 'x' are not beside", (apart, good), {}),
            ("two features have the name 'x'", (twice, good), {}),
            ("column 'a' has bigint, but the nodes of '_N' have names", (names, good), {}),
            ("no DataFrame of the type 'item'", ({"user": nodes}, {BUY: good}), {}),
            ("rename", (nodes.selectExpr("id", "1 as orig_id"), good), {}),
            ("no column 'n' of ids", (nodes, good), {"edge_id": "n"}),
            (
                "edge_id of 'BUY': there are the edge types",
                (nodes, good),
                {"edge_id": {"BUY": "n"}},
            ),
            ("column 'c' has string", (nodes, texts), {"edge_id": "c"}),
            ("seed -1: expected 0 to", (nodes, good), {"seed": -1}),
            ("iterations 0: expected 1", (nodes, good), {"iterations": 0}),
            ("imbalance -1", (nodes, good), {"imbalance": -1}),
            ("edge_orig_id 'no'", (nodes, good), {"edge_orig_id": "no"}),
            ("store_as 'y': there are the features", (one, good), {"store_as": {"y": "int8"}}),
            ("store_as of 'x': 'int4'", (one, good), {"store_as": {"x": "int4"}}),
            ("512 partitions at most", (nodes, good), many),
            ("part_method 'metis'", (nodes, good), {"part_method": "metis"}),
        )
        late = (
            ("edge from 3 to 7, and no such node", (nodes, edges("(0L, 1L), (3L, 7L)")), {}),
            ("edge from null to 1, and no", (nodes, edges("(cast(null as bigint), 1L)")), {}),
            ("node 3 has 3 in the column 'place'; expected a partition", (owners, good), column),
            ("expected each of 0 to 3 once", (nodes.selectExpr("id * 2 as id"), good), {}),
            # A task finds this one.
            ("'x' has a list of 3 numbers and one of 2; lists must", (lists, good), {}),
        )
        out = f"{self.scratch}/mistakes"
        os.mkdir(out)
        for cases, runs in ((early, False), (late, True)):
            for message, graph, options in cases:
                given = {"num_parts": 3, **options}
                before = self.jobs()
                with self.subTest(message), self.assertRaisesRegex(InvalidError, message):
                    graphd.spark.partition_graph(*graph, "g", out_path=out, **given)
                with self.subTest(message):
                    self.assertEqual(self.jobs() > before, runs)
                self.assertEqual(os.listdir(out), [])


class WithoutSpark(unittest.TestCase):
    def test_missing_library_is_an_error_with_the_remedy(self):
        remedy = "pip install 'pyspark>=3.5'"
        missing = mock.patch.dict(sys.modules, {"pyspark": None})
        with missing, self.assertRaisesRegex(ImportError, remedy):
            graphd.spark.partition_graph(None, None, "g", 1, "nowhere")

    def test_attempts_of_a_task_do_not_disturb_each_other(self):
        without_links = mock.patch.object(
            os, "link", side_effect=PermissionError(errno.EPERM, "no links")
        )
        for case, publish, file, links in (
            ("directory", tasks.publish, "/partition.json", contextlib.nullcontext()),
            ("file", tasks.publish_file, "", contextlib.nullcontext()),
            ("file, without hard links", tasks.publish_file, "", without_links),
        ):
            with self.subTest(case), tempfile.TemporaryDirectory() as scratch, links:
                for attempt, text in (("a", "same"), ("b", "same"), ("c", "diff")):
                    path = pathlib.Path(f"{scratch}/{attempt}{file}")
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text)
                publish(f"{scratch}/a", f"{scratch}/done")
                publish(f"{scratch}/b", f"{scratch}/done")
                with self.assertRaisesRegex(InvalidError, "different bytes"):
                    publish(f"{scratch}/c", f"{scratch}/done")
                self.assertEqual(pathlib.Path(f"{scratch}/done{file}").read_text(), "same")

    def test_a_frame_that_cannot_be_freed_does_not_keep_the_others(self):
        from py4j.protocol import Py4JError

        first, second = (mock.Mock(**{"persist.return_value": mock.Mock()}) for _ in range(2))
        second.persist().unpersist.side_effect = Py4JError("stopped")
        with kept.KeptFrames() as frames:
            frames.keep(first)
            frames.keep(second)
        first.persist().unpersist.assert_called_once()
        second.persist().unpersist.assert_called_once()

    def test_the_last_of_two_stored_dtypes_counts(self):
        wanted = {"user/x": "int8", "x": "float16"}
        for given in (wanted, dict(reversed(wanted.items()))):
            stored = stored_features.StoredFeatures(given, [("user", ["x"]), ("item", ["x"])])
            self.assertEqual(stored.of_type("user", ["x"]), {"x": list(given.values())[-1]})
            self.assertEqual(stored.of_type("item", ["x"]), {"x": "float16"})

    def test_an_edge_that_is_written_twice_is_found(self):
        def table(*columns):
            arrays = [pyarrow.array(column, "int64") for column in columns]
            batch = pyarrow.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
            reader = pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])
            return reader.__arrow_c_stream__()

        plan = {
            "graph_name": "g",
            "part_method": "file",
            "ntypes": ["n"],
            "etypes": [("n", "e", "n")],
            "nodes": [([2, 1], [])],
            "edges": [([2, 1], [])],
            "edge_orig_id": True,
        }
        with tempfile.TemporaryDirectory() as scratch:
            for second, message in ((2, None), (1, "not 0 to 2, each once; .*edge_id")):
                sums = []
                for part, ids, edges in (
                    (0, [0, 2], [[0, 2], [0, 2], [0, 1]]),
                    (1, [1], [[1], [0], [second]]),
                ):
                    own = f"{scratch}/{second}.{part}"
                    os.mkdir(own)
                    writer = _graphd.PartWriter(plan, part, own)
                    writer.add_nodes(0, table(ids))
                    writer.add_edges(0, table(*edges))
                    writer.finish()
                    sums.append((writer.node_sums[0], writer.edge_sums[0]))
                numbers.check_written([nodes for nodes, _ in sums], 3, "nodes")
                if message is None:
                    numbers.check_written([edges for _, edges in sums], 3, "edges")
                else:
                    with self.assertRaisesRegex(InvalidError, message):
                        numbers.check_written([edges for _, edges in sums], 3, "edges")

    def test_sums_of_ids_are_those_of_the_formulas(self):
        for count in (0, 1, 2, 1000):
            wanted = (count, sum(range(count)), sum(i * i for i in range(count)))
            self.assertEqual(numbers.sums(count), wanted)
        self.assertTrue(all(0 <= each < 1 << 64 for each in numbers.sums(1 << 40)))

    def test_errors_of_tasks_are_found_in_the_text_of_spark(self):
        text = (
            "An exception was thrown from the Python worker.\nTraceback (most recent call last):\n"
        )
        for end in ("\n", "\n\n\tat org.apache.spark.api.python.X(Y.scala:1)\n", ""):
            error = failures.error_in(f'{text}  File "x"\ngraphd.errors.IoError: a: b\nc{end}')
            self.assertIs(type(error), IoError)
            self.assertEqual(str(error), "a: b\nc")
        for other in ("ValueError: x", "graphd.errors.NoError: x", "graphd.errors.annotations: x"):
            self.assertIsNone(failures.error_in(text + other))

    def test_grants_never_exceed_the_room(self):
        draw = np.random.default_rng(3)
        for _ in range(50):
            loads = [int(n) for n in draw.integers(40, 51, 4)]
            requests = {}
            for source in range(4):
                left = loads[source]
                for group in range(8):
                    target = int(draw.integers(0, 4))
                    count = int(draw.integers(0, left + 1)) // 3
                    if count and target != source:
                        requests[source, target, group] = count
                        left -= count
            ledger = label_propagation.Ledger(list(loads), 52)
            granted = ledger.grant([(*key, n) for key, n in requests.items()])
            after = list(loads)
            for source, target, group in granted:
                after[source] -= requests[source, target, group]
                after[target] += requests[source, target, group]
            self.assertEqual(after, ledger.loads)
            self.assertLessEqual(max(after), 52)
            self.assertEqual(sum(after), sum(loads))

    def test_requests_are_looked_at_a_bounded_number_of_times(self):
        # Each partition is full until the next one has given away a node.
        parts = 100
        ledger = label_propagation.Ledger([5] * (parts - 1) + [4], 5)
        granted = ledger.grant([(part, part + 1, 0, 1) for part in range(parts - 1)])
        self.assertEqual(granted, [(part, part + 1, 0) for part in range(98, 90, -1)])

    def test_pairs_of_partitions_are_bounded(self):
        self.assertEqual(label_propagation.levels_of(256, 1), 4)
        self.assertEqual(label_propagation.levels_of(512, 1), 1)
        for parts, types, most in ((513, 1, 512), (512, 2, 362)):
            with self.assertRaisesRegex(InvalidError, f"{most} partitions at most"):
                label_propagation.levels_of(parts, types)


class Staging(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = scratch.name

    def killed_run(self, code="os.kill(os.getpid(), signal.SIGKILL)"):
        """Starts a run that ends in a way that leaves its directory, and returns this."""
        program = f"""
import os, signal, sys
from graphd.errors import IoError
from graphd.spark.staging import Staging
with Staging(sys.argv[1], "g", False) as staging:
    open(os.path.join(staging.path, "part0"), "w").close()
    print(staging.path, flush=True)
    {code}
"""
        command = [sys.executable, "-c", program, self.out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        path = done.stdout.strip()
        self.assertTrue(os.path.exists(f"{path}/part0"), done.stderr)
        return path

    def run_again(self, force):
        with staging.Staging(self.out, "g", force) as run:
            self.assertEqual(os.listdir(run.path), [staging.MARKER])

    def test_what_a_killed_run_has_left_is_removed(self):
        for force in (False, True):
            self.killed_run()
            self.run_again(force)
            self.assertEqual(os.listdir(self.out), [])

    def test_a_run_that_goes_on_is_left_alone(self):
        with staging.Staging(self.out, "g", False) as run:
            for force in (False, True):
                with self.assertRaisesRegex(ExistsError, "another run writes this graph now"):
                    self.run_again(force)
            with staging.Staging(self.out, "another", False):
                pass
            self.assertEqual(os.listdir(self.out), [os.path.basename(run.path)])

    def test_only_one_of_two_runs_that_begin_at_the_same_time_goes_on(self):
        first, second = (staging.Staging(self.out, "g", False) for _ in range(2))
        with first:
            with self.assertRaisesRegex(ExistsError, "another run writes this graph now"), second:
                pass
            self.assertEqual(os.listdir(self.out), [os.path.basename(first.path)])

    def test_a_run_that_has_just_begun_is_left_alone(self):
        path = pathlib.Path(self.out, "g.spark-0123456789ab")
        path.mkdir()
        self.run_again(True)
        path.joinpath(staging.MARKER).touch()
        self.run_again(True)
        self.assertTrue(path.joinpath(staging.MARKER).exists())

    def test_partitions_that_could_not_be_moved_are_kept(self):
        path = self.killed_run('with staging.publishing(): raise IoError("no space")')
        with self.assertRaisesRegex(ExistsError, f"{path} has partitions of a run that failed"):
            self.run_again(False)
        self.assertTrue(os.path.exists(f"{path}/part0"))
        self.run_again(True)
        self.assertEqual(os.listdir(self.out), [])

    def test_the_error_says_where_partitions_are_kept(self):
        run = staging.Staging(self.out, "g", False)
        message = f"^no space; .* kept in {run.path}: .*force=True"
        with self.assertRaisesRegex(IoError, message), run, run.publishing():
            raise IoError("no space")
        self.assertTrue(os.path.exists(run.path))

    def test_without_locks_only_force_removes_a_directory(self):
        path = self.killed_run()
        pathlib.Path(path, staging.MARKER).write_text("running, where files have no locks\n")
        with self.assertRaisesRegex(ExistsError, "or was killed; give force=True if none does"):
            self.run_again(False)
        self.run_again(True)
        self.assertEqual(os.listdir(self.out), [])

    def test_other_directories_are_left_alone(self):
        marker = staging.MARKER
        with tempfile.TemporaryDirectory() as elsewhere:
            pathlib.Path(elsewhere, marker).write_text("finished\n")
            os.symlink(elsewhere, f"{self.out}/g.spark-00000000000a")
            for name, file in (
                ("g.spark-events", marker),
                ("g.spark-0123456789ab", "log"),
                ("g.spark-0123456789abc", marker),
                ("gxspark-0123456789ab", marker),
            ):
                os.mkdir(f"{self.out}/{name}")
                pathlib.Path(self.out, name, file).write_text("finished\n")
            before = sorted(os.listdir(self.out))
            for force in (False, True):
                self.run_again(force)
                self.assertEqual(sorted(os.listdir(self.out)), before)
            self.assertEqual(os.listdir(elsewhere), [marker])


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # py4j leaves its sockets to the garbage collector
