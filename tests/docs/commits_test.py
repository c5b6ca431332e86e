#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_commits.py accepts subjects that follow CONTRIBUTING.md, and no others."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import check_commits

GOOD = [
    "docs: build a site with Sphinx",
    "libclient/store: reserve memory for the pages of a push",
    "daemon, ctl: set the log level at run time",
    "tests: address a race in the listener's test",
]
BAD = [
    "Build a site with Sphinx",
    "Docs: build a site",
    "docs:build a site",
    "docs: builds a site",
    "docs: Added a site",
    "docs: applies the style",
    "docs: running the examples",
    "docs: build a site.",
    "fixup! docs: build a site",
    "docs: " + "b" * 67,
]


class Commits(unittest.TestCase):
    def test_subjects(self):
        for subject in GOOD:
            self.assertEqual(check_commits.problems(subject), [], subject)
        for subject in BAD:
            self.assertEqual(len(check_commits.problems(subject)), 1, subject)


if __name__ == "__main__":
    unittest.main()
