# SPDX-License-Identifier: Apache-2.0
"""Names of node and edge types, and their numbers in the extension module."""
import collections.abc

from .errors import InvalidError


def checked_ids(ids, what):
    """`ids`, unless they are a mask: as numbers it would be nodes 0 and 1."""
    if str(getattr(ids, "dtype", "")) in ("bool", "torch.bool"):
        raise InvalidError(f"{what}: expected ids, got a mask; node_split and edge_split give the "
                           "ids of a mask's ones, those of this trainer")
    if hasattr(ids, "part_policy"):
        raise InvalidError(f"{what}: expected ids, got {ids!r}; if its rows are ids, read them: "
                           "tensor[:]")
    return ids


class Types:
    """The types of a graph.

    Attributes
    ----------
    ntypes, etypes : list of str
        By number. Several edge types may have the same relation.
    canonical_etypes : list of (str, str, str)
    handle
        The extension's schema.
    """

    def __init__(self, schema):
        self.handle = schema
        self.ntypes = schema.ntypes
        self.canonical_etypes = schema.canonical_etypes
        self.etypes = [relation for _, relation, _ in self.canonical_etypes]
        number = {name: i for i, name in enumerate(self.ntypes)}
        self.src_types = [number[src] for src, _, _ in self.canonical_etypes]
        self.dst_types = [number[dst] for _, _, dst in self.canonical_etypes]

    @property
    def is_homogeneous(self):
        return len(self.ntypes) == 1 and len(self.canonical_etypes) == 1

    def ntype_id(self, ntype):
        """The number of a node type; None stands for the only one."""
        if ntype is None:
            if len(self.ntypes) != 1:
                raise InvalidError(f"the graph has the node types {self.ntypes}; name one of them")
            return 0
        if not isinstance(ntype, str):
            raise InvalidError(f"node type {ntype!r}: expected a name; there are {self.ntypes}")
        return self.handle.ntype_id(ntype)

    def etype_id(self, etype):
        """The number of an edge type: a relation, a triple of names, or None for the only one."""
        if etype is None:
            if len(self.canonical_etypes) != 1:
                raise InvalidError(
                    f"the graph has the edge types {self.canonical_etypes}; name one of them")
            return 0
        triple = (etype,) if isinstance(etype, str) else etype
        if not isinstance(triple, (tuple, list)) or not all(isinstance(s, str) for s in triple):
            raise InvalidError(f"edge type {etype!r}: expected a relation or a triple of names; "
                               f"there are {self.canonical_etypes}")
        return self.handle.etype_id(":".join(triple))

    def steps(self, metapath):
        """The numbers of a metapath's edge types."""
        if isinstance(metapath, str) or not isinstance(metapath, collections.abc.Iterable):
            raise InvalidError(f"metapath {metapath!r}: expected a list of edge types, one for "
                               "each step")
        return [self.etype_id(etype) for etype in metapath]

    def by_ntype(self, ids, what):
        """[type] lists of ids out of a dict by type name, or a tensor if there is one type."""
        return self._by_type(ids, self.ntype_id, len(self.ntypes), "node", what)

    def by_etype(self, ids, what):
        return self._by_type(ids, self.etype_id, len(self.canonical_etypes), "edge", what)

    @staticmethod
    def _by_type(ids, number_of, count, kind, what):
        lists = [None] * count
        if isinstance(ids, dict):
            for name, some in ids.items():
                lists[number_of(name)] = checked_ids(some, what)
        elif isinstance(ids, tuple) and len(ids) == 2 and isinstance(ids[0], str):
            raise InvalidError(f"{what}: got a pair of type and ids, as PyG has it; give a dict: "
                               f"{{{ids[0]!r}: ids}}")
        elif ids is None:
            raise InvalidError(f"{what}: expected ids: a tensor, or a dict of {kind} type to ids")
        elif count == 1:
            lists[0] = checked_ids(ids, what)
        else:
            raise InvalidError(f"{what}: the graph has {count} {kind} types; give a dict of "
                               f"{kind} type to ids")
        return lists

    @staticmethod
    def count(lists):
        """How many ids there are in lists by type, which nobody has looked at yet."""
        return sum(len(each) if hasattr(each, "__len__") and getattr(each, "shape", None) != ()
                   else 1 for each in lists if each is not None)

    def ntypes_dict(self, by_type):
        """Tensors by type as DGL gives them: a dict, or the tensor itself if there is one type."""
        if len(self.ntypes) == 1:
            return by_type[0]
        return dict(zip(self.ntypes, by_type))

    def etypes_dict(self, by_type):
        if len(self.canonical_etypes) == 1:
            return by_type[0]
        return dict(zip(self.canonical_etypes, by_type))
