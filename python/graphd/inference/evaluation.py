# SPDX-License-Identifier: Apache-2.0
"""Accuracies of outputs, and scores of pairs of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import backend
from ..arguments import text, whole_number_in
from ..distributed.data_loader import DistDataLoader, number_of_workers
from ..distributed.split import node_split
from ..distributed.tensor import DistTensor
from ..errors import InvalidError
from ..graph_base import GraphBase, graph_of
from ..progress import bar
from ..schema import checked_ids
from ..typing import EdgeType, Ids, Tensor
from .collective import total

Count = Callable[[Tensor, Tensor], Any]
Scorer = Callable[[Tensor, Tensor], Tensor]


def evaluate(
    g: GraphBase,
    outputs: DistTensor,
    masks: Sequence[str] = ("val_mask", "test_mask"),
    labels: str = "label",
    *,
    correct: Count | None = None,
    batch_size: int = 10_000,
) -> dict[str, float]:
    """Returns the fraction of nodes whose output is correct, for each mask, over all trainers.

    All trainers of the job call it together, with the same masks. Each reads its share.

    Parameters
    ----------
    g : DistGraph
    outputs : DistTensor
        A row for each node of a type, such as the result of `layerwise`: the scores of classes.
    masks : list of str
        Names of masks, which are data of these nodes.
    labels : str
        The name of their labels.
    correct : callable, optional
        ``correct(outputs, labels)`` returns how many rows of a batch are correct. Default: the rows
        whose largest score is the score of the label.
    batch_size : int
        Number of rows to read at a time.

    Returns
    -------
    dict of str to float
        The fraction of each mask; NaN for a mask that chooses no node.

    Raises
    ------
    graphd.errors.InvalidError
        If `outputs` does not have a row for each node of a type, if it does not have two dimensions
        and `correct` is not given, or if a mask is not a name.
    graphd.errors.NotFoundError
        If there are no data with the name of a mask or of the labels.
    """
    graph_of(g)
    if not isinstance(outputs, DistTensor) or outputs.handle.policy != "node":
        raise InvalidError(f"outputs {outputs!r}: expected a DistTensor with a row per node")
    if correct is None and len(outputs.shape) != 2:
        raise InvalidError(
            f"outputs of the shape {outputs.shape}: expected two dimensions, the scores of classes "
            "per node; for other outputs give correct=, a function of (outputs, labels)"
        )
    if isinstance(masks, str):
        raise InvalidError(f"masks {masks!r}: expected a list of names; put [] around it")
    batch_size = whole_number_in(batch_size, "batch_size", 1, 1 << 31)
    count = correct or _largest_is_label
    number = outputs.handle.type
    names = [text(mask, "masks: name") for mask in masks]
    truth = DistTensor.of(g.data(False, number, text(labels, "labels")), g)
    counts: list[int] = []
    for name in names:
        share = node_split(DistTensor.of(g.data(False, number, name), g))
        right = 0
        for begin in bar(range(0, len(share), batch_size), f"evaluating {name!r}"):
            ids = share[begin : begin + batch_size]
            right += int(count(outputs[ids], truth[ids]))
        counts += [right, len(share)]
    counts = total(g, counts)
    return {
        name: right / of if of else math.nan
        for name, right, of in zip(names, counts[::2], counts[1::2])
    }


def _largest_is_label(outputs: Tensor, labels: Tensor) -> Any:
    return (outputs.argmax(1) == labels.reshape(-1)).sum()


def predict_edges(
    g: GraphBase,
    embeddings: DistTensor | Mapping[str, DistTensor],
    u: Ids,
    v: Ids,
    scorer: Scorer | None = None,
    *,
    etype: EdgeType | None = None,
    batch_size: int = 10_000,
    num_workers: int | None = None,
) -> Tensor:
    """Returns scores of pairs of nodes, which need not be edges of the graph.

    It is not collective: each trainer gets the scores of its own pairs. Rows are read by threads
    while others are scored.

    Parameters
    ----------
    g : DistGraph
    embeddings : DistTensor, or dict of node type to DistTensor
        A row for each node, such as the result of `layerwise`.
    u, v : int64 tensor or list
        The ends of the pairs.
    scorer : callable, optional
        ``scorer(h_u, h_v)`` returns a tensor with a row for each pair. Gradients are on or off, as
        the caller has set them. Default: the dot product.
    etype : str or (str, str, str), optional
        The edge type whose source and destination types the pairs have, if `embeddings` is a dict.
        Default: the only type.
    batch_size : int
        Number of pairs to score at a time.
    num_workers : int, optional
        Number of threads. Default: as in `layerwise`.

    Returns
    -------
    tensor
        The scores in the order of the pairs.

    Raises
    ------
    graphd.errors.InvalidError
        If there are not as many sources as destinations, or a type has no embeddings, or these are
        not vectors and there is no `scorer`.
    graphd.errors.OutOfRangeError
        If there is no such node.
    """
    graph_of(g)
    backend.chosen()
    batch_size = whole_number_in(batch_size, "batch_size", 1, 1 << 31)
    src, dst = _ends(g, embeddings, etype)
    for each in (src, dst):
        if scorer is None and len(each.shape) < 2:
            raise InvalidError(
                f"embeddings of the shape {each.shape}: expected at least two dimensions, a vector per "
                "node, for the dot product; for other embeddings give a scorer, a function of (h_u, h_v)"
            )
    u, v = _ids(u, "u"), _ids(v, "v")
    if u.ndim != 1 or u.shape != v.shape:
        raise InvalidError(
            f"u, v: shapes {u.shape} and {v.shape}, expected one source and one destination per pair"
        )

    def read(numbers: list[int]) -> tuple[Tensor, Tensor]:
        some = slice(numbers[0] * batch_size, (numbers[0] + 1) * batch_size)
        return src[u[some]], dst[v[some]]

    loader = DistDataLoader(
        range(max(1, -(-len(u) // batch_size))),
        1,
        collate_fn=read,
        num_workers=number_of_workers(num_workers, g.session),
    )
    score = scorer or _dot_product
    return backend.concatenate([score(*rows) for rows in bar(loader, "scoring pairs")])


def _ids(ids: Ids, what: str) -> Any:
    """Returns ids as an array of int64. Refuses other dtypes instead of converting them."""
    import numpy

    found = numpy.asarray(checked_ids(ids, what))
    if len(found.shape) and not len(found):
        return found.astype(numpy.int64)
    if found.dtype != numpy.int64:
        raise InvalidError(
            f"{what}: {found.dtype}, expected int64 ids; convert them where they are made"
        )
    return found


def _ends(g: GraphBase, embeddings: Any, etype: EdgeType | None) -> tuple[DistTensor, DistTensor]:
    """Returns the embeddings of sources and of destinations."""
    if isinstance(embeddings, DistTensor):
        return embeddings, embeddings
    if not isinstance(embeddings, Mapping):
        raise InvalidError(
            f"embeddings {embeddings!r}: expected a DistTensor, or a dict by node type"
        )
    src, relation, dst = g.types.canonical_etypes[g.types.etype_id(etype)]
    for ntype in (src, dst):
        if ntype not in embeddings:
            raise InvalidError(
                f"embeddings: no entry for node type {ntype!r}, which is an end of edge type "
                f"{(src, relation, dst)!r}; there are entries for {sorted(embeddings)}"
            )
    return embeddings[src], embeddings[dst]


def _dot_product(h_u: Tensor, h_v: Tensor) -> Tensor:
    return (h_u * h_v).sum(-1)
