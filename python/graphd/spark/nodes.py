# SPDX-License-Identifier: Apache-2.0
"""The nodes of one type on Spark: their numbers, their partitions, and their new ids."""

from __future__ import annotations

from typing import Any

from .. import _graphd
from ..errors import InvalidError
from . import columns, numbers, tasks
from .kept import KeptFrames

_MOST_COUNTS = 1 << 16  # counts of a block of ids in a partition


class Nodes:
    """The nodes of a type. The constructor only looks at the schema. DataFrames that are read often
    are added to `kept`.

    Attributes
    ----------
    frame : DataFrame
        id (bigint), "f" (a struct of the features, if there are some), and, for nodes with names,
        "name"; these have their id after `number`. After `assign` also "part" (int).
    count : int
        The number of nodes, after `number`.
    ends : DataFrame
        After `locate`: "key" (the value by which ends of edges name the node: the id, or the name),
        id, part, and "new", the new id.
    counts, id_sums : list of int
        The number of nodes of each partition, and the sum of their ids.
    """

    def __init__(self, ntype: str, frame: Any, partition: str | None, kept: KeptFrames) -> None:
        from pyspark.sql import functions as F
        from pyspark.sql import types as T

        self.ntype, self.what = ntype, f"nodes of {ntype!r}"
        self._kept = kept
        self.count = 0
        self.counts: list[int] = []
        self.id_sums: list[int] = []
        self.ends: Any = None
        self.partition = partition
        if not frame.columns:
            raise InvalidError(f"{self.what}: the DataFrame has no columns; the first has the ids")
        first, *others = frame.columns
        if partition is not None and partition not in others:
            raise InvalidError(
                f"{self.what}: there is no column {partition!r} with partitions, but {others}"
            )
        if partition is not None:
            columns.check_whole(frame.schema[partition].dataType, self.what, partition)
        features = [name for name in others if name != partition]
        self.features = columns.features_of(frame, features, self.what)
        self.named = isinstance(frame.schema[first].dataType, T.StringType)
        chosen = [columns.column(first).alias("name" if self.named else "id")]
        if not self.named:
            wanted = "whole numbers, or text (names)"
            columns.check_whole(frame.schema[first].dataType, self.what, first, wanted)
            chosen = [columns.column(first).cast("bigint").alias("id")]
        if self.features:
            values = [value.alias(name) for name, value in self.features.items()]
            chosen.append(F.struct(*values).alias("f"))
        if partition is not None:
            chosen.append(columns.column(partition).alias("part"))
        self.frame = frame.select(*chosen)
        self.feature_frame = self.frame.select("f.*") if self.features else None
        if self.features:
            columns.without_rows(self.feature_frame, self.what)

    def number(self) -> None:
        """Counts the nodes, and checks their ids or numbers their names."""
        self.count = self._number_names() if self.named else self._check_ids()

    def _check_ids(self) -> int:
        found = self.frame.agg(*numbers.checks("id")).first()
        return numbers.check_dense(self.frame.sparkSession, found, self.what)

    def _number_names(self) -> int:
        """Numbers the nodes in the order of their names (by the bytes of UTF-8)."""
        from pyspark.sql import functions as F

        ordered = self._kept.keep(self.frame.select("name").orderBy("name"))
        found = ordered.agg(
            F.count(F.lit(1)).alias("rows"),
            F.count("name").alias("known"),
            F.count(F.when(F.col("name").rlike("^$|[\r\n]"), 1)).alias("bad"),
        ).first()
        if found.known != found.rows or found.bad:
            raise InvalidError(
                f"{self.what}: {found.rows - found.known} rows have no name, and {found.bad} an empty "
                "one or one with a line break; drop or rename them"
            )
        twice = ordered.groupBy("name").count().where("count > 1").first()
        if twice:
            raise InvalidError(
                f"{self.what}: {twice['count']} rows have the name {twice.name!r}; drop all but one"
            )
        self.names = self._kept.keep(numbers.in_order(ordered, "id"))
        if len(self.frame.columns) == 1:
            self.frame = self.names
        else:
            self.frame = self.frame.join(self.names, "name")
        return int(found.rows)

    def assign_randomly(self, ntype_id: int, seed: int, num_parts: int) -> None:
        self.frame = self.frame.withColumn("part", random_owners("id", ntype_id, seed, num_parts))

    def assign(self, owners: Any) -> None:
        """Assigns the nodes to the partitions of a frame with "id" and "part"."""
        self.frame = self.frame.join(owners, "id")

    def check_column(self, num_parts: int) -> None:
        """Checks the column "part" that the user gave, and casts it."""
        from pyspark.sql import functions as F

        good = F.col("part").between(0, num_parts - 1)
        bad = self.frame.where(~F.coalesce(good, F.lit(False))).select("id", "part").first()
        if bad:
            raise InvalidError(
                f"{self.what}: node {bad.id} has {bad.part} in the column {self.partition!r}; expected "
                f"a partition, 0 to {num_parts - 1}"
            )
        self.frame = self.frame.withColumn("part", F.col("part").cast("int"))

    def locate(self, num_parts: int) -> None:
        """Gives the nodes their new ids: by partition, and by id within each. Nodes are counted by
        blocks of ids, so that no task has to number all nodes of a partition."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        spark = self.frame.sparkSession
        blocks = max(1, _MOST_COUNTS // num_parts)
        size = max(1, -(-self.count // blocks))
        key = "name" if self.named else "id"
        block = F.floor(F.col("id") / size).cast("int").alias("block")
        placed = self.frame.select(F.col(key).alias("key"), "id", "part", block)
        rank = F.row_number().over(Window.partitionBy("part", "block").orderBy("id"))
        ranked = self._kept.keep(placed.withColumn("rank", rank))
        totals = F.count(F.lit(1)).alias("rows"), F.sum("id").alias("ids")
        found = ranked.groupBy("part", "block").agg(*totals).collect()
        self.counts, self.id_sums = [0] * num_parts, [0] * num_parts
        bases, total = [], 0
        for row in sorted(found, key=lambda row: (row.part, row.block)):
            bases.append((row.part, row.block, total))
            total += row.rows
            self.counts[row.part] += row.rows
            self.id_sums[row.part] += row.ids
        table = spark.createDataFrame(bases, "part int, block int, base bigint")
        located = ranked.join(F.broadcast(table), ["part", "block"])
        new = (F.col("base") + F.col("rank") - 1).alias("new")
        self.ends = located.select("key", "id", "part", new)

    def write_names(self, path: str) -> None:
        """Writes the names in the order of the numbers, by one task."""
        if not self.count:
            _graphd.NamesFile(path, "").finish()  # without rows, there would be no task
            return
        rows = self.names.select("name", "id").repartition(1).sortWithinPartitions("id")
        written = rows.mapInArrow(tasks.write_names(path, self.count, self.what), tasks.NAMES)
        written.collect()


def random_owners(name: str, ntype_id: int, seed: int, num_parts: int) -> Any:
    """Returns the partitions of a column of ids, by the rule of `graphctl partition`."""
    from pyspark.sql.functions import lit, pandas_udf

    if num_parts == 1:
        return lit(0)
    return pandas_udf(tasks.owners(ntype_id, seed, num_parts), "int")(name)
