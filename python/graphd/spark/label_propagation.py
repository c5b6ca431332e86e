# SPDX-License-Identifier: Apache-2.0
"""Assignment by label propagation within balance constraints.

The labels are partitions. In the beginning, each has a block of consecutive ids of each type. In
each round, nodes that have more neighbours in another partition ask to move there, half of them at
a time, because two neighbours that change places at once gain nothing. The driver counts the
requests by groups, and grants whole groups while each partition stays within its share of each
type. The limits therefore hold after every round, and not only on average as in the similar method
Spinner (Martella et al., ICDE 2017).
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidError
from ..typing import Triple
from . import tasks
from .edges import Edges
from .kept import KeptFrames
from .nodes import Nodes

_MOST_GROUPS = 1 << 18  # the most groups of requests that the driver counts
_LEVELS = 4  # the most classes of gains
_PASSES = 8  # the most times that the driver looks at a request in a round
_ENOUGH = 0.001  # the share of nodes below which a round is the last


def assign(
    nodes: Mapping[str, Nodes],
    edges: Mapping[Triple, Edges],
    num_parts: int,
    rounds: int,
    share: float,
    seed: int,
    scratch: str,
) -> None:
    """Assigns the nodes of all types. No partition gets more nodes of a type than `share` times the
    average, or the average rounded up if that is more. `scratch` is a directory that all machines
    share."""
    with KeptFrames() as kept:
        run = _Propagation(nodes, edges, num_parts, seed, scratch, kept)
        run.begin()
        for number in range(rounds):
            moved = run.round(number, share)
            if moved < _ENOUGH * run.total:
                break
        run.finish()


def levels_of(num_parts: int, num_ntypes: int) -> int:
    """Returns the number of classes of gains.

    Raises
    ------
    graphd.errors.InvalidError
        If there are too many partitions for the driver to count requests between each two.
    """
    levels = min(_LEVELS, _MOST_GROUPS // (num_parts**2 * num_ntypes))
    if not levels:
        most = math.isqrt(_MOST_GROUPS // num_ntypes)
        raise InvalidError(
            f"num_parts {num_parts}: with {num_ntypes} node type(s), label propagation makes {most} "
            "partitions at most; use part_method='column', with the result of another method"
        )
    return levels


class Ledger:
    """The numbers of nodes of one type in each partition, and the most that each may have."""

    def __init__(self, loads: list[int], most: int) -> None:
        self.loads, self.most = loads, most

    def grant(self, requests: Iterable[tuple[int, int, int, int]]) -> list[tuple[int, int, int]]:
        """Grants requests (from, to, group, nodes), lower groups first, as long as some partition
        has room, in a bounded number of passes. Returns the granted requests."""
        waiting = sorted(requests, key=lambda request: (request[2], request[:2]))
        granted: list[tuple[int, int, int]] = []
        for _ in range(_PASSES):
            left = []
            for source, target, group, count in waiting:
                if self.loads[target] + count <= self.most:
                    self.loads[target] += count
                    self.loads[source] -= count
                    granted.append((source, target, group))
                else:
                    left.append((source, target, group, count))
            if len(left) == len(waiting):
                break
            waiting = left
        return granted


class _Propagation:
    """The rounds of the assignment. Nodes are identified by one number: the number of the type in
    the high bits, and the id in the low bits."""

    def __init__(
        self,
        nodes: Mapping[str, Nodes],
        edges: Mapping[Triple, Edges],
        num_parts: int,
        seed: int,
        scratch: str,
        kept: KeptFrames,
    ) -> None:
        self.nodes, self.edges = nodes, edges
        self.num_parts, self.seed, self.scratch = num_parts, seed, scratch
        self.levels = levels_of(num_parts, len(nodes))
        self.numbers = {ntype: number for number, ntype in enumerate(nodes)}
        self.total = sum(each.count for each in nodes.values())
        self.files = 0
        self.kept = kept
        self.ledgers: list[Ledger] = []

    def begin(self) -> None:
        """Gives each node its first label."""
        from pyspark.sql import functions as F

        labels, pairs = [], []
        for ntype, each in self.nodes.items():
            block = F.floor(F.col("id") * self.num_parts / max(each.count, 1)).cast("int")
            part = F.least(block, F.lit(self.num_parts - 1)).alias("part")
            labels.append(each.frame.select(self._node(ntype, "id").alias("node"), part))
        for (src, _, dst), of_type in self.edges.items():
            ends = self._ends(of_type.frame, src, dst)
            pairs += [ends, ends.select(F.col("v").alias("u"), F.col("u").alias("v"))]
        self.labels = self._written(_union(labels))
        # Repeated edges count as often as they occur.
        self.pairs = self.kept.keep(_union(pairs).where("u != v").repartition("u"))
        totals = [each.count for each in self.nodes.values()]
        self.ledgers = [Ledger(*each) for each in zip(self._counts(), totals)]

    def round(self, number: int, share: float) -> int:
        """Does a round, and returns how many nodes have moved."""
        from pyspark.sql import functions as F

        groups = _MOST_GROUPS // (self.num_parts**2 * self.levels * len(self.nodes))
        last = F.lit(self.levels - 1)
        u = self.labels.select(F.col("node").alias("u"), "part")
        v = self.labels.select(F.col("node").alias("v"), F.col("part").alias("current"))
        votes = self.pairs.join(u, "u").select("v", "part").repartition("v")
        votes = votes.groupBy("v", "part").agg(F.count(F.lit(1)).alias("votes")).join(v, "v")
        best = F.max(F.struct("votes", (-F.col("part")).alias("minus")))
        stay = F.sum(F.when(F.col("part") == F.col("current"), F.col("votes")).otherwise(0))
        found = votes.groupBy("v", "current").agg(best.alias("best"), stay.alias("stay"))
        mix = F.xxhash64("v", F.lit(self.seed), F.lit(number))
        gain = F.col("best.votes") - F.col("stay")
        level = last - F.least(F.floor(F.log2(gain)), last)
        wishes = found.where((gain > 0) & (F.pmod(mix, F.lit(2)) == 0)).select(
            "v",
            self._type("v").alias("type"),
            "current",
            (-F.col("best.minus")).alias("target"),
            (level * groups + F.pmod(F.shiftright(mix, 1), F.lit(groups)))
            .cast("int")
            .alias("group"),
        )
        self.kept.keep(wishes)
        keys = ["type", "current", "target", "group"]
        granted = self._grant(wishes.groupBy(*keys).count().collect(), share)
        moved = sum(row[4] for row in granted)
        table = self.labels.sparkSession.createDataFrame(
            [row[:4] for row in granted], "type int, current int, target int, group int"
        )
        moves = wishes.join(F.broadcast(table), keys).select(F.col("v").alias("node"), "target")
        labels = self.labels.join(moves, "node", "left")
        self.labels = self._written(
            labels.select("node", F.coalesce("target", "part").alias("part"))
        )
        self.kept.free(wishes)
        return moved

    def finish(self) -> None:
        """Gives the nodes their partitions.

        Raises
        ------
        graphd.errors.InvalidError
            If other nodes have moved than the granted ones, so that partitions may exceed their
            shares.
        """
        from pyspark.sql import functions as F

        if self._counts() != [ledger.loads for ledger in self.ledgers]:
            raise InvalidError(
                f"label propagation: other nodes than counted moved; {tasks.OTHER_ROWS}"
            )
        mask = F.lit((1 << tasks.ID_BITS) - 1)
        for ntype, each in self.nodes.items():
            own = self.labels.where(self._type("node") == self.numbers[ntype])
            each.assign(own.select(F.col("node").bitwiseAND(mask).alias("id"), "part"))

    def _counts(self) -> list[list[int]]:
        """Counts the nodes of each type in each partition."""
        counts = [[0] * self.num_parts for _ in self.nodes]
        found = self.labels.groupBy(self._type("node").alias("type"), "part").count()
        for row in found.collect():
            counts[row.type][row.part] = row["count"]
        return counts

    def _grant(self, requests: list[Any], share: float) -> list[tuple[int, int, int, int, int]]:
        by_type: list[dict[tuple[int, int, int], int]] = [{} for _ in self.ledgers]
        for row in requests:
            by_type[row.type][row.current, row.target, row.group] = row["count"]
        granted = []
        for number, (ledger, each) in enumerate(zip(self.ledgers, self.nodes.values())):
            average = each.count / self.num_parts
            ledger.most = max(math.floor(average * share), math.ceil(average))
            of_type = by_type[number]
            wanted = [(*key, count) for key, count in of_type.items()]
            granted += [(number, *key, of_type[key]) for key in ledger.grant(wanted)]
        return granted

    def _node(self, ntype: str, ids: str) -> Any:
        from pyspark.sql import functions as F

        return F.lit(self.numbers[ntype] << tasks.ID_BITS) + F.col(ids).cast("bigint")

    def _type(self, node: str) -> Any:
        from pyspark.sql import functions as F

        return F.shiftright(node, tasks.ID_BITS).cast("int")

    def _ends(self, frame: Any, src: str, dst: str) -> Any:
        """Returns the ends u and v of edges. Ends that are not nodes are left to `Edges.locate`."""
        found = frame.select("from", "to")
        for end, ntype, to in (("from", src, "u"), ("to", dst, "v")):
            each = self.nodes[ntype]
            if each.named:
                found = found.join(each.names.withColumnRenamed("name", end), end).drop(end)
                found = found.withColumn(to, self._node(ntype, "id")).drop("id")
            else:
                found = found.withColumn(to, self._node(ntype, end)).drop(end)
        return found.select("u", "v")

    def _written(self, labels: Any) -> Any:
        """Writes labels to files and returns a frame that reads them: for a frame that is computed
        from all earlier rounds, planning would take Spark longer each time."""
        path = os.path.join(self.scratch, f"labels{self.files}")
        labels.write.parquet(f"file://{path}")
        if self.files:
            shutil.rmtree(os.path.join(self.scratch, f"labels{self.files - 1}"), ignore_errors=True)
        self.files += 1
        return labels.sparkSession.read.schema(labels.schema).parquet(f"file://{_literal(path)}")


def _literal(path: str) -> str:
    """Returns a pattern that matches only this path, because Spark takes the paths that it reads as
    patterns."""
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


def _union(frames: list[Any]) -> Any:
    first, *others = frames
    for frame in others:
        first = first.union(frame)
    return first
