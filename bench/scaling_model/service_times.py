# SPDX-License-Identifier: Apache-2.0
"""Service times: how much processor time each piece of work takes, measured by bench/scaling measure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from scaling_model.workload import MIB, Message, Part, Profile, Round, Workload

CACHED_NODES = 1 << 14


@dataclasses.dataclass(frozen=True)
class TrainerTimes:
    """Seconds of a trainer's processor time."""

    batch: float = 0.0  # for each mini-batch
    round: float = 0.0  # for each round of messages
    # For each edge and row, by the binary logarithm of the batch's nodes above CACHED_NODES: what is
    # read and written again no longer fits the processor's caches.
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
    variation: float  # the standard deviation of a batch's time, by its mean


def trainer_counts(found: list[Round], work: Workload, requests: float, others: int) -> list[float]:
    """Returns how often a mini-batch has each of TRAINER's pieces of work."""
    local_rows = sum(each.local.rows + each.cached for each in found)
    remote_rows = others * sum(each.remote.rows for each in found)
    return [
        1.0,
        float(len(found)),
        sum(each.local.edges * distance(each) for each in found),
        sum(each.local.rows * distance(each) for each in found),
        sum(each.local.seeds for each in found),
        sum(each.local.edges for each in found),
        local_rows,
        local_rows * work.row_bytes,
        requests,
        others * sum(each.remote.seeds for each in found),
        others * sum(each.remote.edges for each in found),
        remote_rows,
        remote_rows * work.row_bytes,
    ]


def daemon_counts(found: list[Round], work: Workload, requests: float, others: int) -> list[float]:
    """Returns how often a mini-batch has each of DAEMON's pieces of work, at all daemons together."""
    seeds, edges, rows = (
        others * sum(getattr(each.remote, name) for each in found)
        for name in ("seeds", "edges", "rows")
    )
    return [requests, seeds, edges, rows, rows * work.row_bytes]


def distance(of: Round) -> float:
    """Returns by how much the nodes of a batch exceed the processor's caches, as a logarithm."""
    return max(0.0, math.log2(max(of.inputs, 1.0) / CACHED_NODES))


def far_seconds(times: TrainerTimes, of: Round) -> float:
    """Returns the processor time of a round's edges and rows that follows from the size of the batch."""
    return distance(of) * (of.local.edges * times.far_edge + of.local.rows * times.far_row)


def local_seconds(times: TrainerTimes, part: Part, cached: float, width: int) -> float:
    """Returns the processor time of what a round reads from the trainer's own machine."""
    rows = part.rows + cached
    sampled = part.seeds * times.seed + part.edges * times.edge
    return sampled + rows * (times.row + width * times.row_byte)


def answer_seconds(times: TrainerTimes, message: Message, width: int) -> float:
    """Returns the processor time of a request and its answer at the trainer."""
    return (
        message.count * times.request
        + message.seeds * times.remote_seed
        + message.edges * times.remote_edge
        + message.rows * (times.remote_row + width * times.remote_byte)
    )


def daemon_seconds(times: DaemonTimes, message: Message, width: int) -> float:
    """Returns the processor time of a request at the daemon."""
    return (
        message.count * times.request
        + message.seeds * times.seed
        + message.edges * times.edge
        + message.rows * (times.row + width * times.byte)
    )


def slices(message: Message, width: int) -> int:
    """Returns into how many pieces the daemon divides a request for its threads."""
    return max(1, round(message.seeds / 4096) + round(message.rows * width / MIB))


@dataclasses.dataclass(frozen=True)
class Measured:
    """The result of bench/scaling measure."""

    times: ServiceTimes
    profiles: tuple[Profile, ...]

    def profile(self, fanouts: tuple[int, ...], batch_size: int) -> Profile | None:
        wanted = (tuple(fanouts), batch_size)
        return next((p for p in self.profiles if (p.fanouts, p.batch_size) == wanted), None)


def read_times(values: dict[str, Any]) -> ServiceTimes:
    return ServiceTimes(
        TrainerTimes(**values["trainer"]),
        DaemonTimes(**values["daemon"]),
        values["wake"],
        values["variation"],
    )


def of(values: dict[str, Any]) -> Measured:
    """Returns what a file of measure says."""
    profiles = tuple(Profile.read(each) for each in values["profiles"])
    return Measured(read_times(values["times"]), profiles)
