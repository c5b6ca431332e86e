# SPDX-License-Identifier: Apache-2.0
"""Dividing nodes or edges among trainers."""
from .. import backend
from ..arguments import text, whole_number_in
from ..errors import InvalidError
from . import session
from .book import DEFAULT_ETYPE, DEFAULT_NTYPE, GraphPartitionBook
from .tensor import DistTensor


def node_split(nodes, partition_book=None, ntype=DEFAULT_NTYPE, rank=None, force_even=True,
               node_trainer_ids=None):
    """This trainer's share of the nodes that a mask chooses. Matches ``dgl.distributed.node_split``.

    Every chosen node goes to exactly one trainer; with ``force_even`` shares differ by at most one.
    Nothing is sent between trainers.

    Parameters
    ----------
    nodes : DistTensor or tensor
        The mask, bool or uint8, one element per node of the type.
    partition_book : GraphPartitionBook, optional
        Needed with a mask that is no DistTensor.
    ntype : str
        Of such a mask. The default stands for homogeneous ids.
    rank : int, optional
        Whose share; this trainer's unless given.
    force_even : bool
        False: only nodes of the trainer's own partitions.
    node_trainer_ids : DistTensor, optional
        A feature that says for which trainer each node was cut out ("trainer_id").

    Returns
    -------
    int64 tensor, ascending
    """
    return _split(nodes, partition_book, False, ntype, rank, force_even, node_trainer_ids)


def edge_split(edges, partition_book=None, etype=DEFAULT_ETYPE, rank=None, force_even=True,
               edge_trainer_ids=None):
    """This trainer's share of the edges that a mask chooses. Matches
    ``dgl.distributed.edge_split``.

    Parameters
    ----------
    edges : DistTensor or tensor
        The mask, bool or uint8, one element per edge of the type.
    partition_book, rank, force_even
        As `node_split` has them.
    etype : str or (str, str, str)
        Of a mask that is no DistTensor. The default stands for homogeneous ids.
    edge_trainer_ids : DistTensor, optional
        A feature that says for which trainer each edge was cut out ("trainer_id").

    Returns
    -------
    int64 tensor, ascending
    """
    return _split(edges, partition_book, True, etype, rank, force_even, edge_trainer_ids)


def _split(mask, book, is_edge, type_name, rank, force_even, trainer_ids):
    backend.chosen()
    kind = "edge" if is_edge else "node"
    if trainer_ids is not None:
        trainer_ids = text(getattr(trainer_ids, "name", trainer_ids), f"{kind}_trainer_ids",
                           "a DistTensor, as g.ndata[\"trainer_id\"], or its name")
    if isinstance(mask, DistTensor):
        if mask.handle.is_edge != is_edge:
            other = "node" if is_edge else "edge"
            raise InvalidError(f"{kind}_split: mask {mask.name!r} is one of {other}s; use "
                               f"{other}_split")
        rank = -1 if rank is None else _rank(rank, mask.g.session)
        return mask.g.handle.split_feature(mask.handle, is_edge, rank, -1, bool(force_even),
                                           trainer_ids or "")
    if not hasattr(mask, "dtype"):
        raise InvalidError(f"{kind}s {mask!r}: expected a mask: a DistTensor, as "
                           f"g.{kind[0]}data[\"train_mask\"], or a tensor of bool")
    if not isinstance(book, GraphPartitionBook):
        raise InvalidError(f"partition_book {book!r}: a mask that is no DistTensor needs one; give "
                           "g.get_partition_book()")
    if trainer_ids:
        raise InvalidError("trainer ids need a mask that is a DistTensor; give "
                           f"g.{kind[0]}data[...]")
    here = session.current()
    number = book.etype_id(type_name) if is_edge else book.ntype_id(type_name)
    rank = here.rank if rank is None else _rank(rank, here)
    return book.handle.split(is_edge, number, mask, rank, here.world_size, bool(force_even))


def _rank(rank, here):
    return whole_number_in(rank, "rank", 0, here.world_size - 1)
