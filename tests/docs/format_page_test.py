#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that graphd-format(5) is sufficient to read the format: a reader that follows it
(tests/tools) finds the input graph in graphctl's files, and refuses a file with a changed byte."""
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from native_files import BadFile, Graph, Partition

GRAPHCTL = os.path.join(os.environ.get("GRAPHD_BIN_DIR") or
                        sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin"), "graphctl")
HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "man", "graphd-format.5")
USERS, POSTS, WIDTH = 9000, 400, 200  # makes the features of users larger than 2 MiB per partition
PARTS = 3
STORED = {"half": "float16", "brain": "bfloat16", "tiny": "int8"}  # feature -> stored dtype


def npy(descr, shape, content):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


class NativeFormat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp(prefix="graphd_format_")
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        draw = random.Random(3)
        cls.likes = [(draw.randrange(USERS), draw.randrange(POSTS)) for _ in range(3000)]
        cls.likes += cls.likes[:50]  # repeated edges
        cls.follows = [(draw.randrange(100), draw.randrange(USERS)) for _ in range(2000)] + [(7, 7)]
        cls.path("likes.npy", npy("<i8", (len(cls.likes), 2), b"".join(
            struct.pack("<qq", *edge) for edge in cls.likes)))
        cls.path("empty.npy", npy("<i8", (0, 2), b""))
        cls.path("follows.csv", "".join(["src,dst,since\n"] + [
            f"{src},{dst},{i}.5\n" for i, (src, dst) in enumerate(cls.follows)]).encode())
        cls.feat = [float(draw.randrange(1000)) for _ in range(USERS * WIDTH)]
        feat = struct.pack(f"<{len(cls.feat)}f", *cls.feat)
        cls.path("feat.npy", npy("<f4", (USERS, WIDTH), feat))
        cls.path("title.npy", npy("<i8", (POSTS,), b"".join(
            struct.pack("<q", 10 * post) for post in range(POSTS))))
        cls.path("flag.npy", npy("|b1", (POSTS,), bytes(post % 3 == 0 for post in range(POSTS))))
        # These numbers are exact in all dtypes: multiples of 1/4 up to 127/4.
        cls.score = [(post % 255 - 127) / 4 for post in range(POSTS)]
        for name in STORED:
            cls.path(f"{name}.npy", npy("<f4", (POSTS,), struct.pack(f"<{POSTS}f", *cls.score)))
        done = subprocess.run(
            [GRAPHCTL, "partition", "--graph_name", "g", "--num_parts", str(PARTS), "--part_method",
             "random", "--output", cls.path("data"),
             "--edges", "user:likes:post=" + cls.path("likes.npy"),
             "--edges", "user:follows:user=" + cls.path("follows.csv"),
             "--edges", "post:quotes:post=" + cls.path("empty.npy"),
             "--nodes", "user.feat=" + cls.path("feat.npy"),
             "--nodes", "post.title=" + cls.path("title.npy"),
             "--nodes", "post.flag=" + cls.path("flag.npy"),
             *(f"--nodes=post.{name}={cls.path(name)}.npy" for name in STORED),
             "--store_as", *(f"post/{name}={dtype}" for name, dtype in STORED.items())],
            capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        cls.graph = Graph(cls.path("data/g.json"))
        cls.parts = [Partition(cls.graph, part) for part in range(PARTS)]

    @classmethod
    def path(cls, name, content=None):
        path = os.path.join(cls.scratch, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def column(self, kind, type_id, name):
        """Returns a feature of the whole graph, by type-wise id."""
        return [row for part in self.parts for row in part.feature(kind, type_id, name)]

    def test_types_and_sizes_are_those_of_the_input(self):
        self.assertEqual(sorted(self.graph.ntypes), ["post", "user"])
        self.assertEqual({etype[1]: self.graph.total("edge", e)
                          for e, etype in enumerate(self.graph.etypes)},
                         {"likes": len(self.likes), "follows": len(self.follows), "quotes": 0})
        self.assertEqual(self.graph.total("node", self.graph.ntypes.index("user")), USERS)

    def test_edges_and_their_features_are_those_of_the_input(self):
        for relation, wanted in (("likes", self.likes), ("follows", self.follows), ("quotes", [])):
            e = [etype[1] for etype in self.graph.etypes].index(relation)
            src, dst = (self.graph.ntypes.index(self.graph.etypes[e][end]) for end in (0, 2))
            from_id, to_id = (self.column("node", t, "orig_id") for t in (src, dst))
            found = {}
            for part in self.parts:
                first_node = self.graph.first("node", dst, part.part)
                first_edge = self.graph.first("edge", e, part.part)
                ids = part.feature("edge", e, "orig_id") if wanted else []
                for node, (sources, rows) in enumerate(zip(part.sources[e], part.rows[e])):
                    for source, row in zip(sources, rows):
                        found[ids[row][0]] = (from_id[source][0], to_id[first_node + node][0])
                self.assertEqual(first_edge + self.graph.count("edge", e, part.part),
                                 self.graph.first("edge", e, part.part + 1))
            self.assertEqual([found[i] for i in range(len(wanted))], wanted)
            self.assertEqual(len(found), len(wanted))
        e = [etype[1] for etype in self.graph.etypes].index("follows")
        for (since,), (orig,) in zip(self.column("edge", e, "since"),
                                     self.column("edge", e, "orig_id")):
            self.assertEqual(since, orig + 0.5)

    def test_features_of_nodes_are_those_of_the_input(self):
        user, post = (self.graph.ntypes.index(name) for name in ("user", "post"))
        for (orig,), row in zip(self.column("node", user, "orig_id"),
                                self.column("node", user, "feat")):
            self.assertEqual(row, self.feat[orig * WIDTH:(orig + 1) * WIDTH])
        for (orig,), (title,) in zip(self.column("node", post, "orig_id"),
                                     self.column("node", post, "title")):
            self.assertEqual(title, 10 * orig)
        self.assertEqual(self.parts[0].arrays[f"node/{post}/flag"][0], "bool")
        for (orig,), (flag,) in zip(self.column("node", post, "orig_id"),
                                    self.column("node", post, "flag")):
            self.assertEqual(flag, orig % 3 == 0)

    def test_encoded_features_are_those_of_the_input(self):
        post = self.graph.ntypes.index("post")
        ids = self.column("node", post, "orig_id")
        for name in STORED:
            self.assertEqual(self.parts[0].arrays[f"node/{post}/{name}"][0], "float32")
            self.assertEqual([row[0] for row in self.column("node", post, name)],
                             [self.score[orig] for (orig,) in ids], name)
        with open(self.path("data/part0/partition.json"), encoding="utf-8") as file:
            stored = {a["name"]: a for s in json.load(file)["segments"] for a in s["arrays"]}
        for name, dtype in STORED.items():
            self.assertEqual(stored[f"node/{post}/{name}"]["dtype"], dtype)
        self.assertEqual(stored[f"node/{post}/title"]["dtype"], "uint16")
        self.assertEqual(stored[f"node/{post}/title"]["read_as"], "int64")
        self.assertEqual(stored[f"node/{post}/tiny"]["scale"], 0.25)

    def test_order_matches_the_page(self):
        for e in range(len(self.graph.etypes)):
            for part in self.parts:
                if not self.graph.count("edge", e, part.part):
                    continue
                orig = part.feature("edge", e, "orig_id")
                order = [(node, source, orig[row][0])
                         for node, (sources, rows) in enumerate(zip(part.sources[e], part.rows[e]))
                         for source, row in zip(sources, rows)]
                self.assertEqual(order, sorted(order))
        for t in range(len(self.graph.ntypes)):
            for part in self.parts:
                ids = part.feature("node", t, "orig_id")
                self.assertEqual(ids, sorted(ids))

    def test_large_arrays_begin_on_pages(self):
        user = self.graph.ntypes.index("user")
        with open(self.path("data/part0/partition.json"), encoding="utf-8") as file:
            arrays = [a for s in json.load(file)["segments"] for a in s["arrays"]]
        large = [a for a in arrays if a["bytes"] >= 2 << 20]
        self.assertEqual([a["name"] for a in large], [f"node/{user}/feat"])
        self.assertTrue(all(a["offset"] % 4096 == 0 for a in large))

    def test_a_changed_byte_is_noticed(self):
        draw = random.Random(4)
        copy = self.path("damaged")
        for name in ("graph.seg", "node_feat.seg", "edge_feat.seg"):
            shutil.copytree(self.path("data"), copy)
            path = os.path.join(copy, "part1", name)
            with open(path, "r+b") as file:
                at = draw.randrange(os.path.getsize(path))
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1]))
            with self.assertRaises(BadFile, msg=f"{name} at {at}"):
                Partition(Graph(os.path.join(copy, "g.json")), 1)
            shutil.rmtree(copy)

    def test_the_pages_example_runs(self):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        begin = text.index("import json, struct")
        code = text[begin:text.index(".Ed", begin)].replace('"data/', f'"{self.path("data")}/')
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(code, "graphd-format.5", "exec"), {})  # pylint: disable=exec-used
        self.assertEqual(out.getvalue(), f"{self.parts[1].sources[0][5]}\n")


if __name__ == "__main__":
    unittest.main()
