# SPDX-License-Identifier: Apache-2.0
"""Learnable vectors that are stored on the servers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .. import _graphd, backend, progress
from ..arguments import whole_number
from ..html import properties
from ..typing import Ids, Tensor
from .policy import PartitionPolicy
from .tensor import DistTensor, InitFunction, policy_of, tensor_spec

if TYPE_CHECKING:
    from ..device.gradients import Gradients

_anonymous = itertools.count()


class DistEmbedding:
    """Learnable vectors, one per node, edge or row. Matches ``dgl.distributed.DistEmbedding``.

    ``emb(ids)`` reads rows. The gradients that autograd computes for these rows are kept until an
    optimiser of `graphd.distributed.optim` applies them on the servers that store the rows. A
    DistEmbedding is not an ``nn.Module``.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    name : str, optional
        The name by which the embedding is opened again, also by other jobs. An embedding without a
        name ends with the job.
    init_func, part_policy
        See `DistTensor`.
    persistent : bool, optional
        Whether the embedding belongs to the server and outlives the job. Default: True if it has a
        name.
    many_writers : bool
        Whether several jobs may train the embedding at once.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        name: str | None = None,
        init_func: InitFunction = None,
        part_policy: PartitionPolicy | None = None,
        *,
        persistent: bool | None = None,
        many_writers: bool = False,
    ) -> None:
        backend.chosen()
        num_embeddings = whole_number(num_embeddings, "num_embeddings")
        embedding_dim = whole_number(embedding_dim, "embedding_dim")
        policy = policy_of(part_policy, num_embeddings)
        self.g, self.part_policy = policy.g, policy
        persistent = name is not None if persistent is None else persistent
        if name is None:
            name = f"anonymous-embedding-{next(_anonymous)}"
        shape = (num_embeddings, embedding_dim)
        spec, fill = tensor_spec(
            shape, "float32", name, init_func, policy, persistent, many_writers
        )
        self._gradients: Gradients | None = None  # gradients on their way from a device
        with progress.clock(f"making {name!r}"):
            self.handle = _graphd.Embedding(self.g.handle, spec, fill)
        self.name, self.num_embeddings, self.embedding_dim = name, num_embeddings, embedding_dim

    @property
    def weight(self) -> DistTensor:
        """The rows as a DistTensor."""
        return DistTensor.of(self.handle.weight, self.g)

    def __call__(self, idx: Ids, device: Any = None) -> Tensor:
        """Returns rows by id.

        Parameters
        ----------
        idx : int64 tensor
            It may be on any device; ids on another device than the CPU are copied.
        device : str, int or torch.device, optional
            The device of the result. Default: the CPU, also for ids that are elsewhere. Gradients come
            back from a CUDA device without the program waiting; the optimiser's step waits for them.

        Returns
        -------
        float32 tensor, [len(idx), embedding_dim]
            With gradients where autograd records.
        """
        idx = backend.on_host(idx)
        rows = self.handle.forward(idx)
        if backend.chosen() != "torch":
            return rows
        import torch

        if device is not None:
            from ..device.platform import is_cuda

            if is_cuda(device):
                return self._on_device().rows(idx, rows, device)
        if torch.is_grad_enabled():
            rows.requires_grad_()
            rows.register_hook(lambda gradients: self.handle.backward(idx, gradients))
        return rows if device is None else rows.to(device)

    def _on_device(self) -> Gradients:
        if self._gradients is None:
            from ..device.gradients import Gradients

            self._gradients = Gradients(self.handle)
        return self._gradients

    def backward(self, idx: Ids, gradients: Tensor) -> None:
        """Adds gradients that were computed without autograd.

        Parameters
        ----------
        idx : int64 tensor
            The ids that ``emb(idx)`` was called with.
        gradients : float32 tensor, [len(idx), embedding_dim]
            Ids and gradients may be on any device; those on another device than the CPU are copied.
        """
        self.handle.backward(backend.on_host(idx), backend.on_host(gradients))

    def collect(self) -> None:
        """Waits for gradients that are on their way from a device. Optimisers call it."""
        if self._gradients is not None:
            self._gradients.collect()

    def reset_trace(self) -> None:
        """Discards the gradients that were not applied yet."""
        if self._gradients is not None:
            self._gradients.discard()
        self.handle.zero_grad()

    def __repr__(self) -> str:
        return f"DistEmbedding('{self.name}', {self.num_embeddings}, {self.embedding_dim})"

    def _repr_html_(self) -> str:
        shown = [("rows", self.num_embeddings), ("columns", self.embedding_dim)]
        return properties(f"DistEmbedding {self.name!r}", shown)
