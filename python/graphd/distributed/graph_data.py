# SPDX-License-Identifier: Apache-2.0
"""What data the nodes and edges of a DistGraph have, by name."""
from collections import namedtuple
from collections.abc import MutableMapping

from ..arguments import text
from ..errors import InvalidError
from .tensor import DistTensor

Scheme = namedtuple("Scheme", ["shape", "dtype"])


class Data(MutableMapping):
    """Tensors of one type by name: features, and what was assigned."""

    def __init__(self, g, is_edge, type_id):
        self._g, self._is_edge, self._type = g, is_edge, type_id

    def __getitem__(self, name):
        found = self._g.handle.data(self._is_edge, self._type, text(name, "name"))
        return DistTensor.of(found, self._g)

    def __setitem__(self, name, tensor):
        if not isinstance(tensor, DistTensor):
            raise InvalidError(f"data {name!r}: expected a DistTensor, got {type(tensor)}; make "
                               "one of the tensor's shape and dtype, and assign to its rows")
        self._g.handle.attach(text(name, "name"), tensor.handle)

    def __delitem__(self, name):
        self._g.handle.detach(self._is_edge, self._type, text(name, "name"))

    def __iter__(self):
        return iter(self._g.handle.data_names(self._is_edge, self._type))

    def __len__(self):
        return len(self._g.handle.data_names(self._is_edge, self._type))

    def __repr__(self):
        return f"Data({list(self)})"


class _Space:
    def __init__(self, data):
        self.data = data


class View:
    """``g.nodes["user"].data``, ``g.edges[etype].data``."""

    def __init__(self, g, is_edge):
        self._g, self._is_edge = g, is_edge

    def __getitem__(self, name):
        types = self._g.types
        number = types.etype_id(name) if self._is_edge else types.ntype_id(name)
        return _Space(Data(self._g, self._is_edge, number))
