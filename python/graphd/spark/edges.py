# SPDX-License-Identifier: Apache-2.0
"""The edges of one type on Spark: the new ids and the partitions of their ends."""

from __future__ import annotations

from typing import Any, Callable

from ..errors import InvalidError
from ..table_columns import end_columns
from ..typing import Triple
from . import columns, numbers
from .kept import KeptFrames
from .nodes import Nodes


class Edges:
    """The edges of a type. The constructor only looks at the schema. DataFrames that are read often
    are added to `kept`.

    Attributes
    ----------
    located : DataFrame
        After `locate`: part (int), dst (the destination's id), src (the source's new id), edge
        (the edge's id), and "f" (a struct of the features, if there are some).
    counts : list of int
        The number of edges of each partition.
    """

    def __init__(self, etype: Triple, frame: Any, edge_id: str | None, kept: KeptFrames) -> None:
        from pyspark.sql import functions as F

        self._kept = kept
        self.what = f"edges of {etype!r}"
        names = list(frame.columns)
        if edge_id is not None and edge_id not in names:
            raise InvalidError(f"{self.what}: there is no column {edge_id!r} of ids, but {names}")
        ends = end_columns(etype, [name for name in names if name != edge_id], "DataFrame")
        others = [name for name in names if name not in (*ends, edge_id)]
        self._end_columns = dict(zip(("from", "to"), ends))
        self.features = columns.features_of(frame, others, self.what)
        chosen = [columns.column(name).alias(to) for name, to in zip(ends, ("from", "to"))]
        if edge_id is not None:
            columns.check_whole(frame.schema[edge_id].dataType, self.what, edge_id)
            chosen.append(columns.column(edge_id).cast("bigint").alias("edge"))
        if self.features:
            values = [value.alias(name) for name, value in self.features.items()]
            chosen.append(F.struct(*values).alias("f"))
        self.frame = frame.select(*chosen)
        self.feature_frame = self.frame.select("f.*") if self.features else None
        if self.features:
            columns.without_rows(self.feature_frame, self.what)
        self.numbered = edge_id is not None
        self.located: Any = None
        self.counts: list[int] = []

    def check_ends(self, src: Nodes, dst: Nodes) -> None:
        """Raises InvalidError unless the ends have the type of the nodes' ids or names."""
        for end, nodes in (("from", src), ("to", dst)):
            self._check_type(end, nodes)

    def number(self) -> Any:
        """Returns the frame with the column "edge"."""
        return self.frame if self.numbered else numbers.in_order(self.frame, "edge")

    def locate(
        self, src: Nodes, dst: Nodes, num_parts: int, owner: Callable[[str], Any] | None
    ) -> None:
        """Finds the ends. `owner` gives the partitions of a column of destinations, if the
        partition is a function of the id; otherwise the partition is looked up, which moves all
        edges once more."""
        from pyspark.sql import functions as F

        spark = self.frame.sparkSession
        sources = src.ends.select(F.col("key").alias("from"), F.col("new").alias("src"))
        found = self.number().join(sources, "from", "left")
        if owner is not None:
            known = F.col("to").between(0, dst.count - 1)
            found = found.withColumn("dst", F.when(known, F.col("to").cast("bigint")))
            found = found.withColumn("part", F.when(known, owner("dst")))
        else:
            places = dst.ends.select(F.col("key").alias("to"), F.col("id").alias("dst"), "part")
            found = found.join(places, "to", "left")
        features = ["f"] if self.features else []
        lost = F.col("src").isNull() | F.col("part").isNull()
        ends = [F.coalesce(F.col(end).cast("string"), F.lit("null")) for end in ("from", "to")]
        stray = F.when(lost, F.concat_ws(" to ", *ends)).alias("stray")
        found = found.select(
            F.coalesce("part", F.lit(-1)).alias("part"), "dst", "src", "edge", stray, *features
        )
        self.located = self._kept.keep(found)
        counts = self.located.groupBy("part").agg(
            *numbers.checks("edge"), F.max("stray").alias("stray")
        )
        rows = counts.collect()
        for row in rows:
            if row.stray is not None:
                raise InvalidError(
                    f"{self.what}: there is an edge from {row.stray}, and no such node; add it to the "
                    "nodes, or drop the edge"
                )
        self.counts = [0] * num_parts
        for row in rows:
            self.counts[row.part] = row.rows
        self._check_numbers(spark, rows)

    def _check_type(self, end: str, nodes: Nodes) -> None:
        from pyspark.sql import types as T

        dtype = self.frame.schema[end].dataType
        expected = T.StringType if nodes.named else T.IntegralType
        if not isinstance(dtype, expected):
            raise InvalidError(
                f"{self.what}: column {self._end_columns[end]!r} has {dtype.simpleString()}, but the "
                f"{nodes.what} have {'names (text)' if nodes.named else 'whole numbers as ids'}"
            )

    def _check_numbers(self, spark: Any, rows: list[Any]) -> None:
        """Checks that each number was given once, from the aggregates of each partition."""
        if not rows:
            return
        mix = 0
        for row in rows:
            mix ^= row.mix or 0
        found = _Found(
            sum(row.rows for row in rows),
            sum(row.known for row in rows),
            min((row.least for row in rows if row.known), default=None),
            max((row.most for row in rows if row.known), default=None),
            mix,
        )
        what = f"ids of the {self.what}"
        if not self.numbered:
            what += ", which Spark reads in another order each time: give a column of ids (edge_id)"
        numbers.check_dense(spark, found, what)


class _Found:
    """Aggregates, as `numbers.checks` names them."""

    def __init__(self, rows: int, known: int, least: Any, most: Any, mix: int) -> None:
        self.rows, self.known, self.least, self.most, self.mix = rows, known, least, most, mix
