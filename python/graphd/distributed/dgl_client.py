# SPDX-License-Identifier: Apache-2.0
"""The attribute `_client` of a graph, which scripts for DGL use though its name is private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph_base import GraphBase
from .tensor import DistTensor


class Client:
    """Stands for the client of DGL's key-value store. Scripts call its method
    ``g._client.barrier()``.

    Parameters
    ----------
    g : DistGraph
    barrier : callable
        The function that is called as its method ``barrier``.
    """

    def __init__(self, g: GraphBase, barrier: Callable[[], None]) -> None:
        self._g, self.barrier = g, barrier

    def data_name_list(self) -> list[str]:
        """Returns the names of the tensors that this job can open."""
        return [each["name"] for each in DistTensor.list(self._g)]

    def gdata_name_list(self) -> list[str]:
        """Does the same as `data_name_list`."""
        return self.data_name_list()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"_client.{name}: graphd has no key-value store; use the methods of DistGraph, and read and "
            "write rows by the brackets of a DistTensor"
        )
