# SPDX-License-Identifier: Apache-2.0
"""The history of a training run: the values that it has measured."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, Union

from .arguments import path as path_of
from .arguments import text
from .errors import InvalidError
from .html import curve, table
from .typing import Path

Value = Union[bool, int, float, str, None]
Record = dict[str, Value]

_SHOWN = 10  # records in the table of a notebook


class History:
    """The history of a training run: one record per epoch, or per any other unit.

    With a path, each record is also appended to that file before `record` returns, so that a run
    that is killed keeps what it has recorded. If the file exists, the history continues it. The
    file has a JSON object per line; NaN and Infinity are written by these names. Only one trainer
    of a job may write to a file, for example the one with ``g.rank() == 0``. A history is not safe
    for use by several threads.

    Parameters
    ----------
    path : str, optional
        The file that the records are kept in.

    Raises
    ------
    graphd.errors.InvalidError
        If the file has a line that is not a record.

    Examples
    --------
    >>> history = graphd.History()
    >>> history.record(epoch=0, loss=1.5)
    >>> history.record(epoch=1, loss=0.5, accuracy=0.9)
    >>> history["accuracy"]
    [None, 0.9]
    """

    def __init__(self, path: Path | None = None) -> None:
        self._records: list[Record] = []
        self._path = None if path is None else path_of(path, "path", "the path of a file")
        if self._path is not None and os.path.exists(self._path):
            self._records, is_finished = _read(self._path)
            if not is_finished:  # the next record needs a line of its own
                self.save(self._path)

    @classmethod
    def load(cls, path: Path) -> History:
        """Reads the history that a file has. Later records are not written to the file.

        Parameters
        ----------
        path : str

        Returns
        -------
        History

        Raises
        ------
        graphd.errors.InvalidError
            If the file has a line that is not a record.
        """
        history = cls()
        history._records, _ = _read(path_of(path, "path", "the path of a file"))
        return history

    def save(self, path: Path) -> None:
        """Writes all records to a file, in place of what it has.

        Parameters
        ----------
        path : str
        """
        file_name = path_of(path, "path", "the path of a file")
        with open(f"{file_name}.new", "w", encoding="utf-8") as file:
            file.writelines(map(_line, self._records))
        os.replace(file.name, file_name)

    def record(self, **values: Any) -> None:
        """Adds a record.

        Parameters
        ----------
        **values
            Numbers, strings or None by name; also tensors of one element.

        Raises
        ------
        graphd.errors.InvalidError
            If there is no value, or a value of another kind.
        """
        if not values:
            raise InvalidError("record: expected values by name, as record(epoch=0, loss=0.5)")
        made = {name: _plain(name, value) for name, value in values.items()}
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(_line(made))
        self._records.append(made)

    @property
    def names(self) -> list[str]:
        """The names of all values, in the order of their first appearance."""
        return list(dict.fromkeys(name for record in self._records for name in record))

    def to_dict(self) -> dict[str, list[Value]]:
        """Returns the values of each name, with None for each record that does not have the name.

        Returns
        -------
        dict of str to list
        """
        return {name: self._column(name) for name in self.names}

    def to_pandas(self) -> Any:
        """Returns a row per record and a column per name. It needs pandas.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        return pandas.DataFrame(self._records, columns=self.names)

    @property
    def axis(self) -> str | None:
        """The name of the values that curves have as their x: "epoch" or "step", or None if records
        have neither and are numbered."""
        return next((name for name in ("epoch", "step") if name in self.names), None)

    def curves(self) -> dict[str, tuple[list[float], list[float]]]:
        """Returns the curve of each name that has numbers, without NaN and infinite ones.

        Returns
        -------
        dict of str to (list of float, list of float)
            The x, which are those of `axis`, and the y.
        """
        found: dict[str, tuple[list[float], list[float]]] = {}
        axis = self.axis  # it looks at all records
        for number, record in enumerate(self._records):
            x = _number(record.get(axis) if axis else number)
            for name, value in record.items():
                y = _number(value)
                if name != axis and x is not None and y is not None:
                    xs, ys = found.setdefault(name, ([], []))
                    xs.append(x)
                    ys.append(y)
        return found

    def _column(self, name: str) -> list[Value]:
        return [record.get(name) for record in self._records]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        """Yields the records, as dicts."""
        return map(dict, self._records)

    def __getitem__(self, key: Any) -> Any:
        """Returns a list of the values of a name, or the record of a number (-1: the last)."""
        if isinstance(key, int):
            return dict(self._records[key])
        if text(key, "name") not in self.names:
            raise KeyError(f"no values {key!r}; there are {self.names}")
        return self._column(key)

    def __repr__(self) -> str:
        last = (
            ", ".join(f"{name}={_shown(value)}" for name, value in self[-1].items()) if self else ""
        )
        return f"History({len(self)} records{', the last: ' if last else ''}{last})"

    def _repr_html_(self) -> str:
        names, begin = self.names, max(0, len(self) - _SHOWN)
        rows = [[_shown(record.get(name)) for name in names] for record in self._records[begin:]]
        which = f", the last {_SHOWN}" if begin else ""
        curves = "".join(curve(name, *points) for name, points in self.curves().items())
        return f"<div>{curves}</div>" + table(f"History, {len(self)} records{which}", names, rows)


def _plain(name: str, value: Any) -> Value:
    """Returns a value in the form that JSON has."""
    plain = value
    if hasattr(value, "item") and getattr(value, "size", None) != 0:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # it has several elements
            plain = value.item()
    if plain is None or isinstance(plain, (bool, int, float, str)):
        return plain
    shape = getattr(value, "shape", None)
    raise InvalidError(
        f"record: {name!r} is a {type(value).__name__}"
        f"{'' if shape is None else f' of the shape {tuple(shape)}'}; expected a number, a str, "
        "None, or a tensor of one element"
    )


def _number(value: Value) -> float | None:
    """Returns a finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def _line(record: Mapping[str, Value]) -> str:
    return json.dumps(record) + "\n"


def _read(path: str) -> tuple[list[Record], bool]:
    """Returns the records of a file, and whether its last line is finished. A line that a killed
    run has begun is dropped."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        record = _parsed(line)
        if record is not None:
            records.append(record)
        elif number < len(lines) or not (line == b"" or line.startswith(b"{")):
            raise InvalidError(
                f'{path}:{number}: expected a record, as {{"epoch": 0, "loss": 0.5}}; give a file '
                "that History has written"
            )
    return records, lines[-1] == b""


def _parsed(line: bytes) -> Record | None:
    """Returns the record of a line, or None if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    is_record = isinstance(record, dict) and not any(
        isinstance(value, (dict, list)) for value in record.values()
    )
    return record if is_record else None


def _shown(value: Value) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
