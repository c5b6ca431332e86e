#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/performance.md is what bench/compare makes from docs/performance.json, and that the
data has every measurement of every system."""
import json
import os
import unittest

from bench_tools import ROOT
from systems import pages
from systems.rows import ROWS, SYSTEMS


def read(*names):
    with open(os.path.join(ROOT, "docs", *names), encoding="utf-8") as file:
        return file.read()


class PerformancePage(unittest.TestCase):
    def setUp(self):
        self.run = json.loads(read("performance.json"))

    def test_the_page_is_made_from_its_data(self):
        self.assertEqual(read("performance.md"), pages.markdown(self.run),
                         "write it again: bench/compare --write_docs docs/performance.json")

    def test_the_data_is_complete(self):
        self.assertEqual([row["name"] for row in self.run["rows"]], [row.name for row in ROWS])
        self.assertEqual(self.run["systems"], list(SYSTEMS))
        for row in self.run["rows"]:
            for system in SYSTEMS:
                result = row["values"][system]
                self.assertEqual(len(result), 1, (row["name"], system))
                self.assertIn(next(iter(result)), ("value", "error", "absent"))
            self.assertIn("value", row["values"]["graphd"], row["name"])

    def test_it_is_part_of_the_site(self):
        self.assertIn("\nperformance\n", read("index.md"))


if __name__ == "__main__":
    unittest.main()
