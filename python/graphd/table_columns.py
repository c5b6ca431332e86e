# SPDX-License-Identifier: Apache-2.0
"""The meaning of the columns of tables of nodes and edges, whichever library made them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from .errors import InvalidError
from .input_names import Names
from .typing import Tensor, Triple

Columns = dict[str, Tensor]

# The usual names of columns, as in files.
_SOURCES = {"src", "source", "from", "head", "start", "src_id", "fromnodeid", "source_id"}
_DESTINATIONS = {
    "dst",
    "target",
    "destination",
    "to",
    "tail",
    "end",
    "dst_id",
    "tonodeid",
    "target_id",
}
SAMPLE_ROWS = 100  # end_columns_note looks at these first rows
_FEW_ROWS = 10  # a column with fewer rows is not taken for one that counts the rows


def end_columns(etype: Triple, names: Sequence[Any], what: str) -> list[Any]:
    """Returns the columns of sources and destinations of a table."""
    ends = [etype[0], etype[2]]
    if ends[0] == ends[1] or not set(ends) <= set(names):
        ends = list(names[:2])
    if len(ends) != 2:
        raise InvalidError(
            f"edges of {etype!r}: the {what} has the columns {names}; expected two or more, of which "
            "the first two are sources and destinations"
        )
    return ends


def end_columns_note(etype: Triple, ends: Sequence[Any], columns: Sequence[tuple[Any, Any]]) -> str:
    """Returns a note if the columns of sources and destinations of a table were chosen by their
    positions and are doubtful: other columns have usual names of ends ("src", "target"), or the
    first column counts the rows and three columns could be ids.

    Parameters
    ----------
    etype : (str, str, str)
    ends : list
        The names of the columns that were chosen.
    columns : list of (name, values)
        All columns of the table in their order; of the first three also the values, as an array of
        the first rows, or None if they are not integers.
    """
    names = [name for name, _ in columns]
    if list(ends) != names[:2] or list(ends) == [etype[0], etype[2]]:
        return ""
    chosen = f"column {ends[0]!r} has the sources and {ends[1]!r} the destinations"
    usual = [_only_one_of(names, those) for those in (_SOURCES, _DESTINATIONS)]
    if None not in usual and usual != [0, 1]:
        src, dst = (names[number] for number in usual if number is not None)
        return (
            f"edges of {etype!r}: by their positions, {chosen}; put {src!r} and {dst!r} first to take "
            "those of these names"
        )
    if usual[0] == 0 or usual[1] == 1 or not _counts_rows([values for _, values in columns[:3]]):
        return ""
    counted = min(len(columns[0][1]), SAMPLE_ROWS)
    return (
        f"edges of {etype!r}: {chosen}, and {ends[0]!r} counts the first {counted} rows; if it numbers "
        f"the edges, drop it, so that {names[1]!r} and {names[2]!r} are the ends"
    )


def ordered(ntype: Any, hint: str, ids: Any, columns: Columns) -> tuple[int, Names | None, Columns]:
    """Returns the number of nodes, their names or None, and the features in the order of the ids,
    for rows with these ids or names. `hint` says where the ids or names are."""
    import numpy

    if isinstance(ids, list):
        number = {name: i for i, name in enumerate(ids)}
        if len(number) != len(ids):
            twice = next(name for i, name in enumerate(ids) if number[name] != i)
            raise InvalidError(f"nodes of {ntype!r}: two rows have the name {twice!r}; drop one")
        return len(ids), ids, columns
    order = numpy.argsort(ids, kind="stable")
    if (ids[order] != numpy.arange(len(ids))).any():
        raise InvalidError(
            f"nodes of {ntype!r}: {hint} has ids; expected each of 0 to "
            f"{len(ids) - 1} once, or names (in pandas, set_index makes a column the index)"
        )
    if (order == numpy.arange(len(ids))).all():
        return len(ids), None, columns
    return len(ids), None, {name: column[order] for name, column in columns.items()}


def grouped(names: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns the columns of each feature, named as `dataframes.features_of` says."""
    groups: dict[str, list[Any]] = {}
    stems = {str(name)[:-2] for name in names if str(name).endswith(".0")} - {""}
    for name in names:
        stem, _, number = str(name).rpartition(".")
        if stem in stems and number == str(len(groups.get(stem, ()))):
            groups.setdefault(stem, []).append(name)
        elif str(name) in groups or str(name) in stems:
            raise InvalidError(
                f"column {name!r}: another column, or those from '{name}.0' on, are the feature "
                "of this name; rename one"
            )
        else:
            groups[str(name)] = [name]
    return groups


def _only_one_of(names: Sequence[Any], usual: Collection[str]) -> int | None:
    """Returns the position of the column with one of these names, if it is the only one."""
    found = [i for i, name in enumerate(names) if str(name).lower() in usual]
    return found[0] if len(found) == 1 else None


def _counts_rows(first_three: Sequence[Any]) -> bool:
    """Returns whether the first column counts the rows, from 0 or 1 on, and all three could be
    ids."""
    import numpy

    if len(first_three) < 3 or any(values is None for values in first_three):
        return False
    heads = [values[:SAMPLE_ROWS] for values in first_three]
    count = len(heads[0])
    if count < _FEW_ROWS or any(head.min() < 0 for head in heads):
        return False
    return heads[0][0] <= 1 and bool((heads[0] == heads[0][0] + numpy.arange(count)).all())
