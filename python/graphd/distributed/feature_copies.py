# SPDX-License-Identifier: Apache-2.0
"""Copies of node features, which a job makes when it first changes a feature.

The graph's features are sealed, because every job that uses the graph maps them. The copy is a tensor
of the job or, with ``DistGraph(persistent_features=True)``, a persistent tensor of the servers. Its
name follows from the name of the feature, so that all trainers, or all such jobs, make or find the
same copy. The servers let one trainer fill the copy while the others wait; if that trainer dies,
another trainer fills it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import _graphd, progress
from ..errors import DeniedError
from ..graph_base import GraphBase
from ..typing import Tensor

# This lock keeps two threads of a process from filling the same copy.
_lock = threading.Lock()


def copy_feature(g: GraphBase, feature: _graphd.DistTensor) -> None:
    """Makes or finds the copy of a feature, which `GraphBase.data` returns from now on.

    Raises
    ------
    graphd.errors.DeniedError
        If it is a feature of edges, if the ids that a partition owns are not a range, or if the job
        may not make tensors.
    """
    if feature.is_edge or not g.handle.book.is_range:
        why = (
            "sampling by the servers would not see the change"
            if feature.is_edge
            else "the graph was partitioned without new ids"
        )
        raise DeniedError(
            f"feature {feature.name!r} belongs to the graph and can't be changed, since {why}; make a "
            f'DistTensor of its shape and dtype, as g.{"e" if feature.is_edge else "n"}data["new"] = '
            "DistTensor(...), and assign to its rows"
        )
    with _lock:
        if (feature.type, feature.name) not in g.copies:
            with progress.clock(f"copying feature {feature.name!r}"):
                copy = _graphd.create_tensor(g.handle, _spec(g, feature), _reader(feature))
            g.copies[feature.type, feature.name] = copy


def find_copies(g: GraphBase) -> None:
    """Finds the copies that other trainers of the job have made or, if copies are persistent, that
    other jobs have made."""
    known = {
        each["name"]
        for each in _graphd.list_tensors(g.handle)
        if each["persistent"] == g.persistent_features
    }
    for t, name in _node_features(g):
        if (t, name) not in g.copies and _name(g, t, name) in known:
            copy_feature(g, g.handle.data(False, t, name))


def _node_features(g: GraphBase) -> Iterator[tuple[int, str]]:
    for t in range(len(g.types.ntypes)):
        for name, _, _ in g.handle.schemes(False, t):
            yield t, name


def _name(g: GraphBase, t: int, name: str) -> str:
    """Returns the name of the tensor that is the copy of a feature."""
    return f"copy of feature {g.types.ntypes[t]}/{name}"


def _spec(g: GraphBase, feature: _graphd.DistTensor) -> dict[str, Any]:
    return {
        "name": _name(g, feature.type, feature.name),
        "persistent": g.persistent_features,
        "policy": "node",
        "type": feature.type,
        "rows": feature.shape[0],
        "dtype": feature.dtype,
        "row_shape": list(feature.shape[1:]),
        "initializer": ("constant", 0.0, 0.0, 0),
        "many_writers": False,
    }


def _reader(feature: _graphd.DistTensor) -> Callable[[int, tuple[int, ...]], Tensor]:
    """Returns a function that reads rows of a feature, from a given row on."""
    return lambda begin, shape: feature.slice(begin, begin + shape[0])


def _renew_lock() -> None:
    """Gives a forked child a lock of its own: a thread that held it does not exist there."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
