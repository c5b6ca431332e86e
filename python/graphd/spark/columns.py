# SPDX-License-Identifier: Apache-2.0
"""The features of DataFrames: which columns they are, and how partitions store them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _graphd
from ..errors import InvalidError
from ..table_columns import grouped
from . import tasks

# A planned feature: name, number of elements of a list (0: no list), dtype, stored dtype, scale.
Feature = tuple[str, int, str, str, float]


def quoted(name: str) -> str:
    """Returns a column's name as Spark's expressions need it."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def check_whole(dtype: Any, what: str, name: str, wanted: str = "whole numbers") -> None:
    """Raises InvalidError unless a column has the type of whole numbers."""
    from pyspark.sql import types as T

    if not isinstance(dtype, T.IntegralType):
        raise InvalidError(f"{what}: column {name!r} has {dtype.simpleString()}; expected {wanted}")


def features_of(frame: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Returns the expression of each feature. Columns x.0, x.1 and so on are one feature x, but lists of
    these names are features of their own, as for graphctl partition.

    Raises
    ------
    graphd.errors.InvalidError
        If two features have the same name, if the columns of a feature have different types, which
        Spark would convert to one type, or if they are not adjacent, because graphctl partition
        would make several features of them.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    types = {name: frame.schema[name].dataType for name in names}
    lists = [name for name in names if isinstance(types[name], T.ArrayType)]
    groups = grouped([name for name in names if name not in lists])
    for name in lists:
        if name in groups:
            raise InvalidError(f"{what}: two features have the name {name!r}; rename a column")
        groups[name] = [name]
    features = {}
    for name, of in sorted(groups.items(), key=lambda group: names.index(group[1][0])):
        for before, other in zip(of, of[1:]):
            if types[other] != types[before]:
                raise InvalidError(
                    f"{what}: columns {before!r} and {other!r} of the feature {name!r} have "
                    f"{types[before].simpleString()} and {types[other].simpleString()}; cast them to "
                    "one type"
                )
            if names.index(other) != names.index(before) + 1:
                raise InvalidError(
                    f"{what}: columns {before!r} and {other!r} of the feature {name!r} are not beside "
                    "each other; select the columns in another order"
                )
        features[name] = F.array(*map(column, of)) if of[1:] else column(of[0])
    return features


def plan(frame: Any, store_as: Mapping[str, str], of: str) -> list[Feature]:
    """Determines how the features of a frame are stored. The frame must have no other columns."""
    from pyspark.sql import types as T

    known = {name: [summary] for name, summary in without_rows(frame, of).items()}
    examined = []
    for field in frame.schema.fields:
        summary = known[field.name][0]
        item = field.dataType
        if isinstance(item, T.ArrayType):
            item = item.elementType
        if not isinstance(item, T.FloatType) or field.name in store_as:
            examined.append(field.name)
        elif item is not field.dataType:
            known[field.name].append(_with_list_size(summary, _list_size(frame, field.name)))
    if examined:
        rows = frame.select(*map(column, examined)).mapInArrow(tasks.summarize, tasks.SUMMARIES)
        for row in rows.collect():
            known[row.column].append(tuple(json.loads(row.summary)))
    return [
        _graphd.plan_feature(name, summaries, store_as.get(name, ""))
        for name, summaries in known.items()
    ]


def without_rows(frame: Any, of: str) -> dict[str, Any]:
    """Returns the summary of each column of a frame, as if it had no rows.

    Raises
    ------
    graphd.errors.InvalidError
        If the column of a feature has neither numbers nor lists of these.
    """
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_type

    summaries = {}
    for field in frame.schema.fields:
        try:
            arrow = to_arrow_type(field.dataType)
            empty = pyarrow.schema([(field.name, arrow)]).empty_table()
            stream = empty.to_reader().__arrow_c_stream__()
            [(_, summaries[field.name])] = _graphd.summarize_table(stream, of)
        except (TypeError, InvalidError) as error:
            raise InvalidError(f"{of}: column {field.name!r}: {error}") from None
    return summaries


def _list_size(frame: Any, name: str) -> int:
    """Returns how many numbers the first list has; writing checks that the other lists have as
    many."""
    from pyspark.sql import functions as F

    first = frame.where(column(name).isNotNull()).select(F.size(column(name)).alias("size")).first()
    return int(first.size) if first else 0


def _with_list_size(summary: Any, size: int) -> Any:
    return (*summary[:-1], size)
