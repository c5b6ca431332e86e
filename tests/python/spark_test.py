# SPDX-License-Identifier: Apache-2.0
"""Partitions DataFrames on a real cluster of Spark, a master and two workers, one of which is killed:
the files are those of graphctl partition."""

import glob
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

import graphd.spark
import spark_cluster
from graphd.distributed import load_partition
from graphd.errors import ExistsError, InvalidError
from graphd.spark import label_propagation, tasks

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
USERS, ITEMS, BOUGHT, LIKES = 300, 200, 3000, 900
BUY, LIKE = ("user", "bought", "item"), ("item", "like", "item")


def files(folder):
    """Returns the bytes of all files below a folder by path."""
    paths = (path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_spark_")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.cluster = spark_cluster.Cluster(cls.scratch)
        cls.addClassCleanup(cls.cluster.stop)
        cls.spark = cls.cluster.session()
        cls.addClassCleanup(cls.spark.stop)
        cls.random = np.random.default_rng(1)
        cls.write_shop()

    @classmethod
    def write_shop(cls):
        """Writes a typed graph, users with ids and items with names, as Parquet files."""
        draw = cls.random
        # Repeated edges and self loops are among these.
        names = sorted(f"item {i * 7919 % 1000:03}" for i in range(ITEMS))
        feat = pyarrow.array(
            draw.random((USERS, 3), np.float32).tolist(), pyarrow.list_(pyarrow.float32())
        )
        cls.users = pyarrow.table(
            {
                "id": np.arange(USERS),
                "feat": feat,
                "age": pyarrow.array([None if i % 9 == 0 else i for i in range(USERS)], "int32"),
                "score": np.round(draw.random(USERS), 3),
                "exact": draw.random(USERS),
                "label": draw.integers(-3, 70000, USERS),
                "train_mask": draw.random(USERS) < 0.5,
                "test_mask": draw.integers(0, 2, USERS),
            }
        )
        cls.items = pyarrow.table({"id": names, "price": draw.random(ITEMS, np.float32)})
        cls.bought = pyarrow.table(
            {
                "user": draw.integers(0, USERS, BOUGHT),
                "item": [names[i] for i in draw.integers(0, ITEMS, BOUGHT)],
                "w": draw.integers(0, 9, BOUGHT).astype(np.int16),
                "pair": pyarrow.array(draw.random((BOUGHT, 2)).tolist()),
            }
        )
        ends = draw.integers(0, ITEMS, (2, LIKES))
        cls.likes = pyarrow.table({name: [names[i] for i in e] for name, e in zip("ab", ends)})
        # The last partition gets nothing.
        cls.owners = {"user": draw.integers(0, 15, USERS), "item": draw.integers(0, 15, ITEMS)}
        for name in ("users", "items", "bought", "likes"):
            parquet.write_table(getattr(cls, name), f"{cls.scratch}/{name}.parquet")

    def frame(self, table, pieces=3):
        """Returns a table as a DataFrame of some pieces, which are not in the order of rows."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        table = table.take(self.random.permutation(table.num_rows))
        step = -(-table.num_rows // pieces)
        for i in range(pieces):
            parquet.write_table(table.slice(i * step, step), f"{folder}/{i}.parquet")
        return self.spark.read.parquet(f"file://{folder}")

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

    def numbered(self, table):
        return table.append_column("number", pyarrow.array(np.arange(table.num_rows)))

    def test_typed_graph_is_that_of_graphctl_though_a_worker_is_killed(self):
        for ntype, owners in self.owners.items():
            np.save(f"{self.scratch}/{ntype}.npy", owners)
        wanted = self.graphctl(
            *(
                "--edges",
                "user:bought:item=bought.parquet",
                "--edges",
                "item:like:item=likes.parquet",
            ),
            *("--nodes", "user=users.parquet", "--nodes", "item=items.parquet"),
            *("--graph_name", "shop", "--num_parts", "16", "--part_method", "file"),
            *("--assignment", "user=user.npy", "item=item.npy"),
        )
        nodes = {
            ntype: self.frame(table.append_column("part", pyarrow.array(self.owners[ntype])))
            for ntype, table in (("user", self.users), ("item", self.items))
        }
        edges = {
            BUY: self.frame(self.numbered(self.bought)),
            LIKE: self.frame(self.numbered(self.likes)),
        }
        out = f"{self.scratch}/shop"
        at_death = []

        def kill():
            deadline = time.monotonic() + 400
            while time.monotonic() < deadline and not at_death:
                done = [p for p in glob.glob(f"{out}/*.spark-*/part*") if "attempt" not in p]
                if done:
                    self.cluster.kill_worker(1)
                    at_death.append(len(done))
                time.sleep(0.01)

        killer = threading.Thread(target=kill)
        killer.start()
        config = graphd.spark.partition_graph(
            nodes, edges, "shop", 16, out, part_method="column", edge_id="number"
        )
        killer.join()
        self.assertEqual(config, f"{out}/shop.json")
        self.assertTrue(0 < at_death[0] < 16, f"{at_death} partitions were there at the time")
        self.assert_same(files(out), wanted)

    def test_random_assignment_and_narrow_features_are_those_of_graphctl(self):
        columns = {name: self.random.integers(0, USERS, BOUGHT) for name in "ab"}
        columns["w"] = self.random.random(BOUGHT, np.float32)
        parquet.write_table(pyarrow.table(columns), f"{self.scratch}/edges.parquet")
        wanted = self.graphctl(
            *("--edges", "edges.parquet", "--nodes", "users.parquet", "--graph_name", "g"),
            *("--num_parts", "3", "--part_method", "hash", "--seed", "11", "--edge_orig_id", "no"),
            *("--store_as", "feat=int8", "w=float16"),
        )
        # An older graph, of which one file was lost.
        out = f"{self.scratch}/hash"
        for name, each in list(wanted.items())[1:]:
            os.makedirs(os.path.dirname(f"{out}/{name}"), exist_ok=True)
            pathlib.Path(f"{out}/{name}").write_bytes(each[::-1])
        # Edges without numbers are in the order of the file.
        read = self.spark.read.parquet(f"file://{self.scratch}/edges.parquet")
        graph = (self.frame(self.users), read, "g", 3, out)
        with self.assertRaisesRegex(ExistsError, "force=True"):
            graphd.spark.partition_graph(*graph)
        graphd.spark.partition_graph(
            *graph,
            part_method="hash",
            seed=11,
            store_as={"feat": "int8", "w": "float16"},
            edge_orig_id=False,
            force=True,
        )
        self.assert_same(files(out), wanted)

    def test_label_propagation_keeps_the_balance_and_cuts_less(self):
        clusters, size, parts = 6, 50, 3
        count = clusters * size
        of_cluster = self.random.permutation(count).reshape(clusters, size)
        which = self.random.integers(0, clusters, 3000)
        src, dst = (of_cluster[which, self.random.integers(0, size, 3000)] for _ in range(2))
        edges = pandas.DataFrame({"src": src, "dst": dst, "number": np.arange(3000)})
        edges.to_parquet(f"{self.scratch}/clusters.parquet")
        read = self.spark.read.parquet(f"file://{self.scratch}/clusters.parquet")
        out = f"{self.scratch}/clusters"
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

    def test_mistakes_are_named_and_leave_nothing(self):
        nodes = self.spark.range(4)
        edges = self.spark.createDataFrame([(0, 1), (3, 7)], "a bigint, b bigint")
        bad_owner = nodes.selectExpr("id", "id as part")
        text = nodes.selectExpr("id", "'x' as kind")
        good = self.spark.createDataFrame([(0, 1)], "a bigint, b bigint")
        names = nodes.selectExpr("string(id) as name")
        gap = nodes.selectExpr("id * 2 as id")
        out = f"{self.scratch}/mistakes"
        for message, graph, options in (
            ("edge from 3 to 7, and no such node", (nodes, edges), {}),
            ("node 3 has the partition 3; expected 0 to 2", (bad_owner, edges), {"column": True}),
            ("no column 'part'", (nodes, edges), {"column": True}),
            ("expected each of 0 to 3 once", (gap, edges), {}),
            ("StringIndexer", (text, good), {}),
            ("'from' have bigint", (names, edges), {}),
            ("no DataFrame of the type 'item'", ({"user": nodes}, {BUY: edges}), {}),
        ):
            method = "column" if options else "random"
            with self.subTest(message), self.assertRaisesRegex(InvalidError, message):
                graphd.spark.partition_graph(*graph, "g", 3, out, part_method=method)
            self.assertFalse(files(out))


class WithoutSpark(unittest.TestCase):
    def test_missing_library_is_an_error_with_the_remedy(self):
        remedy = "pip install 'pyspark>=3.5'"
        missing = mock.patch.dict(sys.modules, {"pyspark": None})
        with missing, self.assertRaisesRegex(ImportError, remedy):
            graphd.spark.partition_graph(None, None, "g", 1, "nowhere")

    def test_attempts_of_a_task_do_not_disturb_each_other(self):
        with tempfile.TemporaryDirectory() as scratch:
            for attempt in ("a", "b"):
                os.mkdir(f"{scratch}/{attempt}")
                pathlib.Path(f"{scratch}/{attempt}/partition.json").write_text(attempt)
            tasks.publish(f"{scratch}/a", f"{scratch}/part0")
            tasks.publish(f"{scratch}/b", f"{scratch}/part0")
            self.assertEqual(pathlib.Path(f"{scratch}/part0/partition.json").read_text(), "a")

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


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # py4j leaves its sockets to the garbage collector
