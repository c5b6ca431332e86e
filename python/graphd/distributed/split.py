# SPDX-License-Identifier: Apache-2.0
"""Dividing nodes or edges among trainers."""
from .. import backend
from ..errors import InvalidError, whole_number
from . import session
from .book import DEFAULT_ETYPE, DEFAULT_NTYPE
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
    """This trainer's share of the edges that a mask chooses. See `node_split`."""
    return _split(edges, partition_book, True, etype, rank, force_even, edge_trainer_ids)


def _split(mask, book, is_edge, type_name, rank, force_even, trainer_ids):
    backend.chosen()
    rank = -1 if rank is None else whole_number(rank, "rank")
    trainer_ids = "" if trainer_ids is None else getattr(trainer_ids, "name", trainer_ids)
    if isinstance(mask, DistTensor):
        return mask.g.handle.split_feature(mask.handle, is_edge, rank, -1, force_even, trainer_ids)
    if book is None:
        raise InvalidError("a mask that is no DistTensor needs a partition_book; give "
                           "g.get_partition_book()")
    if trainer_ids:
        raise InvalidError("trainer ids need a mask that is a DistTensor; give g.ndata[...]")
    here = session.current()
    number = book.etype_id(type_name) if is_edge else book.ntype_id(type_name)
    return book.handle.split(is_edge, number, mask, here.rank if rank < 0 else rank,
                             here.world_size, force_even)
