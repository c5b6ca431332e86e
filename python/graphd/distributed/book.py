# SPDX-License-Identifier: Apache-2.0
"""Which partition owns what."""
from .. import _graphd, backend
from ..arguments import part_config_file, whole_number_in
from ..schema import Types

DEFAULT_NTYPE = "_N"
DEFAULT_ETYPE = ("_N", "_E", "_N")
_HOMOGENEOUS = -1


class GraphPartitionBook:
    """Owners, and the ways from one id space to another. Matches DGL's class of this name.

    Without a type, ids are homogeneous: numbers over all types. Where the graph has one type these
    are the same as the type's own. Ids out of range raise `graphd.errors.InvalidError`.
    """

    def __init__(self, handle, partid=0):
        backend.chosen()
        self.handle = handle
        self.types = Types(handle.schema)
        self._partid = partid

    def shared_memory(self, graph_name):
        """DGL's: nothing to do here.

        Parameters
        ----------
        graph_name : str
        """

    def num_partitions(self):
        """How many partitions there are.

        Returns
        -------
        int
        """
        return self.handle.num_partitions

    @property
    def partid(self):
        """The partition of this trainer's machine."""
        return self._partid

    @property
    def ntypes(self):
        """Names of the node types."""
        return self.types.ntypes

    @property
    def etypes(self):
        """Relations of the edge types."""
        return self.types.etypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self.types.canonical_etypes

    @property
    def is_homogeneous(self):
        """Whether there is one type of nodes and one of edges."""
        return self.types.is_homogeneous

    def to_canonical_etype(self, etype):
        """The triple that a relation stands for.

        Parameters
        ----------
        etype : str or (str, str, str)

        Returns
        -------
        (str, str, str)
        """
        return self.types.canonical_etypes[self.types.etype_id(etype)]

    def metadata(self):
        """What each partition owns.

        Returns
        -------
        list of dict
            machine_id, num_nodes and num_edges.
        """
        return [{"machine_id": p, "num_nodes": self.handle.count_in(False, _HOMOGENEOUS, p),
                 "num_edges": self.handle.count_in(True, _HOMOGENEOUS, p)}
                for p in range(self.num_partitions())]

    def ntype_id(self, ntype):
        """The number of a node type.

        Parameters
        ----------
        ntype : str

        Returns
        -------
        int
            -1 for DGL's default name on a graph that has no type called so: homogeneous ids.
        """
        if ntype == DEFAULT_NTYPE and DEFAULT_NTYPE not in self.types.ntypes:
            return _HOMOGENEOUS
        return self.types.ntype_id(ntype)

    def etype_id(self, etype):
        """The number of an edge type.

        Parameters
        ----------
        etype : str or (str, str, str)

        Returns
        -------
        int
            -1 for DGL's default name on a graph that has no type called so: homogeneous ids.
        """
        if etype in (DEFAULT_ETYPE, "_E") and "_E" not in self.types.etypes:
            return _HOMOGENEOUS
        return self.types.etype_id(etype)

    def nid2partid(self, nids, ntype=DEFAULT_NTYPE):
        """The partitions that own nodes.

        Parameters
        ----------
        nids : int64 tensor or list
            Within the type; homogeneous ids without one.
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.owners(False, self.ntype_id(ntype), nids)

    def eid2partid(self, eids, etype=DEFAULT_ETYPE):
        """The partitions that own edges.

        Parameters
        ----------
        eids : int64 tensor or list
            Within the type; homogeneous ids without one.
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.owners(True, self.etype_id(etype), eids)

    def partid2nids(self, partid, ntype=DEFAULT_NTYPE):
        """The nodes that a partition owns.

        Parameters
        ----------
        partid : int
        ntype : str

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.ids_of(False, self.ntype_id(ntype), self._part(partid))

    def partid2eids(self, partid, etype=DEFAULT_ETYPE):
        """The edges that a partition owns.

        Parameters
        ----------
        partid : int
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.ids_of(True, self.etype_id(etype), self._part(partid))

    def _part(self, partid):
        return whole_number_in(partid, "partid", 0, self.num_partitions() - 1)

    def nid2localnid(self, nids, partid=None, ntype=DEFAULT_NTYPE):
        """Rows of nodes among those that their owner has.

        Parameters
        ----------
        nids : int64 tensor or list
            Within the type; homogeneous ids without one.
        partid : int, optional
            DGL's; without effect, for nodes of any partition will do.
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.local_rows(False, self.ntype_id(ntype), nids)

    def eid2localeid(self, eids, partid=None, etype=DEFAULT_ETYPE):
        """Rows of edges among those that their owner has.

        Parameters
        ----------
        eids : int64 tensor or list
            Within the type; homogeneous ids without one.
        partid : int, optional
            DGL's; without effect, for edges of any partition will do.
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.local_rows(True, self.etype_id(etype), eids)

    def map_to_per_ntype(self, ids):
        """Types of homogeneous node ids, and ids within these.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        types, ids : int64 tensor
        """
        return self.handle.to_typed(False, ids)

    def map_to_per_etype(self, ids):
        """Types of homogeneous edge ids, and ids within these.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        types, ids : int64 tensor
        """
        return self.handle.to_typed(True, ids)

    def map_to_homo_nid(self, ids, ntype):
        """Homogeneous ids of a type's nodes.

        Parameters
        ----------
        ids : int64 tensor or list
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.to_homo(False, self.types.ntype_id(ntype), ids)

    def map_to_homo_eid(self, ids, etype):
        """Homogeneous ids of a type's edges.

        Parameters
        ----------
        ids : int64 tensor or list
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.to_homo(True, self.types.etype_id(etype), ids)

    def num_nodes(self, ntype=None):
        """How many nodes there are.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._count(False, ntype, self.types.ntype_id, len(self.ntypes))

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
        return self._count(True, etype, self.types.etype_id, len(self.etypes))

    def _count(self, is_edge, name, number_of, num_types):
        if name is None:
            return sum(self.handle.count(is_edge, t) for t in range(num_types))
        return self.handle.count(is_edge, number_of(name))

    def __repr__(self):
        return (f"GraphPartitionBook('{self.handle.graph_name}', "
                f"{self.num_partitions()} partitions)")


def load_partition_book(part_config, part_id=0):
    """Reads who owns what from a part config.

    Parameters
    ----------
    part_config : str
    part_id : int
        The book's own partition.

    Returns
    -------
    GraphPartitionBook
    str
        The graph's name.
    dict, dict
        Numbers of node types and of canonical edge types, by name.
    """
    handle = _graphd.load_book(part_config_file(part_config))
    part_id = whole_number_in(part_id, "part_id", 0, handle.num_partitions - 1)
    book = GraphPartitionBook(handle, part_id)
    return (book, handle.graph_name, {name: i for i, name in enumerate(book.ntypes)},
            {name: i for i, name in enumerate(book.canonical_etypes)})
