# SPDX-License-Identifier: Apache-2.0
import builtins
import dataclasses
from collections.abc import Mapping, Sequence

from .distributed import DistGraph

@dataclasses.dataclass(frozen=True)
class Checkpoint:
    name: str
    graph_name: str
    num_parts: int
    created: str
    bytes: int
    tensors: dict[str, tuple[str, tuple[int, ...]]]
    files: dict[str, int]

def create(
    g: DistGraph,
    name: str,
    tensors: Sequence[str] = (),
    files: Mapping[str, builtins.bytes] | None = None,
) -> Checkpoint: ...
def list(g: DistGraph) -> builtins.list[Checkpoint]: ...
def restore(g: DistGraph, name: str, tensors: Sequence[str] = ()) -> None: ...
def read_file(g: DistGraph, name: str, file: str) -> builtins.bytes: ...
def delete(g: DistGraph, name: str) -> None: ...
