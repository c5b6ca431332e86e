#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/guard: a build takes as many instructions as itself, and more than 3 % more fail."""
import json
import os
import tempfile
import unittest

from bench_tools import build_folder, run

KERNEL = "BM_MiniBatch/typed_small/uniform"
# The test counts one kernel of each kind. Each must take at least the given number of instructions,
# because it samples some 50,000 edges, gathers 5,000 rows of 100 elements, writes a request with 5,000
# seeds, updates 5,000 rows of 128 elements, or writes and reads messages for 10 rows.
KERNELS = {KERNEL: 1e6, "BM_SmallGather/float16": 1e5, "BM_HopRequest": 1e4,
           "BM_UpdateRows/adagrad": 5e5, "Request/rows:10/unix/daemon": 2e4,
           "Request/rows:10/unix/client": 2e4}


class Guard(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="graphd-guard-test-")
        self.addCleanup(self.folder.cleanup)

    def saved(self, counts):
        path = os.path.join(self.folder.name, "saved.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(counts, file)
        return path

    def test_instructions_are_counted_alike_and_more_of_them_are_found(self):
        first = os.path.join(self.folder.name, "first.json")
        pattern = "^(" + "|".join(KERNELS) + ")$"
        done = run("guard", "--save", first, "--filter", pattern, "--no_times", build_folder())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(first, encoding="utf-8") as file:
            counts = json.load(file)
        self.assertEqual(sorted(counts), sorted(KERNELS))
        for name, least in KERNELS.items():
            self.assertGreater(counts[name]["instructions"], least, name)

        done = run("guard", "--filter", pattern, first, build_folder())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in KERNELS:
            # Two processes that wait for each other do not execute exactly the same each time.
            most = r"[0-2]" if name.startswith("Request") else "0"
            self.assertRegex(done.stdout, name + rf" .*[+-]{most}\.\d\d % .* [mu]s")

        fewer = self.saved({KERNEL: {"instructions": counts[KERNEL]["instructions"] * 0.96}})
        done = run("guard", fewer, first)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"\+4\.17 % +MORE")
        self.assertIn(f"more than 3 % more instructions: {KERNEL}", done.stderr)
        self.assertEqual(run("guard", "--limit", "5", fewer, first).returncode, 0)

    def test_a_build_without_the_newer_program_is_compared_without_it(self):
        older = os.path.join(self.folder.name, "older")
        os.makedirs(os.path.join(older, "bin"))
        os.symlink(os.path.join(build_folder(), "bin", "sampling_bench"),
                   os.path.join(older, "bin", "sampling_bench"))
        first = os.path.join(self.folder.name, "first.json")
        done = run("guard", "--save", first, "--filter", KERNEL, "--no_times", older)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("has no kernel_bench", done.stderr)
        self.assertIn("has no request_loop", done.stderr)
        done = run("guard", "--filter", KERNEL, "--no_times", first, older)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("kernel_bench is not there", done.stderr)

    def test_nothing_to_compare_fails(self):
        saved = self.saved({"BM_Gone": {"instructions": 1}})
        other = os.path.join(self.folder.name, "other.json")
        with open(other, "w", encoding="utf-8") as file:
            json.dump({KERNEL: {"instructions": 1}}, file)
        done = run("guard", saved, other)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no kernel in common", done.stderr)
        done = run("guard", "--filter", "NoSuchKernel", build_folder(), build_folder())
        self.assertEqual(done.returncode, 1)
        self.assertIn("no kernel matches", done.stderr)


if __name__ == "__main__":
    unittest.main()
