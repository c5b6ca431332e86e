# SPDX-License-Identifier: Apache-2.0
"""Nodes and edges that are given as tables in Arrow's layout, of pyarrow, polars or other libraries,
which are not imported for that: such tables export a stream (`__arrow_c_stream__`), whose memory is
read in place."""

from __future__ import annotations

from typing import Any

from . import _graphd
from .errors import InvalidError
from .input_names import Names
from .labels import Labels, labels_of
from .table_columns import Columns, end_columns, end_columns_note, grouped, ordered
from .typing import Triple


def is_table(value: Any) -> bool:
    """Returns whether a value is a table of Arrow's layout: one with `__arrow_c_stream__`, such as
    those of pyarrow and polars, or a record batch or a dataset of pyarrow."""
    exports = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return exports or _is_dataset(value)


def _is_dataset(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "scanner")


class Column:
    """A column of a table: numbers, text, or text that Arrow encodes by a dictionary.

    Attributes
    ----------
    name : str
    numbers : numpy.ndarray or None
        The numbers, [N] or for lists [N, K]; for text with a dictionary, positions in it.
    texts : list of str or None
        The texts of the rows, or of Arrow's dictionary.
    """

    def __init__(self, name: str, numbers: Any, texts: Any) -> None:
        self.name, self.numbers, self.texts = name, numbers, texts

    def ids(self, of: str) -> Any:
        """Returns ids as an array of integers, or names as a list of str."""
        if self.numbers is None or (self.texts is not None and not len(self.numbers)):
            names = self.texts if self.numbers is None else []
        elif self.numbers.dtype.kind not in "iu" or self.numbers.ndim != 1:
            raise InvalidError(
                f"{of}: the column {self.name!r} has {self.numbers.dtype} in the shape "
                f"{self.numbers.shape}; expected whole numbers or text, without nulls"
            )
        elif self.texts is None:
            return self.numbers
        else:
            names = [self.texts[i] for i in self.numbers.tolist()]
        if None in names:
            raise InvalidError(
                f"{of}: the column {self.name!r} has a null in row {names.index(None)} (from 0); "
                "drop the row, or give the node a name"
            )
        return names

    def integers(self) -> Any:
        """Returns whole numbers without nulls, one per row; None if the column has something else."""
        if self.numbers is None or self.texts is not None or self.numbers.ndim != 1:
            return None
        return self.numbers if self.numbers.dtype.kind in "iu" else None

    def feature(self) -> Any:
        """Returns numbers; for text or a dictionary, returns `Labels`."""
        if self.numbers is None:
            return labels_of(self.name, self.texts)
        return self.numbers if self.texts is None else Labels(self.numbers, self.texts)


def columns_of(table: Any, what: str) -> dict[str, Column]:
    """Reads a table. Columns in one piece are not copied, unless they are bool or have nulls."""
    if _is_dataset(table):
        table = table.scanner().to_reader()
    elif not hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        table = pyarrow.Table.from_batches([pyarrow.record_batch(table)])
    try:
        stream = table.__arrow_c_stream__()
    except ImportError as error:
        raise InvalidError(f"{what}: {error}; install pyarrow: pip install pyarrow") from None
    columns: dict[str, Column] = {}
    for name, numbers, texts in _graphd.read_arrow(stream, what):
        if name in columns:
            raise InvalidError(f"{what}: two columns are called {name!r}; rename one")
        columns[name] = Column(name, numbers, texts)
    return columns


def edges_of(etype: Triple, table: Any) -> tuple[Any, Any, Columns, str]:
    """Returns sources, destinations and features, from columns that are chosen by the rule of
    `dataframes.edges_of`, and a description of what is doubtful about the choice."""
    what = f"edges of {etype!r}"
    columns = columns_of(table, what)
    ends = end_columns(etype, list(columns), "table")
    src, dst = (columns[name].ids(what) for name in ends)
    features = _features({name: c for name, c in columns.items() if name not in ends})
    note = end_columns_note(etype, ends, [(name, c.integers()) for name, c in columns.items()])
    return src, dst, features, note


def nodes_of(ntype: Any, table: Any) -> tuple[int, Names | None, Columns]:
    """Returns the number of nodes, their names, if the first column has names, and the other
    columns as features. A first column of ids says which node a row is, and the features are put in
    the order of the ids."""
    what = f"nodes of {ntype!r}"
    columns = columns_of(table, what)
    if not columns:
        raise InvalidError(f"{what}: the table has no columns; the first one has the ids")
    first, *others = columns
    features = _features({name: columns[name] for name in others})
    return ordered(ntype, f"the first column, {first!r},", columns[first].ids(what), features)


def _features(columns: dict[str, Column]) -> Columns:
    import numpy

    features = {}
    for name, of in grouped(list(columns)).items():
        if of == [name]:
            features[name] = columns[name].feature()
        else:
            parts = [columns[each].feature() for each in of]
            for each, part in zip(of, parts):
                if isinstance(part, Labels):
                    raise InvalidError(
                        f"column {each!r} has text, and the columns {name}.0, {name}.1 ... together "
                        "are numbers of one feature; rename it, or drop it"
                    )
            features[name] = numpy.stack(parts, axis=1)
            if len(of) == 1:
                features[name] = features[name][:, 0]
    return features
