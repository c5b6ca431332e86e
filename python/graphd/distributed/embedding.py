# SPDX-License-Identifier: Apache-2.0
"""Learnable vectors that lie with the servers."""
import itertools

from .. import _graphd, backend
from ..arguments import whole_number
from .tensor import DistTensor, policy_of, tensor_spec

_anonymous = itertools.count()


class DistEmbedding:
    """Learnable vectors, one per node, edge or row. Matches ``dgl.distributed.DistEmbedding``.

    ``emb(ids)`` reads rows; when autograd computes their gradients these wait until an optimiser of
    `graphd.distributed.optim` applies them where the rows lie. It is no ``nn.Module``.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    name : str, optional
        By which it is found again, also by other jobs. Without one it ends with the job.
    init_func, part_policy
        As `DistTensor` has them.
    persistent : bool, optional
        Whether it belongs to the server. Default: if it has a name.
    many_writers : bool
        Whether several jobs may train it at once.
    """

    def __init__(self, num_embeddings, embedding_dim, name=None, init_func=None, part_policy=None,
                 *, persistent=None, many_writers=False):
        backend.chosen()
        num_embeddings = whole_number(num_embeddings, "num_embeddings")
        embedding_dim = whole_number(embedding_dim, "embedding_dim")
        policy = policy_of(part_policy, num_embeddings)
        self.g, self.part_policy = policy.g, policy
        persistent = name is not None if persistent is None else persistent
        if name is None:
            name = f"anonymous-embedding-{next(_anonymous)}"
        spec, init_func = tensor_spec((num_embeddings, embedding_dim), "float32", name, init_func,
                                      policy, persistent, many_writers)
        self.handle = _graphd.Embedding(self.g.handle, spec, init_func)
        self.name, self.num_embeddings, self.embedding_dim = name, num_embeddings, embedding_dim

    @property
    def weight(self):
        """The rows as a DistTensor."""
        return DistTensor.of(self.handle.weight, self.g)

    def __call__(self, idx, device=None):
        """Rows by id.

        Parameters
        ----------
        idx : int64 tensor
        device : torch.device, optional
            Where the result shall lie.

        Returns
        -------
        float32 tensor, [len(idx), embedding_dim]
            With gradients where autograd records.
        """
        rows = self.handle.forward(idx)
        if backend.chosen() != "torch":
            return rows
        import torch

        if torch.is_grad_enabled():
            rows.requires_grad_()
            rows.register_hook(lambda gradients: self.handle.backward(idx, gradients))
        return rows if device is None else rows.to(device)

    def backward(self, idx, gradients):
        """Hands over gradients that were computed without autograd.

        Parameters
        ----------
        idx : int64 tensor
            As ``emb(idx)`` had it.
        gradients : float32 tensor, [len(idx), embedding_dim]
        """
        self.handle.backward(idx, gradients)

    def reset_trace(self):
        """Forgets gradients that wait."""
        self.handle.zero_grad()

    def __repr__(self):
        return f"DistEmbedding('{self.name}', {self.num_embeddings}, {self.embedding_dim})"
