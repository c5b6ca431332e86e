# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of the persistent tensors of a graph's servers.

A checkpoint has all tensors as of one moment, with the state of optimisers, and files that the
trainer adds. ``graphctl checkpoint`` does the same. Make and restore checkpoints in one trainer,
while the others of the job wait in `DistGraph.barrier`.
"""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _graphd, progress
from .arguments import text
from .errors import InvalidError
from .graph_base import GraphBase, graph_of

Content = Union[bytes, bytearray, memoryview]


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The properties of a checkpoint.

    Attributes
    ----------
    name, graph_name : str
    num_parts : int
        Number of partitions that the graph had.
    created : str
        UTC, "2026-01-31T12:00:00Z".
    bytes : int
        Size on the disks of all machines.
    tensors : dict of str to (str, tuple of int)
        dtype and shape by name.
    files : dict of str to int
        Sizes in bytes by name.
    """

    name: str
    graph_name: str
    num_parts: int
    created: str
    bytes: int
    tensors: dict[str, tuple[str, tuple[int, ...]]]
    files: dict[str, int]


def create(
    g: GraphBase,
    name: str,
    tensors: Sequence[str] = (),
    files: Mapping[str, Content] | None = None,
) -> Checkpoint:
    """Makes a checkpoint.

    Parameters
    ----------
    g : DistGraph
    name : str
        Letters, digits, and ``._-``.
    tensors : list of str, optional
        Names; default: all persistent tensors whose rows belong to the version of the graph that
        this job uses.
    files : dict of str to bytes, optional
        Contents to keep with the tensors, such as what ``torch.save`` writes to an ``io.BytesIO``;
        not paths.

    Returns
    -------
    Checkpoint

    Raises
    ------
    graphd.errors.ExistsError
        If a checkpoint of this name exists.
    graphd.errors.InvalidError
        If `files` is not a dict of bytes by name.
    """
    files = {} if files is None else files
    if not isinstance(files, dict):
        raise InvalidError(f"files: expected a dict of name to bytes, got {type(files)}")
    for file, content in files.items():
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise InvalidError(
                f"files: {file!r} is {type(content)}, expected its content as "
                "bytes; read it, or let torch.save write to an io.BytesIO()"
            )
    contents = {file: bytes(content) for file, content in files.items()}
    arguments = graph_of(g).handle, text(name, "name"), _names(tensors), contents
    with progress.clock(f"making checkpoint {name!r}"):
        return Checkpoint(**_graphd.create_checkpoint(*arguments))


def _names(tensors: Any) -> builtins.list[str]:
    if isinstance(tensors, str):
        raise InvalidError(f"tensors {tensors!r}: expected a list of names; put [] around it")
    if not isinstance(tensors, collections.abc.Iterable):
        raise InvalidError(f"tensors {tensors!r}: expected a list of names")
    return [text(name, "tensors: name") for name in tensors]


def list(g: GraphBase) -> builtins.list[Checkpoint]:
    """Returns all complete checkpoints, by name.

    Parameters
    ----------
    g : DistGraph

    Returns
    -------
    list of Checkpoint
    """
    return [Checkpoint(**each) for each in _graphd.list_checkpoints(graph_of(g).handle)]


def latest(g: GraphBase, prefix: str | None = None) -> Checkpoint | None:
    """Returns the last checkpoint whose name is `prefix`, "-" and a number, such as "model-40".

    A trainer that ``graphctl launch --max_restarts`` has started again resumes from this
    checkpoint. Its job is still the same, so the default prefix finds the checkpoints that this job
    has made. A prefix of your own also finds the checkpoints of an earlier job, for example one
    with another number of trainers.

    Parameters
    ----------
    g : DistGraph
    prefix : str, optional
        Default: the job's id (``GRAPHD_JOB_ID``).

    Returns
    -------
    Checkpoint or None
        The one with the largest number; None if there is none.

    Raises
    ------
    graphd.errors.InvalidError
        If `prefix` is not given and the environment names no job.
    """
    if prefix is None:
        prefix = os.environ.get("GRAPHD_JOB_ID", "")
        if not prefix:
            raise InvalidError(
                "prefix: GRAPHD_JOB_ID is not set, as graphctl launch does; give the prefix of the "
                "checkpoints' names"
            )
    numbered = re.compile(re.escape(text(prefix, "prefix")) + r"-(\d+)", re.ASCII)
    found = [(numbered.fullmatch(each.name), each) for each in list(g)]
    named = [(int(match[1]), each) for match, each in found if match]
    return max(named, key=lambda pair: pair[0])[1] if named else None


def restore(g: GraphBase, name: str, tensors: Sequence[str] = ()) -> None:
    """Restores the rows and the optimiser state of tensors; makes those that no longer exist.

    The graph may have a different number of partitions now.

    Parameters
    ----------
    g : DistGraph
    name : str
    tensors : list of str, optional
        Default: all of the checkpoint.

    Raises
    ------
    graphd.errors.NotFoundError
        If no checkpoint has this name.
    """
    arguments = graph_of(g).handle, text(name, "name"), _names(tensors)
    with progress.clock(f"restoring checkpoint {name!r}"):
        _graphd.restore_checkpoint(*arguments)


def read_file(g: GraphBase, name: str, file: str) -> bytes:
    """Returns a file that was kept with the tensors.

    Parameters
    ----------
    g : DistGraph
    name : str
        The name of the checkpoint.
    file : str
        The name that was given to `create`.

    Returns
    -------
    bytes

    Raises
    ------
    graphd.errors.NotFoundError
        If no checkpoint, or no file of it, has this name.
    """
    return _graphd.read_checkpoint_file(
        graph_of(g).handle,
        text(name, "name"),
        text(file, "file", "the name that it was kept under"),
    )


def delete(g: GraphBase, name: str) -> None:
    """Deletes a checkpoint from all machines.

    Parameters
    ----------
    g : DistGraph
    name : str

    Raises
    ------
    graphd.errors.NotFoundError
        If no checkpoint has this name.
    """
    _graphd.delete_checkpoint(graph_of(g).handle, text(name, "name"))
