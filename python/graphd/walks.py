# SPDX-License-Identifier: Apache-2.0
"""Random walks. Names and arguments are those of ``dgl.sampling``."""
from . import _graphd, backend, seeds
from .arguments import check_draws, column_of, graph_of, not_negative, whole_number
from .errors import InvalidError
from .schema import Types


def random_walk(g, nodes, metapath=None, length=None, prob=None, restart_prob=None,
                return_eids=False, *, seed=None):
    """Walks from nodes along edges, over all partitions. Matches ``dgl.sampling.random_walk``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor
        Where walks begin, of the type at which the metapath does; one that is listed twice begins
        two different walks.
    metapath : list of str or (str, str, str), optional
        The edge type of each step.
    length : int, optional
        Steps, on a graph with one node type and one edge type. Either this or a metapath.
    prob : str, optional
        Edge feature: edges are taken in proportion to it.
    restart_prob : float, or sequence or tensor of float, optional
        Probability of ending before a step; one for all steps, or one for each.
    return_eids : bool
    seed : int, optional
        The same seed gives the same walks, wherever the partitions are.

    Returns
    -------
    traces : int64 tensor, [nodes, steps + 1]
        -1 behind a walk's end.
    eids : int64 tensor, [nodes, steps]
        Only with return_eids; -1 behind the end.
    types : int64 tensor, [steps + 1]
        The node type of each column of traces.

    Raises
    ------
    graphd.errors.InvalidError
        If both of metapath and length are given, or neither.
    """
    backend.chosen()
    graph_of(g)
    if (metapath is None) == (length is None):
        raise InvalidError("random_walk: give either a metapath or a length")
    rest = (column_of(prob), _probabilities(restart_prob), bool(return_eids),
            seeds.given_or_next(seed))
    if metapath is None:
        length = whole_number(length, "length")
        _check_size(nodes, length)
        return _traces(_graphd.walk_length(g.handle, nodes, length, *rest))
    return _traces(_graphd.walk_metapath(g.handle, nodes, g.types.steps(metapath), *rest))


def node2vec_random_walk(g, nodes, p, q, walk_length, prob=None, return_eids=False, *, seed=None):
    """Walks of node2vec on a graph with one type of nodes and edges. Matches
    ``dgl.sampling.node2vec_random_walk``.

    Parameters
    ----------
    p : float
        The larger, the rarer a walk returns to where it came from.
    q : float
        The larger, the more it stays near.
    walk_length : int
    g, nodes, prob, return_eids, seed
        As `random_walk` has them.

    Returns
    -------
    tensor, or (tensor, tensor)
        Traces and, with return_eids, the edges: as of `random_walk`.
    """
    backend.chosen()
    walk_length = whole_number(walk_length, "walk_length")
    _check_size(nodes, walk_length)
    traces, eids, _ = _graphd.walk_node2vec(graph_of(g).handle, nodes, not_negative(p, "p"),
                                            not_negative(q, "q"), walk_length,
                                            column_of(prob), bool(return_eids),
                                            seeds.given_or_next(seed))
    return (traces, eids) if return_eids else traces


def _check_size(nodes, length):
    check_draws(Types.count([nodes]), length, "length")


def _probabilities(given):
    if given is None:
        return []
    given = given.tolist() if hasattr(given, "tolist") else given
    each = given if isinstance(given, (list, tuple)) else [given]
    return [not_negative(one, "restart_prob") for one in each]


def _traces(found):
    traces, eids, types = found
    return (traces, types) if eids is None else (traces, eids, types)
