#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the simulation of bench/scaling agrees with formulas where nothing overlaps, and that more
of anything good never makes it slower."""
import dataclasses
import unittest

import bench_tools  # noqa: F401  finds the modules of bench/
from scaling_model import events
from scaling_model.cluster import Cluster, simulate, wire_bytes
from scaling_model.service_times import (
    DaemonTimes,
    ServiceTimes,
    TrainerTimes,
    daemon_counts,
    seconds_of,
    trainer_counts,
)
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


if __name__ == "__main__":
    unittest.main()
