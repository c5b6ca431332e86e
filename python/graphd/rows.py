# SPDX-License-Identifier: Apache-2.0
"""The interpretation of the index in the brackets of a DistTensor, as in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from . import backend
from .arguments import whole_number
from .errors import InvalidError, OutOfRangeError
from .schema import check_local
from .typing import Ids

_MASKS = ("bool", "torch.bool", "uint8", "torch.uint8")


def row_ids(rows: Any, of: Sized) -> Ids:
    """Returns the ids of rows, given as an int, ids, a slice, ``...``, or a mask.

    A mask (bool or uint8) has an element for each of the rows of the tensor, `of`. int32 ids become
    int64, as in DGL. Ids may be negative or too large: see `from_the_end`. Those on another device are
    copied, which waits for the device.
    """
    if isinstance(rows, int):
        return whole_number(rows, "row")
    if rows is Ellipsis:
        rows = slice(None)
    if isinstance(rows, slice):
        import numpy

        return numpy.arange(*rows.indices(len(of)), dtype=numpy.int64)
    if not getattr(rows, "is_cpu", True):
        rows = backend.on_host(rows)
    if rows is None:
        raise InvalidError("row None: expected ids, a slice or a mask; [:] reads all rows")
    dtype = str(getattr(rows, "dtype", ""))
    if dtype in _MASKS or _has_bools(rows):
        import numpy

        mask = numpy.asarray(rows)
        if mask.shape != (len(of),):
            raise InvalidError(
                f"a mask of shape {mask.shape}: expected one bool for each of the {len(of)} rows"
            )
        return numpy.flatnonzero(mask)
    check_local(rows, "rows")
    if dtype == "torch.int32":
        return rows.long()
    return rows.astype("int64") if dtype == "int32" else rows


def from_the_end(ids: Ids, count: int) -> Ids | None:
    """Returns ids with each negative one replaced by the row that it counts from the end; None if
    no id is negative, or if they are not int64 ids.

    This is called only after a call with these ids was refused. Valid ids are not searched for
    negative ones before each read, because that would take time.

    Raises
    ------
    graphd.errors.OutOfRangeError
        If an id is outside -count .. count-1.
    """
    import numpy

    try:
        numbers = numpy.asarray(ids)
    except TypeError:  # a tensor on another device
        return None
    if numbers.dtype != numpy.int64 or numbers.size == 0:
        return None
    for id in (int(numbers.min()), int(numbers.max())):
        if not -count <= id < count:
            raise OutOfRangeError(
                f"row {id} is outside -{count}..{count - 1}; the tensor has {count} rows"
                if count
                else f"row {id}: the tensor has no rows"
            )
    if numbers.min() >= 0:
        return None
    found = numpy.where(numbers < 0, numbers + count, numbers).astype(numpy.int64)
    return int(found) if isinstance(ids, int) else found


def is_list_of_rows(rows: Any) -> bool:
    """Returns whether rows are named one by one, so that ``[rows, columns]`` pairs the two."""
    return not isinstance(rows, (int, slice)) and rows is not Ellipsis


def num_ids(ids: Any) -> int:
    """Returns the number of ids, which are checked where they are used: 1 for anything that is not
    a list."""
    if isinstance(ids, int):
        return 1
    if isinstance(ids, list):
        return len(ids)
    shape = getattr(ids, "shape", None)  # PyTorch's len takes longer
    if shape is None:
        return len(ids) if hasattr(ids, "__len__") else 1
    return shape[0] if shape else 1


def _has_bools(rows: Any) -> bool:
    return (
        isinstance(rows, (list, tuple))
        and len(rows) > 0
        and all(isinstance(each, bool) for each in rows)
    )
