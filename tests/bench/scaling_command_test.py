#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the command bench/scaling, the files it reads, its graph, its curves and its page."""
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
from scaling_model import command, graph, inputs, measure, pages, plot, recorded
from scaling_model.checked import InvalidError
from scaling_model.options import parser
from scaling_model.predict import Machines
from scaling_model.session import Observed
from scaling_model.workload import Profile, Workload

PROFILE_FILE = {"fanouts": [10, 25], "batch_size": 1000, "frontier": [1000, 18000, 85000],
                "edges": [20000, 180000], "nodes": 120_000}


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
        many = ",".join(map(str, range(1, 34)))
        for arguments, said in ((("--cut", "2"), "from 0 to 1"), (("--machines", "0"), "from 1"),
                                (("--gigabits", "x"), "expected numbers"),
                                (("--gigabits", "nan"), "from 0.001 to 100000"),
                                (("--trainers", "65"), "from 1 to 64"),
                                (("--workers", "1000000"), "from 0 to 64"),
                                (("--cores", "4097"), "from 1 to 4096"),
                                (("--row_bytes", "1048577"), "from 0 to 1048576"),
                                (("--latency", "inf"), "from 0 to 10000000"),
                                (("--machines", ",".join(["1"] * 1025)), "at most 1024"),
                                (("--cut", ",".join(["random"] * 1025)), "at most 1024"),
                                (("--machines", many, "--row_bytes", many, "--gigabits", "1"),
                                 "1089 combinations"),
                                (("--json", "/nonexistent/a.json"), "/nonexistent is not a folder")):
            self.assert_refused(run("scaling", "predict", *arguments), 2, said, arguments)
        for arguments, said in ((("--write_docs", "--cases", "1 host"), "without --cases"),
                                (("--cases", "nosuch"), "no case has 'nosuch' in its title")):
            self.assert_refused(run("scaling", "validate", *arguments), 2, said, arguments)
        for arguments, said in ((("--fanouts", "3"), "have not been measured"),
                                (("--machines", "2", "--row_bytes", "1048576"),
                                 "MiB of rows from one machine; give fewer --row_bytes"),
                                (("--times", "/nonexistent"), "/nonexistent can't be read"),
                                (("--profile", os.path.join(ROOT, "docs", "performance.json")),
                                 "there is no 'fanouts'; make it again by bench/scaling profile")):
            self.assert_refused(run("scaling", "predict", *arguments), 1, said, arguments)

    def test_batches_that_are_too_large_are_refused(self):
        nodes = 10**9
        large = {"fanouts": [10, 10], "batch_size": 1, "frontier": [nodes // 10, nodes, nodes],
                 "edges": [nodes, 10 * nodes], "nodes": nodes}
        with tempfile.NamedTemporaryFile("w", suffix=".profile") as file:
            json.dump(large, file)
            file.flush()
            done = run("scaling", "predict", "--machines", "2", "--row_bytes", "0",
                       "--profile", file.name)
        self.assert_refused(done, 1, "nodes; give a smaller batch", ())

    def test_the_usual_options_are_those_of_machines(self):
        args = parser().parse_args(["predict"])
        self.assertEqual(Machines(args.cores, args.trainers, args.workers, args.latency / 1e6,
                                  args.compute / 1e3, args.device / 1e3), Machines())

    def assert_refused(self, done, code, said, about):
        self.assertEqual(done.returncode, code, about)
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
                (profile, {**PROFILE_FILE, "frontier": [1000, 18000]}, "a list of 3 numbers, one more"),
                (profile, {**PROFILE_FILE, "edges": [1]}, "of 2 numbers, one for each fanout"),
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
                (read_times, {**measured, "times": {**times, "trainer": 5}},
                 "'times.trainer' is 5; expected an object"),
                (read_times, {"times": {"trainer": 5}}, "'times.trainer' is 5; expected an object"),
                (read_times, {**measured, "times": {**times, "wake": 10**400}},
                 "'times.wake' is 1" + 59 * "0" + "..."),
                (again, {}, "there is no 'measured'")):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(values, file)
                file.flush()
                done = run("scaling", *arguments, file.name)
                self.assert_refused(done, 1, said, said)
                self.assertIn(file.name, done.stderr)
                self.assertRegex(done.stderr, "; (give a file of|make it again by) bench/scaling")

        # These would write the page if they were taken.
        first, line = whole["cases"][0], measured["lines"][0]
        case = first["case"]

        def with_case(**changed):
            return {**whole, "cases": [{**first, **changed}]}

        without_cable = {name: value for name, value in first.items() if name != "cable_seconds"}

        def with_measured(**changed):
            return {**whole, "measured": {**measured, **changed}}

        for values, said in (
                (measured, "there is no 'measured'"),
                ({**whole, "cores": 0}, "'cores' is 0"),
                ({**whole, "cases": []}, "'cases' is []"),
                ({**whole, "load_before": 5}, "'load_before' is 5; expected a list"),
                ({**whole, "load_before": [5]}, "a list of 3 numbers, of 1, 5 and 15 minutes"),
                ({**whole, "seconds": "x"}, "'seconds' is 'x'"),
                ({**whole, "repeats": None}, "'repeats' is None"),
                (with_measured(lines=5), "'lines' is 5; expected a list"),
                (with_measured(lines=[{}]), "there is no 'fitted_trainer'"),
                (with_measured(lines=[{**line, "fitted_daemon": "x"}]), "'fitted_daemon' is 'x'"),
                (with_measured(lines=[{**line, "observed": 5}]),
                 "there is no 'observed.trainer_seconds'"),
                (with_measured(lines=[{**line, "observed": {**line["observed"], "trainer_seconds": 0}}]),
                 "'observed.trainer_seconds' is 0"),
                (with_measured(lines=[{**line, "fitted_trainer": 0, "fitted_daemon": 0}]),
                 "a fitted time above 0 in one of them"),
                (with_measured(machine=5), "'machine' is 5; expected an object"),
                (with_measured(machine={**measured["machine"], "build": {}}), "'machine.build.type'"),
                (with_measured(load_after=[1, 2, "x"]), "unlike 'x'"),
                (with_case(case={}), "'case' is {}"),
                (with_case(measured=0), "'measured' is 0"),
                (with_case(title=5), "'title' is 5; expected a text"),
                (with_case(repeats=5), "'repeats' is 5; expected a list"),
                (with_case(disturbance=2), "'disturbance' is 2; expected a number from 0 to 1"),
                (with_case(algorithm=5), "'algorithm' is 5"),
                ({**whole, "cases": [without_cable]}, "there is no 'cable_seconds'"),
                (with_case(case={**case, "feature": "f999"}),
                 "'case.feature' is 'f999'; expected one of null, 'f16', 'f64', 'f256'"),
                (with_case(case={**case, "feature": ["f16"]}), "'case.feature' is ['f16']"),
                (with_case(case={**case, "method": None}), "'case.method' is None"),
                (with_case(case={**case, "megabits": "x"}), "'case.megabits' is 'x'"),
                (with_case(case={**case, "compute": "x"}), "'case.compute' is 'x'"),
                (with_case(case={**case, "delay": -1}), "'case.delay' is -1"),
                (with_case(case={**case, "workers": 0.5}), "'case.workers' is 0.5"),
                (with_case(case={**case, "batch_size": []}), "'case.batch_size' is []"),
                (with_case(case={**case, "row_cache": 1}), "'case.row_cache' is 1")):
            with self.subTest(said), self.assertRaises(InvalidError) as raised:
                recorded.predicted_again(values)
            self.assertIn(said, str(raised.exception))

    def test_a_page_is_made_only_of_files_that_have_all_of_it(self):
        with open(pages.DATA, encoding="utf-8") as file:
            measured = json.load(file)["measured"]
        del measured["machine"]
        said = io.StringIO()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file, contextlib.redirect_stderr(said):
            json.dump(measured, file)
            file.flush()
            self.assertEqual(inputs.measured_values(file.name), measured)
            with self.assertRaisesRegex(SystemExit, "there is no 'machine'"):
                inputs.measured_values(file.name, recorded.check_measured)

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

    def test_cases_that_are_far_off_say_what_they_took(self):
        times = {"processor_seconds": 0.0025, "cable_seconds": 0.001}
        far = {"title": "far", "error": 0.2, "core_use": 0.6, "predicted": 400.0, **times}
        near = {**far, "title": "near", "error": -0.14}
        some = self.run_of_docs["cases"][0]
        run_ = {**self.run_of_docs, "cores": 2, "cases": [{**some, **far}, {**some, **near}]}
        self.assertEqual(pages.work(run_), [
            "far: a batch took 2.5 ms of processors, predicted 3 ms, and the program that delays frames "
            "1 ms"])
        self.assertIn("\n\n- " + pages.work(run_)[0], pages.validation(run_))
        self.assertIn("\n" + pages.work(run_)[0], pages.validation_text(run_))

    def test_the_page_says_which_congestion_control_there_was(self):
        some = {key: value for key, value in self.run_of_docs["cases"][0].items() if key != "algorithm"}
        run_ = {**self.run_of_docs, "cases": [some]}
        self.assertNotIn("congestion", pages.validation(run_))
        run_["cases"] = [{**some, "algorithm": each} for each in ("cubic", "cubic", "reno")]
        self.assertIn("before. TCP's congestion control was cubic and reno.\n", pages.validation(run_))

    def test_the_data_has_cases_of_each_number_of_hosts(self):
        hosts = {case["case"]["hosts"] for case in self.run_of_docs["cases"]}
        self.assertEqual(hosts, {1, 2, 3, 4})
        self.assertGreaterEqual(len(self.run_of_docs["cases"]), 10)

    def test_plots_escape_names(self):
        text, _ = parsed(plot.curves("a<b", "x", "y", {"s&t": [(1.0, 2.0), (2.0, 3.0)]}))
        self.assertIn("s&t", text)


if __name__ == "__main__":
    unittest.main()
