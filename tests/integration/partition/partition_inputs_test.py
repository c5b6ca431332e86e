#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl partition on every kind of input: partition, verify, load (inspect --part)."""
import gzip
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
ROOT = pathlib.Path(__file__).resolve().parents[3]
OK, INVALID, NOT_FOUND, CORRUPT = 0, 2, 3, 9


def graphctl(*args):
    return subprocess.run([GRAPHCTL, *map(str, args)], capture_output=True, text=True, timeout=60)


def npy(descr, shape, values):
    """Returns the bytes that numpy.save writes."""
    code = {"<i8": "q", "<f4": "f", "<i4": "i"}[descr]
    header = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
            struct.pack("<%d%s" % (len(values), code), *values))


class Inputs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_inputs_")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.output = self.scratch / "out"

    def write(self, name, content):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    def partition(self, *more, parts=2):
        return graphctl("partition", "--graph_name", "g", "--num_parts", parts,
                        "--output", self.output, "--force", "--json", *more)

    def partitioned(self, *more, parts=2):
        """Partitions, verifies and loads every partition; returns (summary, inspected parts)."""
        result = self.partition(*more, parts=parts)
        self.assertEqual(result.returncode, OK, result.stderr)
        verified = graphctl("verify", self.output / "g.json")
        self.assertEqual(verified.returncode, OK, verified.stdout + verified.stderr)
        config = self.output / "g.json"
        shown = [json.loads(graphctl("inspect", config, "--part", p, "--json").stdout)
                 for p in range(parts)]
        return json.loads(result.stdout), shown

    def assert_fails(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def features(self, shown, kind, type_index):
        return {f["name"]: f["dtype"] for f in shown[0][kind][type_index]["features"]}

    def test_a_table_of_edges_with_names(self):
        path = self.write("e.csv.gz", "src,dst,since\n" + "".join(
            "person %d,person %d,%d\n" % (i, (i * 7 + 1) % 50, i) for i in range(50)))
        summary, shown = self.partitioned("--input", path)
        self.assertEqual((summary["num_nodes"], summary["num_edges"]), (50, 50))
        self.assertEqual(self.features(shown, "etypes", 0), {"orig_id": "int64", "since": "int64"})
        names = gzip.decompress((self.output / "g._N.ids.txt.gz").read_bytes()).decode().split("\n")
        self.assertEqual(names[:3], ["person 0", "person 1", "person 8"])
        self.assertEqual(len(names), 51)
        self.assertEqual(summary["node_names"], {"_N": str(self.output / "g._N.ids.txt.gz")})
        result = graphctl("partition", "--graph_name", "g", "--num_parts", 2,
                          "--output", self.output, "--force", "--input", path)
        self.assertIn("node names   %s/g._N.ids.txt.gz\n" % self.output, result.stdout)
        # Names are copied when the graph is repartitioned or converted: orig_id still refers to
        # them.
        written = (self.output / "g._N.ids.txt.gz").read_bytes()
        anew, native = self.scratch / "anew", self.scratch / "converted"
        for done in (graphctl("partition", "--input", self.output, "--graph_name", "h",
                              "--num_parts", 3, "--output", anew),
                     graphctl("convert", "--part_config", self.output, "--output", native)):
            self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual((anew / "h._N.ids.txt.gz").read_bytes(), written)
        self.assertEqual((native / "g._N.ids.txt.gz").read_bytes(), written)
        # A new graph without names removes the old ones.
        self.partitioned("--input", self.write("e.tsv", "0\t1\n1\t2\n"))
        self.assertFalse((self.output / "g._N.ids.txt.gz").exists())

    def test_typed_tables_and_arrays(self):
        self.write("follows.tsv", "ann\tbob\nbob\tcarl\nbob\tcarl\ncarl\tcarl\n")
        self.write("plays.npy", npy("<i8", (2, 3), [0, 1, 2, 3, 3, 0]))
        self.write("hours.npy", npy("<f4", (3, 2), range(6)))
        self.write("users.csv", "name,age,train_mask\nann,30,1\nbob,31,0\ncarl,32,1\nlonely,33,0\n")
        self.write("games.npy", npy("<f4", (5, 3), range(15)))
        d = self.scratch
        result = self.partition("--edges", "user:follows:user=%s/follows.tsv" % d,
                                "--edges", "user:plays:game=%s/plays.npy" % d,
                                "--nodes", "user=%s/users.csv" % d)
        self.assert_fails(result, CORRUPT, "plays.npy, offset", "node '0' of type 'user' is not in")
        self.write("plays.csv", "ann,3\nbob,3\ncarl,0\n")
        summary, shown = self.partitioned(
            "--edges", "user:follows:user=%s/follows.tsv" % d,
            "--edges", "user:plays:game=%s/plays.csv" % d,
            "--edges", "user:plays:game.hours=%s/hours.npy" % d,
            "--nodes", "user=%s/users.csv" % d, "--nodes", "game.feat=%s/games.npy" % d,
            "--add_reverse", "--part_method", "random")
        self.assertEqual((summary["num_nodes"], summary["num_edges"]), (9, 14))
        self.assertEqual([t["name"] for t in shown[0]["etypes"]],
                         ["user:follows:user", "user:plays:game", "game:rev_plays:user"])
        self.assertEqual(self.features(shown, "etypes", 2),
                         {"orig_id": "int64", "hours": "float32"})
        self.assertEqual(self.features(shown, "ntypes", 0)["train_mask"], "uint8")
        self.assertEqual(self.features(shown, "ntypes", 1), {"orig_id": "int64", "feat": "float32"})
        self.assertTrue((self.output / "g.user.ids.txt.gz").exists())
        self.assertFalse((self.output / "g.game.ids.txt.gz").exists())

    def test_columns_of_features_are_chosen_by_file(self):
        self.write("old/bought.csv", "0,1,7,100\n2,0,8,200\n")
        self.write("new/bought.csv", "user,item,note,price\n1,1,gift,9\n")
        users = self.write("users.csv", "id,age,score\n0,30,1\n1,31,2\n2,32,3\n")
        files = [f"user:bought:item={self.scratch}/{age}/bought.csv" for age in ("old", "new")]
        files = ("--edges", files[0], "--edges", files[1], "--nodes", f"user={users}")
        old, new = (f"{self.scratch}/{age}/bought.csv" for age in ("old", "new"))
        lists = ("--feat_cols", "users.csv=age", "--feat_cols", f"{old}=2")
        self.assert_fails(self.partition(*files, *lists, "--feat_cols", f"{new}=cost"), INVALID,
                          f"{new} has no feature column 'cost'; there are note, price")
        self.assert_fails(self.partition(*files, *lists, "--feat_cols", f"{new}=price"), INVALID,
                          f"{new} has the feature columns price of 1, expected those of {old}: "
                          "weight of 1")
        self.assert_fails(self.partition(*files, "--feat_cols", "bought.csv=price"), INVALID,
                          f"several files have this name: {new}, {old}; give the path of one")
        self.assert_fails(self.partition(*files, *lists, "--feat_cols", "user=score"), INVALID,
                          f"both for {users} and for user, the type of that file")
        self.assert_fails(self.partition(*files, "--feat_cols", "shop.csv=price"), INVALID,
                          "'shop.csv' is not a type or a file")
        self.assertFalse(self.output.exists())
        self.write("old/bought.csv", "user,item,price,paid\n0,1,7,100\n2,0,8,200\n")
        lists = ("--feat_cols", "users.csv=age", "--feat_cols", f"{old}=price", "--feat_cols",
                 f"{new}=price")
        for more in ((), ("--memory", "1GiB", "--part_method", "random")):
            _, shown = self.partitioned(*files, *lists, *more)
            self.assertEqual(self.features(shown, "ntypes", 0), {"orig_id": "int64", "age": "int64"})
            self.assertEqual(self.features(shown, "etypes", 0),
                             {"orig_id": "int64", "price": "int64"})

    def test_npy_and_matrix_market(self):
        path = self.write("e.npy", npy("<i4", (4, 2), [0, 1, 1, 2, 2, 3, 3, 0]))
        self.assertEqual(self.partitioned("--input", path)[0]["num_edges"], 4)
        path = self.write("m.mtx.gz", "%%MatrixMarket matrix coordinate real symmetric\n"
                          "5 5 3\n2 1 0.5\n3 2 1.5\n4 4 2\n")
        summary, shown = self.partitioned("--input", path)
        self.assertEqual((summary["num_nodes"], summary["num_edges"]), (5, 5))
        self.assertEqual(self.features(shown, "etypes", 0)["weight"], "float32")
        self.assert_fails(self.partition("--input", path, "--input_format", "npy"), INVALID,
                          "is a Matrix Market file, expected a .npy file")

    def write_mag(self):
        for name, text in {
                "raw/num-node-dict.csv.gz": "author,paper\n3,4\n",
                "raw/triplet-list.csv.gz": "author,writes,paper\npaper,cites,paper\n",
                "raw/nodetype-has-feat.csv.gz": "author,paper\nFalse,True\n",
                "raw/relations/author___writes___paper/num-edge-list.csv.gz": "3\n",
                "raw/relations/author___writes___paper/edge.csv.gz": "0,3\n2,0\n2,1\n",
                "raw/relations/paper___cites___paper/num-edge-list.csv.gz": "0\n",
                "raw/relations/paper___cites___paper/edge.csv.gz": "",
                "raw/node-feat/paper/node-feat.csv.gz": "1,2\n3,4\n5,6\n7,8\n",
                "raw/node-label/paper/node-label.csv.gz": "4\n3\n2\n1\n",
                "split/time/paper/train.csv.gz": "0\n2\n",
                "split/time/paper/valid.csv.gz": "1\n",
                "split/time/paper/test.csv.gz": "3\n"}.items():
            self.write("mag/" + name, text)

    def test_ogbs_heterogeneous_layout(self):
        self.write_mag()
        summary, shown = self.partitioned("--input", self.scratch / "mag", "--add_reverse")
        self.assertEqual((summary["num_nodes"], summary["num_edges"]), (7, 6))
        self.assertEqual([t["name"] for t in shown[0]["etypes"]],
                         ["author:writes:paper", "paper:cites:paper", "paper:rev_writes:author"])
        self.assertEqual(self.features(shown, "ntypes", 1),
                         {"orig_id": "int64", "feat": "float32", "label": "int64",
                          "train_mask": "uint8", "val_mask": "uint8", "test_mask": "uint8"})
        self.write("mag/raw/triplet-list.csv.gz", "author,writes,book\n")
        self.assert_fails(self.partition("--input", self.scratch / "mag"), CORRUPT,
                          "triplet-list.csv.gz:1", "book")

    def test_dgls_chunked_layout(self):
        def spec(name, *paths):
            return {"format": {"name": name, "delimiter": " "}, "data": paths}
        self.write("chunked/e0.txt", "0 1\n1 2\n")
        self.write("chunked/e1.txt", "2 0\n")
        self.write("chunked/x.npy", npy("<f4", (3, 2), range(6)))
        metadata = {"graph_name": "c", "node_type": ["n"], "num_nodes_per_chunk": [[2, 1]],
                    "edge_type": ["n:e:n"], "num_edges_per_chunk": [[2, 1]],
                    "edges": {"n:e:n": spec("csv", "e0.txt", "e1.txt")},
                    "node_data": {"n": {"x": spec("numpy", "x.npy")}}, "edge_data": {}}
        path = self.write("chunked/metadata.json", json.dumps(metadata))
        for given in (path, path.parent):
            summary, shown = self.partitioned("--input", given)
            self.assertEqual((summary["num_nodes"], summary["num_edges"]), (3, 3))
            self.assertEqual(self.features(shown, "ntypes", 0)["x"], "float32")
        metadata["edges"]["n:e:n"]["format"]["name"] = "parquet"
        self.write("chunked/metadata.json", json.dumps(metadata))
        self.assert_fails(self.partition("--input", path), INVALID, "Parquet")

    def test_partitions_are_repartitioned_or_converted(self):
        source = ROOT / "tests/fixtures/dgl/hetero_2p"
        for file in [source / "hetero.json", *source.glob("part*/*.gz")]:
            data = file.read_bytes()
            name = str(file.relative_to(source))
            if name.endswith(".gz"):
                name, data = name[:-3], gzip.decompress(data)
            self.write("dgl/" + name, data)
        part_config = self.scratch / "dgl/hetero.json"
        before = json.loads(graphctl("inspect", part_config, "--json").stdout)
        summary, shown = self.partitioned("--input", part_config, parts=5)
        self.assertEqual(summary["num_nodes"], sum(t["nodes"] for t in before["ntypes"]))
        self.assertEqual(sum(t["edges"] for part in shown for t in part["etypes"]),
                         summary["num_edges"])
        first, self.output = self.output, self.scratch / "again"
        again, _ = self.partitioned("--input", first / "g.json", parts=3)
        self.assertEqual(again["num_edges"], summary["num_edges"])
        native = self.scratch / "native"
        result = graphctl("convert", "--part_config", part_config, "--output", native, "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(graphctl("verify", native).returncode, OK)
        config = json.loads((native / "hetero.json").read_text())
        dgl = json.loads(part_config.read_text())
        for key in ("node_map", "edge_map", "ntypes", "num_parts", "part_method"):
            self.assertEqual(config[key], dgl[key], key)
        self.assert_fails(graphctl("convert", "--part_config", part_config, "--output", native), 4,
                          "--force")
        names = self.write("native/hetero.n1.ids.txt.gz", "of a graph that was there before\n")
        self.assertEqual(graphctl("convert", "--part_config", part_config, "--output", native,
                                  "--force").returncode, OK)
        self.assertFalse(names.exists())
        self.assert_fails(graphctl("convert", "--part_config", part_config, "--output",
                                   part_config.parent, "--force"), INVALID, "is the directory of")

    def test_degenerate_graphs(self):
        loops = self.write("loops.csv", "1,1\n1,1\n3,3\n")
        none = self.write("none.csv", "")
        for method in ("metis", "random"):
            for name, options, nodes, edges in (
                    ("self loops, multi-edges, isolated nodes",
                     ["--input", loops, "--num_nodes", 9], 9, 3),
                    ("reversed self loops", ["--input", loops, "--add_reverse"], 4, 6),
                    ("no edges", ["--input", none, "--num_nodes", 5], 5, 0),
                    ("an edge type without edges, a node type without nodes",
                     ["--edges", "a:r:a=%s" % loops, "--edges", "a:q:b=%s" % none,
                      "--edges", "b:s:b=%s" % none, "--num_nodes", "b=2"], 6, 3)):
                for parts in (1, 3, 8):
                    with self.subTest(name, method=method, parts=parts):
                        summary, shown = self.partitioned(*options, "--part_method", method,
                                                          parts=parts)
                        self.assertEqual((summary["num_nodes"], summary["num_edges"]),
                                         (nodes, edges))
                        self.assertEqual(sum(t["edges"] for part in shown for t in part["etypes"]),
                                         edges)

    def test_a_file_without_edges_replaces_no_graph(self):
        self.partitioned("--input", self.write("e.csv", "0,1\n"))
        before = (self.output / "g.json").read_bytes()
        self.assert_fails(self.partition("--input", self.write("e.csv", "src,dst\n")), CORRUPT,
                          "e.csv has no edges")
        self.assertEqual((self.output / "g.json").read_bytes(), before)

    def test_a_missing_header_is_reported(self):
        result = self.partition("--input", self.write("h.csv", "person,friend\nann,bob\nbob,ann\n"))
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("h.csv: no header found; line 1 is its first edge", result.stderr)

    def test_errors_are_reported(self):
        self.assert_fails(self.partition(), INVALID, "--input or --edges")
        self.assert_fails(self.partition("--input", "/nowhere"), NOT_FOUND, "/nowhere")
        self.assert_fails(self.partition("--input", self.scratch), NOT_FOUND, "raw/",
                          "metadata.json", "<graph_name>.json")
        other = self.write("other.json", "{}")
        self.assert_fails(self.partition("--input", other), CORRUPT, "num_parts", "node_type")
        result = self.partition("--input", other, "--input_format", "chunked", "--nodes", "x")
        self.assert_fails(result, INVALID, "--nodes can't be combined with it")
        edges = self.write("e.csv", "0,1\n1,x\n")
        self.assert_fails(self.partition("--edges", "a:b=%s" % edges), INVALID, "src:rel:dst")
        self.assert_fails(self.partition("--input", edges, "--separator", "dot"), INVALID,
                          "semicolon")
        self.assert_fails(self.partition("--input", edges, "--header", "maybe"), INVALID, "yes")
        self.assert_fails(self.partition("--input", edges, "--src_col", "u"), INVALID,
                          "no column 'u'; there are 2: 0, 1")
        sparse = self.write("sparse.csv", "5,70000\n")
        self.assert_fails(self.partition("--input", sparse), INVALID, "--map_ids")
        self.assertFalse(self.output.exists())
        self.assertEqual(self.partitioned("--input", sparse, "--map_ids")[0]["num_nodes"], 2)

    def test_options_without_effect_are_rejected(self):
        self.write_mag()
        mag = ("--input", str(self.scratch / "mag"))
        for more in (("--num_nodes", "9"), ("--src_col", "1"), ("--feat_cols", "none"),
                     ("--map_ids",), ("--header", "no"), ("--separator", "tab")):
            self.assert_fails(self.partition(*mag, *more), INVALID, more[0], "omit the option")
        edges = self.write("e.csv", "0,1\n")
        self.assert_fails(self.partition("--input", edges, "--split", "time"), INVALID, "--split")

    def test_the_input_is_not_replaced_while_it_is_read(self):
        edges = self.write("e.csv", "0,1\n1,0\n")
        self.partitioned("--input", edges)
        self.assert_fails(self.partition("--input", str(self.output), "--force"), INVALID,
                          "directory of")
        self.assertTrue((self.output / "part0/partition.json").exists())

    def test_names_that_are_not_text_are_rejected_before_anything_is_written(self):
        edges = self.write("e.csv", "0,1\n")
        latin = os.fsdecode(b"a:\xe4:c=") + str(edges)
        self.assert_fails(self.partition("--edges", latin), INVALID, "is not UTF-8")
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
