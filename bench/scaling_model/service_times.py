# SPDX-License-Identifier: Apache-2.0
"""Service times: how much processor time each piece of work takes, measured by bench/scaling measure.

The functions named `..._counts` say which work a mini-batch has. They are the only place that says so:
measure fits the times to their results, and the simulation multiplies them by the times.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

from scaling_model import checked
from scaling_model.workload import MIB, Message, Profile, Round, Workload, messages

CACHED_NODES = 1 << 14


@dataclasses.dataclass(frozen=True)
class TrainerTimes:
    """Seconds of a trainer's processor time."""

    batch: float = 0.0  # for each mini-batch
    round: float = 0.0  # for each round of messages
    # For each edge and row, times the binary logarithm of the ratio of the batch's nodes to
    # CACHED_NODES: the data of larger batches no longer fits the processor's caches.
    far_edge: float = 0.0
    far_row: float = 0.0
    seed: float = 0.0  # for each node whose edges are sampled from mapped memory
    edge: float = 0.0  # for each edge that is sampled there
    row: float = 0.0  # for each row that is read from mapped memory or the cache
    row_byte: float = 0.0
    request: float = 0.0  # for each request to another machine
    remote_seed: float = 0.0  # for each node whose edges another machine samples
    remote_edge: float = 0.0
    remote_row: float = 0.0
    remote_byte: float = 0.0  # for each byte of a row of other machines


@dataclasses.dataclass(frozen=True)
class DaemonTimes:
    """Seconds of a daemon's processor time."""

    request: float = 0.0
    seed: float = 0.0
    edge: float = 0.0
    row: float = 0.0
    byte: float = 0.0  # for each byte of a row


TRAINER = tuple(field.name for field in dataclasses.fields(TrainerTimes))
DAEMON = tuple(field.name for field in dataclasses.fields(DaemonTimes))


@dataclasses.dataclass(frozen=True)
class ServiceTimes:
    trainer: TrainerTimes
    daemon: DaemonTimes
    # Seconds between the sending of a request and its answer in which no processor works for it:
    # threads are woken.
    wake: float
    variation: float  # the standard deviation of a batch's time, divided by its mean


# The number of times that each piece of work of TrainerTimes or DaemonTimes is done.
Counts = dict[str, float]


def seconds_of(times: TrainerTimes | DaemonTimes, counts: Counts) -> float:
    """Returns the processor time of some pieces of work."""
    return sum(count * float(getattr(times, name)) for name, count in counts.items())


def total(several: Iterable[Counts]) -> Counts:
    """Returns the sum of some counts, name by name."""
    found: Counts = collections.defaultdict(float)
    for counts in several:
        for name, count in counts.items():
            found[name] += count
    return dict(found)


def distance(of: Round) -> float:
    """Returns by how much the nodes of a batch exceed the processor's caches, as a logarithm."""
    return max(0.0, math.log2(max(of.inputs, 1.0) / CACHED_NODES))


def far_counts(of: Round) -> Counts:
    """Returns the work of a trainer's round that follows from the size of the batch."""
    far = distance(of)
    return {"far_edge": of.local.edges * far, "far_row": of.local.rows * far}


def local_counts(of: Round, width: int) -> Counts:
    """Returns the work of a trainer's round that reads from the trainer's own machine."""
    rows = of.local.rows + of.cached
    return {
        "seed": of.local.seeds,
        "edge": of.local.edges,
        "row": rows,
        "row_byte": rows * width,
    }


def answer_counts(message: Message, width: int) -> Counts:
    """Returns the work of a request and its answer at the trainer."""
    return {
        "request": message.count,
        "remote_seed": message.seeds,
        "remote_edge": message.edges,
        "remote_row": message.rows,
        "remote_byte": message.rows * width,
    }


def request_counts(message: Message, width: int) -> Counts:
    """Returns the work of a request at the daemon."""
    return {
        "request": message.count,
        "seed": message.seeds,
        "edge": message.edges,
        "row": message.rows,
        "byte": message.rows * width,
    }


def trainer_counts(found: Sequence[Round], work: Workload, others: int) -> Counts:
    """Returns the work of a mini-batch at its trainer, which asks so many other machines."""
    width = work.row_bytes
    counts: list[Counts] = [{"batch": 1.0}]
    for each in found:
        counts += [{"round": 1.0}, far_counts(each), local_counts(each, width)]
        for message in messages(work, each.remote):
            counts.append(answer_counts(message.times(others), width))
    return total(counts)


def daemon_counts(found: Sequence[Round], work: Workload, others: int) -> Counts:
    """Returns the work of a mini-batch at all daemons together."""
    return total(
        request_counts(message.times(others), work.row_bytes)
        for each in found
        for message in messages(work, each.remote)
    )


def slices(message: Message, width: int) -> int:
    """Returns into how many pieces the daemon divides a request for its threads."""
    sampling = min(max(message.seeds / 4096, message.edges / 8192), message.seeds / 128)
    return max(1, round(sampling) + round(message.rows * width / MIB))


@dataclasses.dataclass(frozen=True)
class Measured:
    """The result of bench/scaling measure."""

    times: ServiceTimes
    profiles: tuple[Profile, ...]

    def profile(self, fanouts: Sequence[int], batch_size: int) -> Profile:
        """Returns the profile of some mini-batches; throws RuntimeError if they were not measured."""
        wanted = (tuple(fanouts), batch_size)
        for each in self.profiles:
            if (each.fanouts, each.batch_size) == wanted:
                return each
        known = "; ".join(
            f"--fanouts {','.join(map(str, each.fanouts))} --batch_size {each.batch_size}"
            for each in self.profiles
        )
        raise RuntimeError(
            f"mini-batches of --fanouts {','.join(map(str, fanouts))} --batch_size {batch_size} have "
            f"not been measured; describe those of your graph by bench/scaling profile, or choose one "
            f"of: {known}"
        )


def read_times(values: Any) -> ServiceTimes:
    """Reads service times from JSON; throws checked.InvalidError."""

    def times_of(part: str, names: tuple[str, ...]) -> dict[str, float]:
        unknown = [name for name in checked.object_(values, part) if name not in names]
        if unknown:
            raise checked.wrong(part, unknown, f"only the names {', '.join(names)}")
        return {name: checked.number(values, f"{part}.{name}") for name in names}

    return ServiceTimes(
        TrainerTimes(**times_of("times.trainer", TRAINER)),
        DaemonTimes(**times_of("times.daemon", DAEMON)),
        checked.number(values, "times.wake"),
        checked.number(values, "times.variation", 0, 1),
    )


def of(values: Any) -> Measured:
    """Returns what a file of measure says; throws checked.InvalidError."""
    times = read_times(values)
    return Measured(times, tuple(map(Profile.read, checked.several(values, "profiles"))))
