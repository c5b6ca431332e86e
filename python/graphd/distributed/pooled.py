# SPDX-License-Identifier: Apache-2.0
"""Fanouts that count the edges of all types of a node together, as those of DGL's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _graphd, backend
from ..schema import Types
from ..typing import Ids, Tensor

Rows = tuple[int, Tensor, Tensor, Tensor]  # edge type, indptr, neighbours, edge ids

# degrees(edge type, nodes) returns the numbers of edges of nodes that may be drawn.
Degrees = Callable[[int, Tensor], Any]


def degrees_without(graph: _graphd.Graph, exclude: Sequence[Ids], is_out: bool) -> Degrees:
    """Returns a function that counts the edges of nodes. It leaves out the edges in `exclude`,
    which has a list for each edge type."""
    import numpy

    def degrees(e: int, nodes: Tensor) -> Any:
        number = backend.to_numpy(graph.degrees(is_out, nodes, e))
        if e >= len(exclude) or exclude[e] is None:
            return number
        ends = backend.to_numpy(graph.find_edges(exclude[e], e)[0 if is_out else 1])
        # An edge that is listed twice is left out once.
        distinct = numpy.unique(numpy.asarray(exclude[e]), return_index=True)[1]
        ends = numpy.sort(ends[distinct])
        some = backend.to_numpy(nodes)
        first, last = (numpy.searchsorted(ends, some, side) for side in ("left", "right"))
        return number - (last - first)

    return degrees


def draw_counts(
    types: Types,
    seeds: Sequence[Tensor | None],
    fanout: int,
    replace: bool,
    is_out: bool,
    degrees: Degrees,
    seed: int,
) -> dict[int, Any]:
    """Draws how many edges of each type a seed gets, if `fanout` edges are drawn from all its edges.

    Returns
    -------
    dict of int to array
        For each edge type, the number of edges of each seed.
    """
    import numpy

    draw = numpy.random.default_rng(seed)
    counts = {}
    for t, nodes in enumerate(seeds):
        ends = types.src_types if is_out else types.dst_types
        etypes = [e for e, end in enumerate(ends) if end == t and nodes is not None]
        numbers = [degrees(e, nodes) for e in etypes]
        others = sum(numbers, numpy.zeros(0 if nodes is None else len(nodes), numpy.int64))
        left = numpy.where(others > 0, fanout, 0) if replace else numpy.minimum(others, fanout)
        for e, number in zip(etypes, numbers):
            others = others - number
            if replace:
                total = numpy.maximum(number + others, 1)
                counts[e] = draw.binomial(left, number / total)
            else:
                counts[e] = draw.hypergeometric(number, others, left)
            left = left - counts[e]
    return counts


def keep_counts(found: Iterable[Rows], counts: dict[int, Any], seed: int) -> list[Rows]:
    """Keeps as many edges of each row as were drawn for this row. The edges are chosen at random,
    and stay in their order."""
    import numpy

    draw = numpy.random.default_rng([seed, 1])
    kept = []
    for e, indptr, neighbors, ids in found:
        begins = backend.to_numpy(indptr)
        row = numpy.repeat(numpy.arange(len(begins) - 1), numpy.diff(begins))
        order = numpy.lexsort((draw.random(len(row)), row))
        place = numpy.empty(len(row), numpy.int64)
        place[order] = numpy.arange(len(row)) - begins[row]  # the place of an edge in its row
        is_kept = place < counts[e][row]
        ends = numpy.zeros(len(begins), numpy.int64)
        numpy.cumsum(numpy.bincount(row[is_kept], minlength=len(begins) - 1), out=ends[1:])
        some = (backend.to_numpy(each)[is_kept] for each in (neighbors, ids))
        kept.append((e, backend.from_numpy(ends), *map(backend.from_numpy, some)))
    return kept
