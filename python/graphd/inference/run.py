# SPDX-License-Identifier: Apache-2.0
"""The tensors that a run of `layerwise` keeps on the servers."""

from __future__ import annotations

import json
from typing import Any

from .. import _graphd
from ..distributed.policy import PartitionPolicy
from ..distributed.tensor import DistTensor
from ..errors import NotFoundError
from ..graph_base import GraphBase


class Run:
    """The arguments of a run, the rows of its layers and, if it can be resumed, its progress.

    The class InferenceRun of the C++ library keeps them in tensors whose names begin with the name
    of the run.

    Parameters
    ----------
    g : DistGraph
    name : str
    num_layers : int
    arguments : dict
        The values that must be the same when the run is resumed, besides the numbers of layers
        and trainers. Each is a value of JSON.
    persistent, resumable : bool
        Whether the results outlive the job, and whether all of the run's tensors do.
    """

    def __init__(
        self,
        g: GraphBase,
        name: str,
        num_layers: int,
        arguments: dict[str, Any],
        persistent: bool,
        resumable: bool,
    ) -> None:
        self.g, self.name = g, name
        texts = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in arguments.items()
        }
        self._run = _graphd.InferenceRun(g.handle, name, num_layers, texts, persistent, resumable)

    def begin(self) -> tuple[int, int]:
        """Starts the run over, or continues it. All trainers call it together.

        Returns
        -------
        layer, done : int
            The layer at which this trainer continues, and the number of the trainer's batches of
            this layer that are done.

        Raises
        ------
        graphd.errors.InvalidError
            If the run to be resumed has other arguments.
        graphd.errors.ExistsError
            If a tensor of the result's name is not the result of an earlier run.
        graphd.errors.DeadlineError
            If a trainer does not call this in time.
        """
        return self._run.begin()

    def mark(self, layer: int, done: int) -> None:
        """Notes the batches of this trainer that are done, if the run can be resumed."""
        self._run.mark(layer, done)

    def make(self, layer: int, ntype: str | None, rows: Any) -> DistTensor:
        """Makes the tensor of a layer for rows like these, or opens it if it exists; `ntype` is None
        if tensors are not by type."""
        policy = PartitionPolicy("node", self.g, self.g.types.ntype_id(ntype))
        return DistTensor(
            (policy.get_size(), *rows.shape[1:]),
            rows.dtype,
            self._run.tensor_name(layer, ntype or ""),
            part_policy=policy,
            persistent=self._run.is_persistent(layer),
        )

    def open(self, layer: int, ntype: str | None) -> DistTensor | None:
        """Opens the tensor of a layer; returns None if no trainer has made it."""
        try:
            return DistTensor.open(self.g, self._run.tensor_name(layer, ntype or ""))
        except NotFoundError:
            return None

    def finish_layer(self, layer: int) -> None:
        """Waits until all trainers have finished a layer, and drops the tensors of the previous one."""
        self._run.finish_layer(layer)
