# SPDX-License-Identifier: Apache-2.0
"""Tests graphd.examples: the tutorial and the example trainers, copied from the package."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import support
from graphd import errors, examples

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="graphd-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def copy(self, *arguments):
        return subprocess.run([sys.executable, "-m", "graphd.examples", *arguments],
                              cwd=self.folder, capture_output=True, text=True)  # fmt: skip

    def test_the_command_copies_the_tutorial_and_all_examples(self):
        done = self.copy("new/folder")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("begin with tutorial.md", done.stdout)
        copied = os.path.join(self.folder, "new", "folder")
        trainers = {each for each in os.listdir(os.path.join(ROOT, "examples"))
                    if each.endswith(".py")}  # fmt: skip
        self.assertEqual(set(os.listdir(copied)), trainers | {"tutorial.md", "tutorial.ipynb"})
        self.assertEqual(read(copied, "tutorial.md"), read(ROOT, "docs", "python.md"))
        for name in trainers:
            self.assertEqual(read(copied, name), read(ROOT, "examples", name))
        self.assertEqual(self.copy("new/folder").returncode, 0)

    def test_what_pip_has_compiled_is_not_copied(self):
        data = os.path.join(self.folder, "data")
        os.makedirs(os.path.join(data, "__pycache__"))
        with open(os.path.join(data, "train.py"), "w", encoding="utf-8"):
            pass
        copies = os.path.join(self.folder, "copies")
        with unittest.mock.patch("graphd.examples.files._HERE", data):
            self.assertEqual(examples.copy_to(copies), [os.path.join(copies, "train.py")])

    def test_a_file_of_the_user_stays(self):
        path = os.path.join(self.folder, "train_dist.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine\n")
        done = self.copy(".")
        self.assertEqual(done.returncode, 1)
        self.assertIn("train_dist.py exists and differs; give another folder", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["train_dist.py"])
        with self.assertRaises(errors.ExistsError):
            examples.copy_to(self.folder)
        self.assertEqual(read(path), "mine\n")


if __name__ == "__main__":
    support.main()
