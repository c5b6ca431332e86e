# SPDX-License-Identifier: Apache-2.0
"""The batches of one layer, which threads make before the computation needs them and write after
it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .. import backend
from ..block import Block
from ..block_sampler import of_edge_types
from ..distributed.data_loader import DistDataLoader, number_of_workers
from ..distributed.embedding import DistEmbedding
from ..distributed.tensor import DistTensor
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..names import NID
from ..sampling import NeighborSampler
from ..typing import Tensor

Reader = Callable[[Tensor], Tensor]  # returns the rows of some nodes

_WRITES_BEHIND = 2


def reader_of(g: GraphBase, ntype: str, rows: Any) -> Reader:
    """Returns a function that reads the rows of nodes of a type.

    `rows` is the name of node data, a `DistTensor`, a `DistEmbedding`, or such a function.
    """
    if isinstance(rows, str):
        return g.data(False, g.types.ntype_id(ntype), rows).read
    if isinstance(rows, DistEmbedding):
        rows = rows.weight
    if isinstance(rows, DistTensor):
        if len(rows) != g.num_nodes(ntype):
            raise InvalidError(
                f"features: {rows!r} has {len(rows)} rows, expected {g.num_nodes(ntype)}, one per "
                f"node of type {ntype!r}"
            )
        return rows.handle.read
    if not callable(rows):
        raise InvalidError(
            f"features of {ntype!r}: {rows!r}, expected the name of a feature, a DistTensor, a "
            "DistEmbedding, or a function of node ids that returns rows"
        )
    reader: Reader = rows
    return reader


class LayerBatches:
    """The batches of one layer.

    Parameters
    ----------
    g : DistGraph
    sampler : NeighborSampler
        A sampler of one layer.
    inputs : dict of node type to function
        Readers of the layer's inputs.
    is_typed : bool
        Whether a layer gets a dict by node type.
    batch_size, seed : int
    num_workers : int, optional
    """

    def __init__(
        self,
        g: GraphBase,
        sampler: NeighborSampler,
        inputs: Mapping[str, Reader],
        is_typed: bool,
        batch_size: int,
        seed: int,
        num_workers: int | None,
    ) -> None:
        self._g, self._sampler, self._inputs = g, sampler, inputs
        self._is_typed, self._batch_size, self._seed = is_typed, batch_size, seed
        self._num_workers = number_of_workers(num_workers, g.session)
        self._edge_features = of_edge_types(g.types, sampler.prefetch_edge_feats)

    def of(self, ntype: str, nodes: Any, first: int) -> Iterator[tuple[Any, Block, Any]]:
        """Yields (ids, block, inputs of its sources) for the batches of nodes of a type, in order.

        Parameters
        ----------
        ntype : str
        nodes : int64 array
        first : int
            The number of the batch to begin with.
        """

        def make(numbers: list[int]) -> tuple[Any, Block, Any]:
            begin = numbers[0] * self._batch_size
            return self._make(ntype, nodes[begin : begin + self._batch_size])

        numbers = range(first, -(-len(nodes) // self._batch_size))
        return iter(DistDataLoader(numbers, 1, collate_fn=make, num_workers=self._num_workers))

    def _make(self, ntype: str, seeds: Any) -> tuple[Any, Block, Any]:
        found = self._sampler.sample_blocks(self._g, {ntype: seeds}, seed=self._seed)
        self._sampler.assign_lazy_features(self._g, found)
        block = found[2][0]
        for number, name in self._edge_features:  # read here, ahead of the computation
            block.edge_frames[number][name]
        rows = {
            of: read(block.src_frames[self._g.types.ntype_id(of)][NID])
            for of, read in self._inputs.items()
        }
        return seeds, block, rows if self._is_typed else rows[ntype]


class RowWriter:
    """A thread that writes the rows of batches in order, while the next ones are computed.

    As a context manager it waits at the end until everything is written. An error of a write is
    raised by a later call, or at the end.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="graphd-writer")
        self._waiting: collections.deque[Future[None]] = collections.deque()

    def put(self, tensor: DistTensor, ids: Any, rows: Tensor, then: Callable[[], None]) -> None:
        """Writes rows and then calls a function, both in the thread.

        Waits if too many rows are not written yet.

        Parameters
        ----------
        tensor : DistTensor
        ids : int64 array
        rows : tensor
        then : callable
        """

        def write() -> None:
            tensor.handle.write(ids, rows)
            then()

        self._waiting.append(self._pool.submit(write))
        while len(self._waiting) > _WRITES_BEHIND:
            self._waiting.popleft().result()

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, error: Any, *_: Any) -> None:
        self._pool.shutdown(cancel_futures=error is not None)
        if error is None:
            for each in self._waiting:
                each.result()


def rows_of(out: Any, ids: Any, ntype: str, is_typed: bool) -> Tensor | None:
    """Returns the rows that a layer has computed for nodes of a type, in host memory; None if it
    computes none for this type.

    Raises
    ------
    graphd.errors.InvalidError
        If the result is not a tensor with a row for each node, or not a dict of such.
    """
    if is_typed:
        if not isinstance(out, Mapping):
            raise InvalidError(
                f"a layer returned a {type(out).__name__}, expected a dict by node type, since its "
                "inputs are one"
            )
        out = out.get(ntype)
        if out is None:
            return None
    shape = tuple(getattr(out, "shape", ()))
    if not shape or shape[0] != len(ids):
        raise InvalidError(
            f"a layer returned {f'shape {shape}' if shape else type(out).__name__} for "
            f"{len(ids)} nodes of type {ntype!r}, expected a tensor with a row for each of the "
            "block's destinations"
        )
    if hasattr(out, "detach"):
        out = out.detach().cpu().contiguous()
    return backend.converted(out)
