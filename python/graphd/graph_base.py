# SPDX-License-Identifier: Apache-2.0
"""The part of a `DistGraph` on which tensors, samplers and queries depend."""

from __future__ import annotations

from typing import Any

from . import _graphd, progress
from .errors import InvalidError
from .schema import Types
from .typed_graph import SizedGraph


class GraphBase(SizedGraph):
    """The session, the handle and the types of a `DistGraph`.

    Tensors, samplers and queries work on this class, and `DistGraph` derives from it and uses them.

    Parameters
    ----------
    session
        The session of the extension module.
    graph_name : str
    persistent_features : bool
        Whether copies of changed features are persistent tensors, and not the job's.
    """

    def __init__(
        self, session: _graphd.Session, graph_name: str, persistent_features: bool = False
    ) -> None:
        self.session = session
        self.persistent_features = bool(persistent_features)
        self.handle = _graphd.Graph(session, graph_name)
        self.types = Types(self.handle.schema)
        self.calls = progress.Calls()
        # Tensors in place of features of nodes, by (type, name): those that the job has changed, and
        # those that this process has assigned.
        self.copies: dict[tuple[int, str], _graphd.DistTensor] = {}
        self.assigned: dict[tuple[int, str], _graphd.DistTensor] = {}

    def data(self, is_edge: bool, type_id: int, name: str) -> _graphd.DistTensor:
        """Returns the feature of this name or the tensor that is in its place.

        Parameters
        ----------
        is_edge : bool
        type_id : int
            The number of the node or edge type.
        name : str

        Returns
        -------
        DistTensor of the extension module

        Raises
        ------
        graphd.errors.NotFoundError
            If there are no such data.
        """
        found = None
        if not is_edge:
            found = self.assigned.get((type_id, name)) or self.copies.get((type_id, name))
        return self.handle.data(is_edge, type_id, name) if found is None else found

    def _count_nodes(self, ntype_id: int) -> int:
        return self.handle.num_nodes(ntype_id)

    def _count_edges(self, etype_id: int) -> int:
        return self.handle.num_edges(etype_id)


def graph_of(g: Any) -> GraphBase:
    """Returns `g` if it is a DistGraph."""
    if not isinstance(g, GraphBase):
        raise InvalidError(f'g {g!r}: expected a DistGraph, as DistGraph("products") gives it')
    return g
