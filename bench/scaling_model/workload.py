# SPDX-License-Identifier: Apache-2.0
"""The work of one mini-batch: what each round reads, where it is, and what travels."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from scaling_model import checked

MIB = 1 << 20
MOST_MESSAGES = 4096  # of rows in a round from one machine: the time of a simulation grows with them
MOST_SEEDS = MOST_MESSAGES << 12  # likewise: a daemon divides them into slices
# The limits of libclient/client: rows of more bytes than ROWS_WITH_HOP do not travel with a hop, but in
# pieces over a connection of their own (routing/hop_executor.cc, link/row_calls.h).
ROWS_WITH_HOP, PIECE = 4 * MIB, 2 * MIB
# The bytes of a message beside its arrays: Cap'n Proto's call, the answer, and the Finish after it.
REQUEST_BYTES, ANSWER_BYTES = 300.0, 120.0
ID_BYTES, EDGE_ID_BYTES = 4, 4


@dataclasses.dataclass(frozen=True)
class Profile:
    """The numbers of nodes and edges of a mini-batch, means over many. Hop h samples `edges[h]` edges
    of `frontier[h]` nodes; `frontier[-1]` is the number of input nodes."""

    fanouts: tuple[int, ...]
    batch_size: int
    frontier: tuple[float, ...]
    edges: tuple[float, ...]
    nodes: int  # the number of nodes of the graph

    @property
    def hops(self) -> int:
        return len(self.edges)

    def new_nodes(self, round_: int) -> float:
        return self.frontier[round_] - (self.frontier[round_ - 1] if round_ else 0.0)

    @staticmethod
    def read(values: Any) -> Profile:
        """Reads a profile from JSON; throws checked.InvalidError."""
        fanouts = checked.numbers(values, "fanouts", least=1, whole=True)
        nodes = checked.number(values, "nodes", 1, whole=True)
        batch_size = checked.number(values, "batch_size", 1, whole=True)
        hops = len(fanouts)
        more, each = ", one more than there are fanouts", ", one for each fanout"
        frontier = checked.numbers(values, "frontier", hops + 1, 1, nodes, why=more)
        if list(frontier) != sorted(frontier):
            raise checked.wrong("frontier", list(frontier), "numbers that do not fall")
        edges = checked.numbers(values, "edges", hops, why=each)
        return Profile(fanouts, batch_size, frontier, edges, nodes)


@dataclasses.dataclass(frozen=True)
class Workload:
    """The work of trainers: their batches, and the bytes of features per node."""

    profile: Profile
    row_bytes: int = 0  # 0: no features are read
    hit_rate: float = 0.0  # of the row cache, for rows of other machines


class Growth:
    """The number of different nodes that some draws of neighbours find. The curve goes through the
    points of a profile, and is straight between them on logarithmic axes. Both numbers are shares of a
    graph's nodes, because a part of the graph is taken to be like the whole: half of the draws finds
    half of the nodes in half of the graph."""

    def __init__(self, profile: Profile) -> None:
        draws = list(itertools.accumulate(profile.edges, initial=profile.frontier[0]))
        self.points = [
            (math.log(drawn / profile.nodes), math.log(min(found, drawn) / profile.nodes))
            for drawn, found in zip(draws, profile.frontier)
        ]

    def found(self, drawn: float, pool: float) -> float:
        """Returns the number of different nodes among so many draws from a pool of nodes."""
        if drawn <= 0:
            return 0.0
        x = math.log(drawn / pool)
        first = self.points[0]
        if x <= first[0]:
            return drawn
        after = next((i for i, point in enumerate(self.points) if point[0] >= x), -1)
        (x0, y0), (x1, y1) = self.points[after - 1], self.points[after]
        slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 1.0
        return min(pool * math.exp(y0 + slope * (x - x0)), drawn, pool)


def spread(profile: Profile, machines: int, cut: float) -> tuple[Profile, list[float]]:
    """Returns the profile of a trainer whose seeds are on its own machine, and the share of the new
    nodes of each round that are there, too.

    An edge leads to another machine with probability `cut`, and to each of the others alike, whatever
    the way to its node was.
    """
    if machines == 1:
        return profile, [1.0] * len(profile.frontier)
    growth = Growth(profile)
    here = profile.nodes / machines
    drawn = [profile.frontier[0], 0.0]  # on the trainer's machine, and elsewhere
    found, new = list(drawn), [list(drawn)]
    edges = []
    for hop in range(profile.hops):
        each = profile.edges[hop] / profile.frontier[hop]
        back = cut / (machines - 1)
        drawn[0] += each * (found[0] * (1 - cut) + found[1] * back)
        drawn[1] += each * (found[0] * cut + found[1] * (1 - back))
        edges.append(each * sum(found))
        pools = (here, profile.nodes - here)
        now = [
            max(before, growth.found(some, pool)) for before, some, pool in zip(found, drawn, pools)
        ]
        new.append([b - a for a, b in zip(found, now)])
        found = now
    frontier = tuple(itertools.accumulate(sum(some) for some in new))
    shares = [some[0] / sum(some) if sum(some) else 1.0 for some in new]
    return dataclasses.replace(profile, frontier=frontier, edges=tuple(edges)), shares


@dataclasses.dataclass(frozen=True)
class Part:
    """The part of a round that one machine has."""

    seeds: float  # nodes whose edges are sampled
    edges: float
    rows: float

    def row_bytes(self, width: int) -> float:
        return self.rows * width


@dataclasses.dataclass(frozen=True)
class Round:
    """A round of messages: a hop, or the rows of the last nodes."""

    nodes: float  # all nodes that it splits by owner
    local: Part
    remote: Part  # of each other machine
    cached: float  # rows of other machines that the cache has
    inputs: float  # nodes of the batch after this round


def rounds(work: Workload, others: int, shares: Sequence[float]) -> list[Round]:
    """Returns the rounds of a mini-batch: a hop per layer, and one for the remaining rows. Rows of
    nodes that a hop found travel with the next one (client/sampling/feature_rows.h). `shares` has
    the share of each round's new nodes that are local; the rest is spread evenly over `others`
    machines."""
    profile = work.profile
    found = []
    own = 0.0  # nodes of the frontier on the trainer's machine
    for number in range(profile.hops + (1 if work.row_bytes else 0)):
        new = profile.new_nodes(number)
        own += new * shares[number]
        is_hop = number < profile.hops
        frontier = profile.frontier[number]
        seeds, edges = (frontier, profile.edges[number]) if is_hop else (0.0, 0.0)
        share = own / frontier if frontier else 1.0
        rows = new if work.row_bytes else 0.0
        away = rows * (1 - shares[number])
        cached = away * work.hit_rate
        remote = Part(0.0, 0.0, 0.0)
        if others:
            missed = (away - cached) / others
            remote = Part(seeds * (1 - share) / others, edges * (1 - share) / others, missed)
        local = Part(seeds * share, edges * share, rows * shares[number])
        inputs = profile.frontier[min(number + 1, profile.hops)]
        nodes = frontier if is_hop else new
        found.append(Round(nodes, local, remote, cached, inputs))
    return found


@dataclasses.dataclass(frozen=True)
class Message:
    """A request to a machine and its answer: payload bytes and what the answer takes."""

    asked: float
    answered: float
    seeds: float
    edges: float
    rows: float
    bulk: bool  # travels over the connection for rows
    count: float = 1.0  # the number of such messages that it stands for

    def times(self, factor: float) -> Message:
        """Returns the message that stands for several such messages to several machines."""
        return Message(
            factor * self.asked,
            factor * self.answered,
            factor * self.seeds,
            factor * self.edges,
            factor * self.rows,
            self.bulk,
            factor * self.count,
        )


def messages(work: Workload, part: Part) -> list[Message]:
    """Returns the requests of a round to one other machine; throws RuntimeError if they are too many to
    be simulated."""
    if part.seeds + part.rows < 1e-6:
        return []
    if part.seeds > MOST_SEEDS:
        raise RuntimeError(
            f"a round asks one machine for the edges of {part.seeds:.0f} nodes; give a smaller batch"
        )
    row_bytes = part.row_bytes(work.row_bytes)
    asked = REQUEST_BYTES + part.seeds * ID_BYTES
    answered = ANSWER_BYTES + part.seeds + part.edges * (ID_BYTES + EDGE_ID_BYTES)
    rows = part.rows
    apart: list[Message] = []
    if row_bytes > ROWS_WITH_HOP:
        count = math.ceil(row_bytes / PIECE)
        if count > MOST_MESSAGES:
            raise RuntimeError(
                f"a round has {row_bytes / MIB:.0f} MiB of rows from one machine; give fewer "
                "--row_bytes or a smaller batch"
            )
        apart = [
            Message(REQUEST_BYTES + rows / count * ID_BYTES,
                    ANSWER_BYTES + row_bytes / count, 0.0, 0.0, rows / count, True)
        ] * count  # fmt: skip
        rows = row_bytes = 0.0
    if not part.seeds and not rows:
        return apart
    # A hop asks for the rows of its own seeds by their positions. A request without seeds has the ids.
    if not part.seeds:
        asked += rows * ID_BYTES
    hop = Message(asked, answered + row_bytes, part.seeds, part.edges, rows, False)
    return [hop, *apart]
