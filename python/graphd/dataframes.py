# SPDX-License-Identifier: Apache-2.0
"""Nodes and edges that are given as frames of pandas, which is not imported for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import InvalidError
from .input_names import Names, ids_or_names
from .typing import Tensor, Triple

Columns = dict[str, Tensor]


def is_frame(value: Any) -> bool:
    """Returns whether a value is a pandas.DataFrame."""
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "columns")


def edges_of(etype: Triple, frame: Any) -> tuple[Any, Any, Columns]:
    """Returns the columns of sources and destinations, and the others as features.

    Those are the columns that are named like the two node types, if these names differ and there
    are both, and otherwise the first two.
    """
    names = list(frame.columns)
    ends = [etype[0], etype[2]]
    if ends[0] == ends[1] or not set(ends) <= set(names):
        ends = names[:2]
    if len(ends) != 2:
        raise InvalidError(
            f"edges of {etype!r}: the frame has the columns {names}; expected two or more, of which "
            "the first two are sources and destinations"
        )
    src, dst = (frame[name].to_numpy() for name in ends)
    return src, dst, features_of(frame, [name for name in names if name not in ends])


def nodes_of(ntype: Any, frame: Any) -> tuple[Names | None, Columns]:
    """Returns the names of nodes, if the frame's index has names, and the columns as features. An
    index of ids says which node a row is, and the features are put in the order of the ids."""
    import numpy

    ids = ids_or_names(frame.index.to_numpy())
    if isinstance(ids, list):
        if not frame.index.is_unique:
            twice = frame.index[frame.index.duplicated()][0]
            raise InvalidError(f"nodes of {ntype!r}: two rows have the name {twice!r}; drop one")
        return ids, features_of(frame, list(frame.columns))
    order = numpy.argsort(ids, kind="stable")
    if (ids[order] != numpy.arange(len(ids))).any():
        raise InvalidError(
            f"nodes of {ntype!r}: the index of the frame has ids; expected each of 0 to "
            f"{len(ids) - 1} once, or names (set_index makes a column the index)"
        )
    columns = features_of(frame, list(frame.columns))
    if (order == numpy.arange(len(ids))).all():
        return None, columns
    return None, {name: column[order] for name, column in columns.items()}


def features_of(frame: Any, names: Sequence[Any]) -> Columns:
    """Returns columns as arrays. Columns named x.0, x.1 and so on become one array x with several
    numbers per row, as those of files do; without x.0, a column x.1 is an array x.1."""
    grouped: dict[str, list[Any]] = {}
    stems = {str(name)[:-2] for name in names if str(name).endswith(".0")} - {""}
    for name in names:
        stem, _, number = str(name).rpartition(".")
        if stem in stems and number == str(len(grouped.get(stem, ()))):
            grouped.setdefault(stem, []).append(name)
        elif str(name) in grouped or str(name) in stems:
            raise InvalidError(
                f"column {name!r}: another column, or those from '{name}.0' on, are the feature "
                "of this name; rename one"
            )
        else:
            grouped[str(name)] = [name]
    return {name: frame[of[0] if of == [name] else of].to_numpy() for name, of in grouped.items()}
