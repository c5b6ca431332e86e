# SPDX-License-Identifier: Apache-2.0
"""Choices of the rows that a row cache keeps (`DistTensor.keep_cached`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sized
from typing import Any

from .. import backend
from ..arguments import whole_number
from ..errors import InvalidError
from ..graph_base import GraphBase, graph_of
from ..progress import counter
from ..typing import Tensor

_NODES_AT_ONCE = 1 << 20


def nodes_by_degree(
    g: GraphBase, num_nodes: int, ntype: str | None = None, *, everywhere: bool = False
) -> Tensor:
    """Returns the nodes of highest out-degree among the nodes of other machines, as in PaGraph (Lin et
    al., SoCC 2020). A sampler that follows in-edges meets a node roughly in proportion to its
    out-degree.

    The degrees of all nodes are requested, 8 bytes each, but only those of the chosen nodes are
    kept.

    Parameters
    ----------
    g : DistGraph
    num_nodes : int
        The greatest number of nodes to return.
    ntype : str, optional
        Default: the only type. Edges of all types that begin at its nodes count.
    everywhere : bool
        Whether nodes of this machine may be chosen, too, for a `graphd.device.DeviceRowCache`.

    Returns
    -------
    int64 tensor, by descending degree
    """
    import numpy

    g = graph_of(g)
    t = g.types.ntype_id(ntype)
    num_nodes = whole_number(num_nodes, "num_nodes")
    etypes = [e for e, source in enumerate(g.types.src_types) if source == t]
    best = numpy.empty(0, numpy.int64)
    degrees = numpy.empty(0, numpy.int64)
    parts = _parts(g, everywhere)
    total = sum(g.handle.book.count_in(False, t, part) for part in parts)
    with counter(total, "reading out-degrees") as show:
        done = 0
        for nodes in _nodes(g, t, parts):
            show(done)
            counts = numpy.zeros(len(nodes), numpy.int64)
            for e in etypes:
                counts += numpy.asarray(g.handle.degrees(True, nodes, e))
            best = numpy.concatenate([best, nodes])
            degrees = numpy.concatenate([degrees, counts])
            if len(best) > 2 * num_nodes + _NODES_AT_ONCE:
                first = _highest(degrees, num_nodes)
                best, degrees = best[first], degrees[first]
            done += len(nodes)
    return backend.from_numpy(best[_highest(degrees, num_nodes)])


def nodes_by_access(
    g: GraphBase,
    loader: Iterable[Any],
    num_nodes: int,
    ntype: str | None = None,
    num_batches: int | None = None,
    *,
    everywhere: bool = False,
) -> Tensor:
    """Returns the nodes whose rows the batches of a loader need most often, among those of other
    machines, as in GNNLab (Yang et al., EuroSys 2022).

    The counts take 5 bytes for each node of the type, and nodes that occur take some more. A loader
    that reads no features is enough. Make a loader only for this, because a loader counts its
    epochs: training with this loader would begin with the order of a later epoch.

    Parameters
    ----------
    g : DistGraph
    loader : DistNodeDataLoader or DistEdgeDataLoader
        Its batches begin with their input nodes: a tensor, or a dict of node type to tensor.
    num_nodes : int
        The greatest number of nodes to return. Nodes that no batch has are left out.
    ntype : str, optional
        Default: the only type.
    num_batches : int, optional
        Default: an epoch.
    everywhere : bool
        Whether nodes of this machine may be chosen, too, for a `graphd.device.DeviceRowCache`.

    Returns
    -------
    int64 tensor, by descending number of batches

    Raises
    ------
    graphd.errors.InvalidError
        If batches begin with something else.
    """
    import numpy

    g = graph_of(g)
    t = g.types.ntype_id(ntype)
    num_nodes = whole_number(num_nodes, "num_nodes")
    if num_batches is not None:
        num_batches = whole_number(num_batches, "num_batches")
    counts = numpy.zeros(g.handle.num_nodes(t), numpy.uint32)
    limits = [num_batches, len(loader) if isinstance(loader, Sized) else None]
    total = min((each for each in limits if each is not None), default=None)
    with counter(total, "counting accesses") as show:
        for done, batch in enumerate(itertools.islice(loader, num_batches)):
            show(done)
            counts[_input_nodes(batch, g.types.ntypes[t], loader)] += 1  # the nodes are distinct
    if not everywhere:
        here = numpy.ones(len(counts), bool)
        for some in _nodes(g, t, _parts(g, False)):
            here[some] = False
        counts[here] = 0
    found = numpy.flatnonzero(counts)
    return backend.from_numpy(found[_highest(counts[found], num_nodes)])


def _input_nodes(batch: Any, ntype: str, loader: Any) -> Any:
    """Returns the input nodes of a type of a batch, as an array."""
    import numpy

    nodes = batch[0] if isinstance(batch, (tuple, list)) and batch else None
    if isinstance(nodes, Mapping):
        nodes = nodes.get(ntype, ())
    if nodes is None:
        raise InvalidError(
            f"loader {loader!r}: expected batches that begin with their input nodes, as those of "
            "DistNodeDataLoader do"
        )
    return numpy.asarray(backend.on_host(nodes), numpy.int64)


def _parts(g: GraphBase, everywhere: bool) -> list[int]:
    """Returns all partitions, or those that this machine has not mapped."""
    parts = range(g.handle.book.num_partitions)
    return [part for part in parts if everywhere or not g.handle.is_mapped(part)]


def _nodes(g: GraphBase, t: int, parts: Iterable[int]) -> Iterable[Any]:
    """Yields the nodes of a type in these partitions, as arrays."""
    import numpy

    for part in parts:
        nodes = numpy.asarray(g.handle.book.ids_of(False, t, part))
        for begin in range(0, len(nodes), _NODES_AT_ONCE):
            yield nodes[begin : begin + _NODES_AT_ONCE]


def _highest(values: Any, count: int) -> Any:
    """Returns the positions of the `count` highest values, in descending order of the values."""
    import numpy

    if count == 0:
        return numpy.empty(0, numpy.int64)
    positions = numpy.arange(len(values))
    if count < len(values):
        positions = numpy.sort(numpy.argpartition(values, len(values) - count)[-count:])
    return positions[numpy.argsort(-values[positions].astype(numpy.int64), kind="stable")]
