# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in place of the files that DGL's optimisers save."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Sequence
from typing import Any

from .. import checkpoint
from ..arguments import path
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..typing import Path
from .embedding import DistEmbedding

_FILE = "optimizer.json"


def save(params: Sequence[DistEmbedding], f: Path, about: dict[str, Any]) -> None:
    """Makes a checkpoint of embeddings and their optimiser states, and then deletes the previous
    checkpoint. One trainer does so, and the others wait. `about` is stored in the checkpoint."""
    g, name = _graph_of(params), _name(f)
    for each in params:
        if not each.weight.persistent:
            raise InvalidError(
                f"{each!r} ends with the job, and so does the optimiser's state; give the embedding "
                "a name, or persistent=True"
            )
    g.session.barrier()  # every trainer has done its last step
    if g.session.rank == 0:
        numbers = _numbers(g, name)
        names = [each.name for each in params]
        content = json.dumps({**about, "embeddings": names}).encode()
        checkpoint.create(g, f"{name}.{max(numbers, default=0) + 1}", names, {_FILE: content})
        for number in numbers:
            checkpoint.delete(g, f"{name}.{number}")
    g.session.barrier()


def load(params: Sequence[DistEmbedding], f: Path, about: dict[str, Any]) -> dict[str, Any] | None:
    """Restores the newest checkpoint that `save` has made, and returns the `about` that it contains.
    Returns None, with a warning, if there is none. One trainer restores it, and the others wait."""
    g, name = _graph_of(params), _name(f)
    numbers = _numbers(g, name)
    if not numbers:
        warnings.warn(f"{f}: nothing was saved under this name, nothing is loaded", stacklevel=3)
        return None
    latest = f"{name}.{max(numbers)}"
    found: dict[str, Any] = json.loads(checkpoint.read_file(g, latest, _FILE))
    wanted = {**about, "embeddings": [each.name for each in params]}
    for key, value in wanted.items():
        if found[key] != value:
            raise InvalidError(f"{f}: it was saved with {key} {found[key]!r}, this has {value!r}")
    g.session.barrier()
    if g.session.rank == 0:
        checkpoint.restore(g, latest)
    g.session.barrier()
    return found


def _graph_of(params: Sequence[DistEmbedding]) -> GraphBase:
    return params[0].g


def _name(f: Path) -> str:
    """Returns the name of the checkpoints for a path."""
    name = os.path.basename(path(f, "f", "a path, as 'emb_optimizer'"))
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise InvalidError(
            f"f {f!r}: the last part names a checkpoint; use letters, digits and ._-"
        )
    return name


def _numbers(g: GraphBase, name: str) -> list[int]:
    """Returns the numbers of the complete checkpoints of a name."""
    found = (re.fullmatch(re.escape(name) + r"\.(\d+)", each.name) for each in checkpoint.list(g))
    return [int(each[1]) for each in found if each]
