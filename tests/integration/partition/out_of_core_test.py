#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl partition --memory: the memory it uses, and runs that are killed and repeated."""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")
OK, INVALID, NOT_FOUND, EXISTS, OVERLOADED = 0, 2, 3, 4, 6
MIB = 1 << 20
STEPS = ("reading", "assigning nodes", "counting edges", "distributing edges",
         "sorting and writing edges", "writing features of nodes", "waiting for the disk")


def npy_header(descr, shape):
    header = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def write_edges(path, bits, edges):
    """Writes random edges between 2^bits nodes, with repeated ones and self loops."""
    draw, count = random.Random(5), 2 * edges
    ends = bytearray(4 * count)
    low = bytes(i & ((1 << (bits - 8)) - 1) for i in range(256))
    ends[0::4] = draw.randbytes(count)
    ends[1::4] = draw.randbytes(count).translate(low if bits < 16 else None)
    if bits > 16:
        ends[2::4] = draw.randbytes(count).translate(
            bytes(i & ((1 << (bits - 16)) - 1) for i in range(256)))
    path.write_bytes(npy_header("<i4", (2, edges)) + ends)


def write_rows(path, rows, floats):
    """Writes float32 [rows, floats]."""
    block = random.Random(6).randbytes(MIB)
    left = rows * floats * 4
    with open(path, "wb") as file:
        file.write(npy_header("<f4", (rows, floats)))
        while left:
            left -= file.write(block[:min(left, MIB)])


class OutOfCore(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_out_of_core_")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.output = self.scratch / "out"
        self.state = self.output / "g.partitioning"

    def graph(self, bits, edges, floats):
        write_edges(self.scratch / "edges.npy", bits, edges)
        write_rows(self.scratch / "feat.npy", 1 << bits, floats)
        return ["--input", self.scratch / "edges.npy",
                "--nodes", ".feat=%s" % (self.scratch / "feat.npy")]

    def command(self, *more, output=None):
        return [str(part) for part in (GRAPHCTL, "partition", "--graph_name", "g", "--json",
                                       "--output", output or self.output, *more)]

    def run_partition(self, *more, output=None):
        return subprocess.run(self.command(*more, output=output), capture_output=True, text=True,
                              timeout=100)

    def partitioned(self, *more, output=None):
        result = self.run_partition(*more, output=output)
        self.assertEqual(result.returncode, OK, result.stderr)
        return json.loads(result.stdout), result.stderr

    def kill_at(self, step, *more):
        """Kills a run when it reports a step; returns the steps that it reported."""
        # On a busy machine, a run would end before this process has read the line, but for `nice`.
        process = subprocess.Popen(["nice", "-n", "5", *self.command(*more)],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        seen = []
        for line in process.stderr:
            seen.append(line)
            if line.startswith(step):
                process.kill()
        self.assertEqual(process.wait(timeout=60), -9, "".join(seen))
        process.stderr.close()
        return "".join(seen)

    def assert_same_files(self, expected, found):
        def files(top):
            return sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())
        self.assertEqual(files(expected), files(found))
        for name in files(expected):
            self.assertEqual((expected / name).read_bytes(), (found / name).read_bytes(), name)

    def test_a_graph_larger_than_the_memory(self):
        graph = self.graph(18, 12_000_000, 100)
        memory = 88 * MIB
        for path in self.scratch.glob("*.npy"):  # neither the edges nor the features fit
            self.assertGreater(path.stat().st_size, memory)
        summary, _ = self.partitioned(*graph, "--num_parts", 4, "--part_method", "ldg",
                                      "--memory", memory)
        self.assertLessEqual(summary["peak_memory_bytes"], memory)
        self.assertFalse(self.state.exists())
        verified = subprocess.run([GRAPHCTL, "verify", self.output / "g.json"],
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(verified.returncode, OK, verified.stdout + verified.stderr)

    def test_multilevel_keeps_within_the_memory(self):
        graph = [*self.graph(17, 22_000_000, 1), "--num_parts", 4, "--part_method", "multilevel"]
        memory = 160 * MIB
        self.assertGreater((self.scratch / "edges.npy").stat().st_size, memory)
        summary, _ = self.partitioned(*graph, "--memory", memory)
        self.assertLessEqual(summary["peak_memory_bytes"], memory)
        expected = self.scratch / "expected"
        self.partitioned(*graph, output=expected)
        self.assert_same_files(expected, self.output)

    def test_the_memory_that_multilevel_asks_for_suffices(self):
        graph = [*self.graph(20, 2_000_000, 1), "--num_parts", 4, "--part_method", "multilevel",
                 "--balance_edges"]
        refused = self.run_partition(*graph, "--memory", "90MiB")
        self.assertEqual(refused.returncode, OVERLOADED, refused.stderr)
        least = int(re.search(r"give at least (\d+)M", refused.stderr).group(1)) * MIB
        summary, _ = self.partitioned(*graph, "--memory", least)
        self.assertLessEqual(summary["peak_memory_bytes"], least)

    def test_runs_killed_at_every_step_continue(self):
        graph = [*self.graph(15, 400_000, 60), "--num_parts", 3, "--part_method", "ldg"]
        expected = self.scratch / "expected"
        self.partitioned(*graph, output=expected)
        graph += ["--memory", "96MiB"]
        for i, step in enumerate(STEPS):
            seen = self.kill_at(step, *graph)
            self.assertFalse((self.output / "g.json").exists())
            # A step is not repeated when the one behind it has begun.
            for done in STEPS[:max(i - 1, 0)]:
                if done != "counting edges":
                    self.assertNotIn("\n" + done, "\n" + seen)
        _, seen = self.partitioned(*graph)
        self.assertNotIn("distributing", seen)
        self.assert_same_files(expected, self.output)

    def test_runs_for_more_memory_are_not_used_while_others_replace_them(self):
        # The runs that 4 GiB allow can't be sorted in 96 MiB, so the second command distributes the
        # edges again, into the same files.
        graph = [*self.graph(15, 8_000_000, 1), "--num_parts", 2, "--part_method", "random"]
        expected = self.scratch / "expected"
        self.partitioned(*graph, output=expected)
        self.kill_at("sorting and writing edges", *graph, "--memory", "4GiB")
        self.assertTrue((self.state / "edges.json").exists())
        self.kill_at("distributing edges", *graph, "--memory", "96MiB")
        self.assertFalse((self.state / "edges.json").exists())
        _, seen = self.partitioned(*graph, "--memory", "4GiB")
        self.assertIn("distributing edges", seen)
        self.assert_same_files(expected, self.output)

    def test_the_state_of_another_run_is_not_used(self):
        graph = [*self.graph(15, 400_000, 60), "--part_method", "random", "--memory", "96MiB"]
        self.kill_at("sorting and writing edges", *graph, "--num_parts", 3)
        other = self.run_partition(*graph, "--num_parts", 2)
        self.assertEqual(other.returncode, EXISTS, other.stderr)
        self.assertIn("differs in: --num_parts", other.stderr)
        os.utime(self.scratch / "edges.npy", (1, 1))
        other = self.run_partition(*graph, "--num_parts", 3)
        self.assertEqual(other.returncode, EXISTS, other.stderr)
        self.assertIn("differs in: input", other.stderr)
        self.partitioned(*graph, "--num_parts", 2, "--force")
        self.assertFalse((self.output / "part2").exists())
        self.assertFalse(self.state.exists())
        expected = self.scratch / "expected"
        self.partitioned(*graph[:-2], "--num_parts", 2, output=expected)
        self.assert_same_files(expected, self.output)

    def test_a_graph_in_the_place_of_an_interrupted_run_removes_its_state(self):
        graph = [*self.graph(15, 400_000, 60), "--num_parts", 3, "--part_method", "random"]
        expected = self.scratch / "expected"
        self.partitioned(*graph, output=expected)
        self.kill_at("waiting for the disk", *graph, "--memory", "96MiB")
        other = [*graph, "--seed", 7]
        self.partitioned(*other, "--force")
        self.assertFalse(self.state.exists())
        again = self.run_partition(*graph, "--memory", "96MiB")
        self.assertEqual(again.returncode, EXISTS, again.stderr)
        self.partitioned(*graph, "--memory", "96MiB", "--force")
        self.assert_same_files(expected, self.output)

    def test_changes_beside_the_metadata_of_a_chunked_graph_are_noticed(self):
        *_, chunked = self.write_inputs()
        graph = ["--input", chunked[1] / "metadata.json", "--num_parts", 2,
                 "--part_method", "random", "--memory", "96MiB"]
        self.kill_at("sorting and writing edges", *graph)
        os.utime(chunked[1] / "f1.npy", (1, 1))
        other = self.run_partition(*graph)
        self.assertEqual(other.returncode, EXISTS, other.stderr)
        self.assertIn("differs in: input", other.stderr)

    def test_a_run_continues_in_the_directory_of_its_input(self):
        *_, chunked = self.write_inputs()
        graph = [*chunked, "--num_parts", 2, "--part_method", "random"]
        expected = self.scratch / "expected"
        self.partitioned(*graph, output=expected)
        for self.output in (chunked[1] / "out", chunked[1]):
            for step in ("sorting and writing edges", "waiting for the disk"):
                self.kill_at(step, *graph, "--memory", "96MiB")
            _, seen = self.partitioned(*graph, "--memory", "96MiB")
            self.assertNotIn("distributing", seen)
            self.assertTrue((self.output / "g.json").exists())

    def write(self, name, text):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def write_inputs(self):
        """Writes a graph in every kind of input; returns the options that name each."""
        count = 40_000  # the columns exceed what is kept in memory while they are read
        pairs = [(i * 7 % 500, i * i % 500) for i in range(count)]
        yield ["--input", self.write("t.csv", "src,dst,w\n" + "".join(
            "n%d,n%d,%d\n" % (u, v, i) for i, (u, v) in enumerate(pairs)))]
        yield ["--add_reverse", "--input", self.write(
            "m.mtx", "%%%%MatrixMarket matrix coordinate real general\n500 500 %d\n" % count +
            "".join("%d %d .5\n" % (u + 1, v + 1) for u, v in pairs))]
        self.write("ogb/raw/num-node-list.csv", "500\n")
        self.write("ogb/raw/num-edge-list.csv", "%d\n" % count)
        self.write("ogb/raw/edge.csv", "".join("%d,%d\n" % pair for pair in pairs))
        self.write("ogb/raw/edge-w.csv", "".join(
            "%d%s\n" % (i, ".5" if i == count - 1 else "") for i in range(count)))
        self.write("ogb/raw/node-feat.csv", "1,2,3\n" * 500)
        yield ["--input", self.scratch / "ogb", "--add_reverse"]
        self.write("chunked/e.csv", "".join("%d %d\n" % pair for pair in pairs))
        for i in range(2):
            write_rows(self.scratch / ("chunked/f%d.npy" % i), 250, 400)
        array = {"format": {"name": "numpy"}, "data": ["f0.npy", "f1.npy"]}
        self.write("chunked/metadata.json", json.dumps({
            "node_type": ["n"], "edge_type": ["n:e:n"], "num_nodes_per_type": [500],
            "num_edges_per_type": [count],
            "edges": {"n:e:n": {"format": {"name": "csv", "delimiter": " "}, "data": ["e.csv"]}},
            "node_data": {"n": {"feat": array}}}))
        yield ["--input", self.scratch / "chunked"]

    def test_every_kind_of_input_gives_the_same_files(self):
        for number, options in enumerate(self.write_inputs()):
            options += ["--num_parts", 3, "--part_method", "fennel"]
            expected = self.scratch / ("expected%d" % number)
            found = self.scratch / ("found%d" % number)
            self.partitioned(*options, output=expected)
            self.partitioned(*options, "--memory", "96MiB", output=found)
            self.assert_same_files(expected, found)

    def test_mistakes_leave_nothing_behind(self):
        graph = self.graph(10, 100, 1)
        for more, code, text in (
                (("--memory", "1MiB"), OVERLOADED, "give at least"),
                (("--memory", "96MiB", "--format", "dgl"), INVALID, "--format native"),
                (("--memory", "96MiB", "--store_as", "x=int8"), INVALID, "no type has"),
                (("--memory", "96MiB", "--balance_ntypes", "x"), NOT_FOUND, "--balance_ntypes"),
                (("--memory", "96MiB", "--part_method", "file", "--assignment",
                  self.scratch / "none.txt"), NOT_FOUND, "none.txt"),
                (("--memory", "96MiB", "--num_nodes", "5"), INVALID, "--num_nodes")):
            method = () if "--part_method" in more else ("--part_method", "ldg")
            result = self.run_partition(*graph, "--num_parts", 2, *method, *more)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(text, result.stderr)
            self.assertFalse(self.output.exists(), more)
        self.partitioned(*graph, "--num_parts", 2, output=self.scratch / "in_memory")
        result = self.run_partition("--input", self.scratch / "in_memory", "--num_parts", 2,
                                    "--memory", "96MiB")
        self.assertEqual(result.returncode, INVALID, result.stderr)
        self.assertIn("original input", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
