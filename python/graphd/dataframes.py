# SPDX-License-Identifier: Apache-2.0
"""Nodes and edges that are given as frames of pandas, which is not imported for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import arrow_tables
from .errors import InvalidError
from .input_names import Names, ids_or_names
from .labels import Labels, labels_of, texts_in
from .table_columns import SAMPLE_ROWS, Columns, end_columns, end_columns_note, grouped, ordered
from .typing import Triple


def is_frame(value: Any) -> bool:
    """Returns whether a value is a pandas.DataFrame."""
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "columns")


def edges_of(etype: Triple, frame: Any) -> tuple[Any, Any, Columns, str]:
    """Returns the columns of sources and destinations, the other columns as features, and a
    description of what is doubtful about the choice.

    Sources and destinations are the columns that are named like the two node types, if these names
    differ and both columns exist, and otherwise the first two columns.
    """
    names = list(frame.columns)
    ends = end_columns(etype, names, "frame")
    src, dst = (frame[name].to_numpy() for name in ends)
    features = features_of(frame, [name for name in names if name not in ends])
    first_rows = [frame.iloc[:, i].iloc[:SAMPLE_ROWS].to_numpy() for i in range(min(3, len(names)))]
    numbers = [rows if rows.dtype.kind in "iu" else None for rows in first_rows]
    columns = list(zip(names, [*numbers, *[None] * (len(names) - 3)]))
    return src, dst, features, end_columns_note(etype, ends, columns)


def nodes_of(ntype: Any, frame: Any) -> tuple[int, Names | None, Columns]:
    """Returns the number of nodes, their names, if the frame's index has names, and the columns as
    features. An index of ids says which node a row is, and the features are put in the order of the
    ids."""
    ids = ids_or_names(frame.index.to_numpy())
    hint = "the index of the frame"
    return ordered(ntype, hint, ids, features_of(frame, list(frame.columns)))


def features_of(frame: Any, names: Sequence[Any]) -> Columns:
    """Returns columns as arrays. Columns named x.0, x.1 and so on become one array x with several
    numbers per row, as those of files do; without x.0, a column x.1 is an array x.1."""
    return {
        name: _numbers(frame, of[0] if of == [name] else of) for name, of in grouped(names).items()
    }


def _numbers(frame: Any, columns: Any) -> Any:
    """Returns a column, or several columns together, as an array or as labels. Lists and texts,
    which pandas stores as Python objects, are read through Arrow if this version of pandas can
    export them."""
    array = frame[columns].to_numpy()
    if array.dtype.kind in "biuf" or isinstance(columns, list):
        return array
    if not hasattr(frame, "__arrow_c_stream__"):
        return _labels(frame[columns])
    # The index is left out, because a frame would export it as a further column.
    table = frame[[columns]].reset_index(drop=True)
    return arrow_tables.columns_of(table, "the frame")[str(columns)].feature()


def _labels(column: Any) -> Labels:
    """Returns the labels of a column of text or of categories that are texts."""
    import numpy

    if column.dtype == "category":
        categories, codes = list(column.cat.categories), column.cat.codes.to_numpy()
        if all(isinstance(text, str) for text in categories):
            missing = codes < 0
            if not missing.any():
                return Labels(codes.astype(numpy.int64), categories)
            return Labels(numpy.where(missing, numpy.nan, codes).astype(numpy.float32), categories)
    texts = texts_in(column.astype(object).where(column.notna(), None).to_numpy())
    if texts is None:
        raise InvalidError(
            f"column {column.name!r} of the frame has the dtype {column.dtype}, expected numbers or "
            "text; lists need pandas 2.2 or newer, and pyarrow; convert the column, or drop it"
        )
    return labels_of(str(column.name), texts)
