# SPDX-License-Identifier: Apache-2.0
"""The tensors of a DistGraph's nodes and edges, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import backend
from ..arguments import text
from ..errors import InvalidError
from ..frame import Described
from ..graph_base import GraphBase
from ..html import table
from .tensor import DistTensor


class Scheme(NamedTuple):
    """The shape of a row and the dtype of a tensor."""

    shape: tuple[int, ...]
    dtype: Any


class Data(Described):
    """The tensors of one type by name: features, and tensors that were assigned.

    In this process, a tensor can also be assigned to the name of a feature of nodes, until its name
    is deleted.
    """

    def __init__(self, g: GraphBase, is_edge: bool, type_id: int) -> None:
        self._g, self._is_edge, self._type = g, is_edge, type_id

    def __getitem__(self, name: str) -> DistTensor:
        found = self._g.data(self._is_edge, self._type, text(name, "name"))
        return DistTensor.of(found, self._g)

    def __setitem__(self, name: str, tensor: DistTensor) -> None:
        if not isinstance(tensor, DistTensor):
            raise InvalidError(
                f"data {name!r}: expected a DistTensor, got {type(tensor)}; make "
                "one of the tensor's shape and dtype, and assign to its rows"
            )
        kind = "edge" if self._is_edge else "node"
        if (tensor.handle.policy, tensor.handle.type) != (kind, self._type):
            raise InvalidError(
                f"data {name!r}: {tensor!r} is stored as {tensor.part_policy.policy_str!r}, which is "
                f"not this {kind} type; make one with the part_policy of this type"
            )
        if self._is_node_feature(text(name, "name")):
            self._g.assigned[self._type, name] = tensor.handle
        else:
            self._g.handle.attach(name, tensor.handle)

    def _is_node_feature(self, name: str) -> bool:
        if self._is_edge or name not in self:
            return False
        return self._g.handle.data(False, self._type, name).is_feature

    def __delitem__(self, name: str) -> None:
        if not self._is_edge and self._g.assigned.pop((self._type, name), None) is not None:
            return  # the feature is there again
        self._g.handle.detach(self._is_edge, self._type, text(name, "name"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._g.handle.data_names(self._is_edge, self._type))

    def __len__(self) -> int:
        return len(self._g.handle.data_names(self._is_edge, self._type))

    def __repr__(self) -> str:
        return f"Data({list(self)})"

    def rows(self) -> list[tuple[str, str, str]]:
        """See `Described.rows`."""
        return [(name, each.handle.dtype, str(each.shape)) for name, each in self.items()]


class TypeData(NamedTuple):
    """The result of ``g.nodes["user"]``: an object with the tensors of one type."""

    data: Data


def schemes(g: GraphBase, is_edge: bool, type_id: int) -> dict[str, Scheme]:
    """Returns the schemes of the data of a type by name."""
    found = {
        name: Scheme(tuple(shape), backend.dtype_of(dtype))
        for name, dtype, shape in g.handle.schemes(is_edge, type_id)
    }
    for name in found if g.assigned and not is_edge else ():
        tensor = g.data(False, type_id, name)
        found[name] = Scheme(tuple(tensor.shape[1:]), backend.dtype_of(tensor.dtype))
    return found


def shown_graph(g: GraphBase) -> str:
    """Returns the tables that notebooks show for a graph."""
    caption = f"DistGraph {g.handle.name!r}, {g.handle.book.num_partitions} partitions"
    return _shown_types(g, False, caption) + _shown_types(g, True, "")


def _shown_types(g: GraphBase, is_edge: bool, caption: str) -> str:
    """Returns the table of a graph's types of nodes or edges."""
    types: Sequence[Any] = g.canonical_etypes if is_edge else g.ntypes
    count: Callable[[Any], int] = g.num_edges if is_edge else g.num_nodes

    def data(number: int) -> str:
        return ", ".join(
            f"{name} {dtype}{list(shape) or ''}"
            for name, dtype, shape in g.handle.schemes(is_edge, number)
        )

    rows = [(of, count(of), data(number)) for number, of in enumerate(types)]
    head = ("edge type", "edges", "data") if is_edge else ("node type", "nodes", "data")
    return table(caption, head, rows)


class View:
    """A view of nodes or edges: ``g.nodes["user"].data``, ``g.edges[etype].data``."""

    def __init__(self, g: GraphBase, is_edge: bool) -> None:
        self._g, self._is_edge = g, is_edge

    def __repr__(self) -> str:
        return f"View({self._g.canonical_etypes if self._is_edge else self._g.ntypes})"

    def _repr_html_(self) -> str:
        return _shown_types(self._g, self._is_edge, "")

    def __getitem__(self, name: Any) -> TypeData:
        types = self._g.types
        number = types.etype_id(name) if self._is_edge else types.ntype_id(name)
        return TypeData(Data(self._g, self._is_edge, number))
