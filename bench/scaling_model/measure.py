# SPDX-License-Identifier: Apache-2.0
"""Measures service times and profiles of mini-batches with real daemons and trainers."""

from __future__ import annotations

import dataclasses
import json
import statistics
from typing import Any, cast

import numpy as np

from scaling_model import graph
from scaling_model.fit import non_negative
from scaling_model.hosts import Hosts
from scaling_model.progress import say
from scaling_model.service_times import (
    DAEMON,
    TRAINER,
    Counts,
    DaemonTimes,
    ServiceTimes,
    TrainerTimes,
    daemon_counts,
    seconds_of,
    trainer_counts,
)
from scaling_model.session import Observed, Session, least_disturbed
from scaling_model.workload import Profile, Round, Workload, rounds

# The mini-batches that are measured: fanouts in the order of DGL, and the number of seeds.
BATCHES = (((10, 25), 1000), ((15, 10, 5), 200), ((5, 5), 400), ((25,), 1000), ((2, 2, 2), 50))
FEATURES = (None, "f16", "f64", "f256")
TINY = ((1, 1, 1), 1)


@dataclasses.dataclass(frozen=True)
class Plan:
    """The way to measure."""

    build: str
    seconds: float
    repeats: int
    nodes: int  # of the graph


def median(found: list[Observed]) -> Observed:
    """Returns the result with the median processor time, among those with little disturbance."""
    ordered = sorted(
        least_disturbed(found), key=lambda each: each.trainer_seconds + each.daemon_seconds
    )
    return ordered[(len(ordered) - 1) // 2]


def waited(observed: Observed, hosts: int) -> float:
    """Returns the seconds of a batch in which no processor worked for it."""
    seconds = hosts / observed.batches_per_second
    return seconds - observed.trainer_seconds - observed.daemon_seconds


@dataclasses.dataclass
class Line:
    """A case of measure: what was done, and what it took."""

    hosts: int
    transport: str
    work: Workload
    observed: Observed
    least_waited: float = 0.0  # seconds of a batch in which no processor worked for it

    @property
    def others(self) -> int:
        """Returns the number of machines that are asked, the trainer's own included if by TCP."""
        return self.hosts if self.transport == "tcp" else self.hosts - 1

    def rounds(self) -> list[Round]:
        new = [self.work.profile.new_nodes(i) for i in range(len(self.work.profile.frontier))]
        shares = [own / max(n, 1e-9) for own, n in zip(self.observed.local, new)]
        return rounds(
            self.work, self.others, [0.0] * len(new) if self.transport == "tcp" else shares
        )

    def counts(self) -> tuple[Counts, Counts]:
        """Returns the work of a batch at its trainer and at all daemons."""
        arguments = self.rounds(), self.work, self.others
        return trainer_counts(*arguments), daemon_counts(*arguments)

    def requests(self) -> float:
        return self.counts()[1].get("request", 0.0)


def width(feature: str | None) -> int:
    return 4 * graph.WIDTHS[feature] if feature else 0


def workload(
    observed: Observed, fanouts: tuple[int, ...], size: int, feature: str | None, nodes: int
) -> Workload:
    profile = Profile(fanouts, size, tuple(observed.frontier), tuple(observed.edges), nodes)
    return Workload(profile, width(feature))


def observe(hosts: int, transport: str, config: str, plan: Plan, tiny: bool) -> list[Line]:
    """Measures all mini-batches on some hosts whose links have no limit."""
    lines = []
    with Hosts(hosts) as made, Session(made, config, plan.build, transport) as session:
        for fanouts, size in (TINY,) if tiny else BATCHES:
            for feature in (None,) if tiny else FEATURES:
                job = {"fanouts": fanouts, "batch_size": size, "feature": feature}
                repeats = [session.measure(job, plan.seconds) for _ in range(plan.repeats)]
                found = median(repeats)
                least = min(waited(each, hosts) for each in repeats)
                work = workload(found, fanouts, size, feature, plan.nodes)
                lines.append(Line(hosts, transport, work, found, least))
                say(
                    f"{hosts} hosts, {transport}, fanouts {fanouts}, {size} seeds, {feature}: "
                    f"{found.batches_per_second:.1f} batches/s, "
                    f"{found.trainer_seconds * 1e3:.2f} + {found.daemon_seconds * 1e3:.2f} ms"
                )
    return lines


def fitted(lines: list[Line]) -> tuple[TrainerTimes, DaemonTimes]:
    trainer = [(line.counts()[0], line.observed.trainer_seconds) for line in lines]
    served = [line for line in lines if line.requests()]
    daemon = [(line.counts()[1], line.observed.daemon_seconds) for line in served]
    of_trainer, of_daemon = (
        non_negative(
            np.array([[counts.get(name, 0.0) for name in names] for counts, _ in rows]),
            np.array([took for _, took in rows]),
        )
        for rows, names in ((trainer, TRAINER), (daemon, DAEMON))
    )
    return (
        TrainerTimes(**dict(zip(TRAINER, map(float, of_trainer)))),
        DaemonTimes(**dict(zip(DAEMON, map(float, of_daemon)))),
    )


def residuals(lines: list[Line], times: ServiceTimes) -> list[dict[str, Any]]:
    """Returns what was measured beside what the fitted times say."""
    found = []
    for line in lines:
        trainer, daemon = line.counts()
        found.append(
            {
                "hosts": line.hosts,
                "transport": line.transport,
                "fanouts": line.work.profile.fanouts,
                "batch_size": line.work.profile.batch_size,
                "row_bytes": line.work.row_bytes,
                "observed": dataclasses.asdict(line.observed),
                "fitted_trainer": seconds_of(times.trainer, trainer),
                "fitted_daemon": seconds_of(times.daemon, daemon),
            }
        )
    return found


def measure(folder: str, build: str, graphctl: str, seconds: float, repeats: int) -> dict[str, Any]:
    """Returns the service times and profiles, and what they were fitted to."""
    plan = Plan(build, seconds, repeats, graph.nodes(folder))
    alone, pair = (graph.partition(folder, graphctl, parts, "random")[0] for parts in (1, 2))
    lines = observe(1, "auto", alone, plan, False) + observe(1, "auto", alone, plan, True)
    remote = observe(1, "tcp", alone, plan, True)
    lines += remote + observe(2, "auto", pair, plan, False)
    trainer, daemon = fitted(lines)
    wake = max(0.0, remote[0].least_waited / remote[0].requests())
    # Times of batches also vary because other programs run meanwhile, up to 0.6 in some cases. The sizes
    # of batches, which the simulation varies by this number, differ by less than 0.1.
    variation = min(0.1, statistics.median(line.observed.variation for line in lines))
    return results(lines, ServiceTimes(trainer, daemon, wake, variation))


def results(lines: list[Line], times: ServiceTimes) -> dict[str, Any]:
    """Returns what a file of measure has."""
    profiles = [line.work.profile for line in lines if line.hosts == 1 and not line.work.row_bytes]
    found = {
        "times": dataclasses.asdict(times),
        "profiles": [dataclasses.asdict(each) for each in dict.fromkeys(profiles)],
        "lines": residuals(lines, times),
    }
    return cast(dict[str, Any], json.loads(json.dumps(found)))  # lists instead of tuples
