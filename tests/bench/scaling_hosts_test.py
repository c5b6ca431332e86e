#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests bench/scaling with real daemons and trainers on hosts whose links are shaped. Needs root."""
import os
import subprocess
import tempfile
import unittest

from bench_tools import build_folder
from scaling_model import graph, service_times, validate
from scaling_model.hosts import ALGORITHMS
from scaling_model.measure import Line, fitted, results, width
from scaling_model.service_times import Measured, ServiceTimes
from scaling_model.session import QUIET, described
from scaling_model.workload import Profile, Workload

NODES, DEGREE = 12_000, 20
FANOUTS, SIZE, FEATURE = (10, 5), 200, "f64"


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="graphd-scaling-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.graph = os.path.join(cls.folder.name, "graph")
        graph.make(cls.graph, NODES, DEGREE, 0.1)
        cls.build = build_folder()
        cls.graphctl = os.path.join(cls.build, "bin", "graphctl")

    def undisturbed(self, case, measured):
        """Returns the result of a case, which is tried three times while other programs disturb it."""
        for _ in range(3):
            outcome = validate.validate((case,), measured, self.graph, self.build, self.graphctl,
                                        len(os.sched_getaffinity(0)), 1.5, 1)[0]
            if outcome["disturbance"] < QUIET:
                break
        return outcome

    def test_predictions_agree_with_shaped_links(self):
        config, _ = graph.partition(self.graph, self.graphctl, 2, "random")
        profile = Profile.read(described(self.build, config, FANOUTS, SIZE))
        same = {"fanouts": FANOUTS, "batch_size": SIZE, "feature": FEATURE}
        # Service times of hosts without a limit; slow links and delay then decide.
        case = validate.Case(2, **same)
        with validate.served(case, self.graph, self.build, self.graphctl) as (session, _):
            found = validate.observe(session, case, 0.5, 1)[0]
        line = Line(2, "auto", Workload(profile, width(FEATURE)), found)
        times = ServiceTimes(*fitted([line]), 0.0, 0.05)
        measured = Measured(times, (profile,))
        # Service times can be used without a detour by a file.
        alone = Line(1, "auto", Workload(profile, 0), found)
        self.assertEqual(service_times.of(results([alone], times)), measured)
        for megabits, delay in ((20, 0), (200, 20)):
            case = validate.Case(2, megabits, delay, **same)
            outcome = self.undisturbed(case, measured)
            self.assertIn(outcome["algorithm"], ALGORITHMS)
            # Other programs may use the processors meanwhile, so that the limit is wide.
            self.assertLess(abs(outcome["error"]), 0.4, outcome)
            self.assertIn(outcome["bottleneck"], ("link", "trainers"))
            self.assertLess(outcome["measured"], found.batches_per_second / 2)
        names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True,
                               check=True).stdout
        self.assertNotIn(f"gs{os.getpid()}-", names)

    def test_the_cut_of_a_profile_is_that_of_the_graph(self):
        for method in graph.METHODS:
            config, cut = graph.partition(self.graph, self.graphctl, 4, method)
            profile = described(self.build, config, [10], 500)
            self.assertAlmostEqual(profile["cut"], cut, delta=0.03)
            self.assertEqual((profile["nodes"], profile["edges"]), (NODES, [5000]))
            self.assertEqual(profile["parts"], 4)
            Profile.read(profile)
        config, _ = graph.partition(self.graph, self.graphctl, 1, "random")
        self.assertIsNone(described(self.build, config, [10], 500)["cut"])
        with self.assertRaisesRegex(RuntimeError, "can't be sampled"):
            described(self.build, os.path.join(self.folder.name, "none.json"), [10], 500)


if __name__ == "__main__":
    unittest.main()
