#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the simulation of bench/scaling agrees with formulas where nothing overlaps, and that more
of anything good never makes it slower."""
import contextlib
import dataclasses
import io
import json
import os
import tempfile
import unittest
from unittest import mock
from xml.etree import ElementTree

from bench_tools import ROOT, parsed, run
from scaling_model import command, events, graph, measure, pages, plot, validate
from scaling_model.checked import InvalidError
from scaling_model.cluster import Cluster, simulate, wire_bytes
from scaling_model.service_times import (
    DaemonTimes,
    ServiceTimes,
    TrainerTimes,
    daemon_counts,
    seconds_of,
    trainer_counts,
)
from scaling_model.session import Observed
from scaling_model.workload import (
    ROWS_WITH_HOP,
    Growth,
    Profile,
    Workload,
    messages,
    rounds,
    spread,
)

PROFILE = Profile((10, 25), 1000, (1000.0, 18000.0, 85000.0), (20000.0, 180000.0), 120_000)
PROFILE_FILE = {"fanouts": [10, 25], "batch_size": 1000, "frontier": [1000, 18000, 85000],
                "edges": [20000, 180000], "nodes": 120_000}
WORK = Workload(PROFILE, row_bytes=256)
TIMES = ServiceTimes(
    TrainerTimes(batch=1e-4, round=1e-5, seed=1e-7, edge=1e-8, row=1e-8, row_byte=1e-10, request=5e-5,
                 remote_seed=1e-7, remote_edge=1e-8, remote_row=3e-8, remote_byte=3e-10),
    DaemonTimes(request=3e-5, seed=1e-7, edge=1e-8, row=1e-8, byte=3e-10), wake=0.0, variation=0.0)
FREE = ServiceTimes(TrainerTimes(), DaemonTimes(), 0.0, 0.0)


def rate(cluster, work=WORK, times=TIMES, steps=12):
    return simulate(cluster, work, times, steps).batches_per_second


def needed_seconds(cluster, work, times):
    """Returns the processor time of a mini-batch at all machines."""
    found, others = cluster.rounds(work), cluster.machines - 1
    return (seconds_of(times.trainer, trainer_counts(found, work, others))
            + seconds_of(times.daemon, daemon_counts(found, work, others)))


def link_bytes(cluster, work):
    """Returns the bytes of a mini-batch on its trainer's link, in both directions."""
    return (cluster.machines - 1) * sum(
        wire_bytes(message.asked, 0) + wire_bytes(message.answered, 0)
        for each in cluster.rounds(work) for message in messages(work, each.remote))


class Formulas(unittest.TestCase):
    def near(self, found, expected, share=0.01):
        self.assertLess(abs(found / expected - 1), share, (found, expected))

    def test_a_machine_takes_the_sum_of_its_service_times(self):
        trainer, (hop, second, last) = TIMES.trainer, PROFILE.frontier
        seconds = (trainer.batch + 3 * trainer.round + trainer.seed * (hop + second)
                   + trainer.edge * sum(PROFILE.edges)
                   + last * (trainer.row + WORK.row_bytes * trainer.row_byte))
        self.near(rate(Cluster(1, cores=2)), 1 / seconds)
        # Computation comes after it, and two trainers share one core.
        self.near(rate(Cluster(1, cores=2, compute=0.01)), 1 / (seconds + 0.01))
        self.near(rate(Cluster(1, cores=1, trainers=2)), 1 / seconds)
        self.near(rate(Cluster(1, cores=2, trainers=2)), 2 / seconds)

    def test_a_worker_hides_the_step_of_the_trainer(self):
        alone = 1 / rate(Cluster(1, cores=2))
        self.near(rate(Cluster(1, cores=2, workers=1, device=4 * alone)), 1 / (4 * alone), 0.02)
        self.near(rate(Cluster(1, cores=2, workers=1, device=alone / 4)), 1 / alone, 0.02)

    def test_a_busy_link_passes_its_rate(self):
        for machines in (2, 4, 32):
            cluster = Cluster(machines, 8, link_rate=1e7, workers=4)
            needed = link_bytes(cluster, WORK)
            outcome = simulate(cluster, WORK, FREE, steps=12)
            self.near(outcome.batches_per_second, machines * 1e7 / 8 / needed, 0.06)
            self.assertEqual(outcome.bottleneck, "link")

    def test_busy_processors_do_what_their_time_allows(self):
        cluster = Cluster(4, 2, shared_cores=True)
        needed = needed_seconds(cluster, WORK, TIMES)
        outcome = simulate(cluster, WORK, TIMES)
        self.near(outcome.batches_per_second, 2 / needed, 0.03)
        self.assertEqual(outcome.bottleneck, "processor")

    def test_latency_is_paid_in_each_round_that_leaves_the_machine(self):
        # The seeds are local, so that two of three rounds leave it, by a way there and one back.
        self.near(rate(Cluster(2, 2, latency=0.01), times=FREE), 2 / (2 * 0.02))
        self.near(rate(Cluster(2, 2, latency=0.01, workers=3), times=FREE), 3 * 2 / (2 * 0.02), 0.05)
        woken = dataclasses.replace(FREE, wake=0.005)
        self.near(rate(Cluster(2, 2, latency=0.01), times=woken), 2 / (2 * 0.025))

    def test_without_cut_machines_do_not_meet(self):
        alone, pair = (rate(Cluster(m, 2, link_rate=1e6, cut=0.0)) for m in (1, 2))
        # Batches are smaller, because all neighbours are in a half of the graph.
        self.assertGreater(pair, 2 * alone)
        self.assertEqual(link_bytes(Cluster(2, 2, cut=0.0), WORK), 0)

    def test_all_rows_in_the_cache_leave_hops_only(self):
        cached = dataclasses.replace(WORK, hit_rate=1.0)
        nothing = dataclasses.replace(WORK, row_bytes=0)
        all_of, none_of = (link_bytes(Cluster(2, 2), work) for work in (cached, nothing))
        self.near(all_of, none_of)


class Directions(unittest.TestCase):
    def assert_rising(self, values):
        for low, high in zip(values, values[1:]):
            self.assertGreaterEqual(high, 0.999 * low, values)
        self.assertGreater(values[-1], 1.01 * values[0])

    def test_more_is_never_slower(self):
        base = Cluster(4, 4, link_rate=1e9, latency=1e-4)
        for changes in ([{"link_rate": each} for each in (1e8, 1e9, 1e10, 1e11)],
                        [{"latency": each} for each in (1e-2, 1e-3, 1e-4)],
                        [{"cut": each} for each in (0.75, 0.4, 0.1, 0.01)],
                        [{"workers": each, "device": 0.05} for each in (0, 1, 2)]):
            self.assert_rising([rate(dataclasses.replace(base, **each)) for each in changes])
        self.assert_rising([rate(base, dataclasses.replace(WORK, hit_rate=each))
                            for each in (0.0, 0.5, 0.9)])
        self.assert_rising([rate(base, dataclasses.replace(WORK, row_bytes=each))
                            for each in (1600, 400, 64, 0)])
        self.assert_rising([rate(dataclasses.replace(base, machines=each)) for each in (2, 4, 9, 64)])

    def test_the_seed_determines_the_result(self):
        varied = dataclasses.replace(TIMES, variation=0.1)
        cluster = Cluster(3, 2, link_rate=1e8, workers=2)
        first = simulate(cluster, WORK, varied, steps=8)
        self.assertEqual(simulate(cluster, WORK, varied, steps=8), first)
        self.assertNotEqual(simulate(cluster, WORK, varied, steps=8, seed=2), first)

    def test_nine_machines_can_stand_for_more(self):
        # Ten are simulated by nine: the next one continues the line.
        counts = [rate(Cluster(m, 4, link_rate=1e9, workers=2)) for m in (8, 9, 10, 11)]
        for before, after in zip(counts, counts[1:]):
            self.assertTrue(1.05 < after / before < 1.2, counts)


class Batches(unittest.TestCase):
    def test_random_placement_spreads_nodes_evenly(self):
        for machines in (2, 4, 16):
            profile, shares = spread(PROFILE, machines, (machines - 1) / machines)
            self.assertEqual(shares[0], 1.0)
            for share in shares[1:]:
                self.assertAlmostEqual(share, 1 / machines, delta=0.03)
            self.assertAlmostEqual(profile.frontier[-1] / PROFILE.frontier[-1], 1, delta=0.03)

    def test_growth_passes_the_points_of_the_profile(self):
        growth = Growth(PROFILE)
        self.assertAlmostEqual(growth.found(21_000, 120_000), 18_000, delta=1)
        self.assertAlmostEqual(growth.found(201_000, 120_000), 85_000, delta=1)
        self.assertAlmostEqual(growth.found(20_100, 12_000), 8_500, delta=1)
        self.assertEqual(growth.found(1e9, 12_000), 12_000)
        self.assertEqual(growth.found(10, 120_000), 10)

    def test_rounds_read_everything_once(self):
        found = rounds(WORK, 3, [1.0, 0.25, 0.25])
        for name, total in (("seeds", 19_000), ("edges", 200_000), ("rows", 85_000)):
            read = sum(getattr(r.local, name) + 3 * getattr(r.remote, name) for r in found)
            self.assertAlmostEqual(read, total, delta=1e-6)

    def test_large_rows_travel_apart(self):
        part = rounds(WORK, 1, [1.0, 0.5, 0.5])[2].remote
        self.assertGreater(part.row_bytes(256), ROWS_WITH_HOP)
        several = messages(WORK, part)
        self.assertTrue(all(each.bulk for each in several))
        self.assertAlmostEqual(sum(each.rows for each in several), part.rows)
        self.assertGreater(sum(each.answered for each in several), part.rows * 256)
        self.assertEqual(len(messages(dataclasses.replace(WORK, row_bytes=64), part)), 1)

    def test_frames_have_headers(self):
        self.assertAlmostEqual(wire_bytes(1448e3, 0) / 1514e3, 1, delta=0.005)
        self.assertGreater(wire_bytes(1448e3, 24), 1538e3)


class Engine(unittest.TestCase):
    def test_tasks_share_cores_evenly(self):
        clock, ends = events.Clock(), {}
        cores = events.Cores(clock, 2)
        for name, seconds in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
            cores.run(seconds).then(lambda name=name: ends.update({name: clock.now}))
        clock.run()
        # Three on two cores have 2/3 each until a and b have had 1 s; then c has a core.
        self.assertEqual({name: round(end, 9) for name, end in ends.items()},
                         {"a": 1.5, "b": 1.5, "c": 2.5})
        self.assertAlmostEqual(cores.busy_seconds, 4.0)

    def test_new_flows_come_first(self):
        clock, ends = events.Clock(), {}
        port = events.Port(clock, 10.0)
        for name, flow in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")):
            port.send(flow, 10.0).then(lambda name=name: ends.update({name: clock.now}))
        clock.run()
        self.assertEqual(ends, {"a1": 1.0, "b1": 2.0, "a2": 3.0, "a3": 4.0})


class Command(unittest.TestCase):
    def test_predictions_are_a_table_and_curves(self):
        with tempfile.TemporaryDirectory(prefix="graphd-scaling-test-") as folder:
            svg, out = (os.path.join(folder, name) for name in ("a.svg", "a.json"))
            done = run("scaling", "predict", "--machines", "1,2", "--gigabits", "1,100", "--cut",
                       "0.1,random", "--trainers", "1", "--svg", svg, "--json", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 x 1 Gbit/s, random placement", done.stdout)
            with open(svg, encoding="utf-8") as file:
                text, counts = parsed(file.read())
            self.assertIn("100 Gbit/s, cut 0.1", text)
            self.assertEqual(counts["{http://www.w3.org/2000/svg}polyline"], 4)
            with open(out, encoding="utf-8") as file:
                rows = json.load(file)["predictions"]
            self.assertEqual(len(rows), 8)
            slow, fast = (next(row["batches_per_second"] for row in rows
                               if row["machines"] == 2 and row["cut"] is None
                               and row["gigabits"] == gigabits) for gigabits in (1, 100))
            self.assertGreater(fast, 2 * slow)

    def predicted(self, *arguments):
        """Returns the rows and the lines of a prediction for small, quick clusters."""
        with tempfile.TemporaryDirectory(prefix="graphd-scaling-test-") as folder:
            out, svg = (os.path.join(folder, name) for name in ("a.json", "a.svg"))
            done = run("scaling", "predict", "--gigabits", "1", "--trainers", "1", "--json", out,
                       "--svg", svg, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding="utf-8") as file:
                rows = json.load(file)["predictions"]
            with open(svg, encoding="utf-8") as file:
                _, counts = parsed(file.read())
        return rows, done, counts["{http://www.w3.org/2000/svg}polyline"]

    def test_rates_are_compared_with_the_least_number_of_machines(self):
        rows, done, _ = self.predicted("--machines", "4,2")
        self.assertIn("   of 2  ", done.stdout)
        few, more = (row["batches_per_second"] for row in rows)
        self.assertIn(f" {more / few:.2f} ", done.stdout)
        self.assertNotIn("of 1", done.stdout)

    def test_profiles_keep_their_names_and_their_cuts(self):
        with tempfile.TemporaryDirectory(prefix="graphd-scaling-test-") as folder:
            paths = [os.path.join(folder, name) for name in ("a.profile", "b.profile", "one.profile")]
            for path, cut, scale in zip(paths, (0.02, 0.4, None), (1, 2, 1)):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({**PROFILE_FILE, "cut": cut, "nodes": scale * 120_000}, file)
            rows, done, lines = self.predicted("--machines", "2", "--profile", *paths)
            self.assertEqual([row["cut"] for row in rows], [0.02, 0.4, None])
            self.assertEqual([row["profile"] for row in rows], paths)
            self.assertEqual(lines, 3)
            for path in paths:
                self.assertIn(f"({path})", done.stdout)
            self.assertIn("a cut of 0.02", done.stderr)
            rates = [row["batches_per_second"] for row in rows]
            self.assertGreater(rates[0], 1.5 * rates[1])
            given, _, _ = self.predicted("--machines", "2", "--profile", *paths, "--cut", "random")
            self.assertEqual({row["cut"] for row in given}, {None})

    def test_mistakes_are_named(self):
        for arguments, said in ((("--cut", "2"), "from 0 to 1"), (("--machines", "0"), "from 1"),
                                (("--gigabits", "x"), "expected numbers"),
                                (("--gigabits", "nan"), "from 0.001 to 100000"),
                                (("--trainers", "65"), "from 1 to 64"),
                                (("--workers", "1000000"), "from 0 to 64"),
                                (("--cores", "4097"), "from 1 to 4096"),
                                (("--row_bytes", "1048577"), "from 0 to 1048576"),
                                (("--latency", "inf"), "from 0 to 10000000"),
                                (("--machines", ",".join(["1"] * 1025)), "at most 1024"),
                                (("--json", "/nonexistent/a.json"), "/nonexistent is no folder"),
                                (("--fanouts", "3"), "have not been measured"),
                                (("--times", "/nonexistent"), "/nonexistent can't be read"),
                                (("--profile", os.path.join(ROOT, "docs", "performance.json")),
                                 "there is no 'fanouts'; make it again by bench/scaling profile")):
            self.assert_refused(run("scaling", "predict", *arguments), said, arguments)
        done = run("scaling", "validate", "--write_docs", "--cases", "1 host")
        self.assert_refused(done, "without --cases", ())

    def assert_refused(self, done, said, about):
        self.assertIn(done.returncode, (1, 2), about)
        self.assertIn(said, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_wrong_values_of_files_are_named(self):
        with open(pages.DATA, encoding="utf-8") as file:
            whole = json.load(file)
        measured = whole["measured"]
        times = measured["times"]
        profile = ("predict", "--profile")
        read_times = ("predict", "--times")
        again = ("validate", "--write_docs")
        for arguments, values, said in (
                (profile, {**PROFILE_FILE, "nodes": 0}, "'nodes' is 0; expected a whole number from 1"),
                (profile, {**PROFILE_FILE, "frontier": [1000, 18000]}, "expected 3 numbers"),
                (profile, {**PROFILE_FILE, "frontier": [1000, 900, 90000]}, "that do not fall"),
                (profile, {**PROFILE_FILE, "frontier": [1000, 18000, 120001]}, "to 120000"),
                (profile, {**PROFILE_FILE, "edges": [1, float("nan")]}, "unlike nan"),
                (profile, {**PROFILE_FILE, "batch_size": "x"}, "'batch_size' is 'x'"),
                (profile, {**PROFILE_FILE, "fanouts": []}, "a list that is not empty"),
                (profile, {**PROFILE_FILE, "cut": 1.5}, "'cut' is 1.5; expected a number from 0 to 1"),
                (profile, [], "there is no 'fanouts'"),
                (read_times, {}, "there is no 'times.trainer'"),
                (read_times, {**measured, "times": {**times, "wake": -1}}, "'times.wake' is -1"),
                (read_times, {**measured, "times": {**times, "daemon": {**times["daemon"], "new": 1}}},
                 "'times.daemon' is ['new']"),
                (read_times, {**measured, "profiles": {}}, "'profiles' is {}"),
                (again, {}, "there is no 'measured'")):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(values, file)
                file.flush()
                done = run("scaling", *arguments, file.name)
                self.assert_refused(done, said, said)
                self.assertIn(file.name, done.stderr)
                self.assertRegex(done.stderr, "; (give a file of|make it again by) bench/scaling")

        # These would write the page if they were taken.
        for values, said in (
                (measured, "there is no 'measured'"),
                ({**whole, "cores": 0}, "'cores' is 0"),
                ({**whole, "cases": []}, "'cases' is []"),
                ({**whole, "cases": [{**whole["cases"][0], "case": {}}]}, "'case' is {}"),
                ({**whole, "cases": [{**whole["cases"][0], "measured": 0}]}, "'measured' is 0")):
            with self.assertRaises(InvalidError) as raised:
                validate.predicted_again(values)
            self.assertIn(said, str(raised.exception))

    def test_the_exit_code_follows_from_the_limit_that_is_given(self):
        cases = [{"title": "far", "error": -0.2}, {"title": "near", "error": 0.1}]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual([command.exit_code(cases, within) for within in (None, 15, 25)], [0, 1, 0])
        self.assertEqual(said.getvalue(), "bench/scaling: far is off by -20.0%, more than 15 %\n")

    def test_help_has_examples(self):
        self.assertIn("bench/scaling predict --gigabits", run("scaling", "--help").stdout)


class KeptGraph(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="graphd-scaling-test-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "graph")

    def made_again(self, *arguments):
        """Makes the graph; returns whether that wrote its files."""
        edges = os.path.join(self.folder, "edges.npy")
        mark = os.path.join(self.folder, "kept")
        if os.path.exists(edges):
            with open(mark, "w", encoding="utf-8"):
                pass
        graph.make(self.folder, *arguments)
        self.assertTrue(os.path.exists(edges))
        return not os.path.exists(mark)

    def test_a_graph_is_kept_while_all_that_it_depends_on_is_the_same(self):
        self.assertTrue(self.made_again(1200, 5, 0.1))
        self.assertFalse(self.made_again(1200, 5, 0.1))
        self.assertTrue(self.made_again(2400, 5, 0.1))
        self.assertEqual(graph.nodes(self.folder), 2400)
        self.assertTrue(self.made_again(2400, 5, 0.2))
        with mock.patch.object(graph, "source", return_value={"source": "another"}):
            self.assertTrue(self.made_again(2400, 5, 0.2))
        self.assertTrue(self.made_again(2400, 5, 0.2))
        self.assertEqual(set(graph.source()), {"source", "numpy"})

    def test_half_a_description_is_no_graph(self):
        self.made_again(1200, 5, 0.1)
        with open(os.path.join(self.folder, graph.SHAPE), "w", encoding="utf-8") as file:
            file.write('{"nodes": 12')
        self.assertTrue(self.made_again(1200, 5, 0.1))


class Plot(unittest.TestCase):
    def lines(self, series, kind="polyline"):
        root = ElementTree.fromstring(plot.curves("t", "x", "y", series))
        return root, root.findall("{http://www.w3.org/2000/svg}" + kind)

    def test_the_vertical_axis_always_has_labels(self):
        for ys in ((7.0, 8.0), (11.0, 19.0), (1.0, 1000.0), (0.031, 0.033), (5e6, 6e6), (3.0, 3.0)):
            low, high = min(ys) / 1.2, max(ys) * 1.2
            found = plot.ticks(low, high)
            self.assertTrue(3 <= len(found) <= 12, (ys, found))
            self.assertTrue(all(low <= each <= high for each in found))
            self.assertEqual(len({plot.label(each) for each in found}), len(found))
        self.assertEqual([plot.label(each) for each in (0.5, 20, 2000, 1.5e6)],
                         ["0.5", "20", "2k", "1.5M"])

    def test_many_curves_can_be_told_apart_and_have_room(self):
        series = {f"a rather long name of a curve, {i}": [(1.0, 1.0 + i), (2.0, 2.0)] for i in range(20)}
        root, curves = self.lines(series)
        looks = {(each.get("stroke"), each.get("stroke-dasharray")) for each in curves}
        self.assertEqual(len(looks), 18)  # three kinds of lines in six colours, and then again
        *_, width, height = map(float, root.get("viewBox").split())
        for text in root.findall("{http://www.w3.org/2000/svg}text"):
            if text.text in series:
                self.assertLess(float(text.get("x")) + 6.5 * len(text.text), width)
                self.assertLess(float(text.get("y")), height)


class Page(unittest.TestCase):
    def setUp(self):
        with open(pages.DATA, encoding="utf-8") as file:
            self.run_of_docs = json.load(file)

    def test_the_page_and_its_curves_are_made_from_its_data(self):
        with open(pages.PAGE, encoding="utf-8") as file:
            text = file.read()
        hint = "write it again: bench/scaling validate --write_docs docs/scaling.json"
        self.assertEqual(text, pages.page(text, self.run_of_docs), hint)
        for name, svg in pages.plots(self.run_of_docs).items():
            with open(os.path.join(pages.IMAGES, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), svg, hint)
            self.assertIn(f"_static/{name}", text)

    def test_the_service_times_follow_from_what_was_measured(self):
        names = {field.name for field in dataclasses.fields(Observed)}
        measured, lines = self.run_of_docs["measured"], []
        for each in measured["lines"]:
            observed = Observed(**{k: v for k, v in each["observed"].items() if k in names})
            profile = Profile(tuple(each["fanouts"]), each["batch_size"], tuple(observed.frontier),
                              tuple(observed.edges), measured["profiles"][0]["nodes"])
            lines.append(measure.Line(each["hosts"], each["transport"],
                                      Workload(profile, each["row_bytes"]), observed))
        for found, part in zip(measure.fitted(lines), ("trainer", "daemon")):
            for name, seconds in measured["times"][part].items():
                self.assertAlmostEqual(getattr(found, name) * 1e9, seconds * 1e9, 4, (part, name))

    def test_the_data_has_cases_of_each_number_of_hosts(self):
        hosts = {case["case"]["hosts"] for case in self.run_of_docs["cases"]}
        self.assertEqual(hosts, {1, 2, 3, 4})
        self.assertGreaterEqual(len(self.run_of_docs["cases"]), 10)

    def test_plots_escape_names(self):
        text, _ = parsed(plot.curves("a<b", "x", "y", {"s&t": [(1.0, 2.0), (2.0, 3.0)]}))
        self.assertIn("s&t", text)


if __name__ == "__main__":
    unittest.main()
