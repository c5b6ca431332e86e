#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl plan: what it says before anything is loaded is what partitions then take."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
ROOT = pathlib.Path(__file__).resolve().parents[3]
OK, TOO_LITTLE_MEMORY, INVALID, NOT_FOUND, CORRUPT = 0, 1, 2, 3, 9
NODES = 1001


def graphctl(*args):
    return subprocess.run([GRAPHCTL, *map(str, args)], capture_output=True, text=True, timeout=60)


class Plan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        edges = pathlib.Path(cls.scratch.name, "edges.csv")
        edges.write_text("".join("%d,%d\n" % (i, (i + 1) % NODES) for i in range(NODES)))
        nodes = pathlib.Path(cls.scratch.name, "nodes.csv")
        nodes.write_text("id,x,y\n" + "".join("%d,%d.5,2.5\n" % (i, i) for i in range(NODES)))
        cls.graph = os.path.join(cls.scratch.name, "out")
        done = graphctl("partition", "--graph_name", "ring", "--input", edges, "--nodes",
                        "_N=%s" % nodes, "--num_parts", 3, "--part_method", "random", "--output",
                        cls.graph)
        assert done.returncode == OK, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def plan(self, *args, graph=None):
        result = graphctl("plan", graph or self.graph, "--json", *args)
        self.assertEqual(result.returncode, OK, result.stderr)
        return json.loads(result.stdout)

    def owned(self):
        parts = json.loads(graphctl("inspect", self.graph, "--json").stdout)["parts"]
        return [part["nodes"] for part in parts]

    def ip_config(self, text):
        path = pathlib.Path(self.scratch.name, "ip_config.txt")
        path.write_text(text)
        return path

    def assert_fails(self, code, *texts, args):
        result = graphctl("plan", self.graph, *args)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_the_graph_takes_what_the_plan_says(self):
        plan = self.plan()
        self.assertEqual([host["host"] for host in plan["hosts"]],
                         ["host of partition %d" % p for p in range(3)])
        for part, host in enumerate(plan["hosts"]):
            loaded = json.loads(graphctl("inspect", self.graph, "--part", part, "--json").stdout)
            self.assertEqual(host["bytes"], loaded["bytes"])
            arrays = {a["name"]: a for a in host["partitions"][0]["arrays"]}
            self.assertEqual(arrays["node/_N/x"]["shape"], [self.owned()[part]])
            self.assertEqual(arrays["node/_N/x"]["dtype"], "float32")
            self.assertEqual(arrays["node/_N/x"]["bytes"], self.owned()[part] * 4)
            self.assertIn("csc/_N:_E:_N/indices", arrays)
        self.assertEqual(plan["bytes"], sum(host["bytes"] for host in plan["hosts"]))

    def test_tensors_take_rows_and_state(self):
        state = {"sgd": 0, "adagrad": 16, "row_adagrad": 1, "adam": 33}
        for optimizer, floats in state.items():
            plan = self.plan("--embedding", "_N=16", "--optimizer", optimizer,
                             "--tensor", "_N=3:int64")
            self.assertEqual(plan["tensor_bytes"], NODES * (4 * (16 + floats) + 3 * 8))
            for owned, host in zip(self.owned(), plan["hosts"]):
                self.assertEqual(host["tensor_bytes"], owned * (4 * (16 + floats) + 24))
                self.assertEqual(host["tensors"][1]["shape"], [owned, 3])
        limited = self.plan("--embedding", "_N=16", "--embedding_memory", "8192")
        self.assertEqual(limited["tensor_bytes"], 3 * 8192)

    def test_partitions_at_one_address_are_added_up(self):
        apart = self.plan("--embedding", "_N=4")["hosts"]
        lines = self.ip_config("10.0.0.1\n10.0.0.2 30050\n10.0.0.1 30051\n")
        hosts = self.plan("--embedding", "_N=4", "--ip_config", lines)["hosts"]
        self.assertEqual([host["host"] for host in hosts], ["10.0.0.1", "10.0.0.2"])
        self.assertEqual(hosts[0]["bytes"], apart[0]["bytes"] + apart[2]["bytes"])
        self.assertEqual([part["part"] for part in hosts[0]["partitions"]], [0, 2])

    def test_trainers_take_what_the_library_keeps_for_them(self):
        buffers, pushes, cache = 2 * 512 << 20, 64 << 20, 1 << 30
        without = self.plan("--embedding", "_N=4")
        self.assertEqual(without["trainer_bytes"], 0)
        lines = self.ip_config("10.0.0.1\n10.0.0.2 30050\n10.0.0.1 30051 1\n")
        gpus = pathlib.Path(self.scratch.name, "gpus.txt")
        gpus.write_text("10.0.0.7\n10.0.0.8 3\n")
        options = ("--ip_config", lines, "--trainer_hosts", gpus, "--num_trainers", 2)
        plan = self.plan(*options, "--num_samplers", 4, "--row_cache", "1G", "--embedding", "_N=4")
        hosts = plan["hosts"]
        self.assertEqual([host["host"] for host in hosts],
                         ["10.0.0.1", "10.0.0.2", "10.0.0.7", "10.0.0.8"])
        trainers = [2 + 1, 2, 2, 3]
        self.assertEqual([host["trainers"] for host in hosts], trainers)
        self.assertEqual([host["samplers"] for host in hosts], [4 * t for t in trainers])
        # Memory for pushes is shared with each server on the machine.
        for host, number, servers in zip(hosts, trainers, (2, 1, 0, 0)):
            taken = cache + number * (buffers + servers * pushes)
            self.assertEqual(host["trainer_bytes"], taken)
            self.assertEqual(sum(item["bytes"] for item in host["of_trainers"]), taken)
            self.assertEqual(host["bytes"],
                             host["graph_bytes"] + host["tensor_bytes"] + taken)
        self.assertEqual(hosts[2]["graph_bytes"] + hosts[2]["tensor_bytes"], 0)
        self.assertEqual(plan["bytes"], without["bytes"] + plan["trainer_bytes"])
        only_there = self.plan(*options[:-1], 0)["hosts"]
        self.assertEqual([host["trainers"] for host in only_there], [1, 0, 1, 3])
        shown = graphctl("plan", self.graph, *options, "--num_samplers", 4, "--host_memory", "1GiB")
        self.assertEqual(shown.returncode, TOO_LITTLE_MEMORY, shown.stderr)
        self.assertIn("2 trainers with 4 sampler threads each, without models, batches and Python: "
                      "2.0 GiB\n", shown.stdout)
        # Nothing is pushed without tensors, and nothing is cached where each row is.
        one = self.ip_config("10.0.0.1\n10.0.0.1 30051\n10.0.0.1 30052\n")
        alone = self.plan("--ip_config", one, "--row_cache", "1G")["hosts"][0]
        self.assertEqual((alone["trainers"], alone["trainer_bytes"]), (3, 3 * buffers))

    def test_each_trainer_has_a_book_with_an_owner_per_id(self):
        folder = os.path.join(self.scratch.name, "owners")
        subprocess.run(["cp", "-r", str(ROOT / "tests/fixtures/dgl/legacy091_noreshuffle_2p"), folder],
                       check=True)
        subprocess.run("find %s -name '*.gz' -exec gunzip -f {} +" % folder, shell=True, check=True)
        configs = [p for p in pathlib.Path(folder).rglob("*.json") if p.name != "expected.json"]
        for host in self.plan("--num_trainers", 3, graph=configs[0])["hosts"]:
            items = {item["name"]: item["bytes"] for item in host["of_trainers"]}
            self.assertEqual(items["partition books with an owner per id"], 3 * host["book_bytes"])

    def test_too_little_memory_is_an_exit_status(self):
        most = max(host["bytes"] for host in self.plan()["hosts"])
        enough = graphctl("plan", self.graph, "--host_memory", most)
        self.assertEqual(enough.returncode, OK, enough.stderr)
        self.assertIn("0 B are left", enough.stdout)
        result = graphctl("plan", self.graph, "--host_memory", most - 1)
        self.assertEqual(result.returncode, TOO_LITTLE_MEMORY, result.stderr)
        self.assertIn("1 B more than a host has", result.stdout)

    def test_dgls_partitions_have_an_upper_bound(self):
        for name in ("sbm_2p_metis", "legacy091_noreshuffle_2p"):
            folder = os.path.join(self.scratch.name, name)
            subprocess.run(["cp", "-r", str(ROOT / "tests/fixtures/dgl" / name), folder], check=True)
            subprocess.run("find %s -name '*.gz' -exec gunzip -f {} +" % folder, shell=True, check=True)
            configs = [p for p in pathlib.Path(folder).rglob("*.json") if p.name != "expected.json"]
            hosts = self.plan(graph=configs[0])["hosts"]
            for part, host in enumerate(hosts):
                loaded = json.loads(
                    graphctl("inspect", configs[0], "--part", part, "--json").stdout)
                self.assertGreaterEqual(host["graph_bytes"] - host["book_bytes"], loaded["bytes"])
                self.assertEqual(host["book_bytes"] > 0, "noreshuffle" in name)

    def test_features_are_shown_without_loading(self):
        config = json.loads(graphctl("inspect", self.graph, "--json").stdout)
        feature = {f["name"]: f for f in config["ntypes"][0]["features"]}["orig_id"]
        self.assertEqual((feature["dtype"], feature["stored_as"]), ("int64", "uint16"))
        # A host may have nothing but the part config.
        alone = pathlib.Path(self.scratch.name, "alone.json")
        alone.write_bytes(pathlib.Path(self.graph, "ring.json").read_bytes())
        config = json.loads(graphctl("inspect", alone, "--json").stdout)
        self.assertEqual(config["ntypes"][0]["features"], [])

    def test_damaged_headers_are_errors(self):
        folder = os.path.join(self.scratch.name, "damaged")
        subprocess.run(["cp", "-r", self.graph, folder], check=True)
        path = pathlib.Path(folder, "part0/partition.json")
        good = path.read_text()
        for change in ('"node/7/x"', '"node/0"', '"x"'):
            path.write_text(good.replace('"node/0/x"', change))
            for verb in (["inspect", folder, "--part", "0"], ["inspect", folder]):
                result = graphctl(*verb)
                self.assertIn("again", result.stderr)
                self.assertEqual(result.returncode, CORRUPT if "--part" in verb else OK)
            self.assertIn(graphctl("plan", folder).returncode, (OK, CORRUPT))

    def test_mistakes_are_named(self):
        self.assert_fails(INVALID, "--embedding 'x'", "_N=128", args=["--embedding", "x"])
        self.assert_fails(NOT_FOUND, "item", "_N", args=["--embedding", "item=8"])
        self.assert_fails(INVALID, "--tensor '_N=0'", args=["--tensor", "_N=0"])
        self.assert_fails(INVALID, "float23", args=["--tensor", "_N=2:float23"])
        self.assert_fails(INVALID, "--tensor", args=["--embedding", "_N=2:int8"])
        self.assert_fails(INVALID, "1 lines", "3 partitions",
                          args=["--ip_config", self.ip_config("10.0.0.1\n")])
        self.assert_fails(NOT_FOUND, "nowhere", args=["--ip_config", "/nowhere"])
        self.assert_fails(NOT_FOUND, "nowhere", args=["--trainer_hosts", "/nowhere"])
        self.assert_fails(INVALID, "--row_cache '1K'", args=["--row_cache", "1K"])
        self.assert_fails(INVALID, "--num_trainers", args=["--num_trainers", "-1"])
        gpus = pathlib.Path(self.scratch.name, "gpus.txt")
        gpus.write_text("10.0.0.2 4\n")
        lines = self.ip_config("10.0.0.1\n10.0.0.2\n10.0.0.3\n")
        self.assert_fails(INVALID, "'10.0.0.2' is a host of ip_config already",
                          args=["--ip_config", lines, "--trainer_hosts", gpus])


if __name__ == "__main__":
    unittest.main()
