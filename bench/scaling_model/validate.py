# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with real daemons and trainers on hosts with shaped links."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import statistics
from collections.abc import Iterator
from typing import Any

from scaling_model import graph
from scaling_model.cluster import Cluster, Outcome, simulate
from scaling_model.hosts import Hosts
from scaling_model.measure import width
from scaling_model.progress import say
from scaling_model.service_times import Measured
from scaling_model.session import Observed, Session, least_disturbed
from scaling_model.workload import Workload

MEGABIT = 1e6


@dataclasses.dataclass(frozen=True)
class Case:
    """A cluster and what its trainers do."""

    hosts: int
    megabits: float | None = None  # the rate of each link; None: not shaped
    delay: float = 0.0  # milliseconds from one host to another
    fanouts: tuple[int, ...] = (10, 25)
    batch_size: int = 1000
    feature: str | None = "f64"
    method: str = "random"
    workers: int = 0
    compute: float = 0.0  # milliseconds of a step
    row_cache: str = ""

    @property
    def place(self) -> tuple[Any, ...]:
        """Returns what cases that share daemons have in common."""
        return self.hosts, self.megabits, self.delay, self.method, self.row_cache

    def title(self) -> str:
        words = [f"{self.hosts} hosts" if self.hosts > 1 else "1 host"]
        if self.hosts > 1:
            words.append(f"{self.megabits:g} Mbit/s" if self.megabits else "no limit")
            words.append(f"{self.delay:g} ms" if self.delay else "")
            words.append("communities" if self.method == "communities" else "")
        words.append(f"[{','.join(map(str, self.fanouts))}] x {self.batch_size}")
        words.append(f"{width(self.feature)} B" if self.feature else "no rows")
        words.append(f"{self.workers} workers" if self.workers else "")
        words.append(f"{self.compute:g} ms of computation" if self.compute else "")
        words.append("row cache" if self.row_cache else "")
        return ", ".join(word for word in words if word)


DEEP: dict[str, Any] = {"fanouts": (15, 10, 5), "batch_size": 200}
SMALL: dict[str, Any] = {"fanouts": (5, 5), "batch_size": 400}
CASES = (
    Case(1),
    Case(1, feature=None, **DEEP),
    Case(1, feature="f256", **SMALL),
    Case(2),
    Case(2, feature=None, **DEEP),
    Case(2, 1000),
    Case(2, 1000, feature="f256", **SMALL),
    Case(2, 200),
    Case(2, 200, feature=None, **DEEP),
    Case(2, 100, feature="f16", **SMALL),
    Case(2, 500, workers=2, compute=20),
    Case(2, 200, row_cache="16MiB"),
    Case(2, 1000, 10, feature="f16", **SMALL),
    Case(2, 500, 2, fanouts=(2, 2, 2), batch_size=50, feature="f16"),
    Case(3, 200),
    Case(3, 1000, feature="f16", **DEEP),
    Case(3, 500, 5, **SMALL),
    Case(4, feature="f16", **SMALL),
    Case(4, 100),
    Case(4, 500, feature="f256", **SMALL),
    Case(4, 100, method="communities"),
    Case(4, 1000, 20, fanouts=(2, 2, 2), batch_size=50, feature="f256"),
)


def cluster(case: Case, cut: float, cores: int) -> Cluster:
    return Cluster(
        case.hosts,
        cores,
        case.megabits * MEGABIT if case.megabits else None,
        case.delay / 1e3,
        cut,
        workers=case.workers,
        compute=case.compute / 1e3,
        shared_cores=True,
    )


def predict(case: Case, cut: float, cores: int, measured: Measured, hit_rate: float) -> Outcome:
    work = Workload(measured.profile(case.fanouts, case.batch_size), width(case.feature), hit_rate)
    return simulate(cluster(case, cut, cores), work, measured.times)


@contextlib.contextmanager
def served(case: Case, folder: str, build: str, graphctl: str) -> Iterator[tuple[Session, float]]:
    """Starts the hosts, daemons and trainers of a case; yields them with the cut."""
    config, cut = graph.partition(folder, graphctl, case.hosts, case.method)
    rate = case.megabits * MEGABIT if case.megabits else None
    with (
        Hosts(case.hosts, rate, case.delay / 1e3) as hosts,
        Session(hosts, config, build, row_cache=case.row_cache) as session,
    ):
        yield session, cut


def observe(session: Session, case: Case, seconds: float, repeats: int) -> list[Observed]:
    job = {
        "fanouts": case.fanouts,
        "batch_size": case.batch_size,
        "feature": case.feature,
        "workers": case.workers,
        "compute": case.compute / 1e3,
    }
    return [session.measure(job, seconds, 6 if i == 0 else 3) for i in range(repeats)]


def processor_times(observed: list[Observed]) -> dict[str, float]:
    """Returns the processor time of a mini-batch at the trainer and all daemons, and of the program
    that delays frames: the medians."""
    return {
        "processor_seconds": statistics.median(
            each.trainer_seconds + each.daemon_seconds for each in observed
        ),
        "cable_seconds": statistics.median(each.cable_seconds for each in observed),
    }


def validate(
    cases: tuple[Case, ...], measured: Measured, folder: str, build: str, graphctl: str,
    cores: int, seconds: float, repeats: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns for each case what was predicted and what was measured: the median of the repeats."""
    found = []
    for _, group in itertools.groupby(cases, lambda case: case.place):
        several = list(group)
        with served(several[0], folder, build, graphctl) as (session, cut):
            for case in several:
                observed = observe(session, case, seconds, repeats)
                rates = [each.batches_per_second for each in observed]
                rate = statistics.median(
                    each.batches_per_second for each in least_disturbed(observed)
                )
                disturbance = min(each.disturbance for each in observed)
                hits = statistics.median(each.hit_rate for each in observed)
                outcome = predict(case, cut, cores, measured, hits)
                error = outcome.batches_per_second / rate - 1
                say(
                    f"{case.title()}: {rate:.2f} batches/s, predicted "
                    f"{outcome.batches_per_second:.2f} ({error:+.1%}), {outcome.bottleneck}"
                )
                found.append(
                    {
                        "case": dataclasses.asdict(case),
                        "title": case.title(),
                        "cut": cut,
                        "hit_rate": hits,
                        "measured": rate,
                        "repeats": rates,
                        "disturbance": disturbance,
                        "algorithm": session.hosts.algorithm,
                        **processor_times(least_disturbed(observed)),
                        "observed": [dataclasses.asdict(each) for each in observed],
                        "predicted": outcome.batches_per_second,
                        "core_use": outcome.core_use,
                        "link_use": outcome.link_use,
                        "bottleneck": outcome.bottleneck,
                        "error": error,
                    }
                )
    return found
