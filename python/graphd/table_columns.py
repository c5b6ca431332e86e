# SPDX-License-Identifier: Apache-2.0
"""The meaning of the columns of tables of nodes and edges, whichever library made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import InvalidError
from .input_names import Names
from .typing import Tensor, Triple

Columns = dict[str, Tensor]


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


def ordered(ntype: Any, hint: str, ids: Any, columns: Columns) -> tuple[int, Names | None, Columns]:
    """Returns the number of nodes, their names or None, and the features in the order of the ids,
    for rows with these ids or names. `hint` says where these are."""
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
