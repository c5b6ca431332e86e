# SPDX-License-Identifier: Apache-2.0
"""Optimisers of `DistEmbedding`, under the names of ``dgl.distributed.optim``.

A step sends each gradient once, to the server that has the row and the optimiser's state of the
row. This state exists as long as the row. Differences from DGL: SparseAdagrad keeps the sum of
squares (DGL keeps its root by mistake); a step discards the gradients that it applied, so
`zero_grad` is needed only for batches whose gradients are not to be applied; no call is collective,
unless ``synchronous``.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Sequence
from typing import Any

from .. import _graphd
from ..arguments import not_negative, whole_number
from ..errors import InvalidError
from ..html import properties
from ..typing import Path
from . import saved
from .embedding import DistEmbedding


class _Optimizer:
    def __init__(
        self,
        kind: Callable[..., _graphd.SparseOptimizer],
        params: Sequence[DistEmbedding],
        numbers: dict[str, float],
        *,
        lr: float,
        weight_decay: float,
        sum_duplicates: bool,
        synchronous: bool,
        staleness: int,
    ) -> None:
        if not isinstance(params, collections.abc.Iterable):
            raise InvalidError(
                f"params {params!r}: expected a list of DistEmbedding; put [] around a single one"
            )
        params = list(params)
        if not params:
            raise InvalidError("params is empty; an optimiser needs one DistEmbedding or more")
        for each in params:
            if not isinstance(each, DistEmbedding):
                raise InvalidError(
                    f"params: {each!r} is not a DistEmbedding; dense parameters need a "
                    "torch.optim optimiser of their own"
                )
        self.params = params
        options = {
            "lr": not_negative(lr, "lr"),
            "weight_decay": not_negative(weight_decay, "weight_decay"),
            "sum_duplicates": sum_duplicates,
            "synchronous": synchronous,
            "staleness": whole_number(staleness, "staleness"),
        }
        self.handle = kind(tuple(each.handle for each in params), options, *numbers.values())
        del options["lr"]  # The handle has it, and it can change.
        self._options = {**numbers, **options}

    def __repr__(self) -> str:
        names = [each.name for each in self.params]
        return f"{type(self).__name__}({names}, lr={self.lr})"

    def _repr_html_(self) -> str:
        shown = [("embeddings", [each.name for each in self.params]), ("lr", self.lr)]
        return properties(type(self).__name__, [*shown, *self._options.items()])

    def step(self) -> None:
        """Applies the gradients since the last step, and discards them."""
        for each in self.params:
            each.collect()
        self.handle.step()

    def zero_grad(self) -> None:
        """Discards the gradients since the last step."""
        for each in self.params:
            each.reset_trace()

    def wait(self) -> None:
        """Waits for steps in progress (staleness); raises their errors."""
        self.handle.wait()

    def save(self, f: Path) -> None:
        """Saves the state of the optimiser, the rows of its embeddings and the learning rate.

        As in DGL, every trainer of the job calls it. The servers have the state, so they store it
        in a checkpoint and not in a file. The name of the checkpoint is the last part of `f` with a
        number: "emb_opt.1", then "emb_opt.2". When a checkpoint is complete, the previous one is
        deleted. `load` works with any directory in `f`, and with any number of trainers.

        Parameters
        ----------
        f : str or os.PathLike

        Raises
        ------
        graphd.errors.InvalidError
            If an embedding has no name, and therefore ends with the job.
        """
        self.wait()
        saved.save(self.params, f, {"optimizer": type(self).__name__, "lr": self.lr})

    def load(self, f: Path) -> None:
        """Restores what `save` has saved, in this job or an earlier one.

        Every trainer of the job calls it. In contrast to DGL, the rows of the embeddings return to
        what they were, too. As in DGL, it warns and does nothing if nothing was saved.

        Parameters
        ----------
        f : str or os.PathLike

        Raises
        ------
        graphd.errors.InvalidError
            If the state was saved by an optimiser of another kind, or of other embeddings.
        """
        self.wait()
        found = saved.load(self.params, f, {"optimizer": type(self).__name__})
        if found is not None:
            self.lr = found["lr"]

    def __getattr__(self, name: str) -> Any:
        if name in ("local_state_dict", "load_local_state_dict"):  # methods of DGL's optimisers
            raise AttributeError(
                f"{type(self).__name__} has no {name}: the servers keep its state with the rows; use "
                "save and load, or graphd.checkpoint"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def lr(self) -> float:
        """The learning rate. An assigned value takes effect with the next step."""
        return self.handle.lr

    @lr.setter
    def lr(self, value: float) -> None:
        self.handle.lr = not_negative(value, "lr")


class SparseSGD(_Optimizer):
    """Stochastic gradient descent: w -= lr g.

    The constructor waits until the memory of each new embedding is prepared, but at most 5 seconds for
    each embedding. If it did not, the first steps would wait instead.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    weight_decay : float
    sum_duplicates : bool
        Whether a row that occurs several times in a step gets the sum of its gradients, as in dense
        autograd, instead of their mean, as in DGL.
    synchronous : bool
        Whether the gradients of one step of all trainers are applied together, as in DGL. Then
        every trainer has to call `step` equally often. Otherwise each trainer's gradients are
        applied as they arrive.
    staleness : int
        Number of steps that may be in progress when `step` returns.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is not a list of DistEmbedding, or a number is not valid.
    """

    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        *,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None:
        super().__init__(
            _graphd.SparseSGD,
            params,
            {},
            lr=lr,
            weight_decay=weight_decay,
            sum_duplicates=sum_duplicates,
            synchronous=synchronous,
            staleness=staleness,
        )


class SparseAdagrad(_Optimizer):
    """Adagrad: G += g^2; w -= lr g / (sqrt(G) + eps).

    Matches DGL's class of this name, except that DGL keeps the root of G by mistake.

    The constructor waits until the memory of each new embedding is prepared, but at most 5 seconds for
    each embedding. If it did not, the first steps would wait instead.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    eps : float
    row_wise : bool
        Whether a row has a single G, as in DGL 0.6.
    weight_decay, sum_duplicates, synchronous, staleness
        See `SparseSGD`.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is not a list of DistEmbedding, or a number is not valid.
    """

    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        eps: float = 1e-10,
        *,
        row_wise: bool = False,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None:
        super().__init__(
            _graphd.SparseAdagrad,
            params,
            {"eps": not_negative(eps, "eps"), "row_wise": bool(row_wise)},
            lr=lr,
            weight_decay=weight_decay,
            sum_duplicates=sum_duplicates,
            synchronous=synchronous,
            staleness=staleness,
        )


class SparseAdam(_Optimizer):
    """Adam with moments and a count of steps for each row: rows without a gradient do not change.

    Matches DGL's class of this name.

    The constructor waits until the memory of each new embedding is prepared, but at most 5 seconds for
    each embedding. If it did not, the first steps would wait instead.

    Parameters
    ----------
    params : list of DistEmbedding
    lr : float
    betas : (float, float)
    eps : float
    weight_decay, sum_duplicates, synchronous, staleness
        See `SparseSGD`.

    Raises
    ------
    graphd.errors.InvalidError
        If `params` is not a list of DistEmbedding, or a number is not valid.
    """

    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None:
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise InvalidError(f"betas {betas!r}: expected two numbers, as (0.9, 0.999)")
        beta1, beta2 = (not_negative(each, "betas") for each in betas)
        super().__init__(
            _graphd.SparseAdam,
            params,
            {"beta1": beta1, "beta2": beta2, "eps": not_negative(eps, "eps")},
            lr=lr,
            weight_decay=weight_decay,
            sum_duplicates=sum_duplicates,
            synchronous=synchronous,
            staleness=staleness,
        )
