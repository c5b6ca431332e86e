# SPDX-License-Identifier: Apache-2.0
"""Predictions for clusters that nobody has yet: the throughput over machines and what else varies."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from scaling_model.cluster import MOST_MACHINES, WIRE, Cluster, Outcome, simulate
from scaling_model.service_times import ServiceTimes
from scaling_model.workload import Profile, Workload

GIGABIT = 1e9
BATCHES, MOST_STEPS, LEAST_STEPS = 192, 24, 5


@dataclasses.dataclass(frozen=True)
class Batches:
    """The mini-batches of a choice."""

    profile: Profile
    file: str = ""  # that describes them
    cut: float | None = None  # of the graph's partitions, if the file says it

    @property
    def title(self) -> str:
        words = f"[{','.join(map(str, self.profile.fanouts))}] x {self.profile.batch_size}"
        return f"{words} ({self.file})" if self.file else words


@dataclasses.dataclass(frozen=True)
class Choice:
    """The settings that vary beside the number of machines."""

    gigabits: float
    cut: float | None  # None: that of random placement
    row_bytes: int
    hit_rate: float
    batches: Batches

    def words(self) -> dict[str, str]:
        cut = "random placement" if self.cut is None else f"cut {self.cut:.12g}"
        return {
            "gigabits": f"{self.gigabits:.12g} Gbit/s",
            "cut": cut,
            "row_bytes": f"{self.row_bytes} B per row" if self.row_bytes else "no rows",
            "hit_rate": f"hit rate {self.hit_rate:.12g}",
            "batches": self.batches.title,
        }


@dataclasses.dataclass(frozen=True)
class Machines:
    """The settings that all machines share."""

    cores: int = 16
    trainers: int = 4
    workers: int = 2
    latency: float = 30e-6  # seconds
    compute: float = 0.0  # seconds of processor time of a step
    device: float = 0.0  # seconds of a step


@dataclasses.dataclass(frozen=True)
class Prediction:
    machines: int
    choice: Choice
    outcome: Outcome

    def row(self) -> dict[str, Any]:
        return {
            "machines": self.machines,
            "gigabits": self.choice.gigabits,
            "cut": self.choice.cut,
            "row_bytes": self.choice.row_bytes,
            "hit_rate": self.choice.hit_rate,
            "fanouts": self.choice.batches.profile.fanouts,
            "batch_size": self.choice.batches.profile.batch_size,
            **({"profile": self.choice.batches.file} if self.choice.batches.file else {}),
            **dataclasses.asdict(self.outcome),
            "bottleneck": self.outcome.bottleneck,
        }


def choices(
    gigabits: Sequence[float],
    cuts: Sequence[float | None] | None,
    widths: Sequence[int],
    hit_rates: Sequence[float],
    batches: Sequence[Batches],
) -> list[Choice]:
    """Returns all combinations, each once. Without `cuts`, the cut of the batches is taken."""
    found = [
        Choice(rate, each.cut if cuts is None else cut, width, hit_rate, each)
        for rate, cut, width, hit_rate, each in itertools.product(
            gigabits, [None] if cuts is None else cuts, widths, hit_rates, batches
        )
    ]
    return list(dict.fromkeys(found))


def names(of: Sequence[Choice]) -> list[str]:
    """Returns what tells the choices apart."""
    words = [each.words() for each in of]
    varied = [key for key in words[0] if len({each[key] for each in words}) > 1] or ["gigabits"]
    return [", ".join(each[key] for key in varied) for each in words]


def predict(
    counts: Sequence[int], of: Sequence[Choice], machines: Machines, times: ServiceTimes
) -> list[Prediction]:
    """Simulates each choice on each number of machines."""
    found = []
    for choice in of:
        for count in counts:
            cluster = Cluster(
                machines=count,
                cores=machines.cores,
                link_rate=choice.gigabits * GIGABIT,
                latency=machines.latency,
                cut=choice.cut,
                trainers=machines.trainers,
                workers=machines.workers,
                compute=machines.compute,
                device=machines.device,
                frame_extra=WIRE,
            )
            work = Workload(choice.batches.profile, choice.row_bytes, choice.hit_rate)
            every = min(count, MOST_MACHINES) * machines.trainers
            steps = min(MOST_STEPS, max(LEAST_STEPS, BATCHES // every))
            found.append(Prediction(count, choice, simulate(cluster, work, times, steps)))
    return found
