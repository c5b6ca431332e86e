# SPDX-License-Identifier: Apache-2.0
"""Random walks. Names and arguments are those of ``dgl.sampling``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _graphd, backend, seeds
from .arguments import check_draws, column_of, not_negative, whole_number
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .schema import Types
from .typing import EdgeType, Ids, Tensor


def random_walk(
    g: GraphBase,
    nodes: Ids,
    metapath: Sequence[EdgeType] | None = None,
    length: int | None = None,
    prob: str | None = None,
    restart_prob: Any = None,
    return_eids: bool = False,
    *,
    seed: int | None = None,
) -> Any:
    """Walks from nodes along edges of all partitions. Matches ``dgl.sampling.random_walk``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor
        The first node of each walk, of the type at which the metapath begins; a node that is listed
        twice begins two different walks.
    metapath : list of str or (str, str, str), optional
        The edge type of each step.
    length : int, optional
        The number of steps, for a graph with one node type and one edge type. Give either this or a
        metapath.
    prob : str, optional
        Edge feature with weights: edges are taken in proportion to it.
    restart_prob : float, or sequence or tensor of float, optional
        Probability that a walk ends before a step; one for all steps, or one for each.
    return_eids : bool
    seed : int, optional
        The same seed gives the same walks, wherever the partitions are.

    Returns
    -------
    traces : int64 tensor, [nodes, steps + 1]
        -1 after a walk's end.
    eids : int64 tensor, [nodes, steps]
        Only with return_eids; -1 after the end.
    types : int64 tensor, [steps + 1]
        The node type of each column of traces.

    Raises
    ------
    graphd.errors.InvalidError
        If both of metapath and length are given, or neither.
    """
    backend.chosen()
    graph_of(g)
    rest = (
        column_of(prob),
        _probabilities(restart_prob),
        bool(return_eids),
        seeds.given_or_next(seed),
    )
    clock = g.calls.clock("walking", Types.count([nodes]))
    if metapath is not None and length is None:
        steps = g.types.steps(metapath)
        with clock:
            return _traces(_graphd.walk_metapath(g.handle, nodes, steps, *rest))
    if length is not None and metapath is None:
        length = whole_number(length, "length")
        _check_size(nodes, length)
        with clock:
            return _traces(_graphd.walk_length(g.handle, nodes, length, *rest))
    raise InvalidError("random_walk: give either a metapath or a length")


def node2vec_random_walk(
    g: GraphBase,
    nodes: Ids,
    p: float,
    q: float,
    walk_length: int,
    prob: str | None = None,
    return_eids: bool = False,
    *,
    seed: int | None = None,
) -> Any:
    """Walks as node2vec does, on a graph with one node type and one edge type.

    Matches ``dgl.sampling.node2vec_random_walk``.

    Parameters
    ----------
    p : float
        The larger, the less often a walk returns to the node from which it has just come.
    q : float
        The larger, the closer a walk stays to the node from which it has just come.
    walk_length : int
    g, nodes, prob, return_eids, seed
        See `random_walk`.

    Returns
    -------
    tensor, or (tensor, tensor)
        Traces and, with return_eids, the edges, as `random_walk` returns them.
    """
    backend.chosen()
    walk_length = whole_number(walk_length, "walk_length")
    _check_size(nodes, walk_length)
    options = (
        not_negative(p, "p"),
        not_negative(q, "q"),
        walk_length,
        column_of(prob),
        bool(return_eids),
        seeds.given_or_next(seed),
    )
    with graph_of(g).calls.clock("walking", Types.count([nodes])):
        traces, eids, _ = _graphd.walk_node2vec(g.handle, nodes, *options)
    return (traces, eids) if return_eids else traces


def _check_size(nodes: Ids, length: int) -> None:
    check_draws(Types.count([nodes]), length, "length")


def _probabilities(given: Any) -> list[float]:
    if given is None:
        return []
    given = given.tolist() if hasattr(given, "tolist") else given
    each = given if isinstance(given, (list, tuple)) else [given]
    return [not_negative(one, "restart_prob") for one in each]


def _traces(found: tuple[Tensor, Tensor | None, Tensor]) -> Any:
    traces, eids, types = found
    return (traces, types) if eids is None else (traces, eids, types)
