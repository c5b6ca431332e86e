# SPDX-License-Identifier: Apache-2.0
"""The arguments of PyG's loaders and of PyTorch's ``DataLoader`` that graphd's loaders do not use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..errors import InvalidError

# Arguments that are allowed and change nothing. PyG drops the first two itself, too; most others are
# about worker processes, in whose place graphd has threads.
_WITHOUT_EFFECT = {
    "collate_fn",
    "dataset",
    "filter_per_worker",
    "in_order",
    "is_sorted",
    "multiprocessing_context",
    "persistent_workers",
    "pin_memory_device",
    "prefetch_factor",
}
# Arguments that are refused unless they have their default, and what to do instead.
_REFUSED = {
    "batch_sampler": (None, "call the loader with the positions of a batch's seeds"),
    "custom_cls": (None, "batches are Data or HeteroData"),
    "directed": (True, "use subgraph_type"),
    "input_id": (None, "batches have input_id, which are positions among the seeds"),
    "neighbor_sampler": (None, "give it to the loader in torch_geometric.loader"),
    "sampler": (
        None,
        "give the seeds in the order in which you want them, with shuffle=False; "
        "graphd.distributed.node_split and edge_split give each trainer its share",
    ),
    "timeout": (0, "calls to servers have the timeout of graphd.distributed.initialize"),
    "transform_sampler_output": (None, "use transform"),
    "worker_init_fn": (None, "its workers are threads of this process: call the function yourself"),
}


def check_others(loader: str, others: Mapping[str, Any]) -> None:
    """Raises InvalidError for an argument of PyG's loader that graphd does not have."""
    for name, value in others.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name not in _REFUSED:
            raise InvalidError(f"{loader} has no argument {name!r}")
        default, remedy = _REFUSED[name]
        value = getattr(value, "value", value)  # PyG has enumerations
        if value is not default and (default is None or value != default):
            raise InvalidError(f"{name}={value!r}: graphd's {loader} does not have it; {remedy}")


def seed_from(seed: int | None, generator: torch.Generator | None) -> int | None:
    """Returns the seed of a loader. A generator gives the next number that PyTorch's own loader would
    draw from it as the seed of its first epoch.

    Raises
    ------
    graphd.errors.InvalidError
        If both are given, or the generator is not a generator of PyTorch for the CPU.
    """
    if generator is None:
        return seed
    if seed is not None:
        raise InvalidError(f"seed {seed} and a generator: give one of them")
    if not isinstance(generator, torch.Generator) or generator.device.type != "cpu":
        raise InvalidError(f"generator {generator!r}: expected a torch.Generator on the CPU")
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))
