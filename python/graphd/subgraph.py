# SPDX-License-Identifier: Apache-2.0
"""Subgraphs that are held in this process."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from .frame import Frame, frame_of
from .graph_base import GraphBase
from .names import EID, NID
from .schema import Types
from .typed_graph import EdgeListGraph
from .typing import Tensor


class Subgraph(EdgeListGraph):
    """Nodes and edges of the original graph, with ids of their own.

    If the nodes were not relabelled, they are all nodes of the original graph, with their ids
    there.

    Attributes
    ----------
    ndata, edata : mapping
        ``ndata[graphd.NID]`` and ``edata[graphd.EID]`` are the ids in the original graph; with
        several types they are dicts by type.
    """

    def __init__(
        self,
        types: Types,
        nodes: Sequence[Tensor],
        edges: Sequence[tuple[Tensor, Tensor, Tensor]],
        g: GraphBase | None = None,
    ) -> None:
        self.types, self._nodes, self._by_etype, self._g = types, nodes, edges, g
        self.ndata: MutableMapping[str, Any] = frame_of(
            types.ntypes, [Frame() if g else Frame(made={NID: ids}) for ids in nodes]
        )
        self.edata: MutableMapping[str, Any] = frame_of(
            types.canonical_etypes, [Frame(made={EID: ids}) for _, _, ids in edges]
        )

    def _count_nodes(self, ntype_id: int) -> int:
        return self._g.handle.num_nodes(ntype_id) if self._g else len(self._nodes[ntype_id])

    def _count_edges(self, etype_id: int) -> int:
        return len(self._by_etype[etype_id][0])

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        return self._by_etype[etype_id]

    def __repr__(self) -> str:
        return f"Subgraph(num_nodes={self.num_nodes()}, num_edges={self.num_edges()})"
