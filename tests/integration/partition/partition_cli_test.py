#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl partition, inspect and verify as a user runs them: output, exit codes, files."""
import gzip
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import dgl_check

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
ROOT = pathlib.Path(__file__).resolve().parents[3]
OK, INVALID, NOT_FOUND, EXISTS, CORRUPT = 0, 2, 3, 4, 9


def graphctl(*args):
    return subprocess.run([GRAPHCTL, *map(str, args)], capture_output=True, text=True, timeout=60)


def write_ring(directory, nodes):
    """Writes a ring with feature, labels and split in OGB's raw layout, partly as plain text."""
    files = {
        "raw/num-node-list.csv.gz": [nodes],
        "raw/num-edge-list.csv.gz": [nodes],
        "raw/edge.csv.gz": ["%d,%d" % (i, (i + 1) % nodes) for i in range(nodes)],
        "raw/node-feat.csv": ["%d.5,0" % i for i in range(nodes)],
        "raw/node-label.csv.gz": [i % 3 for i in range(nodes)],
        "split/half/train.csv": range(0, nodes, 2),
        "split/half/valid.csv": range(1, nodes, 4),
        "split/half/test.csv": range(3, nodes, 4),
    }
    for name, lines in files.items():
        path = pathlib.Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join("%s\n" % line for line in lines).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


class PartitionCommand(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_partition_")
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.input = os.path.join(scratch.name, "in")
        self.output = os.path.join(scratch.name, "out")
        write_ring(self.input, 400)

    def partition(self, *more, name="ring", parts=2):
        return graphctl("partition", "--input", self.input, "--graph_name", name, "--num_parts",
                        parts, "--output", self.output, *more)

    def assert_fails(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_partitions_and_prints_a_summary(self):
        result = self.partition("--add-reverse", "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        summary = json.loads(result.stdout)
        self.assertEqual(summary["num_nodes"], 400)
        self.assertEqual(summary["num_edges"], 800)
        self.assertEqual(sum(part["edges"] for part in summary["parts"]), 800)
        # A ring is divided into two arcs; each arc is cut at both ends, in both directions.
        self.assertLessEqual(summary["edge_cut"], 8)
        self.assertGreater(summary["peak_memory_bytes"], 1 << 20)
        self.assertIn("writing partitions", result.stderr)
        config = json.loads(pathlib.Path(summary["part_config"]).read_text())
        self.assertEqual(config["format"], "graphd-1")
        self.assertEqual(config["part-1"]["part_graph"], "part1/graph.seg")

    def test_text_output_has_a_table(self):
        result = self.partition("--part_method", "random", parts=3)
        self.assertEqual(result.returncode, OK, result.stderr)
        for text in ("edge cut", "peak memory", "ring.json"):
            self.assertIn(text, result.stdout)

    def test_every_method_reports_its_balance(self):
        for method in ("metis", "multilevel", "ldg", "fennel", "random", "hash"):
            result = self.partition("--part_method", method, "--json", "--force")
            self.assertEqual(result.returncode, OK, result.stderr)
            summary = json.loads(result.stdout)
            self.assertEqual(summary["part_method"], method)
            self.assertLess(summary["balance"]["nodes _N"], 1.2)
            self.assertLess(summary["balance"]["edges _N:_E:_N"], 1.2)
            self.assertEqual(graphctl("verify", self.output).returncode, OK)

    def test_an_assignment_is_followed(self):
        owners = pathlib.Path(self.scratch, "owners.txt")
        owners.write_text("".join("%d\n" % (i % 4 == 0) for i in range(400)))
        result = self.partition("--part_method", "file", "--assignment", owners, "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        summary = json.loads(result.stdout)
        self.assertEqual([part["nodes"] for part in summary["parts"]], [300, 100])
        self.assertEqual(summary["balance"]["nodes _N"], 1.5)
        owners.write_text("0\n7\n")
        self.assert_fails(self.partition("--part_method", "file", "--assignment", owners,
                                         "--force"), CORRUPT, "owners.txt:2:", "7", "0..1")
        self.assert_fails(self.partition("--assignment", owners), INVALID, "--part_method file")

    def test_classes_edges_and_trainers_are_balanced(self):
        result = self.partition("--balance_ntypes", "label", "--balance_edges",
                                "--num_trainers_per_machine", "2", "--objtype", "vol")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("nodes _N/label=2", result.stdout)
        self.assertIn("edges _N/label=0", result.stdout)
        part = json.loads(graphctl("inspect", self.output, "--part", 0, "--json").stdout)
        self.assertIn("trainer_id", [f["name"] for f in part["ntypes"][0]["features"]])
        self.assertIn("trainer_id", [f["name"] for f in part["etypes"][0]["features"]])
        self.assert_fails(self.partition("--balance_ntypes", "colour", "--force"), NOT_FOUND,
                          "colour", "_N/label")
        self.assert_fails(self.partition("--edge_weights", "w", "--part_method", "ldg"), INVALID,
                          "--edge_weights", "metis")

    def test_refuses_to_overwrite_unless_forced(self):
        self.assertEqual(self.partition().returncode, OK)
        self.assert_fails(self.partition(), EXISTS, "exists", "--force")
        self.assert_fails(self.partition(name="other"), EXISTS, "part0")
        self.assertEqual(self.partition("--force", parts=1).returncode, OK)
        self.assertFalse(os.path.exists(os.path.join(self.output, "part1")))
        self.assertEqual(graphctl("verify", self.output).returncode, OK)

    def test_bad_arguments_are_named(self):
        self.assert_fails(self.partition(parts=0), INVALID, "--num_parts 0")
        self.assert_fails(self.partition("--part_method", "magic"), INVALID, "magic", "random")
        self.assert_fails(self.partition("--split", "time"), INVALID, "half")
        self.assert_fails(self.partition("--input_format", "magic"), INVALID, "magic", "ogb")
        self.assert_fails(self.partition(name="a/b"), INVALID, "a/b")
        self.assertEqual(graphctl("partition").returncode, INVALID)
        self.input = "/nowhere"
        self.assert_fails(self.partition(), NOT_FOUND, "/nowhere")
        self.assertFalse(os.path.exists(self.output))

    def test_bad_input_is_named_by_file_and_line(self):
        pathlib.Path(self.input, "raw/node-feat.csv").write_text("1,2\nx,3\n")
        self.assert_fails(self.partition(), CORRUPT, "node-feat.csv:2:", "'x'")
        self.assertFalse(os.path.exists(self.output))

    def test_missing_numbers_are_counted(self):
        self.assertNotIn("NaN", self.partition().stderr)
        rows = ["nan,0", ",1"] + ["%d.5,0" % i for i in range(398)]
        pathlib.Path(self.input, "raw/node-feat.csv").write_text("\n".join(rows) + "\n")
        result = self.partition("--force")
        self.assertIn("feature 'feat' of _N: 2 of 800 numbers (0.25 %) are NaN\n", result.stderr)

    def test_a_killed_run_leaves_no_graph_that_looks_complete(self):
        write_ring(self.input, 60000)
        for delay in (0.02, 0.05, 0.1, 0.15, 0.2):
            process = subprocess.Popen(
                [GRAPHCTL, "partition", "--input", self.input, "--graph_name", "ring",
                 "--num_parts", "2", "--output", self.output, "--force"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if os.path.exists(os.path.join(self.output, "ring.json")):
                self.assertEqual(graphctl("verify", self.output).returncode, OK)
        self.assertEqual(self.partition("--force").returncode, OK)
        self.assertEqual(graphctl("verify", self.output).returncode, OK)
        left = [str(p) for p in pathlib.Path(self.output).rglob("*.tmp*")]
        self.assertEqual(left, [])

    def test_inspect_shows_config_and_partition(self):
        self.assertEqual(self.partition("--add_reverse").returncode, OK)
        config = json.loads(graphctl("inspect", self.output, "--json").stdout)
        self.assertEqual(config["format"], "graphd-1")
        self.assertEqual(config["num_parts"], 2)
        self.assertEqual((config["ntypes"][0]["name"], config["ntypes"][0]["nodes"]), ("_N", 400))
        part = json.loads(graphctl("inspect", self.output, "--part", 0, "--json").stdout)
        self.assertEqual(part["part"], 0)
        self.assertEqual(part["ntypes"][0]["features"], config["ntypes"][0]["features"])
        names = {feature["name"]: feature for feature in part["ntypes"][0]["features"]}
        self.assertEqual(names["feat"], {"name": "feat", "dtype": "float32",
                                         "stored_as": "float32", "row_shape": [2]})
        self.assertEqual((names["label"]["dtype"], names["label"]["stored_as"]), ("int64", "uint8"))
        self.assertEqual(names["train_mask"]["dtype"], "uint8")
        self.assertEqual(part["etypes"][0]["largest_in_degree"], 2)
        text = graphctl("inspect", self.output, "--part", "1").stdout
        self.assertIn("label int64, stored as uint8", text)
        self.assertNotEqual(graphctl("inspect", self.output, "--part", 2).returncode, OK)
        self.assert_fails(graphctl("inspect", self.input), NOT_FOUND, "part config")
        self.assert_fails(graphctl("inspect", "/nowhere"), NOT_FOUND, "/nowhere")

    def test_a_terminal_shows_a_progress_bar(self):
        main, terminal = pty.openpty()
        subprocess.run([GRAPHCTL, "partition", "--input", self.input, "--graph_name", "ring",
                        "--num_parts", "2", "--output", self.output],
                       stdout=subprocess.DEVNULL, stderr=terminal, timeout=60, check=True)
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(main, 4096):
                shown += chunk
        except OSError:  # Linux reports a closed terminal this way
            pass
        os.close(main)
        self.assertIn(b"[" + b"#" * 30 + b"] 100 %  writing partitions", shown)

    def test_typing_errors_are_reported_before_missing_options(self):
        for words, said in {
                ("partiton", "--graph_name", "x"):
                    "unknown verb 'partiton', did you mean 'partition'",
                ("frobnicate",): "unknown verb 'frobnicate'; graphctl has: ",
                ("foo",): "unknown verb 'foo'; graphctl has: ",
                ("pln",): "unknown verb 'pln', did you mean 'plan'",
                ("server", "strat"):
                    "unknown verb 'strat', did you mean 'start'; graphctl server has",
                ("partition", "--inptu", "x"): "unknown option '--inptu', did you mean '--input'; "
                                               "see graphctl partition --help",
                ("partition", "--num-pards=2"): "unknown option '--num-pards', did you mean "
                                                "'--num-parts'"}.items():
            result = graphctl(*words)
            self.assertEqual((result.returncode, result.stdout), (INVALID, ""), words)
            self.assertIn("graphctl: " + said, result.stderr)
            self.assertNotIn("required", result.stderr)

    def test_every_option_is_in_its_man_page(self):
        for verb, page in (("partition", "partition"), ("inspect", "inspect"),
                           ("verify", "inspect")):
            text = (ROOT / ("man/graphctl-%s.1" % page)).read_text()
            options = re.findall(r"^ +--(\w+)", graphctl(verb, "--help").stdout, re.MULTILINE)
            self.assertTrue(options, verb)
            for option in options:
                self.assertIn("Fl -" + option, text)

    def test_inspect_and_verify_read_dgls_partitions(self):
        source = ROOT / "tests/fixtures/dgl/hetero_2p"
        for file in [source / "hetero.json", *source.glob("part*/*.gz")]:
            unpacked = pathlib.Path(self.scratch, "dgl", file.relative_to(source).with_suffix(
                "" if file.suffix == ".gz" else file.suffix))
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            data = file.read_bytes()
            unpacked.write_bytes(gzip.decompress(data) if file.suffix == ".gz" else data)
        part_config = os.path.join(self.scratch, "dgl/hetero.json")
        config = json.loads(graphctl("inspect", part_config, "--json").stdout)
        self.assertEqual((config["format"], config["num_parts"]), ("dgl", 2))
        result = graphctl("inspect", part_config, "--part", 1, "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        part = json.loads(result.stdout)
        self.assertEqual([t["name"] for t in part["ntypes"]], ["group", "post", "user"])
        result = graphctl("verify", part_config)
        self.assertEqual((result.returncode, result.stdout),
                         (OK, "partition 0: ok\npartition 1: ok\n"))

    def ring_in_dgls_terms(self, parts, hops, formats):
        """Returns the ring in the form of dgl_check.py, without owners."""
        feat = b"".join(struct.pack("<ff", i + 0.5, 0) for i in range(400))
        masks = {"train": [1, 0, 1, 0], "val": [0, 1, 0, 0], "test": [0, 0, 0, 1]}
        return {"graph_name": "ring", "num_parts": parts, "num_hops": hops, "formats": formats,
                "nodes": [{"type": "_N", "count": 400, "features": [
                    {"name": "feat", "dtype": "float32", "row_shape": [2], "hex": feat.hex()},
                    {"name": "label", "dtype": "int64", "row_shape": [],
                     "hex": b"".join(struct.pack("<q", i % 3) for i in range(400)).hex()},
                    *({"name": name + "_mask", "dtype": "uint8", "row_shape": [],
                       "hex": bytes(mask * 100).hex()} for name, mask in masks.items())]}],
                "edges": [{"type": ["_N", "_E", "_N"], "src": list(range(400)),
                           "dst": [(i + 1) % 400 for i in range(400)], "add_reverse": True,
                           "features": []}]}

    def test_dgls_format_can_be_read_by_dgl_and_graphd(self):
        for parts, hops, formats in ((3, 1, ""), (2, 3, "csc,coo"), (1, 1, "csr")):
            more = ["--graph_formats", formats] if formats else []
            result = self.partition("--add_reverse", "--format", "dgl", "--num_hops", hops,
                                    "--force", "--json", *more, parts=parts)
            self.assertEqual(result.returncode, OK, result.stderr)
            summary = json.loads(result.stdout)
            dgl_check.check(self.ring_in_dgls_terms(parts, hops, formats), self.output)
            folders = [pathlib.Path(self.output, "part%d" % p) for p in range(parts)]
            on_disk = [sum(file.stat().st_size for file in folder.iterdir()) for folder in folders]
            self.assertEqual([part["bytes"] for part in summary["parts"]], on_disk)
            self.assertEqual(graphctl("verify", self.output).returncode, OK)
            config = json.loads(graphctl("inspect", self.output, "--json").stdout)
            self.assertEqual((config["format"], config["halo_hops"]), ("dgl", hops))

    def test_hops_affect_only_dgls_format(self):
        result = self.partition("--num_hops", "2", "--graph_formats", "csc")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("--num_hops 2 changes nothing", result.stderr)
        self.assertIn("--graph_formats csc changes nothing", result.stderr)
        self.assertEqual(self.partition("--num_hops", "0", "--force").returncode, OK)
        self.assert_fails(self.partition("--force", "--format", "dgl", "--num_hops", 0), INVALID,
                          "with 0 hops", "native")
        self.assertEqual(graphctl("verify", self.output).returncode, OK)
        for options, text in ((("--format", "xml"), "'xml', expected native or dgl"),
                              (("--num_hops", "-1"), "--num_hops -1"),
                              (("--format", "dgl", "--num_hops", "101"), "outside 0..100"),
                              (("--format", "dgl", "--graph_formats", "coo,x"), "'x'")):
            self.assert_fails(self.partition("--force", *options), INVALID, text)

    def test_verify_finds_damage(self):
        self.assertEqual(self.partition().returncode, OK)
        result = graphctl("verify", os.path.join(self.output, "ring.json"))
        self.assertEqual(result.returncode, OK)
        self.assertEqual(result.stdout, "partition 0: ok\npartition 1: ok\n")
        path = pathlib.Path(self.output, "part1/node_feat.seg")
        good = path.read_bytes()
        path.write_bytes(good[:100] + bytes([good[100] ^ 1]) + good[101:])
        result = graphctl("verify", self.output)
        self.assertEqual(result.returncode, CORRUPT)
        self.assertIn("partition 0: ok\npartition 1: damaged\n", result.stdout)
        self.assertIn("node_feat.seg: array 'node/0/feat' at offset 0", result.stdout)
        path.write_bytes(good[:-64])
        result = graphctl("verify", self.output, "--json")
        self.assertEqual(result.returncode, CORRUPT)
        report = json.loads(result.stdout)
        self.assertFalse(report["ok"])
        self.assertTrue(report["parts"][0]["ok"])
        self.assertIn("ends at offset", report["parts"][1]["problems"][0])
        pathlib.Path(self.output, "ring.json").write_text("{")
        self.assert_fails(graphctl("verify", self.output), CORRUPT, "ring.json")


if __name__ == "__main__":
    unittest.main(verbosity=2)
