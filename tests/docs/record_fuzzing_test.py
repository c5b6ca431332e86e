#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/record_fuzzing.py in a repository of its own."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "record_fuzzing.py"
PAGE = "before\n<!-- begin fuzzing -->\nold\n<!-- end fuzzing -->\nafter\n"


class RecordFuzzing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts", "docs"):
            (self.root / name).mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        self.page = self.root / "docs" / "reliability.md"
        self.page.write_text(PAGE)
        subprocess.run(["git", "init", "-q", folder.name], check=True)
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        commit = ["commit", "--quiet", "--allow-empty", "--message", "a"]
        subprocess.run(["git", *author, *commit], cwd=folder.name, check=True)

    def command(self, *words):
        return [self.root / "scripts" / SCRIPT.name, *words]

    def record(self):
        return json.loads((self.root / "docs" / "fuzzing.json").read_text())

    def test_runs_of_several_targets_at_a_time_are_added_up(self):
        runs = [subprocess.Popen(self.command(name, "10", "60")) for name in "ab" * 4]
        self.assertEqual([run.wait() for run in runs], [0] * 8)
        for name in "ab":
            self.assertEqual((self.record()[name]["inputs"], self.record()[name]["seconds"]), (40, 240))
        text = self.page.read_text()
        self.assertIn("2 targets have survived 80 inputs in 0.1 h of processor time.", text)
        self.assertIn("| `a` | 40 | 4.0 min |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertNotIn("old", text)

    def test_a_fault_sets_a_target_to_zero(self):
        for words in (("a", "10", "60"), ("b", "10", "60"), ("a", "--fault")):
            subprocess.run(self.command(*words), check=True)
        self.assertEqual(list(self.record()), ["b"])
        self.assertNotIn("`a`", self.page.read_text())

    def test_a_page_without_the_table_is_an_error(self):
        self.page.write_text("nothing")
        run = subprocess.run(self.command("a", "1", "1"), capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("the lines that begin and end its table are missing", run.stderr)
        self.assertEqual(self.page.read_text(), "nothing")


if __name__ == "__main__":
    unittest.main()
