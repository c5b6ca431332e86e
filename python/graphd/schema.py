# SPDX-License-Identifier: Apache-2.0
"""Names of node and edge types, and their numbers in the extension module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _graphd
from .errors import InvalidError
from .typing import EdgeIds, EdgeType, Ids, NodeIds, Triple


def checked_ids(ids: Ids, what: str) -> Ids:
    """Returns `ids`. Raises InvalidError for a mask, whose elements would be taken for the ids 0
    and 1."""
    if str(getattr(ids, "dtype", "")) in ("bool", "torch.bool"):
        raise InvalidError(
            f"{what}: expected ids, got a mask; node_split and edge_split give the "
            "ids of a mask's ones, those of this trainer"
        )
    check_local(ids, what)
    return ids


def check_local(ids: Ids, what: str) -> None:
    """Raises InvalidError for a DistTensor, because its rows would be read one by one."""
    if hasattr(ids, "part_policy"):
        raise InvalidError(
            f"{what}: expected ids, got {ids!r}; if its rows are ids, read them: tensor[:]"
        )


class Types:
    """The types of a graph.

    Attributes
    ----------
    ntypes, etypes : list of str
        The names by number. Several edge types may have the same relation.
    canonical_etypes : list of (str, str, str)
    handle
        The schema of the extension module.
    """

    def __init__(self, schema: _graphd.Schema) -> None:
        self.handle = schema
        self.ntypes: list[str] = schema.ntypes
        self.canonical_etypes: list[Triple] = schema.canonical_etypes
        self.etypes = [relation for _, relation, _ in self.canonical_etypes]
        number = {name: i for i, name in enumerate(self.ntypes)}
        self.src_types = [number[src] for src, _, _ in self.canonical_etypes]
        self.dst_types = [number[dst] for _, _, dst in self.canonical_etypes]

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is one node type and one edge type."""
        return len(self.ntypes) == 1 and len(self.canonical_etypes) == 1

    def ntype_id(self, ntype: str | None) -> int:
        """Returns the number of a node type; None stands for the only one."""
        if ntype is None:
            if len(self.ntypes) != 1:
                raise InvalidError(f"the graph has the node types {self.ntypes}; name one of them")
            return 0
        if not isinstance(ntype, str):
            raise InvalidError(f"node type {ntype!r}: expected a name; there are {self.ntypes}")
        return self.handle.ntype_id(ntype)

    def etype_id(self, etype: EdgeType | None) -> int:
        """Returns the number of an edge type, given as a relation, as a triple of names, or as None
        for the only one."""
        if etype is None:
            if len(self.canonical_etypes) != 1:
                raise InvalidError(
                    f"the graph has the edge types {self.canonical_etypes}; name one of them"
                )
            return 0
        triple = (etype,) if isinstance(etype, str) else etype
        if not isinstance(triple, (tuple, list)) or not all(isinstance(s, str) for s in triple):
            raise InvalidError(
                f"edge type {etype!r}: expected a relation or a triple of names; "
                f"there are {self.canonical_etypes}"
            )
        return self.handle.etype_id(":".join(triple))

    def steps(self, metapath: Iterable[EdgeType | None]) -> list[int]:
        """Returns the numbers of the edge types of a metapath."""
        if isinstance(metapath, str) or not isinstance(metapath, Iterable):
            raise InvalidError(
                f"metapath {metapath!r}: expected a list of edge types, one for each step"
            )
        return [self.etype_id(etype) for etype in metapath]

    def by_ntype(self, ids: NodeIds, what: str) -> list[Ids]:
        """Returns ids in a list by node type, with None for the types without ids.

        `ids` is a dict by type name, or a tensor if there is one type.
        """
        return self._by_type(ids, self.ntype_id, len(self.ntypes), "node", what)

    def by_etype(self, ids: EdgeIds, what: str) -> list[Ids]:
        """Does the same as `by_ntype` for edge types."""
        return self._by_type(ids, self.etype_id, len(self.canonical_etypes), "edge", what)

    @staticmethod
    def _by_type(
        ids: Ids, number_of: Callable[[Any], int], count: int, kind: str, what: str
    ) -> list[Ids]:
        lists: list[Ids] = [None] * count
        if isinstance(ids, Mapping):
            for name, some in ids.items():
                lists[number_of(name)] = checked_ids(some, what)
        elif isinstance(ids, tuple) and len(ids) == 2 and isinstance(ids[0], str):
            raise InvalidError(
                f"{what}: got a pair of type and ids, as PyG has it; give a dict: "
                f"{{{ids[0]!r}: ids}}"
            )
        elif ids is None:
            raise InvalidError(f"{what}: expected ids: a tensor, or a dict of {kind} type to ids")
        elif count == 1:
            lists[0] = checked_ids(ids, what)
        else:
            raise InvalidError(
                f"{what}: the graph has {count} {kind} types; give a dict of {kind} type to ids"
            )
        return lists

    @staticmethod
    def count(lists: Iterable[Ids]) -> int:
        """Returns the number of ids in lists by type. The lists need not have been checked yet."""
        return sum(
            len(each) if hasattr(each, "__len__") and getattr(each, "shape", None) != () else 1
            for each in lists
            if each is not None
        )
