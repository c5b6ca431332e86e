# SPDX-License-Identifier: Apache-2.0
"""Tensors whose rows are stored on the servers."""

from __future__ import annotations

import builtins
import collections.abc
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

from .. import _graphd, backend, progress
from ..arguments import text, whole_number
from ..errors import DeniedError, InvalidError
from ..graph_base import GraphBase, graph_of
from ..html import properties
from ..rows import from_the_end, is_list_of_rows, num_ids, row_ids
from ..typing import Ids, Tensor
from . import current_graph
from .elementwise import (
    FEW_IDS,
    compare,
    pieces,
    shown_pieces,
    shown_read,
    shown_read_of_ids,
    shown_write,
)
from .feature_copies import copy_feature
from .init import Constant, Initializer
from .policy import PartitionPolicy
from .sequence_reads import refusal

InitFunction = Union[Callable[[Any, Any], Tensor], Initializer, None]

_anonymous = itertools.count()


class DistTensor:
    """A tensor whose rows are stored with the partitions. Matches ``dgl.distributed.DistTensor``.

    Features of a graph (``g.ndata["feat"]``) are such tensors. The first change of a feature of nodes
    copies it into a tensor of the job, or of the servers (`DistGraph`, persistent_features), which
    takes the feature's place; the graph itself keeps the unchanged feature. Other trainers find the
    copy after the next `DistGraph.barrier`. Features of edges can't be changed. The constructor opens
    the tensor of this name, or makes it if there is none. All trainers may call it at once, but none
    has to.

    Parameters
    ----------
    shape : tuple of int
    dtype : torch.dtype, numpy.dtype or str
    name : str, optional
        Without a name, all trainers have to make their nameless tensors in the same order.
    init_func : callable or graphd.distributed.init.Initializer, optional
        ``init_func(shape, dtype)`` returns the initial values of some rows; it is called in the one
        process that makes the tensor, slice by slice. The servers compute an `Initializer`.
        Default: zeros.
    part_policy : PartitionPolicy, optional
        The nodes or edges with which the rows are stored (`DistGraph.get_node_partition_policy`).
        Default: the only type whose number of nodes or edges is the number of rows.
        PartitionPolicy("range", g) is for rows that belong to neither nodes nor edges.
    persistent : bool
        Whether the tensor belongs to the server and outlives the job; otherwise it ends with the
        job.
    is_gdata, attach
        Accepted for DGL; has no effect.
    many_writers : bool
        Whether several jobs may write to a persistent tensor at once.

    Raises
    ------
    graphd.errors.InvalidError
        If shape, dtype, name or policy are not valid, or differ from an existing tensor's.
    """

    g: GraphBase
    _stored: _graphd.DistTensor
    _policy: PartitionPolicy | None

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any = None,
        name: str | None = None,
        init_func: InitFunction = None,
        part_policy: PartitionPolicy | None = None,
        persistent: bool = False,
        is_gdata: bool = True,
        attach: bool = True,
        *,
        many_writers: bool = False,
    ) -> None:
        if name is None and persistent:
            raise InvalidError("a persistent tensor needs a name; give one")
        backend.chosen()
        dtype = "float32" if dtype is None else dtype
        shape = extents(shape)
        policy = policy_of(part_policy, shape[0])
        self.g, self._policy = policy.g, policy
        if name is None:
            name = f"anonymous-{next(_anonymous)}"
        spec, fill = tensor_spec(shape, dtype, name, init_func, policy, persistent, many_writers)
        with progress.clock(f"making {name!r}"):
            self._stored = _graphd.create_tensor(self.g.handle, spec, fill)

    @classmethod
    def of(cls, handle: _graphd.DistTensor, g: GraphBase) -> DistTensor:
        """Returns a tensor that exists, by its handle in the extension module.

        Parameters
        ----------
        handle
        g : DistGraph

        Returns
        -------
        DistTensor
        """
        self = cls.__new__(cls)
        self._stored, self.g, self._policy = handle, g, None
        return self

    @classmethod
    def open(cls, g: GraphBase, name: str) -> DistTensor:
        """Opens the persistent tensor of this name or, if there is none, this job's.

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
            If no tensor has this name.
        """
        return cls.of(_graphd.open_tensor(graph_of(g).handle, text(name, "name")), g)

    @staticmethod
    def list(g: GraphBase) -> builtins.list[dict[str, Any]]:
        """Lists the tensors that this job can open.

        Parameters
        ----------
        g : DistGraph

        Returns
        -------
        list of dict
            name, shape, dtype, persistent, state (the optimiser's), and holder: the job that may
            write.
        """
        return _graphd.list_tensors(graph_of(g).handle)

    @staticmethod
    def drop(g: GraphBase, name: str) -> None:
        """Deletes a tensor and its rows in all partitions, permanently.

        Parameters
        ----------
        g : DistGraph
        name : str

        Raises
        ------
        graphd.errors.NotFoundError
            If no tensor has this name.
        """
        _graphd.drop_tensor(graph_of(g).handle, text(name, "name"))

    @property
    def handle(self) -> _graphd.DistTensor:
        """The tensor of the extension module: for a feature that was changed, its copy."""
        stored = self._stored
        if self.g.copies and stored.is_feature and not stored.is_edge:
            return self.g.copies.get((stored.type, stored.name), stored)
        return stored

    @property
    def name(self) -> str:
        """The name that `open` takes."""
        return self.handle.name

    @property
    def tensor_name(self) -> str:
        """The same as `name`."""
        return self.handle.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows of all partitions together."""
        return tuple(self.handle.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of PyTorch or NumPy, whichever is in use."""
        return backend.dtype_of(self.handle.dtype)

    @property
    def persistent(self) -> bool:
        """Whether it outlives the job."""
        return self.handle.persistent

    @property
    def part_policy(self) -> PartitionPolicy:
        """The nodes or edges with which the rows are stored."""
        if self._policy is None:
            of_type = PartitionPolicy(self.handle.policy, self.g, self.handle.type)
            self._policy = of_type.with_rows(len(self))
        return self._policy

    def __len__(self) -> int:
        return self.handle.shape[0]

    def __getitem__(self, rows: Any) -> Tensor:
        """Returns rows, in the order of the ids.

        ``t[rows]`` takes an int64 or int32 tensor or a list of ids, a slice, ``...``, a mask (bool or
        uint8, with an element for each row; a DistTensor can be one), or an int, which gives one row
        and keeps the first dimension, as in DGL. Negative ids count from the end. ``t[rows, columns]``
        reads the rows and then takes columns of them; two lists are taken in pairs, as in PyTorch
        and NumPy. Ids and masks may be on any device; the result is in host memory.

        Raises
        ------
        graphd.errors.OutOfRangeError
            If an id is outside -len .. len-1. It is an IndexError.
        """
        backend.chosen()
        if isinstance(rows, tuple):
            return self._columns(*rows)
        if rows is Ellipsis:
            rows = slice(None)
        if isinstance(rows, slice):
            begin, end, step = rows.indices(len(self))
            if step == 1:
                with shown_read(self, end - begin):
                    return self.handle.slice(begin, max(begin, end))
            import numpy

            return self._read(numpy.arange(begin, end, step, dtype=numpy.int64))
        return self._with_ids(rows, self._read)

    def _read(self, ids: Ids) -> Tensor:
        count = num_ids(ids)
        if count <= FEW_IDS:
            return self.handle.read(ids)
        with shown_read_of_ids(self, count):
            return self.handle.read(ids)

    def _columns(self, rows: Any = Ellipsis, *columns: Any) -> Tensor:
        found = self[rows]
        if rows is Ellipsis:
            return found[(Ellipsis, *columns)]
        if is_list_of_rows(rows) and any(is_list_of_rows(each) for each in columns):
            import numpy

            return found[(backend.from_numpy(numpy.arange(len(found))), *columns)]
        return found[(slice(None), *columns)]

    def __setitem__(self, rows: Any, values: Tensor) -> None:
        """Sets rows; of duplicate ids the last one counts. Returns when the rows are as durable as
        the servers are configured to make them. `rows` has the same forms as in reading, without
        columns. `values` has the tensor's dtype and a row for each id, and may be on any device.
        The first change of a feature copies it; see `DistTensor`."""
        self._check_whole_rows(rows)
        values = backend.on_host(values)
        with shown_write(self, values):
            self._change(lambda handle, ids: handle.write(ids, values), rows)

    def __iter__(self) -> Iterator[Tensor]:
        """Yields the rows in the order of their ids, read from the servers in large pieces. As in
        PyTorch, the rows have no first dimension."""
        for rows in pieces(self):
            yield from self[rows]

    def __contains__(self, value: Any) -> bool:
        """Returns whether an element equals a value, as PyTorch's tensors do."""
        return any(bool((self[rows] == value).any()) for rows in shown_pieces(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Returns all rows as a NumPy array, for ``numpy.asarray(t)``. It is always a copy."""
        if copy is False:
            raise InvalidError(f"{self!r}: its rows are on servers; an array of them is a copy")
        array = backend.to_numpy(self[:])
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Returns all rows, copied, as a DLPack capsule, for ``torch.from_dlpack(t)``."""
        return self[:].__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Refuses ``torch.as_tensor(t)`` where it would read row by row; see `sequence_reads`."""
        return refusal(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles all rows as a tensor of PyTorch or NumPy: ``torch.load`` of what ``torch.save`` has
        written gives that tensor, without servers."""
        from multiprocessing.context import get_spawning_popen

        if get_spawning_popen() is not None:
            raise InvalidError(
                f"{self!r} can't be passed to a new process, which would change a copy of its rows; "
                "pass its name, and call DistTensor.open(g, name) there"
            )
        return self[:].__reduce_ex__(protocol)

    def __copy__(self) -> DistTensor:
        made = DistTensor.of(self._stored, self.g)
        made._policy = self._policy
        return made

    def __deepcopy__(self, memo: Any) -> DistTensor:
        raise InvalidError(
            f"{self!r} can't be copied with its rows, which are on servers; t[:] copies them into a "
            "tensor of this process"
        )

    def to(self, *arguments: Any, **options: Any) -> Tensor:
        """Copies all rows into this process, and calls ``to`` of PyTorch's tensors on them.

        Parameters
        ----------
        *arguments, **options
            The arguments of ``torch.Tensor.to``: a device, a dtype. Without PyTorch: "cpu".

        Returns
        -------
        tensor

        Raises
        ------
        graphd.errors.InvalidError
            If NumPy is in use and something else than "cpu" is given.
        """
        rows = self[:]
        if backend.chosen() == "torch":
            return rows.to(*arguments, **options)
        if arguments != ("cpu",) or options:
            raise InvalidError("to: expected 'cpu', because graphd.use('numpy') is in effect")
        return rows

    def __eq__(self, other: object) -> Any:
        """Compares elements with a number, or with a tensor that has the shape of this tensor or of
        a row. Returns a bool tensor of all rows in this process's memory. The operators ``!= < <= >
        >=`` do the same."""
        return compare(self, other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return compare(self, other, operator.ne)

    def __lt__(self, other: Any) -> Tensor:
        return compare(self, other, operator.lt)

    def __le__(self, other: Any) -> Tensor:
        return compare(self, other, operator.le)

    def __gt__(self, other: Any) -> Tensor:
        return compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> Tensor:
        return compare(self, other, operator.ge)

    __hash__ = object.__hash__  # by identity, as PyTorch's tensors have it

    def add(self, rows: Ids | slice, values: Tensor) -> None:
        """Adds values to rows, once for every occurrence of an id. No addition is lost, even if
        others add at the same time.

        Parameters
        ----------
        rows : int, slice, int64 tensor, list or mask
        values : tensor
            It has the tensor's dtype, and a row for each id. Both may be on any device.

        Raises
        ------
        graphd.errors.DeniedError
            If it is a feature of edges, or another job has the lease.
        """
        self._check_whole_rows(rows)
        values = backend.on_host(values)
        with shown_write(self, values):
            self._change(lambda handle, ids: handle.add(ids, values), rows)

    def _change(self, change: Callable[[_graphd.DistTensor, Ids], None], rows: Any) -> None:
        """Changes rows of the tensor; if it is a feature, rows of the feature's copy."""
        handle = self.handle
        try:
            self._with_ids(rows, lambda ids: change(handle, ids))
        except DeniedError:  # raised only after dtype and shape were found valid
            if not handle.is_feature:
                raise
            copy_feature(self.g, handle)
            self._with_ids(rows, lambda ids: change(self.handle, ids))

    def _check_whole_rows(self, rows: Any) -> None:
        if isinstance(rows, tuple):
            raise InvalidError(
                f"{self.name!r}[rows, columns]: only whole rows can be changed; read the rows, "
                "change their columns, and assign the rows"
            )

    def _with_ids(self, rows: Any, call: Callable[[Ids], Any]) -> Any:
        """Calls a function with the ids of rows. If the function refuses negative ids, calls it
        again with the rows for which these stand."""
        ids = row_ids(rows, self)
        try:
            return call(ids)
        except InvalidError as error:
            refusal = error
        ids = from_the_end(ids, len(self))
        if ids is None:  # the error has another cause than the ids
            raise refusal
        return call(ids)

    def keep_cached(self, rows: Ids) -> int:
        """Stores in this machine's row cache those of the given rows of a feature that other
        machines have, and keeps them there as long as the cache exists. They form the static part
        of the cache; the rest of the cache holds rows that were read recently.

        At most three quarters of the feature's memory in the cache hold kept rows; if that is not
        enough, the first of `rows` are kept. The first call takes memory for its rows from the
        memory that no other feature has taken, and later calls can only use the memory that the
        feature has then. The trainers of the machine share the rows, and all of them may call this.
        If a trainer is killed in the middle of a change of the cache, a few rows may be lost. The
        functions `nodes_by_degree` and `nodes_by_access` of `graphd.distributed` choose rows.

        Parameters
        ----------
        rows : int64 tensor or list

        Returns
        -------
        int
            How many of the rows are kept; 0 without a cache (``row_cache`` of `initialize`). Rows
            of partitions that this machine has itself do not count.

        Raises
        ------
        graphd.errors.InvalidError
            If the tensor is not a feature of the graph, or a feature that the job has changed.
        graphd.errors.OutOfRangeError
            If an id is outside -len .. len-1.
        """
        with progress.clock(f"caching rows of {self.name!r}"):
            kept: int = self._with_ids(rows, self.handle.keep_cached)
        return kept

    @property
    def local_partition(self) -> Tensor:
        """The rows of this trainer's own partition. A feature's rows share the mapped memory, and
        writing to them changes only this process's copy of the page. Rows of other tensors are
        read from the server."""
        backend.chosen()
        part = self.g.handle.local_partition
        if self.handle.is_feature and self.g.handle.is_mapped(part):
            return self.g.handle.mapped_partition(part).feature(
                self.handle.is_edge, self.handle.type, self.handle.name
            )
        return self[self.part_policy.local_ids()]

    def __or__(self, other: DistTensor) -> DistTensor:
        """Returns the union of two masks as a new tensor."""
        if not isinstance(other, DistTensor):
            return NotImplemented
        if self.shape != other.shape or self.handle.dtype != other.handle.dtype:
            raise InvalidError("the union of two masks needs the same shape and dtype")
        if self.handle.dtype.startswith(("float", "bfloat")):
            raise InvalidError(
                f"the union of two masks: {self.name!r} holds {self.handle.dtype}, "
                "expected bool or integers"
            )
        union = DistTensor(self.shape, self.handle.dtype, part_policy=self.part_policy)
        for rows in shown_pieces(self):
            union[rows] = self[rows] | other[rows]
        return union

    def count_nonzero(self) -> int:
        """Returns the number of elements of all partitions that are not zero.

        Returns
        -------
        int
        """
        return sum(int((backend.to_numpy(self[rows]) != 0).sum()) for rows in shown_pieces(self))

    def __repr__(self) -> str:
        return f"DistTensor('{self.name}', shape={self.shape}, dtype={self.handle.dtype})"

    def _repr_html_(self) -> str:
        kind = (
            "feature"
            if self.handle.is_feature
            else "persistent"
            if self.persistent
            else "of the job"
        )
        return properties(
            f"DistTensor {self.name!r}",
            [
                ("shape", self.shape),
                ("dtype", self.handle.dtype),
                ("rows", f"with {self.part_policy.policy_str}"),
                ("kind", kind),
            ],
        )


def extents(shape: Any) -> tuple[int, ...]:
    """Returns `shape` as a tuple of one int or more."""
    if isinstance(shape, str) or not isinstance(shape, collections.abc.Iterable):
        raise InvalidError(
            f"shape {shape!r}: expected a tuple of whole numbers, as (1000, 16); "
            "(1000,) for one number per row"
        )
    found = tuple(whole_number(extent, "shape: the extent") for extent in shape)
    if not found or min(found) < 0:
        raise InvalidError(
            f"shape {found}: expected one extent or more, each 0 or more; the first "
            "is the number of rows"
        )
    return found


def policy_of(part_policy: PartitionPolicy | None, rows: int) -> PartitionPolicy:
    """Returns the policy of a new tensor with this number of rows."""
    if part_policy is None:
        return PartitionPolicy.of_size(rows, current_graph.latest())
    if not isinstance(part_policy, PartitionPolicy):
        raise InvalidError(
            f"part_policy {part_policy!r}: expected a PartitionPolicy, as "
            "g.get_node_partition_policy(ntype) gives it"
        )
    return part_policy.with_rows(rows)


def tensor_spec(
    shape: tuple[int, ...],
    dtype: Any,
    name: str,
    init_func: InitFunction,
    policy: PartitionPolicy,
    persistent: bool,
    many_writers: bool,
) -> tuple[dict[str, Any], Callable[[int, tuple[int, ...]], Tensor] | None]:
    """Returns the tensor's properties for the extension module, and a function that makes initial
    values of a shape, or None."""
    if not (init_func is None or isinstance(init_func, Initializer) or callable(init_func)):
        raise InvalidError(
            f"init_func {init_func!r}: expected a function of (shape, dtype), or "
            "one of graphd.distributed.init, as init.Constant(1)"
        )
    dtype_name = backend.name_of(dtype)
    initializer: Initializer = Constant(0)
    fill = None
    if isinstance(init_func, Initializer):
        initializer = init_func
    elif init_func is not None:
        fill = _filler(init_func, backend.dtype_of(dtype_name))
    return {
        "name": text(name, "name"),
        "persistent": bool(persistent),
        "policy": policy.kind,
        "type": policy.type_id,
        "rows": shape[0],
        "dtype": dtype_name,
        "row_shape": list(shape[1:]),
        "initializer": initializer.fields(),
        "many_writers": bool(many_writers),
    }, fill


def _filler(
    init_func: Callable[[Any, Any], Tensor], dtype: Any
) -> Callable[[int, tuple[int, ...]], Tensor]:
    return lambda begin, shape: init_func(shape, dtype)
