# SPDX-License-Identifier: Apache-2.0
"""Blocks and subgraphs as DGL's layers and message functions take them.

A DGLGraph with the same edges takes over when DGL asks for something that only it has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from .frame import Frame
from .typing import Tensor

# DGL's operators, such as edge_softmax, take this attribute of a graph; it has the edges.
_INTERNAL = "_graph"


class DglFrame(Frame):
    """The data of one type that a DGLGraph has, which `local_scope` of DGL saves and restores.

    Parameters
    ----------
    data : mapping
        The view of the data in DGL's graph.
    """

    __slots__ = ("_data",)

    def __init__(self, data: MutableMapping[str, Tensor]) -> None:
        super().__init__()
        self._data = data

    def lazy(self, name: str, make: Callable[..., Tensor], of: str | None = None) -> None:
        """Sets a name to the result of ``make()``, or ``make(frame[of])``, at once."""
        self._data[name] = make() if of is None else make(self._data[of])

    def __getitem__(self, name: str) -> Tensor:
        if name not in self:
            raise KeyError(f"no data {name!r}; there are {sorted(self)}")
        return self._data[name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self._data[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        del self._data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data.keys())

    def __len__(self) -> int:
        return len(self._data.keys())


class DglForm:
    """The base class of what DGL's layers and message functions take in place of a DGLGraph.

    While DGL is imported, an object of this class has all attributes of a DGLGraph. The first use
    of an attribute that is not its own makes the DGLGraph, with all data. From then on, `ndata`,
    `edata` and similar attributes refer to the data of the DGLGraph, so that they have what DGL
    computes.
    """

    _dgl: Any = None

    def to_dgl(self) -> Any:
        """Returns a graph of DGL with the same nodes, edges and data.

        Returns
        -------
        dgl.DGLGraph

        Raises
        ------
        NotImplementedError
            In this class.
        """
        raise NotImplementedError

    def _share_data(self, made: Any) -> None:
        """Makes the data of nodes and edges refer to the data of a graph of DGL."""
        raise NotImplementedError

    def _dgl_graph(self) -> Any:
        """Returns the graph of DGL that has the data, and makes it if there is none yet."""
        if self._dgl is None:
            made = self.to_dgl()
            self._share_data(made)
            self._dgl = made
        return self._dgl

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):
            return super().__getattribute__(name)  # raises the error that led here
        if name == _INTERNAL or not name.startswith("_"):
            dgl = sys.modules.get("dgl")
            if dgl is not None and (name == _INTERNAL or hasattr(dgl.DGLGraph, name)):
                return getattr(self._dgl_graph(), name)
        raise AttributeError(
            f"{type(self).__name__} has no {name!r}. With DGL imported (import dgl), it has all "
            "attributes of a DGLGraph, and to_dgl() makes one"
        )

    def __getitem__(self, key: Any) -> Any:
        """Returns the edges of one type as a graph of DGL, for DGL's layers for several edge
        types."""
        return self._dgl_graph()[key]

    __iter__ = None  # otherwise iteration would call __getitem__


def dgl_frames(views: Any, types: Sequence[Any]) -> list[Frame]:
    """Returns the data of each type, of views such as ``g.nodes`` of a DGLGraph."""
    return [DglFrame(views[of].data) for of in types]
