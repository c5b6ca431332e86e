# SPDX-License-Identifier: Apache-2.0
"""Elementwise comparison of distributed tensors, piece by piece."""

from __future__ import annotations

import collections.abc
import contextlib
import math
import numbers
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from .. import backend, progress
from ..errors import InvalidError
from ..typing import Tensor

_PIECE_ELEMENTS = 1 << 24
FEW_IDS = 1 << 10  # no clock is needed for a read of so many rows


class Rows(Protocol):
    """The part of the interface of `DistTensor` that this module uses."""

    @property
    def name(self) -> str:
        """The name, for messages."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all rows together."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Tensor: ...


def pieces(tensor: Rows) -> list[slice]:
    """Returns slices that cover the rows of a tensor, one at least, each of a bounded size."""
    step = _rows_per_piece(tensor)
    begins = range(0, max(len(tensor), 1), step)
    return [slice(begin, min(begin + step, len(tensor))) for begin in begins]


def _rows_per_piece(tensor: Rows) -> int:
    row_elements = math.prod(max(extent, 1) for extent in tensor.shape[1:])
    return max(1, _PIECE_ELEMENTS // row_elements)


def shown_pieces(tensor: Rows) -> Iterator[slice]:
    """Yields the slices that `pieces` returns, and shows the progress of a caller that reads their
    rows."""
    return progress.bar(pieces(tensor), f"reading {tensor.name!r}")


def shown_read(tensor: Rows, num_rows: int) -> contextlib.AbstractContextManager[None]:
    """Returns a context that shows how long a read of `num_rows` rows takes, if these are many."""
    return _shown(tensor, num_rows, "reading")


def shown_read_of_ids(tensor: Rows, num_ids: int) -> contextlib.AbstractContextManager[None]:
    """Returns a context that shows how long a read of rows by their ids takes, if there are many. A
    row that is read by its id takes longer than a row of a slice."""
    if num_ids >= progress.MANY:
        return progress.clock(f"reading {tensor.name!r}")
    return _shown(tensor, num_ids, "reading")


def shown_write(tensor: Rows, values: Any) -> contextlib.AbstractContextManager[None]:
    """Returns a context that shows how long writing these values takes, if they are many."""
    shape = getattr(values, "shape", ())
    return _shown(tensor, shape[0] if shape else 0, "writing")


def _shown(tensor: Rows, num_rows: int, verb: str) -> contextlib.AbstractContextManager[None]:
    if num_rows <= _rows_per_piece(tensor):
        return contextlib.nullcontext()
    return progress.clock(f"{verb} {tensor.name!r}")


def compare(tensor: Rows, other: Any, operation: Callable[[Any, Any], Any]) -> Tensor:
    """Returns ``operation(tensor, other)`` as a bool tensor in this process's memory.

    Returns NotImplemented if `other` is neither a number nor a tensor, so that Python asks `other`.

    Raises
    ------
    graphd.errors.InvalidError
        If the shape of `other` can't be broadcast to the tensor's.
    """
    backend.chosen()
    operand = _operand(tensor, other)
    if operand is None:
        return NotImplemented
    return backend.concatenate(
        [operation(tensor[rows], operand(rows)) for rows in shown_pieces(tensor)]
    )


def _operand(tensor: Rows, other: Any) -> Callable[[slice], Any] | None:
    """Returns a function that gives the part of `other` which belongs to some rows of `tensor`."""
    if isinstance(other, numbers.Number):
        return lambda rows: other
    has_shape = hasattr(other, "shape") and hasattr(other, "__getitem__")
    if isinstance(other, (str, bytes)) or not (
        has_shape or isinstance(other, collections.abc.Sequence)
    ):
        return None
    if not has_shape:
        import numpy

        other = numpy.asarray(other)
    shape = tuple(other.shape)
    missing = len(tensor.shape) - len(shape)
    padded = (1,) * missing + shape
    if missing < 0 or any(theirs not in (1, ours) for theirs, ours in zip(padded, tensor.shape)):
        raise InvalidError(
            f"a comparison of shapes {tensor.shape} and {shape}: expected a number, a tensor of "
            "the same shape, or one of the shape of a row"
        )
    has_rows = missing == 0 and shape[0] == len(tensor)
    if hasattr(other, "part_policy"):  # another DistTensor, which is read piece by piece, too
        return (lambda rows: other[rows]) if has_rows else (lambda rows: other[:])
    local = backend.converted(other)
    return (lambda rows: local[rows]) if has_rows else (lambda rows: local)
