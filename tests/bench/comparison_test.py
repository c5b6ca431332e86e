#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that bench/compare shows each result, each failure, and each reason for a value that is not
there."""
import json
import unittest

from bench_tools import parsed, run
from harness import machine
from systems import pages, results, targets
from systems.rows import OURS, ROWS, SYSTEMS

# Results that only explain others.
PARTS = {name: {"value": 3.0}
         for name in ("partition_reading", "start_loading", "start_cold_loading", "embedding_created",
                      "embedding_cold_steps", "embedding_step_own",
                      *(part + suffix for suffix in ("", "_tcp") for part in (
                          "attach_connect", "attach_open", "attach_batch", "attach_later",
                          "attach_faults", "later_batches", "first_batches_faults")))}


def made_result():
    """Returns the result of a run in which DGL's distributed layer gives one value less than it should,
    and GraphBolt only an error."""
    names = [row.name for row in ROWS]
    systems = ["DGL distributed", "GraphBolt", OURS]
    found = {OURS: {name: {"value": 20.0} for name in names},
             "DGL distributed": {name: {"value": 5.0} for name in names if name != "rows_remote"},
             "GraphBolt": {"sample_2": {"error": "OSError: <libx> | not found"}}}
    found[OURS].update(epoch_compute={"value": 10.0}, epoch_compute_tcp={"value": 10.0},
                       wire_plain_per_edge_seeds={"value": 0.2},
                       wire_plain_per_edge_messages={"value": 6.0},
                       epoch_compute_within={"value": 14.0}, epoch_compute_within_tcp={"value": 14.0},
                       sample_kernel={"value": 50.0}, sample_2_plain={"value": 30.0},
                       sample_2_plain_edges_of_batch={"value": 60},
                       sample_2_plain_rows_of_batch={"value": 40}, **PARTS)
    results.fill(found, systems)
    limits = {"lines": 40.0, "sample_2_per_line": 1.5, "sample_3_per_line": 2.0,
              "sample_kernel_per_line": 2.5, "rows_local": 30.0, "rows_remote": 30.0, "read_cold": 1.0,
              "read_warm": 1.0, "cold_rows": 50.0, "step": 30.0, "touch": 2.0, "trip": 1.0,
              "trip_tcp": 1.0, "partition": 5.0}
    return results.made(
        found, limits, systems, command="bench/compare", scale=0.5,
        machine=machine.describe(), load_before=[0, 0, 0], load_after=[1, 1, 1],
        graph={"nodes": 10, "edges": 20, "columns": 100, "training_nodes": 3},
        settings={name: f"settings of {name}" for name in systems},
        packages={"dgl": "2.1.0"}, optional_packages={"pyg-lib": "ERROR: no such version"})


class Comparison(unittest.TestCase):
    def setUp(self):
        self.result = made_result()
        self.rows = {row["name"]: row for row in self.result["rows"]}

    def cells(self, name):
        number = list(self.rows).index(name)
        return dict(zip(results.headings(self.result), results.table_rows(self.result)[number]))

    def test_ratios_are_above_one_where_graphd_is_better(self):
        rate = self.cells("sample_2")
        self.assertEqual((rate["to the best peer"], rate["of the limit"]), ("4x", "0.33"))
        time = self.cells("restart")
        self.assertEqual((time["to the best peer"], time["target here"], time["of the target here"]),
                         ("0.25x", "200 ms", "0.01"))

    def test_limits_follow_from_measurements(self):
        # 40 lines per second with 1.5 or 2.5 edges each.
        self.assertEqual(self.rows["sample_2"]["limit"], 60.0)
        self.assertEqual(self.rows["sample_kernel"]["limit"], 100.0)
        self.assertIn("reads 40 random lines per second", pages.markdown(self.result))
        self.assertEqual(self.rows["epoch"]["limit"], 10.0)
        self.assertEqual(self.rows["epoch"]["target"], 10.3)
        # A batch of 60 edges without ids at 30 per second, and 40 rows at 20 per second.
        self.assertEqual(self.rows["loader_1"]["limit"], 0.25)
        self.assertEqual(self.rows["loader_2"]["limit"], 40.0)

    def test_targets_of_random_reads_alone_are_scaled_to_the_machine(self):
        # It makes 40 random reads per second, and targets are for 60 million.
        self.assertAlmostEqual(self.rows["sample_2"]["target"], 35e6 * 40 / 60e6, 3)
        self.assertEqual(self.cells("sample_2")["nominal target"], "35 M edges/s")
        self.assertEqual({row.name for row in ROWS if row.by_machine},
                         {"sample_2", "sample_2_tcp", "embedding_step", "embedding_step_cold"})
        for name, target in (("start", 0.8), ("partition", 15), ("attach", 0.01), ("restart", 0.2)):
            self.assertEqual(self.rows[name]["target"], target)
            cells = self.cells(name)
            self.assertEqual(cells["nominal target"], cells["target here"])
        self.assertEqual(self.cells("rows_local")["nominal target"], "0.9 x the limit")
        self.assertEqual(self.rows["wire_plain_per_edge"]["target"], 4.5)

    def test_each_target_that_is_missed_has_a_reason(self):
        for result in self.result["rows"]:
            if result["target"]:  # out of reach
                result["target"] *= 1e-9 if not result["more_is_better"] else 1e9
        found = targets.missed(self.result)
        self.assertEqual(len(found), sum(1 for row in ROWS if row.target))
        self.assertEqual(set(targets.REASONS), {row.name for row in ROWS if row.target})
        reasons = {title: reason for title, _, reason in found}
        self.assertIn("draws 50 edges/s", reasons["sampling: [10,25] x 1000"])
        # 20 B on the wire, of which messages have 6 B: 4 of an id, 5 * 0.2 of seeds and others.
        self.assertIn("it has 5 edges here, which makes 1 B for each, and 0.5 B if it had all 10 of the "
                      "fanout. The structure of messages takes 1 B, and calls and the headers of TCP "
                      "and IP 14 B.",
                      reasons["bytes per edge: wire, per sampled edge, without ids of edges"])
        self.assertIn("Of the nominal target, 35 M edges/s, it reaches 0.00.",
                      reasons["sampling: [10,25] x 1000"])
        self.assertIn("computes for 14 s of 20 s, 4 s more than alone", reasons[
            "GraphSAGE epoch, 1 worker: same machine"])
        for title, reason in reasons.items():
            self.assertRegex(reason, r"graphd reaches .*\d.*[.] .*\d|kept memory takes 20 s", title)
        text = pages.markdown(self.result)
        for title, reason in reasons.items():
            self.assertIn(title, text)
            self.assertIn(reason, text)

    def test_a_limit_below_the_target_is_no_whole_reason(self):
        row = self.rows["attach"]
        row.update(limit=10.0, target=5.0)
        self.result["parts"].update(attach_connect=2.0, attach_open=1.0, attach_batch=17.0,
                                    attach_later=9.0, attach_faults=300.0)
        reasons = {title: reason for title, _, reason in targets.missed(self.result)}
        self.assertEqual(
            reasons["connect to first batch: same machine"],
            "the limit, 10 s, is itself 0.50 of the target; graphd reaches 0.50 of the "
            "limit. The connection and the answer of the daemons take 2 s, opening the graph with its "
            "book 1 s, and the first batch 17 s. The same batch takes 9 s once its memory was used; in "
            "the first one, 300 pages are touched for the first time.")

    def test_what_was_not_measured_is_left_out_of_reasons(self):
        for row in self.result["rows"]:
            if row["target"]:
                row["target"] *= 1e-9 if not row["more_is_better"] else 1e9
        self.result["parts"].clear()
        self.result["limits"].clear()
        text = pages.markdown(self.result)
        self.assertNotIn("None", text)

    def test_failures_and_absent_values_are_told_apart(self):
        self.assertEqual(self.cells("sample_2")["GraphBolt"], "failed")
        self.assertEqual(self.cells("attach")["GraphBolt"], "-")
        self.assertEqual(self.cells("rows_remote")["DGL distributed"], "failed")

    def test_pages_leave_nothing_out(self):
        text, counts = parsed(pages.report(self.result))
        markdown = pages.markdown(self.result)
        for row in self.result["rows"]:
            self.assertIn(results.title(row), text)
            self.assertIn(f"{row['detail']} |", markdown)
            self.assertEqual(set(row["values"]), set(self.result["systems"]))
        self.assertIn("OSError: <libx> | not found", text)
        self.assertIn("OSError: <libx> | not found", markdown)
        values = sum("value" in result for row in self.result["rows"]
                     for result in row["values"].values())
        self.assertEqual(counts["rect"], values)
        self.assertIn("ERROR: no such version", markdown)
        self.assertIn("**GraphBolt**: settings of GraphBolt", markdown)
        self.assertIn("used 0.5 of the graph", markdown)

    def test_the_result_survives_json(self):
        again = json.loads(json.dumps(self.result))
        self.assertEqual(pages.markdown(again), pages.markdown(self.result))

    def test_every_system_has_settings(self):
        self.assertEqual(set(pages.SETTINGS), set(SYSTEMS))


class Command(unittest.TestCase):
    def test_help_and_mistakes(self):
        done = run("compare", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bench/compare --scale", done.stdout)
        done = run("compare", "--only", "graphd,other")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no 'other'", done.stderr)


if __name__ == "__main__":
    unittest.main()
