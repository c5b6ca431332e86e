# SPDX-License-Identifier: Apache-2.0
"""The ids that nodes and edges had before they were partitioned."""

from __future__ import annotations

from typing import Any

from .. import backend
from ..errors import InvalidError, NotFoundError
from ..graph_base import GraphBase
from .elementwise import pieces
from .tensor import DistTensor

ORIGINAL_ID = "orig_id"


def original_ids(g: GraphBase, is_edge: bool, type_id: int) -> DistTensor | None:
    """Returns the feature with the original ids of a type, or None if the graph does not have it."""
    try:
        return DistTensor.of(g.handle.data(is_edge, type_id, ORIGINAL_ID), g)
    except NotFoundError:
        return None


def by_original_id(original: DistTensor) -> Any:
    """Returns an int64 array whose element i is the id of the node or edge with original id i.

    The array takes 8 bytes for each node or edge; the feature itself is read piece by piece.

    Raises
    ------
    graphd.errors.InvalidError
        If the original ids are not the numbers from 0 without gaps.
    """
    import numpy

    count = len(original)
    found = numpy.full(count, -1, dtype=numpy.int64)
    for rows in pieces(original):
        numbers = backend.to_numpy(original[rows]).reshape(-1).astype(numpy.int64)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < count):
            raise InvalidError(
                f"{ORIGINAL_ID}: ids from {numbers.min()} to {numbers.max()}, expected 0 to "
                f"{count - 1}; use the ids of the partitioned graph"
            )
        found[numbers] = numpy.arange(rows.start, rows.start + len(numbers))
    if count and found.min() < 0:
        raise InvalidError(
            f"{ORIGINAL_ID}: id {int(found.argmin())} is missing and another appears twice; use the "
            "ids of the partitioned graph"
        )
    return found
