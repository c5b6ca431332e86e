# SPDX-License-Identifier: Apache-2.0
"""The tensors that a run of `layerwise` keeps on the servers."""

from __future__ import annotations

import json
from typing import Any

from .. import backend
from ..distributed.policy import PartitionPolicy
from ..distributed.tensor import DistTensor
from ..errors import ExistsError, InvalidError, NotFoundError
from ..graph_base import GraphBase


class Run:
    """The arguments of a run, the rows of its layers and, if it can be resumed, its progress.

    The names of all tensors begin with the run's: ``name`` or ``name/ntype`` are the results,
    ``name:layer0`` and so on the layers before, ``name:run`` are the arguments, and
    ``name:progress`` has for each trainer a layer and the number of its batches that are done.

    Parameters
    ----------
    g : DistGraph
    name : str
    num_layers : int
    arguments : dict
        What must be the same when the run is resumed; its values are those of JSON.
    persistent, resumable : bool
        Whether the results outlive the job, and whether everything does.
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
        self.g, self.name, self.num_layers = g, name, num_layers
        self._arguments = json.loads(json.dumps(arguments))
        self._persistent, self._resumable = persistent or resumable, resumable
        self._progress: DistTensor | None = None

    def begin(self) -> tuple[int, int]:
        """Starts the run over, or goes on with it. All trainers call it together.

        Returns
        -------
        layer, done : int
            The layer at which this trainer was, and the number of its batches that are done.

        Raises
        ------
        graphd.errors.InvalidError
            If the run to be resumed has other arguments.
        graphd.errors.ExistsError
            If a tensor of the result's name is not of an earlier run.
        graphd.errors.DeadlineError
            If a trainer does not come in time.
        """
        # Each barrier reports trainers that do not come. At the first one, all of them have returned
        # from the call before and read what they need of its result.
        self.g.session.barrier()
        if self.g.session.rank == 0 and not self._can_go_on():
            self._start_over()
        self.g.session.barrier()
        self._check_arguments()
        if not self._resumable:
            return 0, 0
        self._progress = DistTensor.open(self.g, f"{self.name}:progress")
        layer, done = backend.to_numpy(self._progress[[self.g.session.rank]])[0].tolist()
        return layer, done

    def mark(self, layer: int, done: int) -> None:
        """Notes the batches of this trainer that are done, if the run can be resumed."""
        if self._progress is not None:
            import numpy

            self._progress[[self.g.session.rank]] = numpy.array([[layer, done]], dtype=numpy.int64)

    def tensor_name(self, layer: int, ntype: str | None) -> str:
        """Returns the name of the tensor of a layer; `ntype` is None if tensors are not by type."""
        last = layer == self.num_layers - 1
        name = self.name if last else f"{self.name}:layer{layer}"
        return name if ntype is None else f"{name}/{ntype}"

    def make(self, layer: int, ntype: str | None, rows: Any) -> DistTensor:
        """Makes the tensor of a layer for rows like these, or opens it if it exists."""
        is_last = layer == self.num_layers - 1
        type_id = self.g.types.ntype_id(ntype)
        policy = PartitionPolicy("node", self.g, type_id)
        return DistTensor(
            (policy.get_size(), *rows.shape[1:]),
            rows.dtype,
            self.tensor_name(layer, ntype),
            part_policy=policy,
            persistent=self._persistent if is_last else self._resumable,
        )

    def open(self, layer: int, ntype: str | None) -> DistTensor | None:
        """Opens the tensor of a layer; returns None if no trainer has made it."""
        try:
            return DistTensor.open(self.g, self.tensor_name(layer, ntype))
        except NotFoundError:
            return None

    def drop_layer(self, layer: int) -> None:
        """Drops the tensors of a layer that all trainers have used. One trainer does it for all."""
        if self.g.session.rank == 0 and layer >= 0:
            name = f"{self.name}:layer{layer}"
            self._drop({name, *(f"{name}/{ntype}" for ntype in self.g.ntypes)})

    def _can_go_on(self) -> bool:
        """Returns whether the servers have arguments, progress and rows of a run of this version."""
        kept = self._kept_arguments() if self._resumable else None
        if kept is None or kept.get("version") != self._arguments["version"]:
            return False
        existing = self._existing()
        if f"{self.name}:progress" not in existing:
            return False
        progress = backend.to_numpy(DistTensor.open(self.g, f"{self.name}:progress")[:])
        has_written = ((progress[:, 0] == self.num_layers - 1) & (progress[:, 1] > 0)).any()
        return not has_written or not existing.isdisjoint(self._results())

    def _kept_arguments(self) -> dict[str, Any] | None:
        """Returns the arguments of an earlier run, or None if there are none, or not all of them."""
        try:
            kept = DistTensor.open(self.g, f"{self.name}:run")
            found: dict[str, Any] = json.loads(backend.to_numpy(kept[:]).tobytes())
        except (NotFoundError, ValueError):  # its trainer may have died before it wrote them
            return None
        return found

    def _start_over(self) -> None:
        """Drops what an earlier run has left and keeps the new arguments.

        Arguments are dropped last and written last, progress is dropped first: whenever it is
        interrupted, the next call starts over, and knows the results as those of a run.
        """
        existing = self._existing()
        results = self._results()
        if f"{self.name}:run" not in existing:
            for result in existing.intersection(results):
                raise ExistsError(
                    f"tensor {result!r} exists and is not the result of layerwise; give another "
                    "name, or drop it with DistTensor.drop"
                )
        layers = {each for each in existing if each.startswith(f"{self.name}:layer")}
        self._drop({f"{self.name}:progress"})
        self._drop(layers.union(results))
        self._drop({f"{self.name}:run"})
        whole = PartitionPolicy("range", self.g)
        if self._resumable:
            shape = (self.g.session.world_size, 2)
            DistTensor(shape, "int64", f"{self.name}:progress", part_policy=whole, persistent=True)
        import numpy

        text = numpy.frombuffer(json.dumps(self._arguments).encode(), dtype=numpy.uint8)
        kept = DistTensor(
            text.shape,
            "uint8",
            f"{self.name}:run",
            part_policy=whole,
            persistent=self._persistent,
        )
        kept[:] = text

    def _check_arguments(self) -> None:
        kept = self._kept_arguments()
        if kept is None or kept == self._arguments:
            return
        differing = ", ".join(
            f"{key} {kept.get(key)!r} (now {value!r})"
            for key, value in self._arguments.items()
            if kept.get(key) != value
        )
        raise InvalidError(
            f"layerwise {self.name!r}: the run that is on the servers has other arguments: "
            f"{differing}; give the same, in all trainers; to start over with resume=True, give "
            "another version"
        )

    def _results(self) -> set[str]:
        """Returns the names that tensors of the result may have."""
        return {self.name, *(f"{self.name}/{ntype}" for ntype in self.g.ntypes)}

    def _existing(self) -> set[str]:
        return {each["name"] for each in DistTensor.list(self.g)}

    def _drop(self, names: set[str]) -> None:
        """Drops those of some tensors that exist."""
        for name in sorted(names & self._existing()):
            DistTensor.drop(self.g, name)
