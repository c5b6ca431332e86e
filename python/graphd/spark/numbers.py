# SPDX-License-Identifier: Apache-2.0
"""Numbers for the rows of DataFrames, although no task and no driver holds all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidError
from .tasks import OTHER_ROWS

_ROW_BITS = 33  # bits that monotonically_increasing_id has for the rows of a partition


def literals(values: Sequence[int], dtype: str) -> Any:
    """Returns a constant array, which Spark evaluates once."""
    from pyspark.sql import functions as F

    return F.split(F.lit(",".join(map(str, values))), ",").cast(f"array<{dtype}>")


def in_order(frame: Any, name: str) -> Any:
    """Adds a column of the numbers 0, 1 and so on, in the order in which Spark reads the rows: by
    its partitions, and in each by rows."""
    from pyspark.sql import functions as F

    placed = frame.withColumn("graphd_at", F.monotonically_increasing_id())
    piece = F.shiftright("graphd_at", _ROW_BITS).cast("int")
    row = F.col("graphd_at").bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    found = placed.groupBy(piece.alias("piece")).agg(F.max(row).alias("last")).collect()
    rows = {each.piece: each.last + 1 for each in found}
    bases, total = [], 0
    for each in range(max(rows, default=0) + 1):
        bases.append(total)
        total += rows.get(each, 0)
    base = F.element_at(literals(bases, "bigint"), piece + 1)
    return placed.withColumn(name, base + row).drop("graphd_at")


def checks(number: str) -> list[Any]:
    """Returns aggregates of a column that `check_dense` needs."""
    from pyspark.sql import functions as F

    return [
        F.count(F.lit(1)).alias("rows"),
        F.count(number).alias("known"),
        F.min(number).alias("least"),
        F.max(number).alias("most"),
        F.bit_xor(F.xxhash64(number)).alias("mix"),
    ]


def check_dense(spark: Any, found: Any, what: str) -> int:
    """Checks that a column has each of 0 .. rows - 1 once, and returns the number of rows. `found` are
    its aggregates."""
    from pyspark.sql import functions as F

    if found.known != found.rows:
        raise InvalidError(
            f"{what}: {found.rows - found.known} rows have none; drop or number them"
        )
    if not found.rows:
        return 0
    rows = int(found.rows)
    wanted = spark.range(rows).agg(F.bit_xor(F.xxhash64("id")).alias("mix")).first().mix
    if (found.least, found.most, found.mix) != (0, rows - 1, wanted):
        raise InvalidError(
            f"{what}: {rows} rows have ids from {found.least} to {found.most}; expected each of 0 to "
            f"{rows - 1} once"
        )
    return rows


def sums(count: int) -> tuple[int, int, int]:
    """Returns the count, the sum and the sum of squares of the ids 0 .. count - 1, modulo 2^64. The
    totals of all PartWriters must equal them if each id was written once."""
    last = count - 1
    return count, (count * last // 2) % (1 << 64), (count * last * (count + last) // 6) % (1 << 64)


def check_written(parts: Sequence[Sequence[int]], count: int, what: str) -> None:
    """Checks that each of 0 .. count - 1 was written once, from the sums of all partitions."""
    found = tuple(sum(each) % (1 << 64) for each in zip(*parts))
    if found != sums(count):
        raise InvalidError(
            f"{what}: the ids in the partitions are not 0 to {count - 1}, each once; {OTHER_ROWS}"
        )


def keys_of_partitions(spark: Any, num_parts: int) -> list[int]:
    """Returns a number for each partition that Spark's hash puts into the task of the same number."""
    from pyspark.sql import functions as F

    keys: dict[int, int] = {}
    first, count = 0, 16 * num_parts + 64
    while len(keys) < num_parts:
        numbers = spark.range(first, first + count).select(F.col("id").cast("int").alias("key"))
        found = numbers.groupBy(F.pmod(F.hash("key"), F.lit(num_parts)).alias("part"))
        for row in found.agg(F.min("key").alias("key")).collect():
            keys.setdefault(row.part, row.key)
        first += count
    return [keys[part] for part in range(num_parts)]
