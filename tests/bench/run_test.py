#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/run with a benchmark program of the build."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from bench_tools import BENCH, build_folder, parsed, run
from harness import programs

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

    def test_programs_in_python_are_listed(self):
        done = run("run", "--build_dir", build_folder(), "--list", "python", "inference", "parquet")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("python_bench Epoch/workers:2", "inference_bench Layerwise\n",
                     "parquet_bench Read/csv\n"):
            self.assertIn(text, done.stdout)

    def test_results_of_programs_in_python_are_read(self):
        path = os.path.join(self.folder.name, "two_bench.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"import argparse, sys\nsys.path.insert(0, {BENCH!r})\n"
                       "from harness import script\nparser = argparse.ArgumentParser()\n"
                       "script.add_options(parser)\nargs = parser.parse_args()\n"
                       "names = script.chosen(args, ['A/1', 'A/2', 'B'])\n"
                       "lines = script.Lines(args) if names else None\n"
                       "for name in names:\n    lines.text('for people')\n"
                       "    assert name != 'A/2', 'broken'\n"
                       "    lines.result(name, 2.0, 3, **{'rows/s': 6.0, 'of_limit': 0.5})\n")
        command = [sys.executable, path]
        self.assertEqual(programs.names(command, "A"), ["A/1", "A/2"])
        first, second = programs.measure(command, "A", ["--benchmark_min_time=0.05"])
        self.assertEqual((first["program"], first["name"], first["seconds"]), ("two_bench", "A/1", 2.0))
        self.assertEqual((first["rate"], first["unit"], first["limit"]), (6.0, "rows/s", 12.0))
        self.assertEqual(second["name"], "A/2")
        self.assertIn("broken", second["error"])

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
