#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl inspect --statistics and --html: the numbers are compared with those that this
program computes from the input, and a browser shows the report."""
import gzip
import html.parser
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import tempfile
import unittest

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures/dgl"
OK, INVALID, NOT_FOUND, CORRUPT = 0, 2, 3, 9
PARTS, USERS, ITEMS, BUYS, LIKES = 3, 90, 50, 400, 150
HOSTILE = "<b>likes\"'&amp;<b>"  # the name of an edge type


def graphctl(*args):
    return subprocess.run([GRAPHCTL, *map(str, args)], capture_output=True, text=True, timeout=60)


def npy(descr, shape, content):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def log2_histogram(degrees):
    buckets = [0] * (max(degrees).bit_length() + 1)
    for degree in degrees:
        buckets[degree.bit_length()] += 1
    return buckets


class Page(html.parser.HTMLParser):
    """The texts and the tags of a page."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())


class Statistics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="graphd_statistics_"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        draw = random.Random(7)
        cls.buys = [(draw.randrange(USERS - 5), draw.randrange(ITEMS)) for _ in range(BUYS)]
        cls.likes = [(draw.randrange(20), draw.randrange(USERS - 5)) for _ in range(LIKES)]
        cls.owners = {"user": [draw.randrange(PARTS) for _ in range(USERS)],
                      "item": [draw.randrange(PARTS) for _ in range(ITEMS)]}
        cls.age = [draw.randrange(-3, 40) for _ in range(USERS)]
        cls.score = [math.nan if draw.random() < 0.2 else draw.choice([0, 1.5, -2.25])
                     for _ in range(USERS)]
        cls.feat = [draw.gauss(3, 2) for _ in range(ITEMS * 4)]
        cls.write("buys.csv", "".join(f"{s},{d}\n" for s, d in cls.buys))
        cls.write("likes.csv", "src,dst,when\n" + "".join(
            f"{s},{d},{1700000000 + i}\n" for i, (s, d) in enumerate(cls.likes)))
        cls.write("users.csv", "id,age,score\n" + "".join(
            f"{i},{cls.age[i]},{'' if math.isnan(cls.score[i]) else cls.score[i]}\n"
            for i in range(USERS)))
        cls.write("feat.npy", npy("<f4", (ITEMS, 4), struct.pack(f"<{ITEMS * 4}f", *cls.feat)))
        for ntype, owners in cls.owners.items():
            cls.write(f"owners_{ntype}.txt", "".join(f"{owner}\n" for owner in owners))
        cls.partition("native")

    @classmethod
    def write(cls, name, content):
        path = cls.scratch / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    @classmethod
    def partition(cls, output, *more):
        d = cls.scratch
        done = graphctl(
            "partition", "--graph_name", "shop", "--num_parts", PARTS, "--output", d / output,
            "--edges", f"user:buys:item={d}/buys.csv", "--part_method", "file",
            "--edges", f"user:{HOSTILE}:user={d}/likes.csv",
            "--nodes", f"user={d}/users.csv", "--nodes", f"item.feat={d}/feat.npy",
            "--assignment", f"user={d}/owners_user.txt", f"item={d}/owners_item.txt", *more)
        if done.returncode != OK:
            raise AssertionError(done.stderr)

    def inspected(self, output, *more):
        done = graphctl("inspect", self.scratch / output, "--statistics", "--json", *more)
        self.assertEqual(done.returncode, OK, done.stderr)
        return json.loads(done.stdout)["statistics"]

    def assert_fails(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def types(self, shown, kind):
        return {entry["name"].replace(HOSTILE, "likes"): entry
                for entry in shown[kind]}

    def graph(self):
        """Yields (edge type, source type, destination type, edges)."""
        yield "user:buys:item", "user", "item", self.buys
        yield "user:likes:user", "user", "user", self.likes

    def test_the_cut_is_that_of_the_input(self):
        shown = self.inspected("native")
        self.assertEqual(shown["missing_parts"], [])
        matrix = [[0] * PARTS for _ in range(PARTS)]
        halo = [set() for _ in range(PARTS)]
        all_cut = 0
        for etype, src, dst, edges in self.graph():
            cut = [0] * PARTS
            for source, destination in edges:
                owner, other = self.owners[dst][destination], self.owners[src][source]
                matrix[owner][other] += 1
                if owner != other:
                    cut[owner] += 1
                    halo[owner].add((src, source))
            self.assertEqual(self.types(shown, "etypes")[etype]["cut_edges"], sum(cut))
            self.assertEqual([self.types(part, "etypes")[etype]["cut_edges"]
                              for part in shown["parts"]], cut)
            all_cut += sum(cut)
        self.assertEqual([part["edges_from"] for part in shown["parts"]], matrix)
        self.assertEqual([part["halo_nodes"] for part in shown["parts"]], [len(h) for h in halo])
        self.assertEqual(shown["cut_edges"], all_cut)
        self.assertAlmostEqual(shown["cut_share"], all_cut / (BUYS + LIKES))
        for ntype, owners in self.owners.items():
            counts = [owners.count(p) for p in range(PARTS)]
            entry = self.types(shown, "ntypes")[ntype]
            self.assertAlmostEqual(entry["balance"], max(counts) * PARTS / len(owners))
            self.assertEqual([self.types(part, "ntypes")[ntype]["nodes"]
                              for part in shown["parts"]], counts)

    def assert_degrees(self, shown, degrees):
        self.assertEqual(
            shown,
            {"nodes": len(degrees), "zero": degrees.count(0), "min": min(degrees),
             "median": statistics.median(degrees), "mean": shown["mean"], "max": max(degrees),
             "log2_histogram": log2_histogram(degrees)})
        self.assertAlmostEqual(shown["mean"], statistics.mean(degrees))

    def test_degrees_are_those_of_the_input(self):
        shown = self.inspected("native")
        touched = {"user": set(), "item": set()}
        for etype, src, dst, edges in self.graph():
            incoming = [0] * len(self.owners[dst])
            outgoing = [0] * len(self.owners[src])
            for source, destination in edges:
                outgoing[source] += 1
                incoming[destination] += 1
                touched[src].add(source)
                touched[dst].add(destination)
            entry = self.types(shown, "etypes")[etype]
            self.assert_degrees(entry["in_degrees"], incoming)
            self.assert_degrees(entry["out_degrees"], outgoing)
            for p, part in enumerate(shown["parts"]):
                self.assert_degrees(
                    self.types(part, "etypes")[etype]["in_degrees"],
                    [degree for node, degree in enumerate(incoming)
                     if self.owners[dst][node] == p])
        for ntype, nodes in touched.items():
            self.assertEqual(self.types(shown, "ntypes")[ntype]["isolated"],
                             len(self.owners[ntype]) - len(nodes))
        self.assertGreater(self.types(shown, "ntypes")["user"]["isolated"], 0)

    def assert_values(self, shown, values):
        finite = [value for value in values if not math.isnan(value)]
        self.assertEqual((shown["count"], shown["nan"], shown["zeros"]),
                         (len(values), len(values) - len(finite), finite.count(0)))
        self.assertAlmostEqual(shown["nan_share"], shown["nan"] / len(values))
        self.assertAlmostEqual(shown["min"], min(finite), 5)
        self.assertAlmostEqual(shown["max"], max(finite), 5)
        self.assertAlmostEqual(shown["mean"], statistics.mean(finite), 5)
        self.assertAlmostEqual(shown["std"], statistics.pstdev(finite), 5)

    def test_values_are_those_of_the_input(self):
        shown = self.inspected("native")
        wanted = {"age": self.age, "score": self.score, "orig_id": list(range(USERS))}
        user = {f["name"]: f for f in self.types(shown, "ntypes")["user"]["features"]}
        self.assertEqual(sorted(user), sorted(wanted))
        for name, values in wanted.items():
            self.assert_values(user[name], values)
            for p, part in enumerate(shown["parts"]):
                (entry,) = (f for f in self.types(part, "ntypes")["user"]["features"]
                            if f["name"] == name)
                self.assert_values(entry, [value for node, value in enumerate(values)
                                           if self.owners["user"][node] == p])
        self.assertEqual({c["value"]: c["count"] for c in user["age"]["classes"]},
                         {value: self.age.count(value) for value in sorted(set(self.age))})
        self.assertNotIn("classes", user["score"])
        self.assertNotIn("classes", user["orig_id"])
        (_, feat) = sorted(self.types(shown, "ntypes")["item"]["features"],
                           key=lambda f: f["name"] != "orig_id")
        self.assert_values(feat, self.feat)
        histogram = feat["histogram"]
        self.assertFalse(histogram["sampled"])
        width = (histogram["high"] - histogram["low"]) / len(histogram["counts"])
        for i, count in enumerate(histogram["counts"]):
            low = histogram["low"] + i * width
            last = i + 1 == len(histogram["counts"])
            near = [v for v in self.feat if low - 1e-5 <= v < low + width + 1e-5 or (last and v >= low)]
            inside = [v for v in self.feat if low + 1e-5 <= v < low + width - 1e-5]
            self.assertTrue(len(inside) <= count <= len(near), (i, count))
        self.assertEqual(sum(histogram["counts"]), len(self.feat))
        # Whole numbers: an interval each if they are few, else as many in each.
        histogram = user["age"]["histogram"]
        self.assertEqual(histogram["low"], min(self.age))
        width = (histogram["high"] - histogram["low"]) / len(histogram["counts"])
        self.assertEqual(width, 1 if max(self.age) - min(self.age) < 40 else 3)
        self.assertEqual(histogram["counts"], [
            sum(low <= age < low + width for age in self.age)
            for low in (histogram["low"] + i * width for i in range(len(histogram["counts"])))])
        histogram = user["orig_id"]["histogram"]
        self.assertEqual(histogram, {"low": 0, "high": 90, "sampled": False, "counts": [5] * 18})

    def test_dgls_partitions_have_the_same_statistics(self):
        self.partition("dgl", "--format", "dgl")
        native, dgl = self.inspected("native"), self.inspected("dgl")

        def plain(value):
            """Leaves out what depends on how numbers are stored."""
            if isinstance(value, dict):
                return {key: plain(v) for key, v in value.items()
                        if key not in ("bytes", "stored_as")}
            if isinstance(value, list):
                return [plain(v) for v in value]
            return round(value, 9) if isinstance(value, float) else value

        # DGL's part configs have types in another order.
        for shown in (native, dgl):
            for part in (shown, *shown["parts"]):
                for kind in ("ntypes", "etypes"):
                    part[kind].sort(key=lambda entry: entry["name"])
                    for entry in part[kind]:
                        entry["features"].sort(key=lambda feature: feature["name"])
        self.assertEqual(plain(dgl), plain(native))

    def test_partitions_without_ranges_are_read(self):
        """An older part config of DGL has the owner of each id in a file."""
        folder = self.scratch / "mapped"
        shutil.copytree(FIXTURES / "legacy091_noreshuffle_2p", folder)
        for path in folder.rglob("*.gz"):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        (config,) = (p for p in folder.glob("*.json") if "expected" not in p.name)
        shown = self.inspected(config)
        for p, part in enumerate(shown["parts"]):
            loaded = json.loads(graphctl("inspect", config, "--part", p, "--json").stdout)
            (etype,) = loaded["etypes"]
            self.assertEqual(part["cut_edges"], etype["remote_sources"])
            self.assertEqual(part["etypes"][0]["in_degrees"]["max"], etype["largest_in_degree"])
        (etype,) = shown["etypes"]
        for degrees in ("in_degrees", "out_degrees"):
            self.assertAlmostEqual(etype[degrees]["mean"] * shown["nodes"], shown["edges"])

    def test_one_partition_and_partitions_that_are_missing(self):
        whole = self.inspected("native")
        alone = self.inspected("native", "--part", 1)
        self.assertEqual(alone["parts"], whole["parts"][1:2])
        self.assertEqual(alone["etypes"][0]["in_degrees"],
                         whole["parts"][1]["etypes"][0]["in_degrees"])
        self.assertNotIn("out_degrees", alone["etypes"][0])
        self.assertIsNone(alone["ntypes"][0]["isolated"])
        self.assertIsNone(alone["balance"]["nodes"])
        shutil.copytree(self.scratch / "native", self.scratch / "some")
        shutil.rmtree(self.scratch / "some/part1")
        shown = self.inspected("some")
        self.assertEqual(shown["missing_parts"], [1])
        self.assertEqual(shown["parts"], [whole["parts"][0], whole["parts"][2]])
        result = graphctl("inspect", self.scratch / "some", "--statistics")
        self.assertIn("1 of 3 partitions are not on this machine", result.stderr)
        for part in (0, 2):
            shutil.rmtree(self.scratch / f"some/part{part}")
        self.assert_fails(graphctl("inspect", self.scratch / "some", "--statistics"), NOT_FOUND,
                          "none of its 3 partitions")
        self.assert_fails(graphctl("inspect", self.scratch / "native", "--statistics", "--part", 3),
                          NOT_FOUND, "no partition 3")

    def test_few_numbers_are_in_the_plain_output(self):
        plain = graphctl("inspect", self.scratch / "native", "--json").stdout
        self.assertNotIn("statistics", json.loads(plain))
        text = graphctl("inspect", self.scratch / "native", "--statistics").stdout
        self.assertTrue(text.startswith(graphctl("inspect", self.scratch / "native").stdout))
        for line in ("edge cut ", "balance ", "halo nodes", "in-degrees: min", "values of age"):
            self.assertIn(line, text)

    def test_damaged_files_are_named(self):
        def damage(array, element, pattern, value):
            folder = self.scratch / "damaged"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.scratch / "native", folder)
            header = json.loads((folder / "part1/partition.json").read_text())
            for segment in header["segments"]:
                for spec in segment["arrays"]:
                    if spec["name"] == array:
                        file = folder / "part1" / segment["file"]
                        data = bytearray(file.read_bytes())
                        struct.pack_into(pattern, data, spec["offset"] + element *
                                         struct.calcsize(pattern), value)
                        file.write_bytes(data)
            return graphctl("inspect", folder, "--statistics")

        self.assert_fails(damage("csc/0/indices", 3, "<I", USERS), CORRUPT, "graph.seg",
                          "'csc/0/indices', element 3 is 90", "below 90")
        self.assert_fails(damage("csc/0/indptr", 2, "<Q", 1 << 40), CORRUPT, "'csc/0/indptr'",
                          "element 3")
        self.assert_fails(damage("csc/1/indptr", 0, "<Q", 1), CORRUPT, "element 0 is 1, expected 0")
        file = self.scratch / "damaged/part1/graph.seg"
        os.truncate(file, file.stat().st_size - 64)
        self.assert_fails(graphctl("inspect", self.scratch / "damaged", "--statistics"), CORRUPT,
                          "graph.seg")

    def test_damaged_texts_of_labels_leave_the_numbers(self):
        self.write("kinds.csv", "src,dst,kind\n" + "0,1,red\n1,0,blue\n" * 5)
        folder = self.scratch / "kinds"
        done = graphctl("partition", "--graph_name", "kinds", "--num_parts", 1, "--output", folder,
                        "--input", self.scratch / "kinds.csv")
        self.assertEqual(done.returncode, OK, done.stderr)

        def classes():
            (etype,) = self.inspected("kinds")["etypes"]
            (kind,) = (f for f in etype["features"] if f["name"] == "kind")
            return [(c["value"], c["count"], c.get("text")) for c in kind["classes"]]

        self.assertEqual(classes(), [(0, 5, "red"), (1, 5, "blue")])
        texts = folder / "kinds._N:_E:_N.kind.labels.txt.gz"
        texts.write_bytes(texts.read_bytes()[:12])
        self.assertEqual(classes(), [(0, 5, None), (1, 5, None)])
        result = graphctl("inspect", folder, "--statistics")
        self.assertEqual(result.returncode, OK)
        self.assertIn(f"the texts of the labels kind of _N:_E:_N are left out: {texts}",
                      result.stderr)

    def browse(self, path):
        """Returns the page as a browser has it, and what its console said."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu",  # root has no sandbox
                 "--enable-logging=stderr", f"--user-data-dir={profile}", "--dump-dom",
                 f"file://{path}"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Page(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def test_a_browser_shows_the_report(self):
        path = self.scratch / "report.html"
        path.write_text("an earlier report")
        done = graphctl("inspect", self.scratch / "native", "--html", path)
        self.assertEqual((done.returncode, done.stdout), (OK, f"report  {path}\n"), done.stderr)
        page, said = self.browse(path)
        self.assertEqual(said, [])
        shown = self.inspected("native")
        self.assertEqual(page.texts[page.texts.index("nodes") - 1], str(USERS + ITEMS))
        self.assertEqual(page.texts[page.texts.index("edges cut") - 1],
                         f"{100 * shown['cut_share']:.1f} %")
        # A row of the matrix, with the number in each square.
        for p, part in enumerate(shown["parts"]):
            for owner, edges in enumerate(part["edges_from"]):
                self.assertIn(f"{edges}: to {p}, from {owner}", page.texts)
        histogram = shown["etypes"][0]["in_degrees"]["log2_histogram"]
        self.assertIn(f"degree 4-7: {histogram[3]} nodes", page.texts)
        for text in ("Balance", "Edges between partitions", "Degrees", "Features", "age", "score",
                     "Edges user:buys:item", f"Edges user:{HOSTILE}:user"):
            self.assertIn(text, page.texts)
        self.assertGreater(sum(tag == "svg" for tag, _ in page.tags), 10)

    def test_a_report_asks_nobody_and_escapes_texts(self):
        path = self.scratch / "alone.html"
        self.assertEqual(graphctl("inspect", self.scratch / "native", "--html", path).returncode, OK)
        text = path.read_text()
        self.assertIn("default-src 'none'", text)
        for mark in ("src=", "href=", "@import", "url(", "<script", "http://", "https://", "<b>like"):
            self.assertNotIn(mark, text)
        self.assertIn("prefers-color-scheme: dark", text)

    def test_a_report_that_can_not_be_written_is_refused_at_once(self):
        native = self.scratch / "native"
        for path, code in ((self.scratch, INVALID), ("/nowhere/report.html", NOT_FOUND)):
            result = graphctl("inspect", native, "--html", path)
            self.assert_fails(result, code, "--html", str(path))
            self.assertNotIn("reading", result.stderr)

    def test_only_regular_files_are_replaced_by_a_report(self):
        native = self.scratch / "native"
        folder = self.scratch / "reports"
        folder.mkdir()
        (folder / "file").write_text("not a directory")
        os.mkfifo(folder / "fifo")
        (folder / "null").symlink_to("/dev/null")
        (folder / "nothing").symlink_to("absent.html")
        for path, code in ((folder / "fifo", INVALID), (folder / "null", INVALID),
                           (folder / "nothing", INVALID), ("/dev/null", INVALID),
                           (folder / "file/report.html", NOT_FOUND)):
            result = graphctl("inspect", native, "--html", path)
            self.assert_fails(result, code, f"--html {path}")
            self.assertNotIn("reading", result.stderr)
        self.assertTrue((folder / "fifo").is_fifo())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        (folder / "kept").mkdir()
        (folder / "kept/report.html").write_text("an earlier report")
        (folder / "link.html").symlink_to("kept/report.html")
        result = graphctl("inspect", native, "--html", folder / "link.html")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertTrue((folder / "link.html").is_symlink())
        self.assertIn("<svg", (folder / "kept/report.html").read_text())


if __name__ == "__main__":
    unittest.main()
