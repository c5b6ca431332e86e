# SPDX-License-Identifier: Apache-2.0
"""Tensors whose rows lie with the servers."""
import collections.abc
import itertools

from .. import _graphd, backend
from ..arguments import graph_of, text, whole_number
from ..errors import DeniedError, InvalidError
from ..schema import checked_ids
from . import current_graph
from .init import Constant, Initializer
from .policy import PartitionPolicy

_anonymous = itertools.count()


class DistTensor:
    """A tensor whose rows lie with the partitions. Matches ``dgl.distributed.DistTensor``.

    Features of a graph (``g.ndata["feat"]``) are such tensors and can't be changed. Making one
    opens the tensor of this name, or makes it; all trainers may do so at once, and none has to.

    Parameters
    ----------
    shape : tuple of int
    dtype : torch.dtype, numpy.dtype or str
    name : str, optional
        Without one all trainers have to make their nameless tensors in the same order.
    init_func : callable or graphd.distributed.init.Initializer, optional
        ``init_func(shape, dtype)`` gives first values of some rows; it is called in the one process
        that makes the tensor, slice by slice. An `Initializer` is computed by the servers. Default:
        zeros.
    part_policy : PartitionPolicy, optional
        Rows go with which nodes or edges (`DistGraph.get_node_partition_policy`). Default: the only
        type of nodes or edges that are as many as there are rows. PartitionPolicy("range", g)
        spreads rows that belong to neither.
    persistent : bool
        Belongs to the server and outlives the job; otherwise it ends with the job.
    is_gdata, attach
        DGL's; without effect.
    many_writers : bool
        Of a persistent tensor: whether several jobs may write it at once.

    Raises
    ------
    graphd.errors.InvalidError
        If shape, dtype, name or policy make no sense, or differ from an existing tensor's.
    """

    def __init__(self, shape, dtype=None, name=None, init_func=None, part_policy=None,
                 persistent=False, is_gdata=True, attach=True, *, many_writers=False):
        if name is None and persistent:
            raise InvalidError("a persistent tensor needs a name; give one")
        backend.chosen()
        dtype = "float32" if dtype is None else dtype
        shape = extents(shape)
        policy = policy_of(part_policy, shape[0])
        self.g, self._policy = policy.g, policy
        if name is None:
            name = f"anonymous-{next(_anonymous)}"
        spec, init_func = tensor_spec(shape, dtype, name, init_func, policy, persistent,
                                      many_writers)
        self.handle = _graphd.create_tensor(self.g.handle, spec, init_func)

    @classmethod
    def of(cls, handle, g):
        """A tensor that exists, by the extension's handle.

        Parameters
        ----------
        handle
        g : DistGraph

        Returns
        -------
        DistTensor
        """
        self = cls.__new__(cls)
        self.handle, self.g, self._policy = handle, g, None
        return self

    @classmethod
    def open(cls, g, name):
        """The persistent tensor of this name, or this job's.

        Parameters
        ----------
        g : DistGraph
        name : str

        Returns
        -------
        DistTensor

        Raises
        ------
        graphd.errors.NotFoundError
            If there is none.
        """
        return cls.of(_graphd.open_tensor(graph_of(g).handle, text(name, "name")), g)

    @staticmethod
    def list(g):
        """What tensors there are for this job.

        Parameters
        ----------
        g : DistGraph

        Returns
        -------
        list of dict
            name, shape, dtype, persistent, state (of an optimiser) and holder: the job that may
            write.
        """
        return _graphd.list_tensors(graph_of(g).handle)

    @staticmethod
    def drop(g, name):
        """Ends a tensor: its rows are gone for good, in all partitions.

        Parameters
        ----------
        g : DistGraph
        name : str

        Raises
        ------
        graphd.errors.NotFoundError
            If there is none.
        """
        _graphd.drop_tensor(graph_of(g).handle, text(name, "name"))

    @property
    def name(self):
        """By which it is opened."""
        return self.handle.name

    tensor_name = name

    @property
    def shape(self):
        """Of all partitions' rows together."""
        return tuple(self.handle.shape)

    @property
    def dtype(self):
        """Of PyTorch or NumPy, whichever is in use."""
        return backend.dtype_of(self.handle.dtype)

    @property
    def persistent(self):
        """Whether it outlives the job."""
        return self.handle.persistent

    @property
    def part_policy(self):
        """Which nodes or edges the rows go with."""
        if self._policy is None:
            of_type = PartitionPolicy(self.handle.policy, self.g, self.handle.type)
            self._policy = of_type.with_rows(len(self))
        return self._policy

    def __len__(self):
        return self.handle.shape[0]

    def __getitem__(self, rows):
        """Rows by id, in the order asked for: an int64 tensor, a list, a slice, or an int (which
        gives one row, as in DGL with its first extent)."""
        backend.chosen()
        if isinstance(rows, slice):
            begin, end, step = rows.indices(len(self))
            if step == 1:
                return self.handle.slice(begin, max(begin, end))
        return self.handle.read(self._ids(rows))

    def __setitem__(self, rows, values):
        """Sets rows, the last of duplicates; returns when it is as durable as the servers are
        configured. `values` has the tensor's dtype and a row for each id."""
        self._check_writable()
        self.handle.write(self._ids(rows), values)

    def add(self, rows, values):
        """Adds to rows, for every one of duplicates. No addition is lost, whoever else adds.

        Parameters
        ----------
        rows : int, slice, int64 tensor or list
        values : tensor
            Of the tensor's dtype, a row for each id.

        Raises
        ------
        graphd.errors.DeniedError
            If it is a feature of the graph.
        """
        self._check_writable()
        self.handle.add(self._ids(rows), values)

    def _check_writable(self):
        if self.handle.is_feature:
            raise DeniedError(f"feature {self.name!r} came with the graph and can't be changed; "
                              "make a DistTensor of its shape and dtype, and assign to its rows")

    def _ids(self, rows):
        if isinstance(rows, slice):
            import numpy

            return numpy.arange(*rows.indices(len(self)), dtype=numpy.int64)
        return whole_number(rows, "row") if isinstance(rows, int) else checked_ids(rows, "rows")

    @property
    def local_partition(self):
        """The rows of this trainer's own partition. A feature's share the mapped memory: what is
        written to them changes this process's copy of the page only. Others are read."""
        backend.chosen()
        part = self.g.handle.local_partition
        if self.handle.is_feature and self.g.handle.is_mapped(part):
            return self.g.handle.mapped_partition(part).feature(
                self.handle.is_edge, self.handle.type, self.handle.name)
        return self[self.part_policy.local_ids()]

    def __or__(self, other):
        """The union of two masks, as a new tensor."""
        if not isinstance(other, DistTensor):
            return NotImplemented
        if self.shape != other.shape or self.handle.dtype != other.handle.dtype:
            raise InvalidError("the union of two masks needs the same shape and dtype")
        if self.handle.dtype.startswith(("float", "bfloat")):
            raise InvalidError(f"the union of two masks: {self.name!r} holds {self.handle.dtype}, "
                               "expected bool or integers")
        union = DistTensor(self.shape, self.handle.dtype, part_policy=self.part_policy)
        for begin in range(0, len(self), 1 << 20):
            rows = slice(begin, min(begin + (1 << 20), len(self)))
            union[rows] = self[rows] | other[rows]
        return union

    def count_nonzero(self):
        """How many elements of all partitions are not zero.

        Returns
        -------
        int
        """
        count = 0
        for begin in range(0, len(self), 1 << 20):
            count += int((backend.to_numpy(self[begin:begin + (1 << 20)]) != 0).sum())
        return count

    def __repr__(self):
        return f"DistTensor('{self.name}', shape={self.shape}, dtype={self.handle.dtype})"


def extents(shape):
    """`shape` as a tuple of ints, of one extent or more."""
    if isinstance(shape, str) or not isinstance(shape, collections.abc.Iterable):
        raise InvalidError(f"shape {shape!r}: expected a tuple of whole numbers, as (1000, 16); "
                           "(1000,) for one number per row")
    shape = tuple(whole_number(extent, "shape: the extent") for extent in shape)
    if not shape or min(shape) < 0:
        raise InvalidError(f"shape {shape}: expected one extent or more, each 0 or more; the first "
                           "is the number of rows")
    return shape


def policy_of(part_policy, rows):
    """The policy of a new tensor with so many rows."""
    if part_policy is None:
        return PartitionPolicy.of_size(rows, current_graph.get())
    if not isinstance(part_policy, PartitionPolicy):
        raise InvalidError(f"part_policy {part_policy!r}: expected a PartitionPolicy, as "
                           "g.get_node_partition_policy(ntype) gives it")
    return part_policy.with_rows(rows)


def tensor_spec(shape, dtype, name, init_func, policy, persistent, many_writers):
    """(what the extension needs to know, init_func of a shape or None)."""
    if not (init_func is None or isinstance(init_func, Initializer) or callable(init_func)):
        raise InvalidError(f"init_func {init_func!r}: expected a function of (shape, dtype), or "
                           "one of graphd.distributed.init, as init.Constant(1)")
    initializer = init_func if isinstance(init_func, Initializer) else Constant(0)
    dtype_name = backend.name_of(dtype)
    make = None
    if init_func is not None and not isinstance(init_func, Initializer):
        of_dtype = backend.dtype_of(dtype_name)

        def make(some):
            return init_func(some, of_dtype)
    return {"name": text(name, "name"), "persistent": bool(persistent),
            "policy": policy.kind, "type": policy.type_id, "rows": shape[0],
            "dtype": dtype_name, "row_shape": list(shape[1:]),
            "initializer": initializer.fields(), "many_writers": bool(many_writers)}, make
