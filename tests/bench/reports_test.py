#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that bench/run reads what Google Benchmark prints, and that its report has all of it."""
import json
import os
import unittest

from bench_tools import parsed
from harness import machine, page, programs, run_command, table

# The output of a program, with what differs between benchmarks: a rate and a limit, a limit of times
# only, no counters, a label, and an error.
OUTPUT = """{
  "context": {"date": "2026-01-01T00:00:00+00:00", "num_cpus": 2, "caches": [{"level": 1}]},
  "benchmarks": [
    {"name": "BM_Hop/fanout:10", "run_type": "iteration", "iterations": 37, "real_time": 1.5,
     "cpu_time": 1.4, "time_unit": "ms", "bytes/s": 8e8, "edges/s": 2e7, "of_limit": 0.25},
    {"name": "BM_Attach<&>", "run_type": "iteration", "iterations": 5, "real_time": 8.0,
     "cpu_time": 1.0, "time_unit": "us", "of_limit": 0.5, "label": "tcp"},
    {"name": "BM_Push", "run_type": "iteration", "iterations": 5, "real_time": 2.0, "cpu_time": 1.0,
     "time_unit": "s", "loop_rows/s": 4e6, "rows/s": 3e6, "of_loop": 0.75},
    {"name": "BM_Plain", "run_type": "iteration", "iterations": 9, "real_time": 250, "cpu_time": 200,
     "time_unit": "ns"},
    {"name": "BM_Plain_mean", "run_type": "aggregate", "iterations": 9, "real_time": 250,
     "cpu_time": 200, "time_unit": "ns"},
    {"name": "BM_Broken", "run_type": "iteration", "iterations": 0, "real_time": 0.0, "cpu_time": 0.0,
     "time_unit": "ns", "error_occurred": true, "error_message": "rows are missing"}
  ]
}
"""


def lines(text=OUTPUT):
    return [programs.line_of("sampling_bench", entry) for entry in programs.entries_of(text)]


class Lines(unittest.TestCase):
    def test_a_line_has_time_rate_limit_and_ratio(self):
        hop, attach, push, plain, broken = lines()
        self.assertEqual((hop["seconds"], hop["rate"], hop["unit"]), (1.5e-3, 2e7, "edges/s"))
        self.assertEqual((hop["limit"], hop["ratio"]), (8e7, 0.25))
        self.assertAlmostEqual(attach["limit"], 4e-6)
        self.assertEqual((push["rate"], push["limit"], push["ratio_to"]), (3e6, 4e6, "of_loop"))
        self.assertNotIn("limit", plain)
        self.assertEqual(broken["error"], "rows are missing")

    def test_columns_are_readable(self):
        hop, attach, _, plain, broken = map(table.columns, lines())
        self.assertEqual(hop, ["BM_Hop/fanout:10", "1.5 ms", "20 M edges/s", "80 M edges/s",
                               "0.25 of_limit"])
        self.assertEqual(attach, ["BM_Attach<&> (tcp)", "8 us", "", "4 us", "0.50 of_limit"])
        self.assertEqual(plain, ["BM_Plain", "250 ns", "", "", ""])
        self.assertEqual(broken[1:3], ["FAILED", "rows are missing"])

    def test_output_that_is_cut_off_gives_the_complete_benchmarks(self):
        whole = lines()
        found = 0
        for end in range(0, len(OUTPUT), 7):
            got = lines(OUTPUT[:end])
            self.assertEqual(got, whole[:len(got)])
            self.assertGreaterEqual(len(got), found)
            found = len(got)
        self.assertEqual(found, len(whole))

    def test_numbers_keep_their_size(self):
        for value, text in ((0, "0"), (0.00123, "0.00123"), (4.57, "4.57"), (999, "999"),
                            (1234, "1.23 k"), (12345678, "12.3 M"), (2.5e9, "2.5 G")):
            self.assertEqual(table.number(value), text)
        self.assertEqual([table.seconds(value) for value in (2, 0.35, 1.5e-5, 2e-9)],
                         ["2 s", "350 ms", "15 us", "2 ns"])
        self.assertEqual(table.quantity(2.8e9, "B"), "2.8 GB")


class Report(unittest.TestCase):
    def run_of(self, found):
        return {"command": "bench/run --filter '<x>'", "machine": machine.describe(),
                "load_before": machine.load(), "load_after": machine.load(), "lines": found}

    def test_the_report_is_well_formed_and_has_every_line(self):
        text, counts = parsed(run_command.report(self.run_of(lines())))
        for line in lines():
            self.assertIn(line["name"], text)
        self.assertIn("rows are missing", text)
        self.assertIn("bench/run --filter '<x>'", text)
        # A bar for each line with a ratio, and a row for each line, heading and fact.
        self.assertEqual(counts["rect"], 3)
        self.assertEqual(counts["svg"], 1)
        self.assertEqual(counts["tr"], len(lines()) + 1 + 8)
        self.assertNotIn("script", counts)

    def test_bars_stay_inside_of_the_plot(self):
        plot = page.bars("t", [("a", 5.0, "5", 0), ("b", 0.0, "0", 1)], mark=1.0)
        _, counts = parsed(plot)
        self.assertEqual((counts["rect"], counts["line"]), (2, 1))
        self.assertIn(f'width="{page.PLOT:.1f}"', plot)


class Machine(unittest.TestCase):
    def test_the_machine_is_described(self):
        found = machine.describe()
        self.assertEqual(found["processors"], len(os.sched_getaffinity(0)))
        self.assertGreater(found["memory_bytes"], found["memory_available_bytes"])
        self.assertGreater(found["memory_available_bytes"], 1 << 20)
        self.assertIn("anonymous memory", found["pages_obtained"])
        self.assertRegex(found["huge_pages"], r"pool of \d+ pages")
        self.assertEqual(json.loads(json.dumps(found)), found)
        shown = dict(machine.rows(found, [0.5, 0.25, 0.125], [1, 2, 3]))
        self.assertEqual(shown["Load"], "0.50, 0.25, 0.12 before, 1.00, 2.00, 3.00 after "
                                        "(1, 5 and 15 minutes)")

    def test_the_build_is_described(self):
        folder = os.path.dirname(os.environ.get("GRAPHD_BIN_DIR", "/nowhere/bin"))
        if os.path.exists(os.path.join(folder, "CMakeCache.txt")):
            self.assertRegex(machine.build_settings(folder)["type"], r"^(Dev|Release)$")
        self.assertEqual(machine.build_settings("/nowhere")["type"], "unknown")


if __name__ == "__main__":
    unittest.main()
