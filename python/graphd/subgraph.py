# SPDX-License-Identifier: Apache-2.0
"""Small graphs cut out of the large one, whole."""
from .arguments import FORMS, one_of
from .frame import Frame, TypedFrame
from .names import EID, NID


class Subgraph:
    """Nodes and edges of the large graph, numbered anew.

    Attributes
    ----------
    ndata, edata : mapping
        ``ndata[graphd.NID]`` and ``edata[graphd.EID]`` are the ids in the large graph; with several
        types dicts by type.
    """

    def __init__(self, types, nodes, edges, g=None):
        self._types, self._nodes, self._edges, self._g = types, nodes, edges, g
        frames = [Frame() if g else Frame(made={NID: ids}) for ids in nodes]
        self.ndata = frames[0] if len(frames) == 1 else TypedFrame(types.ntypes, frames)
        frames = [Frame(made={EID: ids}) for _, _, ids in edges]
        self.edata = frames[0] if len(frames) == 1 else TypedFrame(types.canonical_etypes, frames)

    @property
    def ntypes(self):
        """Names of the node types."""
        return self._types.ntypes

    @property
    def etypes(self):
        """Relations of the edge types."""
        return self._types.etypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self._types.canonical_etypes

    def num_nodes(self, ntype=None):
        """How many nodes there are; as many as the large graph has if they were not relabelled.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if self._g:
            return self._g.num_nodes(ntype)
        if ntype is None:
            return sum(map(len, self._nodes))
        return len(self._nodes[self._types.ntype_id(ntype)])

    def num_edges(self, etype=None):
        """How many edges there are.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if etype is None:
            return sum(len(src) for src, _, _ in self._edges)
        return len(self._edges[self._types.etype_id(etype)][0])

    number_of_nodes, number_of_edges = num_nodes, num_edges

    def edges(self, form="uv", order="eid", etype=None):
        """The edges.

        Parameters
        ----------
        form : {"uv", "eid", "all"}
            Ends, ids, or both.
        order
            DGL's; without effect.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        tensor, or tuple of tensors
            Sources and destinations, ids, or all three.
        """
        src, dst, ids = self._edges[self._types.etype_id(etype)]
        return {"uv": (src, dst), "eid": ids, "all": (src, dst, ids)}[one_of(form, "form", FORMS)]

    all_edges = edges

    def __repr__(self):
        return f"Subgraph(num_nodes={self.num_nodes()}, num_edges={self.num_edges()})"
