# SPDX-License-Identifier: Apache-2.0
"""Which partition owns what."""
from .. import _graphd, backend
from ..errors import part_config_file, whole_number_in
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
        """DGL's: nothing to do here."""

    def num_partitions(self):
        return self.handle.num_partitions

    @property
    def partid(self):
        """The partition of this trainer's machine."""
        return self._partid

    @property
    def ntypes(self):
        return self.types.ntypes

    @property
    def etypes(self):
        return self.types.etypes

    @property
    def canonical_etypes(self):
        return self.types.canonical_etypes

    @property
    def is_homogeneous(self):
        """Whether there is one type of nodes and one of edges."""
        return self.types.is_homogeneous

    def to_canonical_etype(self, etype):
        """The triple that a relation stands for."""
        return self.types.canonical_etypes[self.types.etype_id(etype)]

    def metadata(self):
        """For each partition a dict of machine_id, num_nodes and num_edges."""
        return [{"machine_id": p, "num_nodes": self.handle.count_in(False, _HOMOGENEOUS, p),
                 "num_edges": self.handle.count_in(True, _HOMOGENEOUS, p)}
                for p in range(self.num_partitions())]

    def ntype_id(self, ntype):
        """The type's number; -1 for DGL's default name on a graph that has no type called so."""
        if ntype == DEFAULT_NTYPE and DEFAULT_NTYPE not in self.types.ntypes:
            return _HOMOGENEOUS
        return self.types.ntype_id(ntype)

    def etype_id(self, etype):
        if etype in (DEFAULT_ETYPE, "_E") and "_E" not in self.types.etypes:
            return _HOMOGENEOUS
        return self.types.etype_id(etype)

    def nid2partid(self, nids, ntype=DEFAULT_NTYPE):
        """The partitions that own the nodes: an int64 tensor."""
        return self.handle.owners(False, self.ntype_id(ntype), nids)

    def eid2partid(self, eids, etype=DEFAULT_ETYPE):
        return self.handle.owners(True, self.etype_id(etype), eids)

    def partid2nids(self, partid, ntype=DEFAULT_NTYPE):
        """The nodes that a partition owns, ascending."""
        return self.handle.ids_of(False, self.ntype_id(ntype), self._part(partid))

    def partid2eids(self, partid, etype=DEFAULT_ETYPE):
        return self.handle.ids_of(True, self.etype_id(etype), self._part(partid))

    def _part(self, partid):
        return whole_number_in(partid, "partid", 0, self.num_partitions() - 1)

    def nid2localnid(self, nids, partid=None, ntype=DEFAULT_NTYPE):
        """Rows of nodes among those that their owner has (of any partition; in DGL the own one)."""
        return self.handle.local_rows(False, self.ntype_id(ntype), nids)

    def eid2localeid(self, eids, partid=None, etype=DEFAULT_ETYPE):
        return self.handle.local_rows(True, self.etype_id(etype), eids)

    def map_to_per_ntype(self, ids):
        """(types' numbers, ids within the types) of homogeneous node ids."""
        return self.handle.to_typed(False, ids)

    def map_to_per_etype(self, ids):
        return self.handle.to_typed(True, ids)

    def map_to_homo_nid(self, ids, ntype):
        return self.handle.to_homo(False, self.types.ntype_id(ntype), ids)

    def map_to_homo_eid(self, ids, etype):
        return self.handle.to_homo(True, self.types.etype_id(etype), ids)

    def num_nodes(self, ntype=None):
        """Nodes of a type, or of all together."""
        return self._count(False, ntype, self.types.ntype_id, len(self.ntypes))

    def num_edges(self, etype=None):
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
