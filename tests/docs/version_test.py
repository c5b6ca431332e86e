#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the files which name graphd's version name that of CMakeLists.txt."""
import os
import re
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# The patterns of the versions in each file, and how many of them there are at least.
NAMED = [
    ("packaging/kubernetes/server/kustomization.yaml", r"newTag: (\S+)", 1),
    ("packaging/kubernetes/trainer/kustomization.yaml", r"newTag: (\S+)", 1),
    ("docs/howto/kubernetes.md", r"graphd[:-](\d+\.\d+[.\d]*\d)", 6),
]
# These ask for any patch release of it.
MINOR = [("tests/packaging/trainer/CMakeLists.txt", r"find_package\(graphd (\S+)", 1)]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"(?m)^project\(graphd VERSION (\d+\.\d+\.\d+) ", read("CMakeLists.txt")).group(1)


class Version(unittest.TestCase):
    def check(self, files, expected):
        for path, pattern, least in files:
            found = re.findall(pattern, read(path))
            self.assertGreaterEqual(len(found), least, path)
            self.assertEqual(set(found), {expected}, path)

    def test_files_name_the_version_of_the_project(self):
        self.check(NAMED, version())
        self.check(MINOR, version().rpartition(".")[0])

    def test_the_changelog_has_it(self):
        self.assertRegex(read("CHANGELOG.md"), rf"(?m)^## {re.escape(version())}\b")


if __name__ == "__main__":
    unittest.main()
