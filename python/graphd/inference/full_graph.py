# SPDX-License-Identifier: Apache-2.0
"""Layer-wise inference over all nodes of a graph."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import backend
from ..arguments import text, whole_number, whole_number_in
from ..block import Block
from ..distributed.split import node_split
from ..distributed.tensor import DistTensor
from ..errors import InvalidError
from ..graph_base import GraphBase, graph_of
from ..progress import counter
from ..sampling import NeighborSampler
from ..typing import Fanout, FeatureNames
from .batches import LayerBatches, Reader, RowWriter, reader_of, rows_of
from .run import Run

LayerFunction = Callable[[Block, Any], Any]
Progress = Callable[[int, int], object]


def layerwise(
    g: GraphBase,
    layers: Sequence[LayerFunction],
    features: Any,
    *,
    name: str = "inference",
    fanouts: Sequence[Fanout] | None = None,
    batch_size: int = 1000,
    nodes: Any = None,
    edge_features: FeatureNames = None,
    persistent: bool = False,
    resume: bool = False,
    version: str = "",
    seed: int = 0,
    num_workers: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Computes the outputs of a model for all nodes, layer by layer. Matches the method
    ``inference`` of the models in DGL's examples.

    All trainers of the job call it together, and each computes the nodes that `node_split` gives
    it. The rows of each layer are in a `DistTensor`, so that no layer is computed twice for a node
    and no trainer needs memory for all nodes; the rows of the previous layer are dropped when all
    trainers have used them. Threads sample, read and write batches while other batches are
    computed. An earlier result of the same name is replaced, and tensors that the earlier call has
    returned can't be read any more: give each result that you want to keep a `name` of its own.

    Parameters
    ----------
    g : DistGraph
    layers : list of callable
        ``layer(block, h)`` returns a tensor with a row for each destination of the block; `h` has a
        row for each source, and its first rows are the rows of the destinations. If `features` is a
        dict, `h` is a dict by node type, and so is the result; types that the result lacks have no
        output. Gradients are off. Results may be on any device.
    features : str, DistTensor, DistEmbedding or callable, or dict of node type to these
        The inputs of the first layer: a name of node data, a tensor, or a function of int64 node
        ids, which is called from several threads.
    name : str
        The name of the result; the results of types are ``name/ntype``.
    fanouts : list of int, or list of dict of edge type to int, optional
        One for each layer, as in `graphd.sampling.NeighborSampler`. Default: all neighbours. The
        same seed gives the same result, for any batch size and number of trainers.
    batch_size : int
    nodes : DistTensor or bool tensor, or dict of node type to these, optional
        A mask of the nodes for which the last layer is computed; other rows are zeros. Default: all.
    edge_features : list of str, or dict of edge type to list, optional
        Features to fetch with each block, found in its ``edata``.
    persistent : bool
        Whether the result outlives the job.
    resume : bool
        Whether a run that was interrupted, even by ``kill -9``, goes on when this is called again
        with the same arguments: rows and progress are persistent, and what is complete is not
        computed again. A complete result is returned at once; if it was dropped, the run starts
        over. With False, a run always starts over.
    version : str
        Whatever identifies the model's weights, such as the name of a checkpoint. With another
        version, a run starts over even with `resume`, and replaces the earlier result.
    seed : int
        The seed of sampling.
    num_workers : int, optional
        Number of threads that make batches. Default: that of ``graphctl launch --num_samplers``,
        `initialize` or `graphd.connect`.
    progress : callable, optional
        ``progress(done, total)`` is called after each batch, with the numbers of this trainer's
        batches. Default: a bar of tqdm, which appears after two seconds in a notebook or on a
        terminal, if tqdm is installed.

    Returns
    -------
    DistTensor, or dict of node type to DistTensor
        A dict if `features` is one.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument or the result of a layer is not valid, or the run to be resumed has other
        arguments and the same version.
    graphd.errors.ExistsError
        If a tensor of this name is not the result of layerwise.
    graphd.errors.UnavailableError
        If another trainer has left the job meanwhile.
    graphd.errors.DeadlineError
        If another trainer does not call this in time.
    """
    if not (progress is None or callable(progress)):
        raise InvalidError(f"progress {progress!r}: expected a function of (done, total)")
    return _FullGraph(
        graph_of(g),
        _checked_layers(layers),
        features,
        text(name, "name"),
        fanouts,
        whole_number_in(batch_size, "batch_size", 1, 1 << 31),
        nodes,
        edge_features,
        (bool(persistent), bool(resume), text(version, "version")),
        whole_number_in(seed, "seed", 0, (1 << 63) - 1),
        None if num_workers is None else whole_number(num_workers, "num_workers"),
        progress,
    ).run()


def _checked_layers(layers: Any) -> list[LayerFunction]:
    found = list(layers) if isinstance(layers, Iterable) else []
    if not found:
        raise InvalidError(f"layers {layers!r}: expected a list of functions of (block, h)")
    for i, layer in enumerate(found):
        if not callable(layer):
            raise InvalidError(f"layers[{i}] {layer!r}: expected a function of (block, h)")
        if getattr(layer, "training", False) is True:
            raise InvalidError(
                f"layers[{i}] is in training mode, in which dropout is random; call model.eval()"
            )
    return found


class _FullGraph:
    """One call of `layerwise`."""

    def __init__(
        self,
        g: GraphBase,
        layers: list[LayerFunction],
        features: Any,
        name: str,
        fanouts: Sequence[Fanout] | None,
        batch_size: int,
        nodes: Any,
        edge_features: FeatureNames,
        kept: tuple[bool, bool, str],
        seed: int,
        num_workers: int | None,
        progress: Progress | None,
    ) -> None:
        backend.chosen()
        self._g, self._layers, self._batch_size = g, layers, batch_size
        self._is_typed = isinstance(features, Mapping)
        if not self._is_typed:
            features = {g.ntypes[g.types.ntype_id(None)]: features}
        self._features = {of: reader_of(g, of, rows) for of, rows in features.items()}
        fanouts = [-1] * len(layers) if fanouts is None else list(fanouts)
        if len(fanouts) != len(layers):
            raise InvalidError(f"fanouts {fanouts}: expected one for each of {len(layers)} layers")
        self._samplers = [
            NeighborSampler(
                [fanout], prefetch_edge_feats=edge_features, edge_ids=bool(edge_features)
            )
            for fanout in fanouts
        ]
        self._seed, self._num_workers, self._report = seed, num_workers, progress
        masks = self._masks(nodes)
        self._shares = {of: self._share(of, None) for of in g.ntypes}
        self._last_shares = (
            self._shares
            if masks is None
            else {of: self._share(of, mask) for of, mask in masks.items()}
        )
        self._total = sum(self._num_batches(layer) for layer in range(len(layers)))
        persistent, resume, version = kept
        arguments = {
            "features": {of: str(_name_of(rows)) for of, rows in features.items()},
            "fanouts": [str(fanout) for fanout in fanouts],
            "batch_size": batch_size,
            "nodes": "all" if masks is None else {of: _sum_of(mask) for of, mask in masks.items()},
            "edge_features": str(edge_features or []),
            "version": version,
            "seed": seed,
        }
        self._run = Run(g, name, len(layers), arguments, persistent, resume)

    def run(self) -> Any:
        """Returns the result of `layerwise`."""
        if self._report is not None:
            return self._result()
        with counter(self._total, f"computing {self._run.name!r}") as show:
            self._report = lambda done, _: show(done)
            return self._result()

    def _result(self) -> Any:
        first, done = self._run.begin()
        if done > self._num_batches(first):
            raise InvalidError(
                f"layer-wise inference {self._run.name!r}: {done} batches of layer {first} are noted as "
                f"done, but this trainer has {self._num_batches(first)}; to start over, give another "
                "version"
            )
        before = sum(self._num_batches(layer) for layer in range(first))
        for layer in range(len(self._layers)):
            if layer >= first:
                self._compute(layer, done if layer == first else 0, before)
                before += self._num_batches(layer)
            self._run.finish_layer(layer)
        found = self._tensors(len(self._layers) - 1)
        if self._is_typed:
            return found
        if not found:
            raise InvalidError("nodes: the mask has no node; expected one at least")
        return found[self._g.ntypes[0]]

    def _compute(self, layer: int, done: int, before: int) -> None:
        """Computes the rows of this trainer's nodes, from its batch number `done` on; `before` is
        the number of the batches of the layers before."""
        if done == self._num_batches(layer):
            return  # the layer's inputs may have been dropped already
        batches = LayerBatches(
            self._g,
            self._samplers[layer],
            self._inputs(layer),
            self._is_typed,
            self._batch_size,
            (self._seed + layer) % (1 << 63),
            self._num_workers,
        )
        begin = 0
        with RowWriter() as writer:
            for ntype, nodes in self._shares_of(layer).items():
                end = begin + self._batches_of(nodes)
                if done < end:
                    done = self._compute_type(layer, ntype, batches, writer, begin, done, before)
                begin = end
        self._run.mark(layer, begin)  # the last type may have no output

    def _compute_type(
        self,
        layer: int,
        ntype: str,
        batches: LayerBatches,
        writer: RowWriter,
        begin: int,
        done: int,
        before: int,
    ) -> int:
        """Computes the rows of the nodes of a type, whose batches are numbered from `begin`. Returns
        the number of batches that are done then."""
        nodes = self._shares_of(layer)[ntype]
        tensor = None
        for ids, block, inputs in batches.of(ntype, nodes, done - begin):
            with _without_gradients():
                out = self._layers[layer](block, inputs)
            rows = rows_of(out, ids, ntype, self._is_typed)
            if rows is None:  # the type has no output
                if done > begin:
                    raise InvalidError(
                        f"layer {layer} has returned no rows for a batch of nodes of type {ntype!r}, "
                        "but rows for batches before it; expected rows for all or for none"
                    )
                done = begin + self._batches_of(nodes)
                if self._report is not None:
                    self._report(before + done, self._total)
                break
            if tensor is None:
                tensor = self._run.make(layer, ntype if self._is_typed else None, rows)
            done += 1
            writer.put(tensor, ids, rows, functools.partial(self._run.mark, layer, done))
            if self._report is not None:
                self._report(before + done, self._total)
        return done

    def _inputs(self, layer: int) -> Mapping[str, Reader]:
        """Returns readers of the inputs of a layer by node type."""
        if layer == 0:
            return self._features
        return {of: tensor.handle.read for of, tensor in self._tensors(layer - 1).items()}

    def _tensors(self, layer: int) -> dict[str, DistTensor]:
        """Returns the tensors of a layer that all trainers have finished, by node type."""
        opened = {
            of: self._run.open(layer, of if self._is_typed else None) for of in self._g.ntypes
        }
        return {of: tensor for of, tensor in opened.items() if tensor is not None}

    def _masks(self, nodes: Any) -> dict[str, Any] | None:
        """Returns the masks of the last layer by node type; None stands for all nodes."""
        if nodes is None:
            return None
        if isinstance(nodes, Mapping) != self._is_typed:
            raise InvalidError(
                f"nodes {type(nodes).__name__}: expected "
                f"{'a dict of masks by node type' if self._is_typed else 'a mask'}, as features"
            )
        return dict(nodes) if self._is_typed else {self._g.ntypes[0]: nodes}

    def _share(self, ntype: str, mask: Any) -> Any:
        """Returns this trainer's share of the nodes of a type, or of those in a mask."""
        import numpy

        number = self._g.types.ntype_id(ntype)
        if mask is None:
            mask = numpy.ones(self._g.handle.num_nodes(number), dtype=bool)
        if isinstance(mask, DistTensor):
            if mask.handle.type != number:
                raise InvalidError(f"nodes: {mask!r} is not a mask of nodes of type {ntype!r}")
            return backend.to_numpy(node_split(mask))
        share = self._g.handle.split_mask(mask, False, number, -1, -1, True, "")
        return backend.to_numpy(share)

    def _shares_of(self, layer: int) -> Mapping[str, Any]:
        return self._last_shares if layer == len(self._layers) - 1 else self._shares

    def _batches_of(self, nodes: Any) -> int:
        return -(-len(nodes) // self._batch_size)

    def _num_batches(self, layer: int) -> int:
        """Returns the number of batches that this trainer computes in a layer."""
        return sum(map(self._batches_of, self._shares_of(layer).values()))


def _without_gradients() -> Any:
    if backend.chosen() == "torch":
        import torch

        return torch.no_grad()
    return contextlib.nullcontext()


def _name_of(rows: Any) -> Any:
    """Returns the name of a layer's input, by which runs are compared."""
    return rows if isinstance(rows, str) else getattr(rows, "name", "a function")


def _sum_of(mask: Any) -> int:
    """Returns a checksum of a mask, by which runs are compared."""
    import numpy

    whole = mask[:] if isinstance(mask, DistTensor) else mask
    return zlib.crc32(numpy.asarray(whole).astype(bool).tobytes())
