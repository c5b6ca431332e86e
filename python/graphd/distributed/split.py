# SPDX-License-Identifier: Apache-2.0
"""Division of nodes or edges among trainers."""

from __future__ import annotations

from typing import Any

from .. import _graphd, backend, progress
from ..arguments import text, whole_number_in
from ..errors import InvalidError
from ..typing import EdgeType, Tensor
from . import session
from .book import GraphPartitionBook
from .constants import DEFAULT_ETYPE, DEFAULT_NTYPE
from .tensor import DistTensor


def node_split(
    nodes: DistTensor | Tensor,
    partition_book: GraphPartitionBook | None = None,
    ntype: str | None = DEFAULT_NTYPE,
    rank: int | None = None,
    force_even: bool = True,
    node_trainer_ids: DistTensor | str | None = None,
) -> Tensor:
    """Returns this trainer's share of the nodes in a mask. Matches ``dgl.distributed.node_split``.

    Every node of the mask goes to exactly one trainer; with ``force_even`` shares differ by at most
    one. Trainers do not communicate for this. Trainers on machines without a partition (``graphctl
    launch --trainer_hosts``) get some nodes of every partition.

    Parameters
    ----------
    nodes : DistTensor or tensor
        The mask, bool or uint8, one element per node of the type. ``arange(g.num_nodes())``, as in
        DGL's examples, stands for all nodes (of which DGL leaves out the first).
    partition_book : GraphPartitionBook, optional
        Needed with a mask that is not a DistTensor.
    ntype : str
        The type of a mask that is not a DistTensor. The default stands for homogeneous ids.
    rank : int, optional
        The trainer whose share to return. Default: this trainer.
    force_even : bool
        If False, the share has only nodes of the trainer's own partitions, unless its machine has
        none.
    node_trainer_ids : DistTensor, optional
        A feature with the trainer that each node was assigned to in partitioning ("trainer_id").

    Returns
    -------
    int64 tensor, ascending
    """
    return _split(nodes, partition_book, False, ntype, rank, force_even, node_trainer_ids)


def edge_split(
    edges: DistTensor | Tensor,
    partition_book: GraphPartitionBook | None = None,
    etype: EdgeType | None = DEFAULT_ETYPE,
    rank: int | None = None,
    force_even: bool = True,
    edge_trainer_ids: DistTensor | str | None = None,
) -> Tensor:
    """Returns this trainer's share of the edges in a mask. Matches ``dgl.distributed.edge_split``.

    Parameters
    ----------
    edges : DistTensor or tensor
        The mask, bool or uint8, one element per edge of the type, or ``arange`` of their number.
    partition_book, rank, force_even
        See `node_split`.
    etype : str or (str, str, str)
        The type of a mask that is not a DistTensor. The default stands for homogeneous ids.
    edge_trainer_ids : DistTensor, optional
        A feature with the trainer that each edge was assigned to in partitioning ("trainer_id").

    Returns
    -------
    int64 tensor, ascending
    """
    return _split(edges, partition_book, True, etype, rank, force_even, edge_trainer_ids)


def _split(
    mask: Any,
    book: GraphPartitionBook | None,
    is_edge: bool,
    type_name: Any,
    rank: int | None,
    force_even: bool,
    trainer_ids: Any,
) -> Tensor:
    backend.chosen()
    kind = "edge" if is_edge else "node"
    if trainer_ids is not None:
        trainer_ids = text(
            getattr(trainer_ids, "name", trainer_ids),
            f"{kind}_trainer_ids",
            'a DistTensor, as g.ndata["trainer_id"], or its name',
        )
    if isinstance(mask, DistTensor):
        if mask.handle.is_edge != is_edge:
            other = "node" if is_edge else "edge"
            raise InvalidError(
                f"{kind}_split: mask {mask.name!r} is one of {other}s; use {other}_split"
            )
        rank = -1 if rank is None else _rank(rank, mask.g.session)
        with progress.clock(f"dividing {kind}s"):
            return mask.g.handle.split_feature(
                mask.handle, is_edge, rank, -1, bool(force_even), trainer_ids or ""
            )
    if not hasattr(mask, "dtype"):
        raise InvalidError(
            f"{kind}s {mask!r}: expected a mask: a DistTensor, as "
            f'g.{kind[0]}data["train_mask"], or a tensor of bool'
        )
    if not isinstance(book, GraphPartitionBook):
        raise InvalidError(
            f"partition_book {book!r}: a mask that is not a DistTensor needs one; give "
            "g.get_partition_book()"
        )
    if trainer_ids:
        raise InvalidError(
            f"trainer ids need a mask that is a DistTensor; give g.{kind[0]}data[...]"
        )
    here = book.g.session if book.g is not None else session.current()
    number = book.etype_id(type_name) if is_edge else book.ntype_id(type_name)
    rank = here.rank if rank is None else _rank(rank, here)
    trainers = here.world_size, bool(force_even), here.remote_trainers
    with progress.clock(f"dividing {kind}s"):
        return book.handle.split(is_edge, number, _mask_of(mask, f"{kind}s"), rank, *trainers)


def _mask_of(given: Tensor, what: str) -> Tensor:
    """Returns a mask for ``arange`` and for integers 0 and 1; returns masks of bool and uint8 as
    they are. Raises InvalidError for other integers: DGL takes every element other than 0 as True,
    so they can only be a misunderstanding."""
    import numpy

    dtype = backend.name_of(given.dtype)
    if dtype == "uint8" or not dtype.startswith(("int", "uint")):
        return given
    try:
        numbers = numpy.asarray(given)
    except TypeError:  # a tensor on another device, which the extension module refuses
        return given
    if ((numbers == 0) | (numbers == 1)).all():
        return numbers.astype(bool)
    if numbers.ndim == 1 and numpy.array_equal(numbers, numpy.arange(len(numbers))):
        return numpy.ones(len(numbers), dtype=bool)
    raise InvalidError(
        f"{what}: expected a mask, got other integers than 0 and 1; to divide chosen ids, set "
        "these elements of a mask of zeros to True"
    )


def _rank(rank: int, here: _graphd.Session) -> int:
    return whole_number_in(rank, "rank", 0, here.world_size - 1)
