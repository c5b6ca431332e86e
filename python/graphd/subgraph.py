# SPDX-License-Identifier: Apache-2.0
"""Subgraphs that are held in this process."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from .convert import subgraph_to_dgl
from .dgl_form import DglForm, dgl_frames
from .frame import Frame, frame_of, moved
from .graph_base import GraphBase
from .names import EID, NID
from .schema import Types
from .typed_graph import EdgeListGraph, NodeView
from .typing import Tensor

if TYPE_CHECKING:
    from .device.parts import Parts, Rebuild


class Subgraph(DglForm, EdgeListGraph):
    """Nodes and edges of the original graph, with ids of their own.

    If the nodes were not relabelled, they are all nodes of the original graph, with their ids
    there. DGL's message functions take it as it is: see `graphd.dgl_form.DglForm`.

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
        self._node_frames = [Frame() if g else Frame(made={NID: ids}) for ids in nodes]
        self._edge_frames = [Frame(made={EID: ids}) for _, _, ids in edges]

    @property
    def ndata(self) -> MutableMapping[str, Any]:
        """The data of the nodes by name."""
        return frame_of(self.ntypes, self._node_frames)

    @property
    def edata(self) -> MutableMapping[str, Any]:
        """The data of the edges by name."""
        return frame_of(self.canonical_etypes, self._edge_frames)

    def to(self, device: Any) -> Subgraph:
        """Returns the graph with its tensors on another device.

        Parameters
        ----------
        device : torch.device or str

        Returns
        -------
        Subgraph
            The graph itself, for the CPU.
        """
        if str(device) == "cpu":
            return self
        return self._with(
            [ids.to(device) for ids in self._nodes],
            [(u.to(device), v.to(device), ids.to(device)) for u, v, ids in self._by_etype],
            device,
        )

    def take_apart(self, parts: Parts) -> Rebuild:
        """Adds the tensors of the graph to the tensors that one copy moves.

        Parameters
        ----------
        parts : graphd.device.parts.Parts

        Returns
        -------
        callable
            Makes the graph on the device from the moved tensors.
        """
        nodes = [parts.take(each) for each in self._nodes]
        edges = [[parts.take(each) for each in triple] for triple in self._by_etype]
        frames = [
            [{name: parts.take(frame[name]) for name in frame.fixed()} for frame in some]
            for some in (self._node_frames, self._edge_frames)
        ]
        return lambda there: self._with(
            [each(there) for each in nodes],
            [(u(there), v(there), ids(there)) for u, v, ids in edges],
            parts.device,
            [
                [{name: each(there) for name, each in made.items()} for made in some]
                for some in frames
            ],
        )

    def _with(
        self,
        nodes: Sequence[Tensor],
        edges: Sequence[tuple[Tensor, Tensor, Tensor]],
        device: Any,
        made: Sequence[Sequence[Mapping[str, Tensor]]] | None = None,
    ) -> Subgraph:
        """Returns the graph with its ids replaced by these tensors, and with its data, which are
        moved to the device on first access. `made` has the data of nodes and of edges, by type,
        that are on the device already; by default, these are the ids."""
        found = Subgraph(self.types, nodes, edges, self._g)
        found._node_frames, found._edge_frames = (
            [
                moved(frame, device, {name: each for name, each in some.items() if name in frame})
                for some, frame in zip(there, here)
            ]
            for there, here in zip(
                made or (found._node_frames, found._edge_frames),
                (self._node_frames, self._edge_frames),
            )
        )
        return found

    def to_dgl(self) -> Any:
        """Returns the graph with the same nodes, edges and data as a graph of DGL. Needs DGL.

        DGL's message functions take a `Subgraph` itself as well, which makes a graph of DGL for
        them.

        Returns
        -------
        dgl.DGLGraph
        """
        return subgraph_to_dgl(self, self._node_frames, self._edge_frames)

    def _share_data(self, made: Any) -> None:
        self._node_frames = dgl_frames(made.nodes, self.ntypes)
        self._edge_frames = dgl_frames(made.edges, self.canonical_etypes)

    def _count_nodes(self, ntype_id: int) -> int:
        return self._g.handle.num_nodes(ntype_id) if self._g else len(self._nodes[ntype_id])

    def _count_edges(self, etype_id: int) -> int:
        return len(self._by_etype[etype_id][0])

    @property
    def nodes(self) -> NodeView:
        """A view: ``nodes(ntype)`` returns the local ids of a type, and ``nodes[ntype].data`` its
        data."""
        return NodeView(
            self.types, [self.num_nodes(ntype) for ntype in self.ntypes], self._node_frames
        )

    def _frames_of_edges(self) -> Sequence[Frame]:
        return self._edge_frames

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        return self._by_etype[etype_id]

    def __repr__(self) -> str:
        return f"Subgraph(num_nodes={self.num_nodes()}, num_edges={self.num_edges()})"
