# SPDX-License-Identifier: Apache-2.0
"""Plots of graphs and of training runs. They need matplotlib.

>>> graphd.plot.degrees(g)                                                    # doctest: +SKIP
>>> graphd.plot.cut(g)                                                        # doctest: +SKIP
>>> graphd.plot.history(history)                                              # doctest: +SKIP

Each function draws into the Axes ``ax``, by default into the Axes of a new figure, and returns
these Axes.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from . import backend, progress
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .history import History
from .typing import EdgeType

try:
    from matplotlib import pyplot
except ImportError as error:
    raise ImportError(
        "graphd.plot needs matplotlib; install it: pip install matplotlib, or apt install "
        "python3-matplotlib"
    ) from error

__all__ = ["cut", "degrees", "history"]

_NODES_PER_READ = 1 << 20
_EDGES_DRAWN = 1 << 20
# The colours of inner and halo nodes, of edges within and across, and of texts on them.
_COLORS = (("#2a6fbb", "white"), ("#a9c7e8", "black"), ("#3a8a4d", "white"), ("#e8a15c", "black"))


def _axes(ax: Any, width: float = 6.4) -> Any:
    return pyplot.subplots(figsize=(width, 4), layout="constrained")[1] if ax is None else ax


def degrees(g: GraphBase, etype: EdgeType | None = None, *, ax: Any = None) -> Any:
    """Plots the number of nodes of each in-degree, with logarithmic axes.

    Nodes without in-edges have no place on a logarithmic axis; the legend gives their number.
    Degrees are read for a million nodes at a time.

    Parameters
    ----------
    g : DistGraph
    etype : str or (str, str, str), optional
        Default: all edge types, each in a colour of its own.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    types = graph_of(g).types
    numbers = range(len(types.canonical_etypes)) if etype is None else [types.etype_id(etype)]
    ax = _axes(ax)
    for e in numbers:
        counts = _degree_counts(g, e)
        without = counts.pop(0, 0)
        label = "" if types.is_homogeneous else f"{':'.join(types.canonical_etypes[e])}, "
        ax.plot(
            sorted(counts),
            [counts[degree] for degree in sorted(counts)],
            "o",
            markersize=4,
            alpha=0.7,
            label=f"{label}{without:,} nodes without in-edges",
        )
    ax.set(xscale="log", yscale="log", xlabel="in-degree", ylabel="nodes")
    ax.set_title(f"In-degrees of {g.handle.name!r}")
    ax.legend(fontsize="small")
    return ax


def _degree_counts(g: GraphBase, etype_id: int) -> dict[int, int]:
    """Returns the number of nodes of each in-degree."""
    import numpy

    backend.chosen()
    num_nodes = g.handle.num_nodes(g.types.dst_types[etype_id])
    counts: collections.Counter[int] = collections.Counter()
    for begin in progress.bar(range(0, num_nodes, _NODES_PER_READ), "reading degrees"):
        nodes = numpy.arange(begin, min(begin + _NODES_PER_READ, num_nodes))
        found = backend.to_numpy(g.handle.degrees(False, nodes, etype_id))
        counts.update(
            dict(zip(*(each.tolist() for each in numpy.unique(found, return_counts=True))))
        )
    return counts


def cut(g: GraphBase, *, ax: Any = None) -> Any:
    """Plots what each partition has: its own nodes, the halo nodes from which its edges come, and
    its edges within the partition and from other ones.

    Bars are in multiples of the mean over the partitions, so that balanced partitions have bars of
    the height 1. If an edge type has more than a million edges, the shares of edges within and
    across partitions are computed from a million of them, and halo nodes are not shown.

    Parameters
    ----------
    g : DistGraph
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy

    backend.chosen()
    book = graph_of(g).handle.book
    parts = numpy.arange(book.num_partitions)
    nodes, edges = (
        numpy.array([book.count_in(is_edge, -1, p) for p in parts.tolist()])
        for is_edge in (False, True)
    )
    with progress.clock("reading edges"):
        across, halo = _across(g)
    ax = _axes(ax, max(6.4, 1 + 0.8 * len(parts)))
    bars = (
        (-0.2, nodes.mean(), (("inner nodes", nodes), ("halo nodes", halo))),
        (0.2, edges.mean(), (("edges within", edges - across), ("edges across", across))),
    )
    colors = iter(_COLORS)
    for offset, mean, stacked in bars:
        bottom = numpy.zeros(len(parts))
        for label, counts in stacked:
            color, text_color = next(colors)
            if counts is None:
                continue
            heights = counts / max(mean, 1)
            drawn = ax.bar(parts + offset, heights, 0.36, bottom, color=color, label=label)
            bottom += heights
            if len(parts) <= 8:  # there is room for texts in bars that are not too low
                texts = [_short(n) if h > 0.05 else "" for n, h in zip(counts.tolist(), heights)]
                ax.bar_label(
                    drawn, texts, label_type="center", fontsize="x-small", color=text_color
                )
    ax.axhline(1, color="#888888", linewidth=0.8, linestyle="--")
    ax.set_xticks(parts if len(parts) <= 32 else parts[:: len(parts) // 16])
    ax.set_ylim(0, 1.08 * max(ax.get_ylim()[1], 1))
    ax.set(xlabel="partition", ylabel="multiple of the mean")
    most = [counts.max() / max(counts.mean(), 1) for counts in (nodes, edges)]
    ax.set_title(
        f"{g.handle.name!r}: {across.sum() / max(edges.sum(), 1):.1%} of the edges are cut\n"
        f"the largest partition has {most[0]:.2f} times the mean in nodes, {most[1]:.2f} in edges",
        fontsize="small",
    )
    ax.legend(fontsize="small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    return ax


def _across(g: GraphBase) -> tuple[Any, Any]:
    """Returns how many edges of each partition come from other partitions, and from how many nodes
    of these. The number of nodes is None if there are too many edges to look at each."""
    import numpy

    book, parts, draw = g.handle.book, g.handle.book.num_partitions, numpy.random.default_rng(0)
    across, halo, is_exact = numpy.zeros(parts, numpy.int64), numpy.zeros(parts, numpy.int64), True
    outside = collections.defaultdict(list)  # type of nodes -> partition and node of each such edge
    for e, ntype in enumerate(g.types.src_types):
        total = g.handle.num_edges(e)
        is_drawn = total > _EDGES_DRAWN
        ids = draw.integers(0, total, _EDGES_DRAWN) if is_drawn else numpy.arange(total)
        sources = backend.to_numpy(g.handle.find_edges(ids, e)[0])
        owners = backend.to_numpy(book.owners(True, e, ids))
        is_across = owners != backend.to_numpy(book.owners(False, ntype, sources))
        found = numpy.bincount(owners[is_across], minlength=parts)
        if is_drawn:
            is_exact = False
            owned = numpy.array([book.count_in(True, e, p) for p in range(parts)])
            seen = numpy.bincount(owners, minlength=parts)
            found = numpy.rint(owned * (found / numpy.maximum(seen, 1))).astype(numpy.int64)
        across += found
        outside[ntype].append(numpy.stack([owners[is_across], sources[is_across]]))
    for pairs in outside.values():
        of_part, _ = numpy.unique(numpy.concatenate(pairs, axis=1), axis=1)
        halo += numpy.bincount(of_part, minlength=parts)
    return across, halo if is_exact else None


def _short(count: int) -> str:
    """Returns a count in three digits: 12.3k, 4.56M."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{name}"
    return str(count)


def history(history: History, names: Iterable[str] | None = None, *, ax: Any = None) -> Any:
    """Plots the curves of a training history.

    If there are losses, that is values with "loss" in their names, and other values, losses have
    the left axis and the others the right axis.

    Parameters
    ----------
    history : graphd.History
    names : list of str, optional
        Default: all names that have numbers.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        The left one.

    Raises
    ------
    graphd.errors.InvalidError
        If a name has no numbers, or `names` is a str.
    """
    if isinstance(names, str):
        raise InvalidError(f"names {names!r}: expected a list of names; put [] around it")
    curves = history.curves()
    chosen = list(curves) if names is None else list(names)
    for name in chosen:
        if name not in curves:
            raise InvalidError(f"names: {name!r} has no numbers; there are {list(curves)}")
    losses = [name for name in chosen if "loss" in name]
    others = [name for name in chosen if name not in losses]
    ax = _axes(ax)
    sides = [(ax, losses or others)]
    if losses and others:
        sides.append((ax.twinx(), others))
    lines = []
    for side, (axes, drawn) in enumerate(sides):
        for i, name in enumerate(drawn):
            color = f"C{i + side * len(losses)}"
            lines += axes.plot(*curves[name], ".-", color=color, label=name)
        axes.set_ylabel(", ".join(drawn))
    ax.set_xlabel(history.axis or "record")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(alpha=0.3)
    if lines:
        # The legend is above the plot, because matplotlib would choose the best place inside it by
        # the left curves alone.
        options = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": min(len(lines), 5)}
        ax.legend(handles=lines, fontsize="small", frameon=False, **options)
    return ax
