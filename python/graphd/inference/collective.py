# SPDX-License-Identifier: Apache-2.0
"""Barriers and sums of all trainers of a job, without a process group of PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from .. import backend
from ..distributed.policy import PartitionPolicy
from ..distributed.tensor import DistTensor
from ..errors import NotFoundError
from ..graph_base import GraphBase

_SUMS = "graphd.inference:total"


def wait_for_all(g: GraphBase) -> None:
    """Waits for every trainer of the job, without a time limit, because the others may compute for
    long.

    Raises
    ------
    graphd.errors.UnavailableError
        If one of them has left the job.
    graphd.errors.DeadlineError
        If a server does not answer.
    """
    g.handle.wait_for_all()


def total(g: GraphBase, numbers: Sequence[int]) -> list[int]:
    """Returns the sum over all trainers of each number. All trainers of the job call it together."""
    import numpy

    if g.session.world_size == 1:
        return list(numbers)
    if g.session.rank == 0:  # an earlier call that failed may have left its sums
        _drop_sums(g)
    wait_for_all(g)
    sums = DistTensor((len(numbers),), "int64", _SUMS, part_policy=PartitionPolicy("range", g))
    sums.add(slice(None), numpy.asarray(numbers, dtype=numpy.int64))
    wait_for_all(g)
    found: list[int] = backend.to_numpy(sums[:]).tolist()
    wait_for_all(g)  # for the trainers that still read
    if g.session.rank == 0:  # before this trainer reaches the first barrier of the next call
        _drop_sums(g)
    return found


def _drop_sums(g: GraphBase) -> None:
    with contextlib.suppress(NotFoundError):
        DistTensor.drop(g, _SUMS)
