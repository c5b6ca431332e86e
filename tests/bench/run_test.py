#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/run with a benchmark program of the build."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from bench_tools import BENCH, build_folder, parsed, run

TINY = "BM_HasEdges/small|BM_MiniBatch/small/uniform$"


def attend_to_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="graphd-bench-tools-")
        self.addCleanup(self.folder.cleanup)

    def results(self):
        with open(os.path.join(self.folder.name, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def arguments(self, *more, build=None):
        return ["--build_dir", build or build_folder(), "--out", self.folder.name, "sampling", *more]

    def test_help_has_examples_and_every_program(self):
        done = run("run", "--help")
        self.assertEqual(done.returncode, 0)
        for text in ("examples:", "bench/run --list", "cold_embedding", "tls_stream"):
            self.assertIn(text, done.stdout)

    def test_list_names_benchmarks(self):
        done = run("run", *self.arguments("--list", "--filter", TINY))
        self.assertEqual(done.stdout.split("\n")[:-1],
                         ["sampling_bench BM_MiniBatch/small/uniform",
                          "sampling_bench BM_HasEdges/small/min_time:0.100"])

    def test_list_builds_nothing_where_programs_exist(self):
        copy = os.path.join(self.folder.name, "bench")  # without the scripts that build
        shutil.copytree(os.path.join(BENCH, "harness"), os.path.join(copy, "harness"))
        shutil.copy(os.path.join(BENCH, "run"), copy)
        folder = os.path.join(self.folder.name, "build", "release", "bin")
        os.makedirs(folder)
        program = os.path.join(build_folder(), "bin", "sampling_bench")
        os.symlink(program, os.path.join(folder, "sampling_bench"))
        done = run(os.path.join(copy, "run"), "--list", "sampling", "--filter", TINY)
        self.assertEqual((done.returncode, done.stdout.count("sampling_bench BM_")), (0, 2), done.stderr)

    def test_a_run_prints_and_writes_every_line(self):
        done = run("run", *self.arguments("--filter", TINY, "--min_time", "0.01"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = self.results()
        self.assertEqual([line["name"] for line in found["lines"]],
                         ["BM_MiniBatch/small/uniform", "BM_HasEdges/small/min_time:0.100"])
        for line in found["lines"]:
            self.assertIn(line["name"], done.stdout)
            self.assertGreater(line["limit"], line["rate"])
        self.assertEqual(len(found["load_after"]), 3)
        with open(os.path.join(self.folder.name, "report.html"), encoding="utf-8") as file:
            self.assertIn("BM_HasEdges/small", parsed(file.read())[0])

    def test_a_program_that_fails_is_named(self):
        build = os.path.join(self.folder.name, "build")
        os.makedirs(os.path.join(build, "bin"))
        os.symlink("/bin/false", os.path.join(build, "bin", "sampling_bench"))
        done = run("run", *self.arguments(build=build))
        self.assertEqual(done.returncode, 1)
        self.assertIn("sampling_bench failed: it cannot list its benchmarks (exit code 1)", done.stderr)
        self.assertIn("error", self.results()["lines"][0])

    def test_mistakes_say_what_there_is(self):
        done = run("run", "samplin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no program 'samplin'; there are: sampling", done.stderr)
        done = run("run", *self.arguments("--filter", "NoSuchBenchmark"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no benchmark matches --filter 'NoSuchBenchmark'", done.stderr)

    def test_an_interrupted_run_keeps_what_it_has_measured(self):
        command = [os.path.join(BENCH, "run"),
                   *self.arguments("--filter", "BM_MiniBatch/small", "--min_time", "0.5")]
        # A shell that starts the tests in the background makes its children ignore SIGINT.
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True, preexec_fn=attend_to_interrupts) as process:
            process.stdout.readline()  # the headings
            first = process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        self.assertIn("BM_MiniBatch/small/uniform", first)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", errors)
        self.assertEqual(self.results()["lines"][0]["name"], "BM_MiniBatch/small/uniform")
        self.assertLess(len(self.results()["lines"]), 9)


if __name__ == "__main__":
    unittest.main()
