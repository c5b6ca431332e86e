#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/performance.md is made from docs/performance.json, of bench/compare, and from
docs/epoch_bytes.json, of bench/run, and that the data has every measurement of every system."""
import json
import os
import unittest

from bench_tools import ROOT
from systems import epoch_bytes, pages
from systems.rows import ROWS, SYSTEMS

# Rows that were added after the run that the page shows. The next run has them.
NEWER = ()


def read(*names):
    with open(os.path.join(ROOT, "docs", *names), encoding="utf-8") as file:
        return file.read()


class PerformancePage(unittest.TestCase):
    def setUp(self):
        self.run = json.loads(read("performance.json"))

    def test_the_page_is_made_from_its_data(self):
        epochs = json.loads(read("epoch_bytes.json"))
        self.assertEqual(read("performance.md"), pages.performance(self.run, epochs),
                         "write it again: bench/compare --write_docs docs/performance.json")

    def test_the_data_is_complete(self):
        names = [row["name"] for row in self.run["rows"]]
        self.assertEqual([name for name in NEWER if name in names], [], "remove these from NEWER")
        self.assertEqual(names, [row.name for row in ROWS if row.name in names or row.name not in NEWER])
        self.assertEqual(self.run["systems"], list(SYSTEMS))
        for row in self.run["rows"]:
            for system in SYSTEMS:
                result = row["values"][system]
                self.assertEqual(len(result), 1, (row["name"], system))
                self.assertIn(next(iter(result)), ("value", "error", "absent"))
            self.assertIn("value", row["values"]["graphd"], row["name"])

    def test_a_run_gives_the_bytes_of_epochs(self):
        lines = [{"name": f"BM_Epoch/percent:{percent}/kept:0/stored:{stored}/real_time",
                  "counters": {"row_MB/epoch": 100 * stored - percent,
                               "MB/epoch": 110 * stored - percent, "hits": percent / 100}}
                 for percent in (0, 1, 10, 25) for stored in (2, 4)]
        run = {"machine": {"commit": "abc"}, "lines": lines}
        found = epoch_bytes.recorded(run)
        self.assertEqual([(epoch["stored"], epoch["percent"]) for epoch in found["epochs"]],
                         epoch_bytes.CASES)
        self.assertIn("| float16 | a tenth of the feature | 10% | 190 MB | 210 MB | 2.1x |",
                      epoch_bytes.markdown(found))
        lines.pop()
        with self.assertRaisesRegex(SystemExit, "a cache of 25 %, which was not measured"):
            epoch_bytes.recorded(run)

    def test_it_is_part_of_the_site(self):
        self.assertIn("\nperformance\n", read("index.md"))


if __name__ == "__main__":
    unittest.main()
