# SPDX-License-Identifier: Apache-2.0
"""Optimisers of `DistEmbedding`. Match ``dgl.distributed.optim``.

A step sends each gradient once, to the server that has the row and the optimiser's state, which
lasts with it. Differences: SparseAdagrad keeps the sum of squares (DGL keeps its root by mistake);
a step forgets the gradients that it applied, so that `zero_grad` is needed only for batches that
are thrown away; no collective, unless ``synchronous``.
"""
import collections.abc

from .. import _graphd
from ..arguments import not_negative, whole_number
from ..errors import InvalidError
from .embedding import DistEmbedding


class _Optimizer:
    def __init__(self, kind, params, numbers, *, lr, weight_decay, staleness, **options):
        if not isinstance(params, collections.abc.Iterable):
            raise InvalidError(f"params {params!r}: expected a list of DistEmbedding; put [] "
                               "around a single one")
        params = list(params)
        if not params:
            raise InvalidError("params is empty; an optimiser needs one DistEmbedding or more")
        for each in params:
            if not isinstance(each, DistEmbedding):
                raise InvalidError(f"params: {each!r} is no DistEmbedding; dense parameters need a "
                                   "torch.optim optimiser of their own")
        self.params = params
        options.update(lr=not_negative(lr, "lr"),
                       weight_decay=not_negative(weight_decay, "weight_decay"),
                       staleness=whole_number(staleness, "staleness"))
        self.handle = kind(tuple(each.handle for each in params), options, *numbers)

    def step(self):
        """Applies the gradients since the last step, and forgets them."""
        self.handle.step()

    def zero_grad(self):
        """Forgets the gradients since the last step."""
        self.handle.zero_grad()

    def wait(self):
        """Waits for steps under way (staleness); raises what went wrong with them."""
        self.handle.wait()

    def __getattr__(self, name):
        if name in ("save", "load"):  # DGL's
            raise AttributeError(f"{type(self).__name__} has no {name}: the servers keep its state "
                                 "with the rows; graphd.checkpoint.create and restore take both")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def lr(self):
        """May be set; counts from the next step on."""
        return self.handle.lr

    @lr.setter
    def lr(self, value):
        self.handle.lr = not_negative(value, "lr")


class SparseSGD(_Optimizer):
    """w -= lr g.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    weight_decay : float
    sum_duplicates : bool
        A row that occurs several times in a step gets the sum of its gradients, as dense autograd
        has it, instead of their mean, as DGL has it.
    synchronous : bool
        The gradients of one step of all trainers are applied together, and every trainer has to
        call `step` equally often, as in DGL. False: each trainer's as they come.
    staleness : int
        Steps that may be under way when `step` returns.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is no list of DistEmbedding, or a number makes no sense.
    """

    def __init__(self, params, lr, *, weight_decay=0.0, sum_duplicates=False, synchronous=False,
                 staleness=0):
        super().__init__(_graphd.SparseSGD, params, (), lr=lr, weight_decay=weight_decay,
                         sum_duplicates=sum_duplicates, synchronous=synchronous,
                         staleness=staleness)


class SparseAdagrad(_Optimizer):
    """G += g^2; w -= lr g / (sqrt(G) + eps). Matches DGL's class of this name, but for a mistake:
    that one keeps G's root.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    eps : float
    row_wise : bool
        One G per row, as DGL 0.6 had it.
    weight_decay, sum_duplicates, synchronous, staleness
        As `SparseSGD` has them.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is no list of DistEmbedding, or a number makes no sense.
    """

    def __init__(self, params, lr, eps=1e-10, *, row_wise=False, weight_decay=0.0,
                 sum_duplicates=False, synchronous=False, staleness=0):
        super().__init__(_graphd.SparseAdagrad, params,
                         (not_negative(eps, "eps"), bool(row_wise)), lr=lr,
                         weight_decay=weight_decay, sum_duplicates=sum_duplicates,
                         synchronous=synchronous, staleness=staleness)


class SparseAdam(_Optimizer):
    """Adam whose moments and count of steps are the row's own: rows without gradient do not move.
    Matches DGL's class of this name.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    betas : (float, float)
    eps : float
    weight_decay, sum_duplicates, synchronous, staleness
        As `SparseSGD` has them.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is no list of DistEmbedding, or a number makes no sense.
    """

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, *, weight_decay=0.0,
                 sum_duplicates=False, synchronous=False, staleness=0):
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise InvalidError(f"betas {betas!r}: expected two numbers, as (0.9, 0.999)")
        numbers = *(not_negative(each, "betas") for each in betas), not_negative(eps, "eps")
        super().__init__(_graphd.SparseAdam, params, numbers, lr=lr,
                         weight_decay=weight_decay, sum_duplicates=sum_duplicates,
                         synchronous=synchronous, staleness=staleness)
