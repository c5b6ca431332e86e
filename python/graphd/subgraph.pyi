# SPDX-License-Identifier: Apache-2.0
from collections.abc import MutableMapping
from typing import Any

from .typing import EdgeType

class Subgraph:
    edata: MutableMapping[str, Any]
    ndata: MutableMapping[str, Any]
    @property
    def ntypes(self) -> list[str]: ...
    @property
    def etypes(self) -> list[str]: ...
    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]: ...
    def num_nodes(self, ntype: str | None = None) -> int: ...
    def num_edges(self, etype: EdgeType | None = None) -> int: ...
    def number_of_nodes(self, ntype: str | None = None) -> Any: ...
    def number_of_edges(self, etype: EdgeType | None = None) -> Any: ...
    def edges(
        self,
        form: str = 'uv',
        order: str = 'eid',
        etype: EdgeType | None = None,
    ) -> Any: ...
    def all_edges(
        self,
        form: str = 'uv',
        order: str = 'eid',
        etype: EdgeType | None = None,
    ) -> Any: ...
