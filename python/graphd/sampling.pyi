# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

from .block import Block
from .distributed import DistDataLoader as DistDataLoader
from .distributed import DistEdgeDataLoader as DistEdgeDataLoader
from .distributed import DistGraph
from .distributed import DistNodeDataLoader as DistNodeDataLoader
from .sampled import SampledGraph
from .typing import EdgeType, Features, Ids, Tensor

class BlockSampler:
    def __init__(
        self,
        prefetch_node_feats: Features = None,
        prefetch_labels: Features = None,
        prefetch_edge_feats: Features = None,
        output_device: Any = None,
    ) -> None: ...
    def sample_blocks(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...
    def sample(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...
    def bind(self, g: DistGraph) -> BoundSampler: ...
    def assign_lazy_features(self, g: DistGraph, found: Any) -> Any: ...

class BoundSampler:
    sampler: BlockSampler
    g: DistGraph
    def __init__(self, sampler: BlockSampler, g: DistGraph) -> None: ...
    def sample_blocks(self, seeds: Ids | dict[str, Ids]) -> list[Block]: ...

class NeighborSampler(BlockSampler):
    def __init__(
        self,
        fanouts: Sequence[int | dict[EdgeType, int]],
        edge_dir: str = 'in',
        prob: str | None = None,
        mask: str | None = None,
        replace: bool = False,
        prefetch_node_feats: Features = None,
        prefetch_labels: Features = None,
        prefetch_edge_feats: Features = None,
        output_device: Any = None,
        fused: bool = True,
        *,
        edge_ids: bool = True,
    ) -> None: ...
    def handle(self, types: Any) -> Any: ...
    def sample_blocks(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
        *,
        seed: int | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...

class MultiLayerFullNeighborSampler(NeighborSampler):
    def __init__(self, num_layers: int, **options: Any) -> None: ...

class LaborSampler(NeighborSampler):
    def __init__(
        self,
        fanouts: Sequence[int] | Sequence[dict[EdgeType, int]],
        edge_dir: str = 'in',
        prob: str | None = None,
        importance_sampling: int = 0,
        layer_dependency: bool = False,
        batch_dependency: int = 1,
        prefetch_node_feats: Features = None,
        prefetch_labels: Features = None,
        prefetch_edge_feats: Features = None,
        output_device: Any = None,
        *,
        edge_ids: bool = True,
    ) -> None: ...

class TopKSampler(NeighborSampler):
    def __init__(
        self,
        fanouts: Sequence[int | dict[EdgeType, int]],
        weight: str,
        ascending: bool = False,
        *,
        edge_ids: bool = True,
        **prefetch: Any,
    ) -> None: ...

class LayerSampler(BlockSampler):
    def __init__(
        self,
        fanouts: Sequence[int | dict[EdgeType, int]],
        prob: str | None = None,
        *,
        edge_ids: bool = True,
        **prefetch: Any,
    ) -> None: ...
    def handle(self, types: Any) -> Any: ...
    def sample_blocks(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
        *,
        seed: int | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...

class ShadowSampler(BlockSampler):
    def __init__(
        self,
        fanouts: Sequence[int | dict[EdgeType, int]],
        replace: bool = False,
        prob: str | None = None,
        *,
        edge_ids: bool = True,
        **prefetch: Any,
    ) -> None: ...
    def handle(self, types: Any) -> Any: ...
    def sample_blocks(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
        *,
        seed: int | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...

class TemporalSampler(BlockSampler):
    def __init__(
        self,
        fanouts: Sequence[int | dict[EdgeType, int]],
        column: str,
        recent: bool = True,
        replace: bool = False,
        inclusive: bool = False,
        *,
        edge_ids: bool = True,
        **prefetch: Any,
    ) -> None: ...
    def handle(self, types: Any) -> Any: ...
    def sample_blocks(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
        *,
        seed_times: Tensor | dict[str, Tensor] | None = None,
        seed: int | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...
    def sample(
        self,
        g: DistGraph,
        seed_nodes: Ids | dict[str, Ids],
        exclude_eids: Ids | dict[EdgeType, Ids] | None = None,
        *,
        seed_times: Tensor | dict[str, Tensor] | None = None,
    ) -> tuple[Any, Any, list[Block]]: ...

class negative_sampler:
    class PerSourceUniform:
        def __init__(self, k: int) -> None: ...
        def __call__(
            self,
            g: DistGraph,
            eids: Ids | dict[EdgeType, Ids],
            *,
            seed: int | None = None,
        ) -> Any: ...
    Uniform = PerSourceUniform
    class GlobalUniform:
        def __init__(
            self,
            k: int,
            exclude_self_loops: bool = True,
            replace: bool = False,
            redundancy: float | None = None,
        ) -> None: ...
        def __call__(
            self,
            g: DistGraph,
            eids: Ids | dict[EdgeType, Ids],
            *,
            seed: int | None = None,
        ) -> Any: ...

class RandomWalkNeighborSampler:
    g: DistGraph
    weight_column: str
    def __init__(
        self,
        G: DistGraph,
        num_traversals: int,
        termination_prob: float,
        num_random_walks: int,
        num_neighbors: int,
        metapath: Sequence[EdgeType] | None = None,
        weight_column: str = 'weights',
    ) -> None: ...
    def __call__(self, seed_nodes: Ids, *, seed: int | None = None) -> SampledGraph: ...

class PinSAGESampler(RandomWalkNeighborSampler):
    def __init__(
        self,
        G: DistGraph,
        ntype: str,
        other_type: str,
        num_traversals: int,
        termination_prob: float,
        num_random_walks: int,
        num_neighbors: int,
        weight_column: str = 'weights',
    ) -> None: ...

def select_topk(
    g: DistGraph,
    k: int | dict[EdgeType, int],
    weight: str,
    nodes: Ids | dict[str, Ids] | None = None,
    edge_dir: str = 'in',
    ascending: bool = False,
    copy_ndata: bool = True,
    copy_edata: bool = True,
    output_device: Any = None,
) -> SampledGraph: ...
def random_walk(
    g: DistGraph,
    nodes: Ids,
    metapath: Sequence[EdgeType] | None = None,
    length: int | None = None,
    prob: str | None = None,
    restart_prob: Any = None,
    return_eids: bool = False,
    *,
    seed: int | None = None,
) -> Any: ...
def node2vec_random_walk(
    g: DistGraph,
    nodes: Ids,
    p: float,
    q: float,
    walk_length: int,
    prob: str | None = None,
    return_eids: bool = False,
    *,
    seed: int | None = None,
) -> Any: ...

MultiLayerNeighborSampler = NeighborSampler

__all__: list[str]
